"""The model catalog: which model an id means, what its tokens cost by public list price, and how it is published.

A snapshot is published whole and never changed; the next one has a greater revision. Looking a model up is exact: what
is not listed is not known. The structs are the contract's JSON, field by field, so that the checksum can be verified by
anybody who holds the document.
"""

from collections.abc import Collection
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from typing import Annotated, ClassVar, Literal
from uuid import UUID

import msgspec
import rfc8785
from msgspec import Meta

from aggregates.event import Event, NewEvent, Reason, Refused, shaped
from aggregates.ids import CATALOG_STREAM, REPRICING_STREAM
from aggregates.times import INSTANT_MAX_US, INSTANT_MIN_US, iso, parse_instant

SCHEMA_VERSION: Literal[1] = 1
REVISION_MAX = 2**31 - 1
TEXT_CHARACTERS_MAX = 256
CANONICAL_BYTES_MAX = 4 * 1024 * 1024  # all lookups as canonical JSON: what fits into one event and one frame
_CONTROL = r"\u0000-\u001f\u007f-\u009f"
_PRINTABLE = rf"^[^{_CONTROL}]*[^\s{_CONTROL}][^{_CONTROL}]*$(?!\n)"  # a `$` alone would let a line's end pass
Text = Annotated[str, Meta(min_length=1, max_length=TEXT_CHARACTERS_MAX, pattern=_PRINTABLE)]  # an id or a name
Why = Annotated[str, Meta(min_length=1, max_length=200, pattern=_PRINTABLE)]
Dollars = Annotated[float, Meta(ge=0, le=1_000_000)]
Revision = Annotated[int, Meta(ge=1, le=REVISION_MAX)]


class Rates(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """US dollars per million tokens, or searches. null: nobody published a rate, so such tokens have no price."""

    input: Dollars | None  # input tokens beside those of the cache
    output: Dollars | None
    cache_read: Dollars | None
    cache_write_5m: Dollars | None
    cache_write_1h: Dollars | None = None  # null where the model knows only one kind of write
    web_search: Dollars | None = None

    def __post_init__(self) -> None:
        if self.input is None and self.output is None:
            raise ValueError("there is neither an input nor an output rate; give an unpriced_reason instead")


class Band(Rates, frozen=True, kw_only=True, omit_defaults=True):
    """The rates of a whole request with more input, read from and written to the cache included, than this."""

    above_input_tokens: Annotated[int, Meta(ge=0, le=2**53 - 1)]


class Rate(Rates, frozen=True, kw_only=True, omit_defaults=True):
    """The rates of a time, and of long requests in that time."""

    long_context: Annotated[tuple[Band, ...], Meta(max_length=16)] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        above = [band.above_input_tokens for band in self.long_context]
        if above != sorted(set(above)):
            raise ValueError("above_input_tokens of each band of long_context must be greater than that before it")


class ListRate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What held from one time (ISO 8601) up to another; `effective_to` null: until further notice."""

    effective_from: str
    effective_to: str | None
    rate: Rate | None = None
    unpriced_reason: Why | None = None  # why there is no rate; stands in its place

    def __post_init__(self) -> None:
        if (self.rate is None) == (self.unpriced_reason is None):
            raise ValueError("give exactly one of rate and unpriced_reason")
        from_us, to_us = self.from_us, self.to_us
        if to_us is not None and to_us <= from_us:
            raise ValueError("effective_to must come after effective_from")

    @property
    def from_us(self) -> int:
        return instant("effective_from", self.effective_from)

    @property
    def to_us(self) -> int | None:
        return None if self.effective_to is None else instant("effective_to", self.effective_to)


def instant(field: str, text: str) -> int:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise ValueError(f"{field}: {error}") from error


class Model(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an id means: a model, more than one, or nothing that could be named."""

    status: Literal["known", "ambiguous", "unknown"]
    canonical_model_id: Text | None = None
    display_name: Text | None = None

    def __post_init__(self) -> None:
        known = self.status == "known"
        if (self.canonical_model_id is not None, self.display_name is not None) != (known, known):
            raise ValueError("a known model has canonical_model_id and display_name, any other has neither")


class Provider(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who serves an id: observed where the id says it, as Bedrock's do; inferred where its maker is taken."""

    status: Literal["observed", "catalog_inferred", "ambiguous", "unknown"]  # ambiguous: several, at different prices
    provider: Text | None = None

    def __post_init__(self) -> None:
        if (self.status in ("observed", "catalog_inferred")) != (self.provider is not None):
            raise ValueError("provider is named where it is observed or inferred, and only there")


class ExactLookup(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of one id, as agents report it."""

    external_model_id: Text
    model: Model
    provider: Provider
    list_rates: Annotated[tuple[ListRate, ...], Meta(max_length=200)]  # in order; gaps are times without a price

    def __post_init__(self) -> None:
        for before, each in pairwise(self.list_rates):
            if before.to_us is None or each.from_us < before.to_us:
                how = "order them, and end each where the next one begins"
                raise ValueError(f"list_rates overlap at {each.effective_from}; {how}")
        determined = self.model.status == "known" and self.provider.provider is not None
        if not determined and any(each.rate is not None for each in self.list_rates):
            raise ValueError("list_rates holds a rate, but the model and its provider are not both determined")


Lookups = Annotated[tuple[ExactLookup, ...], Meta(min_length=1, max_length=20_000)]  # of the fetched ones some 3,000


class Snapshot(msgspec.Struct, frozen=True):
    schema_version: Literal[1]
    catalog_revision: Revision  # only grows
    published_at_us: Annotated[int, Meta(ge=0, lt=INSTANT_MAX_US)]
    checksum_sha256: str
    exact_lookups: Lookups


def content_fault(lookups: tuple[ExactLookup, ...]) -> str | None:
    try:
        msgspec.convert(msgspec.to_builtins(lookups), Lookups)
        size_bytes = len(_canonical(lookups))
    except ValueError as error:
        return f"exact_lookups: {error}"
    if size_bytes > CANONICAL_BYTES_MAX:
        return f"exact_lookups takes {size_bytes} bytes; at most {CANONICAL_BYTES_MAX} are taken"
    seen: set[str] = set()
    for number, lookup in enumerate(lookups):
        if lookup.external_model_id in seen:
            return f"exact_lookups[{number}].external_model_id repeats {lookup.external_model_id!r}; list each id once"
        seen.add(lookup.external_model_id)
    return None


NO_FIT = "checksum_sha256 does not fit schema_version, catalog_revision and exact_lookups"


def snapshot_fault(snapshot: Snapshot) -> str | None:
    """What is wrong with a stored snapshot; None where it is valid."""
    fault = content_fault(snapshot.exact_lookups)
    fits = fault is not None or checksum(snapshot.catalog_revision, snapshot.exact_lookups) == snapshot.checksum_sha256
    return fault if fits else NO_FIT


def checksum(catalog_revision: int, lookups: tuple[ExactLookup, ...]) -> str:
    """SHA-256, lower-case hex, over the RFC 8785 JSON of these members. Raises `ValueError` where there is none."""
    head, tail = f'{{"catalog_revision":{catalog_revision},"exact_lookups":', f',"schema_version":{SCHEMA_VERSION}}}'
    return sha256(head.encode() + _canonical(lookups) + tail.encode()).hexdigest()


@lru_cache(maxsize=1)
def _canonical(lookups: tuple[ExactLookup, ...]) -> bytes:
    """The RFC 8785 JSON, which its size and its checksum both need; making it takes a tenth of a second."""
    try:
        return rfc8785.dumps(msgspec.to_builtins(lookups))
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise ValueError(f"no canonical JSON: {error}") from error


class Served(msgspec.Struct, frozen=True):
    snapshot: Snapshot
    refreshed_at_us: int  # when its source last said that it is current; after a restart, when it was stored
    fault: str | None = None  # why the last refresh failed, where one failed since then

    @property
    def stale(self) -> bool:
        return self.fault is not None


class CatalogRecord(msgspec.Struct, frozen=True, kw_only=True):
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
    fault: str | None = None  # why it is never served; None where it is valid
    source: str | None = None
    published_at: str | None = None
    stored_at: str | None = None
    checksum_sha256: str | None = None
    lookups: int | None = None  # how many ids it lists; null, as all before it, where it cannot be read


def catalog_record(served: Served) -> CatalogRecord:
    times = {"published_at": iso(served.snapshot.published_at_us), "refreshed_at": iso(served.refreshed_at_us)}
    return shaped(CatalogRecord, served.snapshot, stale=served.stale, **times)


# Events of the price catalog.


class CatalogPublished(Event, frozen=True, kw_only=True, omit_defaults=True):
    """These list prices are known from now on; its version in the stream is the catalog's revision."""

    TOPIC: ClassVar[str] = "catalog.published"
    source: str  # where the prices came from: `genai-prices 0.2.3 (2)`, the name of a file, an address
    snapshot: Snapshot


class RequestsRepriced(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Requests of an organization that have no price yet get one of this revision; those that have keep theirs."""

    TOPIC: ClassVar[str] = "requests.repriced"
    received_at_us: int = 0  # whoever orders it leaves this and the revision out: it is the newest valid one
    organization_id: UUID
    catalog_revision: int = 0
    from_us: int
    to_us: int  # half-open: requests made from the one up to the other


# Deciding: a document or an order to reprice and what is published, in; events and a reply, out.


class CatalogDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A catalog as somebody hands it in; what is left out is filled in when it is published."""

    exact_lookups: Lookups
    schema_version: Literal[1] = SCHEMA_VERSION
    catalog_revision: Revision | None = None  # the next one where it is left out
    published_at: str | None = None  # ISO 8601; the time of publication where it is left out
    checksum_sha256: str | None = None  # only with a `catalog_revision`, which it covers

    def __post_init__(self) -> None:
        if self.published_at is not None:
            instant("published_at", self.published_at)


class PublishCatalog(msgspec.Struct, frozen=True, kw_only=True):
    document: CatalogDocument
    source: str


class CatalogState(msgspec.Struct, frozen=True, kw_only=True):
    last_revision: int = 0  # the newest there is, valid or not; 0 before the first
    newest_valid: Snapshot | None = None
    repricings: int = 0


class Published(msgspec.Struct, frozen=True):
    """The revision that holds the document now."""

    catalog_revision: int
    checksum_sha256: str
    published_at: str
    changed: bool  # False where the newest valid revision already says the same: nothing was published


class Repriced(msgspec.Struct, frozen=True, kw_only=True):
    organization_id: UUID
    catalog_revision: int


CatalogCommand = PublishCatalog | RequestsRepriced
CatalogReply = Published | Repriced | Refused
Decision = tuple[list[NewEvent], CatalogReply]  # a refusal appends nothing


def decide_catalog(
    command: CatalogCommand, state: CatalogState, organizations: Collection[UUID], now_us: int
) -> Decision:
    if isinstance(command, PublishCatalog):
        return _publish(command, state, now_us)
    if state.newest_valid is None:
        return _refused("there is no validated catalog snapshot to price by; publish one first")
    if command.organization_id not in organizations:
        return [], Refused(Reason.NOT_FOUND, f"no organization {command.organization_id}")
    if not INSTANT_MIN_US <= command.from_us < command.to_us <= INSTANT_MAX_US:
        return _refused("the range to reprice is empty, or lies before 1970 or after 9998: from must come before to")
    revision = state.newest_valid.catalog_revision
    event = msgspec.structs.replace(command, received_at_us=now_us, catalog_revision=revision)
    reply = Repriced(organization_id=command.organization_id, catalog_revision=revision)
    return [NewEvent(REPRICING_STREAM, state.repricings + 1, event)], reply


def _publish(command: PublishCatalog, state: CatalogState, now_us: int) -> Decision:
    document, newest = command.document, state.newest_valid
    if newest is not None and document.exact_lookups == newest.exact_lookups:
        return [], _shown(newest, changed=False)
    revision = document.catalog_revision or state.last_revision + 1
    fault = _revision_fault(document, revision, state) or content_fault(document.exact_lookups)
    if fault is not None:
        return _refused(fault)
    digest = checksum(revision, document.exact_lookups)
    if document.checksum_sha256 is not None and document.checksum_sha256.lower() != digest:
        return _refused(NO_FIT)
    published_us = now_us if document.published_at is None else parse_instant(document.published_at)
    snapshot = Snapshot(SCHEMA_VERSION, revision, published_us, digest, document.exact_lookups)
    event = CatalogPublished(received_at_us=now_us, source=command.source, snapshot=snapshot)
    return [NewEvent(CATALOG_STREAM, revision, event)], _shown(snapshot, changed=True)


def _revision_fault(document: CatalogDocument, revision: int, state: CatalogState) -> str | None:
    if not state.last_revision < revision <= REVISION_MAX:
        return (
            f"catalog_revision is {revision}; it must be greater than {state.last_revision}, the newest there is, "
            f"and at most {REVISION_MAX}; leave it and the checksum out to take the next"
        )
    if document.checksum_sha256 is not None and document.catalog_revision is None:
        return "checksum_sha256 covers catalog_revision, which is missing; give both or neither"
    return None


def _shown(snapshot: Snapshot, *, changed: bool) -> Published:
    return Published(snapshot.catalog_revision, snapshot.checksum_sha256, iso(snapshot.published_at_us), changed)


def _refused(message: str) -> Decision:
    return [], Refused(Reason.INVALID, message)
