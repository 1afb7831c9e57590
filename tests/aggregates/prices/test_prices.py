"""What a request costs by a catalog: bands, times, classes of tokens, and what has no price."""

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.prices.prices import Price, PriceBook, Unpriced, price_book
from aggregates.times import parse_instant
from tests.support.catalogs import CHANGE, changing_lookup, list_rate, lookup, rate, snapshot

BEFORE_US, AFTER_US = parse_instant(CHANGE) - 1, parse_instant(CHANGE)
UNDETERMINED: dict[str, Any] = {"model": {"status": "ambiguous"}, "list_rates": []}
GAP = [list_rate("2026-01-01", CHANGE), list_rate("2026-04-01", unpriced_reason="withdrawn")]
BOOK = PriceBook(
    snapshot(
        changing_lookup(),
        lookup("one-write", list_rates=[list_rate(rate=rate(1))]),
        lookup("same-writes", list_rates=[list_rate(rate=rate(1, cache_write_1h=1.25))]),
        lookup("no-cache", list_rates=[list_rate(rate=rate(1, cache_read=None, cache_write_5m=None))]),
        lookup("input-only", list_rates=[list_rate(rate=rate(1, output=None))]),
        lookup("tiny", list_rates=[list_rate(rate=rate(0.0005))]),
        lookup("free", list_rates=[list_rate(rate=rate(0))]),
        lookup("gap", list_rates=GAP),
        lookup("nothing", list_rates=[]),
        lookup("ambiguous", **UNDETERMINED),
        lookup("unknown", model={"status": "unknown"}, list_rates=[]),
        lookup("two-vendors", provider={"status": "ambiguous"}, list_rates=[]),
        lookup("no-vendor", provider={"status": "unknown"}, list_rates=[]),
        revision=5,
    )
)
MILLION = 1_000_000
DOLLAR = 10**9
"""In nano-dollars."""


def price(model: str = "claude-test-4", at_us: int = AFTER_US, **tokens: int | None) -> Price | Unpriced:
    """Of these classes of tokens; input and output are observed, unless they are given as None."""
    usage: dict[str, int | None] = {"input_tokens": 0, "output_tokens": 0, **tokens}
    return BOOK.price(model, at_us, **usage)


COSTS: list[tuple[dict[str, Any], int, str]] = [
    ({"input_tokens": MILLION}, 2 * DOLLAR, "estimate"),
    ({"output_tokens": MILLION}, 10 * DOLLAR, "estimate"),
    ({"cache_read_tokens": MILLION}, 200_000_000, "estimate"),
    ({"cache_write_tokens": MILLION, "cache_write_1h_tokens": 0}, 2_500_000_000, "estimate"),
    ({"cache_write_tokens": MILLION, "cache_write_1h_tokens": MILLION}, 4 * DOLLAR, "estimate"),
    ({"cache_write_tokens": MILLION, "cache_write_1h_tokens": 400_000}, 3_100_000_000, "estimate"),
    ({"cache_write_1h_tokens": MILLION}, 4 * DOLLAR, "estimate"),
    ({"cache_write_tokens": MILLION}, 2_500_000_000, "lower_bound"),
    ({"cache_write_tokens": 0}, 0, "estimate"),
    ({"input_tokens": 1, "output_tokens": 1}, 12_000, "estimate"),
    ({"input_tokens": None, "output_tokens": MILLION}, 10 * DOLLAR, "lower_bound"),
    ({"input_tokens": MILLION, "output_tokens": None}, 2 * DOLLAR, "lower_bound"),
    # Where the model knows one kind of write, or both cost the same, nothing is unknown about the price.
    ({"model": "one-write", "cache_write_tokens": MILLION}, 1_250_000_000, "estimate"),
    ({"model": "same-writes", "cache_write_tokens": MILLION}, 1_250_000_000, "estimate"),
    # One day earlier, and around the length at which the whole request moves band.
    ({"at_us": BEFORE_US, "input_tokens": 200_000}, 600_000_000, "estimate"),
    ({"at_us": BEFORE_US, "input_tokens": 200_001}, 1_200_006_000, "estimate"),
    ({"at_us": BEFORE_US, "input_tokens": 1, "cache_read_tokens": 199_999}, 60_002_700, "estimate"),
    ({"at_us": BEFORE_US, "input_tokens": 1, "cache_read_tokens": 200_000}, 120_006_000, "estimate"),
    ({"at_us": BEFORE_US, "cache_write_tokens": 200_001, "cache_write_1h_tokens": 200_001}, 2_400_012_000, "estimate"),
    ({"at_us": BEFORE_US, "input_tokens": 200_001, "output_tokens": 1}, 1_200_036_000, "estimate"),
    ({"at_us": BEFORE_US, "output_tokens": 300_000}, 4_500_000_000, "estimate"),
    ({"at_us": AFTER_US, "input_tokens": 200_001}, 400_002_000, "estimate"),
    # Half a nano-dollar goes to the even one; a list price of nothing is a price.
    ({"model": "tiny", "input_tokens": 1}, 0, "estimate"),
    ({"model": "tiny", "input_tokens": 3}, 2, "estimate"),
    ({"model": "free", "input_tokens": MILLION}, 0, "estimate"),
    ({"model": "input-only", "input_tokens": MILLION}, DOLLAR, "estimate"),
]


@pytest.mark.parametrize(("usage", "nano", "kind"), COSTS)
def test_a_request_costs(usage: dict[str, Any], nano: int, kind: str) -> None:
    """In nano-dollars, stamped with the revision and with how sure it is."""
    assert price(**usage) == Price(nano, f"catalog_{kind}", 5)  # type: ignore[arg-type]


REASONS: list[tuple[dict[str, Any], str]] = [
    ({"model": "claude-test-5", "input_tokens": 1}, "unknown_model"),
    ({"model": "unknown", "input_tokens": 1}, "unknown_model"),
    ({"model": "ambiguous", "input_tokens": 1}, "ambiguous_model"),
    ({"model": "two-vendors", "input_tokens": 1}, "ambiguous_provider"),
    ({"model": "no-vendor", "input_tokens": 1}, "unknown_provider"),
    ({"model": "nothing", "input_tokens": 1}, "no_list_price"),
    ({"model": "gap", "at_us": parse_instant("2025-12-31"), "input_tokens": 1}, "no_list_price_at_that_time"),
    ({"model": "gap", "at_us": AFTER_US, "input_tokens": 1}, "no_list_price_at_that_time"),
    ({"model": "gap", "at_us": parse_instant("2026-04-01"), "input_tokens": 1}, "withdrawn"),
    ({"model": "no-cache", "input_tokens": 1, "cache_read_tokens": 1}, "no_cache_read_rate"),
    ({"model": "no-cache", "input_tokens": 1, "cache_write_tokens": 1}, "no_cache_write_5m_rate"),
    ({"model": "one-write", "cache_write_tokens": 1, "cache_write_1h_tokens": 1}, "no_cache_write_1h_rate"),
    ({"model": "input-only", "output_tokens": 1}, "no_output_rate"),
    ({"input_tokens": None, "output_tokens": None, "cache_read_tokens": 9}, "no_tokens_observed"),
    ({"input_tokens": -1}, "inconsistent_token_counts"),
    ({"cache_write_tokens": 1, "cache_write_1h_tokens": 2}, "inconsistent_token_counts"),
    ({"output_tokens": 2**63}, "implausible_token_count"),
]


@pytest.mark.parametrize(("usage", "reason"), REASONS)
def test_a_request_without_a_price_says_why(usage: dict[str, Any], reason: str) -> None:
    """And never costs 0 for want of a price."""
    assert price(**usage) == Unpriced(reason)


def test_a_class_without_a_rate_matters_only_where_it_is_used() -> None:
    """A model without a cache has a price for requests that use none."""
    assert isinstance(price("no-cache", input_tokens=1, cache_read_tokens=0, cache_write_tokens=0), Price)


TOKENS = st.one_of(st.none(), st.integers(0, 10**7))


@given(TOKENS, TOKENS, TOKENS, TOKENS, st.data())
def test_an_exact_sum_is_rounded_once(
    put_in: int | None, put_out: int | None, read: int | None, writes: int | None, data: st.DataObject
) -> None:
    """Against decimal arithmetic over the published numbers, whatever the mixture."""
    hour = data.draw(st.one_of(st.none(), st.integers(0, writes or 0)))
    rates = [Decimal(data.draw(st.integers(0, 10**6))) / 10**5 for _ in range(5)]
    names = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
    fields = {name: float(value) for name, value in zip(names, rates, strict=True)}
    book = PriceBook(snapshot(lookup("m", list_rates=[list_rate(rate=fields)])))
    found = book.price(
        "m",
        0,
        input_tokens=put_in,
        output_tokens=put_out,
        cache_read_tokens=read,
        cache_write_tokens=writes,
        cache_write_1h_tokens=hour,
    )
    if put_in is None and put_out is None:
        assert found == Unpriced("no_tokens_observed")
        return
    short = (writes or 0) - (hour or 0)
    counts = (put_in or 0, put_out or 0, read or 0, short, hour or 0)
    exact = sum((count * value * 1000 for count, value in zip(counts, rates, strict=True)), Decimal())
    assert isinstance(found, Price)
    assert found.cost_usd_nano == int(exact.to_integral_value())


def test_an_invalid_snapshot_prices_nothing() -> None:
    """Whoever projects it keeps the book before it; a valid one is built once."""
    valid = snapshot()
    assert price_book(msgspec.structs.replace(valid, checksum_sha256="0" * 64)) is None
    assert price_book(valid) is price_book(snapshot())
