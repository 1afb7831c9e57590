"""The model catalog: which model an id means, and what its tokens cost by public list price.

A snapshot is published whole and never changed; the next one has a greater revision. Looking a model up is exact: what
is not listed is not known. The structs are the contract's JSON, field by field, so that the checksum can be verified by
anybody who holds the document.
"""

import math
from collections.abc import Iterable, Iterator
from hashlib import sha256

import msgspec
import rfc8785

from aggregates.times import INSTANT_MAX_US, iso, parse_instant

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


# The catalog as people and services see it: the document that is served, and a line for each revision.


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


# What makes a catalog valid: every rule with its bound, and a sentence that names the place where one is broken.

REVISION_MAX = 2**31 - 1


LOOKUPS_MAX = 20_000
"""Ids in one catalog; all the providers of the maintained data together have some 3,000."""


LIST_RATES_MAX = 200
"""Price changes of one id."""


BANDS_MAX = 16


TEXT_CHARACTERS_MAX = 256
"""Ids and names."""


REASON_CHARACTERS_MAX = 200


RATE_MAX = 1_000_000.0
"""A dollar a token; no list price comes near."""


INPUT_TOKENS_MAX = 2**53 - 1


CANONICAL_BYTES_MAX = 4 * 1024 * 1024
"""All lookups as canonical JSON: what fits into one event and one frame."""


RATE_FIELDS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


def snapshot_fault(snapshot: Snapshot) -> str | None:
    """What is wrong with a snapshot; None where it is valid."""
    if snapshot.schema_version != SCHEMA_VERSION:
        return f"schema_version is {snapshot.schema_version}; this program reads {SCHEMA_VERSION}"
    if not 1 <= snapshot.catalog_revision <= REVISION_MAX:
        return f"catalog_revision is {snapshot.catalog_revision}; it must be from 1 to {REVISION_MAX}"
    if not 0 <= snapshot.published_at_us < INSTANT_MAX_US:
        return "published_at must lie between 1970 and 9998"
    fault = content_fault(snapshot.exact_lookups)
    if fault is not None:
        return fault
    if checksum(SCHEMA_VERSION, snapshot.catalog_revision, snapshot.exact_lookups) != snapshot.checksum_sha256:
        return "checksum_sha256 does not fit schema_version, catalog_revision and exact_lookups"
    return None


def content_fault(lookups: tuple[ExactLookup, ...]) -> str | None:
    """What is wrong with the lookups of a snapshot; None where they are valid."""
    if not 1 <= len(lookups) <= LOOKUPS_MAX:
        return f"exact_lookups has {len(lookups)} entries; there must be 1 to {LOOKUPS_MAX}"
    fault = next(_content_faults(lookups), None)
    if fault is not None:
        return fault
    try:
        size_bytes = len(canonical_lookups(lookups))
    except ValueError as error:
        return f"exact_lookups: {error}"
    if size_bytes > CANONICAL_BYTES_MAX:
        return f"exact_lookups takes {size_bytes} bytes; at most {CANONICAL_BYTES_MAX} are taken"
    return None


def _content_faults(lookups: tuple[ExactLookup, ...]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for number, lookup in enumerate(lookups):
        place = f"exact_lookups[{number}]"
        first = seen.setdefault(lookup.external_model_id, number)
        if first != number:
            yield f"{place}.external_model_id repeats that of exact_lookups[{first}]: {lookup.external_model_id!r}"
        yield from _lookup_faults(place, lookup)


def _lookup_faults(place: str, lookup: ExactLookup) -> Iterator[str]:
    yield from _text_faults(f"{place}.external_model_id", lookup.external_model_id)
    determined = True
    match lookup.model:
        case KnownModel(canonical_model_id=model_id, display_name=name):
            yield from _text_faults(f"{place}.model.canonical_model_id", model_id)
            yield from _text_faults(f"{place}.model.display_name", name)
        case _:
            determined = False
    match lookup.provider:
        case ObservedProvider(provider=provider) | InferredProvider(provider=provider):
            yield from _text_faults(f"{place}.provider.provider", provider)
        case _:
            determined = False
    if len(lookup.list_rates) > LIST_RATES_MAX:
        yield f"{place}.list_rates has {len(lookup.list_rates)} entries; there may be {LIST_RATES_MAX}"
    if not determined and any(each.rate is not None for each in lookup.list_rates):
        yield f"{place}.list_rates holds a rate, but the model and its provider are not both determined"
    yield from _list_rates_faults(f"{place}.list_rates", lookup.list_rates)


def _text_faults(place: str, text: str, characters_max: int = TEXT_CHARACTERS_MAX) -> Iterator[str]:
    if not text.strip() or len(text) > characters_max:
        yield f"{place} must have 1 to {characters_max} characters and not be blank"
    elif not text.isprintable():
        yield f"{place} holds a character that cannot be shown"


def _list_rates_faults(place: str, list_rates: Iterable[ListRate]) -> Iterator[str]:
    free_from_us: int | None = 0
    for number, each in enumerate(list_rates):
        its_place = f"{place}[{number}]"
        if free_from_us is None:
            yield f"{its_place} follows a time without an end; only the last effective_to may be null"
            return
        try:
            from_us, to_us = bounds_us(each)
        except ValueError as error:
            yield f"{its_place}: {error}"
            return
        if from_us < free_from_us:
            yield f"{its_place}.effective_from lies before the end of the one before it; order them without overlap"
        if to_us is not None and to_us <= from_us:
            yield f"{its_place}.effective_to must come after effective_from"
        free_from_us = to_us
        yield from _list_rate_faults(its_place, each)


def bounds_us(list_rate: ListRate) -> tuple[int, int | None]:
    """From and to in microseconds. Raises `ValueError` naming the field that is no time."""
    return _instant("effective_from", list_rate.effective_from), (
        None if list_rate.effective_to is None else _instant("effective_to", list_rate.effective_to)
    )


def _instant(field: str, text: str) -> int:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise ValueError(f"{field}: {error}") from error


def _list_rate_faults(place: str, each: ListRate) -> Iterator[str]:
    if (each.rate is None) == (each.unpriced_reason is None):
        yield f"{place} must hold exactly one of rate and unpriced_reason"
    if each.unpriced_reason is not None:
        yield from _text_faults(f"{place}.unpriced_reason", each.unpriced_reason, REASON_CHARACTERS_MAX)
    if each.rate is not None:
        yield from _rate_faults(f"{place}.rate", each.rate)


def _rate_faults(place: str, rate: Rate) -> Iterator[str]:
    yield from _rates_faults(place, rate)
    if len(rate.long_context) > BANDS_MAX:
        yield f"{place}.long_context has {len(rate.long_context)} entries; there may be {BANDS_MAX}"
    below = -1
    for number, band in enumerate(rate.long_context):
        its_place = f"{place}.long_context[{number}]"
        yield from _band_faults(its_place, band, below)
        below = band.above_input_tokens


def _band_faults(place: str, band: Band, below: int) -> Iterator[str]:
    if not 0 <= band.above_input_tokens <= INPUT_TOKENS_MAX:
        yield f"{place}.above_input_tokens is {band.above_input_tokens}; it must be from 0 to {INPUT_TOKENS_MAX}"
    if band.above_input_tokens <= below:
        yield f"{place}.above_input_tokens must be greater than that of the band before it"
    yield from _rates_faults(place, band)


def _rates_faults(place: str, rates: Rates) -> Iterator[str]:
    for field in RATE_FIELDS:
        value = getattr(rates, field)
        if value is not None and not (math.isfinite(value) and 0 <= value <= RATE_MAX):
            yield f"{place}.{field} is {value}; it must be a number from 0 to {RATE_MAX:.0f}"
    if rates.input is None and rates.output is None:
        yield f"{place} has neither an input nor an output rate; give an unpriced_reason instead"
