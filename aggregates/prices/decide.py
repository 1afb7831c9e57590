"""Deciding about the catalog: a document or an order to reprice and what is published, in; events and a reply, out."""

from collections.abc import Collection
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.event import Event, Reason, Refused
from aggregates.ids import CATALOG_STREAM, REPRICING_STREAM
from aggregates.prices import catalog
from aggregates.times import INSTANT_MAX_US, INSTANT_MIN_US, iso, parse_instant


class CatalogDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A catalog as somebody hands it in; what is left out is filled in when it is published."""

    exact_lookups: catalog.Lookups
    schema_version: Literal[1] = catalog.SCHEMA_VERSION
    catalog_revision: catalog.Revision | None = None  # the next one where it is left out
    published_at: str | None = None  # ISO 8601; the time of publication where it is left out
    checksum_sha256: str | None = None  # only with a `catalog_revision`, which it covers

    def __post_init__(self) -> None:
        if self.published_at is not None:
            catalog.instant("published_at", self.published_at)


class PublishCatalog(msgspec.Struct, frozen=True, kw_only=True):
    document: CatalogDocument
    source: str


class RepriceRequests(msgspec.Struct, frozen=True, kw_only=True):
    """Price what has no price yet, by the newest valid revision."""

    organization_id: UUID
    from_us: int
    to_us: int


class CatalogState(msgspec.Struct, frozen=True, kw_only=True):
    last_revision: int = 0  # the newest there is, valid or not; 0 before the first
    newest_valid: catalog.Snapshot | None = None
    repricings: int = 0


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """The revision that holds the document now."""

    catalog_revision: int
    checksum_sha256: str
    published_at: str
    changed: bool  # False where the newest valid revision already says the same: nothing was published


class Repriced(msgspec.Struct, frozen=True, kw_only=True):
    """What was ordered."""

    organization_id: UUID
    catalog_revision: int


CatalogCommand = PublishCatalog | RepriceRequests
CatalogReply = Published | Repriced | Refused
NewFact = tuple[UUID, int, Event]  # a stream, the version in it, and what stands there
Decision = tuple[tuple[NewFact, ...], CatalogReply]  # a refusal appends nothing


def decide_catalog(
    command: CatalogCommand, state: CatalogState, organizations: Collection[UUID], now_us: int
) -> Decision:
    if isinstance(command, PublishCatalog):
        return _publish(command, state, now_us)
    return _reprice(command, state, organizations, now_us)


def _publish(command: PublishCatalog, state: CatalogState, now_us: int) -> Decision:
    document, newest = command.document, state.newest_valid
    if newest is not None and document.exact_lookups == newest.exact_lookups:
        return (), _shown(newest, changed=False)
    revision = document.catalog_revision or state.last_revision + 1
    fault = _revision_fault(document, revision, state) or catalog.content_fault(document.exact_lookups)
    if fault is not None:
        return _refused(fault)
    digest = catalog.checksum(revision, document.exact_lookups)
    if document.checksum_sha256 is not None and document.checksum_sha256.lower() != digest:
        return _refused(catalog.NO_FIT)
    snapshot = catalog.Snapshot(
        schema_version=catalog.SCHEMA_VERSION,
        catalog_revision=revision,
        published_at_us=now_us if document.published_at is None else parse_instant(document.published_at),
        checksum_sha256=digest,
        exact_lookups=document.exact_lookups,
    )
    event = catalog.CatalogPublished(received_at_us=now_us, source=command.source, snapshot=snapshot)
    return ((CATALOG_STREAM, revision, event),), _shown(snapshot, changed=True)


def _revision_fault(document: CatalogDocument, revision: int, state: CatalogState) -> str | None:
    if not state.last_revision < revision <= catalog.REVISION_MAX:
        return (
            f"catalog_revision is {revision}; it must be greater than {state.last_revision}, the newest there is, "
            f"and at most {catalog.REVISION_MAX}; leave it and the checksum out to take the next"
        )
    if document.checksum_sha256 is not None and document.catalog_revision is None:
        return "checksum_sha256 covers catalog_revision, which is missing; give both or neither"
    return None


def _reprice(command: RepriceRequests, state: CatalogState, organizations: Collection[UUID], now_us: int) -> Decision:
    if state.newest_valid is None:
        return _refused("there is no validated catalog snapshot to price by; publish one first")
    if command.organization_id not in organizations:
        return (), Refused(Reason.NOT_FOUND, f"no organization {command.organization_id}")
    if not INSTANT_MIN_US <= command.from_us < command.to_us <= INSTANT_MAX_US:
        return _refused("the range to reprice is empty, or lies before 1970 or after 9998: from must come before to")
    revision = state.newest_valid.catalog_revision
    event = catalog.RequestsRepriced(
        received_at_us=now_us,
        organization_id=command.organization_id,
        catalog_revision=revision,
        from_us=command.from_us,
        to_us=command.to_us,
    )
    reply = Repriced(organization_id=command.organization_id, catalog_revision=revision)
    return ((REPRICING_STREAM, state.repricings + 1, event),), reply


def _shown(snapshot: catalog.Snapshot, *, changed: bool) -> Published:
    return Published(
        catalog_revision=snapshot.catalog_revision,
        checksum_sha256=snapshot.checksum_sha256,
        published_at=iso(snapshot.published_at_us),
        changed=changed,
    )


def _refused(message: str) -> Decision:
    return (), Refused(Reason.INVALID, message)
