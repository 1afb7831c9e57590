"""A catalog is valid or it is named what is wrong with it, and where."""

import json
from hashlib import sha256
from typing import Any

import msgspec
import pytest
import rfc8785

from aggregates.prices import catalog as catalog_checks
from aggregates.prices.catalog import Rate, Snapshot, checksum, content_fault, snapshot_fault
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


FAULTS: list[tuple[list[dict[str, Any]], str]] = [
    ([lookup("a"), lookup("b"), lookup("a")], "exact_lookups[2].external_model_id repeats that of exact_lookups[0]"),
    ([lookup("")], "exact_lookups[0].external_model_id must have"),
    ([lookup(" ")], "exact_lookups[0].external_model_id must have"),
    ([lookup("a" * 257)], "exact_lookups[0].external_model_id must have"),
    ([lookup("a\nb")], "exact_lookups[0].external_model_id holds a character"),
    (
        [lookup(model={"status": "known", "canonical_model_id": "", "display_name": "A"})],
        "exact_lookups[0].model.canonical_model_id must have",
    ),
    ([lookup(provider={"status": "observed", "provider": ""})], "exact_lookups[0].provider.provider must have"),
    ([lookup(model=AMBIGUOUS)], "exact_lookups[0].list_rates holds a rate, but the model"),
    ([lookup(provider=AMBIGUOUS)], "exact_lookups[0].list_rates holds a rate, but the model"),
    ([_with_rates(list_rate(rate=None))], "exact_lookups[0].list_rates[0] must hold exactly one of rate and"),
    (
        [_with_rates(list_rate(rate=rate(), unpriced_reason="both"))],
        "exact_lookups[0].list_rates[0] must hold exactly one of rate and",
    ),
    ([_with_rates(list_rate(unpriced_reason=" "))], "exact_lookups[0].list_rates[0].unpriced_reason must have"),
    ([_with_rates(list_rate("yesterday"))], "exact_lookups[0].list_rates[0]: effective_from: a time must be"),
    ([_with_rates(list_rate("1969-12-31"))], "exact_lookups[0].list_rates[0]: effective_from: a time must lie"),
    ([_with_rates(list_rate(until="soon"))], "exact_lookups[0].list_rates[0]: effective_to: a time must be"),
    ([_with_rates(list_rate(CHANGE, CHANGE))], "exact_lookups[0].list_rates[0].effective_to must come after"),
    ([_with_rates(list_rate(), list_rate(CHANGE))], "exact_lookups[0].list_rates[1] follows a time without an end"),
    (
        [_with_rates(list_rate(until=CHANGE), list_rate("2026-03-12"))],
        "exact_lookups[0].list_rates[1].effective_from lies before the end",
    ),
    ([_with_rate(input=-0.01)], "exact_lookups[0].list_rates[0].rate.input is -0.01"),
    ([_with_rate(output=float("nan"))], "exact_lookups[0].list_rates[0].rate.output is nan"),
    ([_with_rate(cache_read=float("inf"))], "exact_lookups[0].list_rates[0].rate.cache_read is inf"),
    ([_with_rate(cache_write_5m=1_000_001)], "exact_lookups[0].list_rates[0].rate.cache_write_5m is 1000001.0"),
    ([_with_rate(cache_write_1h=-1)], "exact_lookups[0].list_rates[0].rate.cache_write_1h is -1.0"),
    ([_with_rate(input=None, output=None)], "exact_lookups[0].list_rates[0].rate has neither an input nor"),
    ([_with_rate(long_context=[_band(-1)])], "rate.long_context[0].above_input_tokens is -1"),
    ([_with_rate(long_context=[_band(2), _band(2)])], "rate.long_context[1].above_input_tokens must be greater"),
    ([_with_rate(long_context=[_band(2), _band(1)])], "rate.long_context[1].above_input_tokens must be greater"),
    ([_with_rate(long_context=[_band(2, output=-1)])], "rate.long_context[0].output is -1.0"),
    ([_with_rate(long_context=[_band(above) for above in range(17)])], "rate.long_context has 17 entries"),
]


@pytest.mark.parametrize(("entries", "fault"), FAULTS)
def test_a_fault_is_named_with_its_place(entries: list[dict[str, Any]], fault: str) -> None:
    """The sentence says which member of which entry breaks which rule."""
    found = content_fault(lookups(*entries))
    assert found is not None
    assert fault in found


def test_a_catalog_lists_something_and_not_without_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty one prices nothing; one that is too large fits into no event."""
    assert content_fault(()) == "exact_lookups has 0 entries; there must be 1 to 20000"
    monkeypatch.setattr(catalog_checks, "CANONICAL_BYTES_MAX", 500)
    assert "at most 500 are taken" in (content_fault(lookups(lookup("a"), lookup("b"))) or "")
    monkeypatch.setattr(catalog_checks, "LOOKUPS_MAX", 1)
    assert "there must be 1 to 1" in (content_fault(lookups(lookup("a"), lookup("b"))) or "")


SNAPSHOT_FAULTS = [
    ({"schema_version": 2}, "schema_version is 2"),
    ({"catalog_revision": 0}, "catalog_revision is 0"),
    ({"catalog_revision": 2**31}, "catalog_revision is 2147483648"),
    ({"catalog_revision": 2}, "checksum_sha256 does not fit"),
    ({"published_at_us": -1}, "published_at must lie"),
    ({"checksum_sha256": "0" * 64}, "checksum_sha256 does not fit"),
    ({"exact_lookups": lookups(lookup("other"))}, "checksum_sha256 does not fit"),
]


@pytest.mark.parametrize(("fields", "fault"), SNAPSHOT_FAULTS)
def test_a_snapshot_is_what_its_checksum_says(fields: dict[str, Any], fault: str) -> None:
    """Whatever was changed after publication is noticed."""
    found = snapshot_fault(msgspec.structs.replace(snapshot(), **fields))
    assert found is not None
    assert fault in found


def test_the_checksum_can_be_verified_from_the_document_alone() -> None:
    """SHA-256 over the RFC 8785 JSON of three members of what is on the wire, and nothing of ours."""
    published = snapshot(changing_lookup(), lookup("b"), revision=7)
    wire = json.loads(msgspec.json.encode(published))
    covered = {name: wire[name] for name in ("schema_version", "catalog_revision", "exact_lookups")}
    assert sha256(rfc8785.dumps(covered)).hexdigest() == published.checksum_sha256


def test_whole_numbers_and_fractions_that_are_equal_have_one_checksum() -> None:
    """`3` and `3.0` are the same JSON number."""
    assert checksum(1, 1, lookups(_with_rate(input=3))) == checksum(1, 1, lookups(_with_rate(input=3.0)))


def test_rates_that_were_left_out_are_an_error_of_form() -> None:
    """`cache_read` may be null, which says that there is no rate; leaving it out says nothing."""
    with pytest.raises(msgspec.ValidationError, match="missing required field `cache_read`"):
        msgspec.json.decode(b'{"input": 1, "output": 2, "cache_write_5m": null}', type=Rate)


def test_a_snapshot_survives_the_log() -> None:
    """msgpack keeps every member, the ones left out too."""
    published = snapshot(changing_lookup(), lookup("none", model=UNKNOWN_MODEL, provider=AMBIGUOUS, list_rates=[]))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(published), type=Snapshot) == published
