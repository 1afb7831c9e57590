"""A catalog is valid or it is named what is wrong with it, and where; and what publishing and repricing decide."""

import json
from hashlib import sha256
from typing import Any
from uuid import UUID

import msgspec
import pytest
import rfc8785

from aggregates.event import NewEvent, Reason, Refused
from aggregates.ids import CATALOG_STREAM, REPRICING_STREAM
from aggregates.prices import catalog
from aggregates.prices.catalog import (
    CatalogDocument,
    CatalogPublished,
    CatalogState,
    PublishCatalog,
    Published,
    Repriced,
    RequestsRepriced,
    content_fault,
    decide_catalog,
    snapshot_fault,
)
from aggregates.times import INSTANT_MAX_US
from tests.support.catalogs import CHANGE, changing_lookup, document, list_rate, lookup, lookups, rate, snapshot
from tests.support.tables import each_of

UNKNOWN_MODEL = {"status": "unknown"}
AMBIGUOUS = {"status": "ambiguous"}
WITHOUT_PRICE = [list_rate(unpriced_reason="two vendors")]


def test_a_catalog_as_it_should_be_is_valid() -> None:
    """Prices that change, long context, an hour's cache, gaps in time, and ids that mean nothing certain."""
    gap = [list_rate(until="2026-01-01T00:00:00Z"), list_rate("2026-02-01T00:00:00Z")]
    valid = snapshot(
        changing_lookup(),
        lookup("with-a-gap", list_rates=gap),
        lookup("without-prices", list_rates=[]),
        lookup("free", list_rates=[list_rate(rate=rate(0))]),
        lookup("nobody-knows", model=UNKNOWN_MODEL, provider=UNKNOWN_MODEL, list_rates=[]),
        lookup("two-of-them", model=AMBIGUOUS, provider=AMBIGUOUS, list_rates=WITHOUT_PRICE),
        lookup("bedrock", provider={"status": "observed", "provider": "aws"}),
    )
    assert snapshot_fault(valid) is None


def _with_rate(**fields: Any) -> dict[str, Any]:
    return lookup(list_rates=[list_rate(rate=rate(**fields))])


def _with_rates(*rates: dict[str, Any]) -> dict[str, Any]:
    return lookup(list_rates=list(rates))


def _band(above: int, **fields: Any) -> dict[str, Any]:
    return {"above_input_tokens": above, **rate(**fields)}


_LOOKUP = "$[0]"
_RATE = "$[0].list_rates[0].rate"

FAULTS: list[tuple[dict[str, Any], str, str]] = [
    (lookup("a\n"), "matching regex", f"{_LOOKUP}.external_model_id"),
    (
        lookup(model={"status": "known", "display_name": "A"}),
        "a known model has canonical_model_id",
        f"{_LOOKUP}.model",
    ),
    (lookup(model=AMBIGUOUS | {"display_name": "A"}), "any other has neither", f"{_LOOKUP}.model"),
    (lookup(provider={"status": "observed"}), "provider is named where it is observed", f"{_LOOKUP}.provider"),
    (lookup(model=AMBIGUOUS), "holds a rate, but the model", _LOOKUP),
    (lookup(provider=AMBIGUOUS), "holds a rate, but the model", _LOOKUP),
    (_with_rates(list_rate(rate=None)), "give exactly one of rate and", "list_rates[0]"),
    (_with_rates(list_rate(rate=rate(), unpriced_reason="both")), "give exactly one of rate and", "list_rates[0]"),
    (_with_rates(list_rate("yesterday")), "effective_from: a time must be", "list_rates[0]"),
    (_with_rates(list_rate("1969-12-31")), "effective_from: a time must lie", "list_rates[0]"),
    (_with_rates(list_rate(until="soon")), "effective_to: a time must be", "list_rates[0]"),
    (_with_rates(list_rate(CHANGE, CHANGE)), "effective_to must come after", "list_rates[0]"),
    (_with_rates(list_rate(), list_rate(CHANGE)), f"list_rates overlap at {CHANGE}", _LOOKUP),
    (_with_rates(list_rate(until=CHANGE), list_rate("2026-03-12")), "list_rates overlap at 2026-03-12", _LOOKUP),
    (_with_rate(input=None, output=None), "neither an input nor", _RATE),
    (_with_rate(long_context=[_band(2), _band(2)]), "must be greater", _RATE),
    (_with_rate(long_context=[_band(2), _band(1)]), "must be greater", _RATE),
]


@each_of(FAULTS)
def test_a_fault_is_named_with_its_place(entry: dict[str, Any], fault: str, place: str) -> None:
    """The sentence says which member of which entry breaks which rule."""
    with pytest.raises(msgspec.ValidationError) as refused:
        lookups(entry)
    assert fault in str(refused.value)
    assert place in str(refused.value).replace("$[...]", "$[0]", 1)


def test_an_id_is_listed_once() -> None:
    fault = content_fault(lookups(lookup("a"), lookup("b"), lookup("a")))
    assert fault == "exact_lookups[2].external_model_id repeats 'a'; list each id once"


def test_what_was_never_checked_is_checked_before_it_is_published() -> None:
    """Values that this program makes itself, as from the maintained data."""
    (made,) = lookups()
    fault = content_fault((msgspec.structs.replace(made, external_model_id=""),))
    assert fault is not None
    assert "length >= 1" in fault


def test_a_catalog_lists_something_and_not_without_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty one prices nothing; one that is too large fits into no event."""
    assert "length >= 1" in (content_fault(()) or "")
    monkeypatch.setattr(catalog, "CANONICAL_BYTES_MAX", 500)
    assert "at most 500 are taken" in (content_fault(lookups(lookup("a"), lookup("b"))) or "")


@pytest.mark.parametrize(
    "fields",
    [{"catalog_revision": 2}, {"checksum_sha256": "0" * 64}, {"exact_lookups": lookups(lookup("other"))}],
)
def test_a_snapshot_is_what_its_checksum_says(fields: dict[str, Any]) -> None:
    found = snapshot_fault(msgspec.structs.replace(snapshot(), **fields))
    assert found is not None
    assert "checksum_sha256 does not fit" in found


def test_the_checksum_can_be_verified_from_the_document_alone() -> None:
    """SHA-256 over the RFC 8785 JSON of three members of what is on the wire, and nothing of ours."""
    published = snapshot(changing_lookup(), lookup("b"), revision=7)
    wire = json.loads(msgspec.json.encode(published))
    covered = {name: wire[name] for name in ("schema_version", "catalog_revision", "exact_lookups")}
    assert sha256(rfc8785.dumps(covered)).hexdigest() == published.checksum_sha256


# Given what is published, when somebody publishes or reprices, then this is logged.

NOW_US = 1_790_000_000_000_000
ACME, STRANGER = UUID(int=1), UUID(int=2)
AT_SEVEN = CatalogState(last_revision=7, newest_valid=snapshot(revision=6), repricings=3)


def publish(given: CatalogDocument, state: CatalogState = AT_SEVEN) -> tuple[list[NewEvent], Published | Refused]:
    facts, reply = decide_catalog(PublishCatalog(document=given, source="prices.json"), state, {ACME}, NOW_US)
    assert isinstance(reply, Published | Refused)
    return facts, reply


def test_the_first_catalog_is_revision_1() -> None:
    """The version in the stream is the revision; what the document leaves out is filled in."""
    [fact], reply = publish(document(), CatalogState())
    event = fact.event
    assert (fact.stream_id, fact.version) == (CATALOG_STREAM, 1)
    assert isinstance(event, CatalogPublished)
    assert snapshot_fault(event.snapshot) is None
    assert (event.source, event.snapshot.published_at_us, event.received_at_us) == ("prices.json", NOW_US, NOW_US)
    assert isinstance(reply, Published)
    assert (reply.catalog_revision, reply.changed) == (1, True)


def test_a_document_may_bring_its_own_revision_date_and_checksum() -> None:
    theirs = snapshot(lookup("new"), revision=40)
    (fact,), _ = publish(
        document(
            lookup("new"),
            catalog_revision=40,
            checksum_sha256=theirs.checksum_sha256.upper(),
            published_at="2026-09-01T02:00:00+02:00",
        )
    )
    event = fact.event
    assert fact.version == 40
    assert isinstance(event, CatalogPublished)
    assert (event.snapshot.checksum_sha256, event.snapshot.published_at_us) == (
        theirs.checksum_sha256,
        1_788_220_800_000_000,
    )


def test_the_same_prices_again_publish_nothing() -> None:
    """Whatever revision the document claims: the answer names the one that says the same."""
    for given in (document(), document(catalog_revision=3), document(published_at="2030-01-01")):
        facts, reply = publish(given)
        assert facts == []
        assert isinstance(reply, Published)
        assert (reply.catalog_revision, reply.changed) == (6, False)


def test_after_the_last_revision_there_is_none() -> None:
    facts, reply = publish(document(lookup("new")), CatalogState(last_revision=2**31 - 1))
    assert facts == []
    assert isinstance(reply, Refused)
    assert "at most 2147483647" in reply.message


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"catalog_revision": 7}, "must be greater than 7"),
    ({"checksum_sha256": "0" * 64}, "covers catalog_revision, which is missing"),
    ({"checksum_sha256": "0" * 64, "catalog_revision": 8}, "does not fit"),
    ({"exact_lookups": lookups(lookup("a"), lookup("a"))}, "exact_lookups[1].external_model_id repeats"),
    ({"exact_lookups": ()}, "length >= 1"),
]


@each_of(REFUSED)
def test_a_faulty_document_changes_nothing(fields: dict[str, Any], why: str) -> None:
    facts, reply = publish(CatalogDocument(**{"exact_lookups": lookups(lookup("new"))} | fields))
    assert facts == []
    assert isinstance(reply, Refused)
    assert reply.reason is Reason.INVALID
    assert why in reply.message


def reprice(
    from_us: int, to_us: int, organization: UUID = ACME, state: CatalogState = AT_SEVEN
) -> tuple[list[NewEvent], Repriced | Refused]:
    command = RequestsRepriced(organization_id=organization, from_us=from_us, to_us=to_us)
    facts, reply = decide_catalog(command, state, {ACME}, NOW_US)
    assert isinstance(reply, Repriced | Refused)
    return facts, reply


def test_an_order_to_reprice_names_the_newest_valid_revision() -> None:
    """It stands in a stream of its own, so that revisions have no gaps."""
    [fact], reply = reprice(5, 9)
    assert (fact.stream_id, fact.version) == (REPRICING_STREAM, 4)
    expected = RequestsRepriced(received_at_us=NOW_US, organization_id=ACME, catalog_revision=6, from_us=5, to_us=9)
    assert fact.event == expected
    assert reply == Repriced(organization_id=ACME, catalog_revision=6)


IMPOSSIBLE: list[tuple[dict[str, Any], Reason, str]] = [
    ({"from_us": 9, "to_us": 9}, Reason.INVALID, "from must come before to"),
    ({"from_us": -1, "to_us": 9}, Reason.INVALID, "from must come before to"),
    ({"from_us": 1, "to_us": INSTANT_MAX_US + 1}, Reason.INVALID, "from must come before to"),
    ({"from_us": 1, "to_us": 9, "organization": STRANGER}, Reason.NOT_FOUND, "no organization"),
    ({"from_us": 1, "to_us": 9, "state": CatalogState()}, Reason.INVALID, "no validated catalog snapshot"),
]


@each_of(IMPOSSIBLE)
def test_an_order_that_makes_no_sense_is_refused(order: dict[str, Any], reason: Reason, why: str) -> None:
    facts, reply = reprice(**order)
    assert facts == []
    assert isinstance(reply, Refused)
    assert reply.reason is reason
    assert why in reply.message
