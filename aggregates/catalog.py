"""The model catalog: which model an id means, and what its tokens cost by public list price.

A snapshot is published whole and never changed; the next one has a greater revision. Looking a model up is exact: what
is not listed is not known. The structs are the contract's JSON, field by field, so that the checksum can be verified by
anybody who holds the document.
"""

from hashlib import sha256

import msgspec
import rfc8785

SCHEMA_VERSION = 1


class Rates(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """US dollars per million tokens. null: nobody published a rate, so such tokens have no price."""

    input: float | None
    """Input tokens beside those of the cache."""
    output: float | None
    cache_read: float | None
    cache_write_5m: float | None
    cache_write_1h: float | None = None
    """Cache writes kept for an hour; null where the model knows only one kind of write."""


class Band(Rates, frozen=True, kw_only=True, omit_defaults=True):
    """The rates of a whole request with more input, read from and written to the cache included, than this."""

    above_input_tokens: int


class Rate(Rates, frozen=True, kw_only=True, omit_defaults=True):
    """The rates of a time, and of long requests in that time."""

    long_context: tuple[Band, ...] = ()


class ListRate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What held from one time (ISO 8601) up to another; `effective_to` null: until further notice."""

    effective_from: str
    effective_to: str | None
    rate: Rate | None = None
    unpriced_reason: str | None = None
    """Why there is no rate; stands in its place."""


class KnownModel(msgspec.Struct, frozen=True, tag_field="status", tag="known"):
    """The id means this model."""

    canonical_model_id: str
    display_name: str


class AmbiguousModel(msgspec.Struct, frozen=True, tag_field="status", tag="ambiguous"):
    """The id means more than one model."""


class UnknownModel(msgspec.Struct, frozen=True, tag_field="status", tag="unknown"):
    """The id is known to mean nothing that could be named."""


class ObservedProvider(msgspec.Struct, frozen=True, tag_field="status", tag="observed"):
    """The id itself says who serves it, as Bedrock's ids do."""

    provider: str


class InferredProvider(msgspec.Struct, frozen=True, tag_field="status", tag="catalog_inferred"):
    """The id does not say who serves it; the catalog takes the model's own maker."""

    provider: str


class AmbiguousProvider(msgspec.Struct, frozen=True, tag_field="status", tag="ambiguous"):
    """More than one provider serves this id, at different prices."""


class UnknownProvider(msgspec.Struct, frozen=True, tag_field="status", tag="unknown"):
    """Nobody is known to serve this id."""


Model = KnownModel | AmbiguousModel | UnknownModel
Provider = ObservedProvider | InferredProvider | AmbiguousProvider | UnknownProvider


class ExactLookup(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of one id, as agents report it."""

    external_model_id: str
    model: Model
    provider: Provider
    list_rates: tuple[ListRate, ...]
    """In the order of time, without overlap; gaps are times without a price."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One revision of the catalog."""

    schema_version: int
    catalog_revision: int
    """A positive integer that only grows."""
    published_at_us: int
    checksum_sha256: str
    exact_lookups: tuple[ExactLookup, ...]


def canonical_lookups(lookups: tuple[ExactLookup, ...]) -> bytes:
    """UTF-8 of the RFC 8785 JSON of the lookups. Raises `ValueError` where a number or text has no such form."""
    return _canonical(msgspec.to_builtins(lookups))


def checksum(schema_version: int, catalog_revision: int, lookups: tuple[ExactLookup, ...]) -> str:
    """SHA-256, lower-case hex, over the RFC 8785 JSON of these three members. Raises `ValueError` like the above."""
    document = {
        "schema_version": schema_version,
        "catalog_revision": catalog_revision,
        "exact_lookups": msgspec.to_builtins(lookups),
    }
    return sha256(_canonical(document)).hexdigest()


def _canonical(value: object) -> bytes:
    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise ValueError(f"no canonical JSON: {error}") from error
