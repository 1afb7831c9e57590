"""A catalog is valid or it is named what is wrong with it, and where."""

import json
from hashlib import sha256
from math import inf, nan, nextafter
from typing import Any

import msgspec
import pytest
import rfc8785

from aggregates.prices.catalog import (
    ExactLookup,
    Rate,
    Snapshot,
    canonical_lookups,
    checksum,
    content_fault,
    snapshot_fault,
)
from aggregates.times import INSTANT_MAX_US
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
    ([_with_rate(long_context=[_band(2**53)])], "rate.long_context[0].above_input_tokens is 9007199254740992"),
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


# --- both sides of each bound ---------------------------------------------------------------------------------


def _named(model_id: str, name: str) -> dict[str, Any]:
    """An entry of a model of that id and that name."""
    return lookup(model={"status": "known", "canonical_model_id": model_id, "display_name": name})


def _times(*bounds: tuple[str, str | None]) -> dict[str, Any]:
    """An entry with a price for each of these times."""
    return lookup(list_rates=[list_rate(since, until) for since, until in bounds])


def _bands(*above: int) -> dict[str, Any]:
    """An entry with rates for inputs above these lengths."""
    return _with_rate(long_context=[_band(each) for each in above])


def _years(count: int) -> dict[str, Any]:
    """An entry whose price changed each year."""
    return _times(*((f"{1970 + year}-01-01", f"{1971 + year}-01-01") for year in range(count)))


@pytest.mark.parametrize(
    ("entry", "valid"),
    [
        pytest.param(_named("m", "a" * 256), True, id="a text of 256 characters"),
        pytest.param(_named("m", "a" * 257), False, id="a text of 257"),
        pytest.param(_named("m", "a"), True, id="a text of one character"),
        pytest.param(_named("m", ""), False, id="an empty text"),
        pytest.param(_named("m", " "), False, id="a blank text"),
        pytest.param(_named("m", "a\n"), False, id="a text that cannot be shown"),
        pytest.param(lookup("a" * 257), False, id="an id of 257 characters"),
        pytest.param(lookup(provider={"status": "observed", "provider": ""}), False, id="a provider without a name"),
        pytest.param(
            lookup(model={"status": "known", "canonical_model_id": "", "display_name": "A"}),
            False,
            id="a model without",
        ),
        pytest.param(lookup(list_rates=[list_rate(unpriced_reason="a" * 200)]), True, id="a reason of 200 characters"),
        pytest.param(lookup(list_rates=[list_rate(unpriced_reason="a" * 201)]), False, id="a reason of 201"),
        pytest.param(lookup(list_rates=[list_rate(rate=None)]), False, id="neither a rate nor a reason"),
        pytest.param(lookup(list_rates=[list_rate(rate=rate(), unpriced_reason="a")]), False, id="both of them"),
        pytest.param(lookup(model=AMBIGUOUS), False, id="a rate of an uncertain model"),
        pytest.param(lookup(provider=AMBIGUOUS), False, id="a rate of an uncertain provider"),
        pytest.param(
            lookup(model=AMBIGUOUS, list_rates=[list_rate(unpriced_reason="a")]),
            True,
            id="a reason of an uncertain model",
        ),
        pytest.param(_years(200), True, id="200 price changes"),
        pytest.param(_years(201), False, id="201 price changes"),
        pytest.param(_bands(*range(16)), True, id="16 lengths"),
        pytest.param(_bands(*range(17)), False, id="17 lengths"),
        pytest.param(_bands(0), True, id="a length of nothing"),
        pytest.param(_bands(-1), False, id="a length below nothing"),
        pytest.param(_bands(2**53 - 1), True, id="the greatest length"),
        pytest.param(_bands(2**53), False, id="a length beyond it"),
        pytest.param(_bands(1, 2), True, id="lengths in order"),
        pytest.param(_bands(1, 1), False, id="a length twice"),
        pytest.param(_with_rate(input=0), True, id="a rate of nothing"),
        pytest.param(_with_rate(input=-0.01), False, id="a rate below nothing"),
        pytest.param(_with_rate(output=1_000_000), True, id="a dollar a token"),
        pytest.param(_with_rate(output=nextafter(1_000_000, inf)), False, id="over a dollar a token"),
        pytest.param(_with_rate(cache_read=nan), False, id="no number"),
        pytest.param(_with_rate(cache_write_5m=inf), False, id="no end"),
        pytest.param(_with_rate(cache_write_1h=-1), False, id="an hour's writes below nothing"),
        pytest.param(_with_rate(input=None), True, id="no rate for input"),
        pytest.param(_with_rate(output=None), True, id="no rate for output"),
        pytest.param(_with_rate(input=None, output=None), False, id="no rate for either"),
        pytest.param(_times(("1970-01-01", "1970-01-01T00:00:00.000001Z")), True, id="a price for a moment"),
        pytest.param(_times((CHANGE, CHANGE)), False, id="a price for no time"),
        pytest.param(_times(("1970-01-01", CHANGE), (CHANGE, None)), True, id="prices that meet"),
        pytest.param(
            _times(("1970-01-01", CHANGE), ("2026-03-12T23:59:59.999999Z", None)), False, id="prices that overlap"
        ),
        pytest.param(_times(("1970-01-01", None), (CHANGE, None)), False, id="a price after one without an end"),
        pytest.param(_times(("1969-12-31", None)), False, id="a price before 1970"),
        pytest.param(_times(("1970-01-01", "soon")), False, id="an end that is no time"),
    ],
)
def test_which_entries_are_valid(entry: dict[str, Any], valid: bool) -> None:
    """On both sides of each bound."""
    assert (content_fault(lookups(entry)) is None) is valid


@pytest.mark.parametrize(
    ("fields", "valid"),
    [
        pytest.param({"revision": 0}, False, id="revision 0"),
        pytest.param({"revision": 1}, True, id="revision 1"),
        pytest.param({"revision": 2**31 - 1}, True, id="the greatest revision"),
        pytest.param({"revision": 2**31}, False, id="a revision beyond it"),
        pytest.param({"published_at_us": -1}, False, id="published before 1970"),
        pytest.param({"published_at_us": 0}, True, id="published in the first moment of 1970"),
        pytest.param({"published_at_us": INSTANT_MAX_US - 1}, True, id="published in the last moment of 9998"),
        pytest.param({"published_at_us": INSTANT_MAX_US}, False, id="published after 9998"),
    ],
)
def test_which_snapshots_are_valid(fields: dict[str, int], valid: bool) -> None:
    """On both sides of each bound."""
    assert (snapshot_fault(snapshot(**fields)) is None) is valid


def test_a_snapshot_of_entries_that_are_not_valid_is_not_valid() -> None:
    """Though its checksum fits."""
    assert "rate.input is -1.0" in (snapshot_fault(snapshot(_with_rate(input=-1))) or "")


@pytest.mark.parametrize(
    ("count", "fault"),
    [
        pytest.param(0, "exact_lookups has 0 entries", id="none is too few"),
        pytest.param(20_000, "repeats that of exact_lookups[0]", id="20,000 are looked at"),
        pytest.param(20_001, "exact_lookups has 20001 entries", id="20,001 are not"),
    ],
)
def test_how_many_entries_a_catalog_has(count: int, fault: str) -> None:
    """They are all the same, so that those that are looked at are not valid."""
    assert fault in (content_fault(lookups() * count) or "")


def catalog_of(size_bytes: int) -> tuple[ExactLookup, ...]:
    """A catalog whose lookups take so many bytes: as few entries as possible, and a small one for the rest."""
    wide = "😀" * 251
    each: dict[str, Any] = {"list_rates": [], "provider": {"status": "observed", "provider": wide}}
    large = [_named(wide, wide) | each | {"external_model_id": f"{number:04}{wide}"} for number in range(1004)]
    rest = size_bytes - len(canonical_lookups(lookups(*large, _named("a", "a"))))
    return lookups(*large, _named("a" * (1 + rest // 2), "a" * (1 + rest - rest // 2)))


@pytest.mark.parametrize(
    ("size_bytes", "fault"),
    [
        pytest.param(4 * 1024 * 1024, None, id="4 MiB are valid"),
        pytest.param(
            4 * 1024 * 1024 + 1,
            "exact_lookups takes 4194305 bytes; at most 4194304 are taken",
            id="a byte more is not",
        ),
    ],
)
def test_how_large_a_catalog_is(size_bytes: int, fault: str | None) -> None:
    """As canonical JSON."""
    assert content_fault(catalog_of(size_bytes)) == fault
