"""The catalog as people and services see it: the document that is served, and a line for each revision."""

import msgspec

from aggregates.catalog import ExactLookup, Snapshot
from aggregates.times import iso


class Served(msgspec.Struct, frozen=True):
    """The snapshot that answers now."""

    snapshot: Snapshot
    refreshed_at_us: int
    """When its source last said that it is current; after a restart, when it was stored."""
    stale: bool
    """Whether a refresh failed since then."""


class CatalogRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The model catalog document of the contract."""

    schema_version: int
    catalog_revision: int
    checksum_sha256: str
    published_at: str
    refreshed_at: str
    stale: bool
    exact_lookups: tuple[ExactLookup, ...]


class RevisionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One stored revision, without its prices."""

    catalog_revision: int
    valid: bool
    fault: str | None = None
    """Why it is never served; None where it is valid."""
    source: str | None = None
    published_at: str | None = None
    stored_at: str | None = None
    checksum_sha256: str | None = None
    lookups: int | None = None
    """How many ids it lists; null, as all before it, where it cannot be read."""


def catalog_record(served: Served) -> CatalogRecord:
    """What is served, as the contract's document."""
    snapshot = served.snapshot
    return CatalogRecord(
        schema_version=snapshot.schema_version,
        catalog_revision=snapshot.catalog_revision,
        checksum_sha256=snapshot.checksum_sha256,
        published_at=iso(snapshot.published_at_us),
        refreshed_at=iso(served.refreshed_at_us),
        stale=served.stale,
        exact_lookups=snapshot.exact_lookups,
    )
