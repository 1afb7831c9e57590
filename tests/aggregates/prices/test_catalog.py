"""A catalog is valid or it is named what is wrong with it, and where."""

import json
from hashlib import sha256
from typing import Any

import msgspec
import pytest
import rfc8785

from aggregates.prices import catalog
from aggregates.prices.catalog import content_fault, snapshot_fault
from tests.support.catalogs import CHANGE, changing_lookup, list_rate, lookup, lookups, rate, snapshot

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
    (lookup(""), "Expected `str` of length >= 1", f"{_LOOKUP}.external_model_id"),
    (lookup("a" * 256), "", ""),
    (lookup("a" * 257), "Expected `str` of length <= 256", f"{_LOOKUP}.external_model_id"),
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
    (_with_rates(list_rate(unpriced_reason="a" * 201)), "length <= 200", "list_rates[0].unpriced_reason"),
    (_with_rates(list_rate("yesterday")), "effective_from: a time must be", "list_rates[0]"),
    (_with_rates(list_rate("1969-12-31")), "effective_from: a time must lie", "list_rates[0]"),
    (_with_rates(list_rate(until="soon")), "effective_to: a time must be", "list_rates[0]"),
    (_with_rates(list_rate(CHANGE, CHANGE)), "effective_to must come after", "list_rates[0]"),
    (_with_rates(list_rate(), list_rate(CHANGE)), f"list_rates overlap at {CHANGE}", _LOOKUP),
    (_with_rates(list_rate(until=CHANGE), list_rate("2026-03-12")), "list_rates overlap at 2026-03-12", _LOOKUP),
    (_with_rates(*[list_rate(rate=rate())] * 201), "length <= 200", "list_rates"),
    (_with_rate(input=-0.01), "Expected `float` >= 0", f"{_RATE}.input"),
    (_with_rate(cache_write_5m=1_000_001), "Expected `float` <= 1000000", f"{_RATE}.cache_write_5m"),
    (_with_rate(input=None, output=None), "neither an input nor", _RATE),
    (_with_rate(long_context=[_band(-1)]), "Expected `int` >= 0", f"{_RATE}.long_context[0].above_input_tokens"),
    (_with_rate(long_context=[_band(2), _band(2)]), "must be greater", _RATE),
    (_with_rate(long_context=[_band(2), _band(1)]), "must be greater", _RATE),
    (_with_rate(long_context=[_band(above) for above in range(17)]), "length <= 16", f"{_RATE}.long_context"),
]


@pytest.mark.parametrize(("entry", "fault", "place"), FAULTS)
def test_a_fault_is_named_with_its_place(entry: dict[str, Any], fault: str, place: str) -> None:
    """The sentence says which member of which entry breaks which rule."""
    if not fault:
        assert content_fault(lookups(entry)) is None
        return
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
