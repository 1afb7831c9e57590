"""What accounts of requests say: kinds that do not overlap, and what is billed beside them."""

from typing import Any

from hypothesis import given, strategies as st

from aggregates.telemetry.draft import beside, cache_writes, inside, terms
from aggregates.telemetry.otlp import count, rounded, usd_nano
from tests.support.tables import table

COUNTS = st.integers(0, 10**6)
KINDS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


@given(COUNTS, COUNTS, COUNTS, COUNTS, st.sampled_from(["whole", "fresh too", "no writes"]))
def test_kinds_add_up_to_the_whole_input(fresh: int, read: int, written: int, output: int, told: str) -> None:
    """Whichever of the counts the agent tells."""
    whole = fresh + read + written
    found = inside(whole, read, None if told == "no writes" else written, output, None if told == "whole" else fresh)
    assert sum(found[kind] or 0 for kind in KINDS if kind != "output_tokens") == whole
    assert (found["input_tokens"], found["output_tokens"]) == (fresh, output)


@table(
    ("counts", "found"),
    {
        "nothing was told": ((None, None, None, None), (None, None, None, None)),
        "no cache": ((100, None, None, 5), (100, 5, None, None)),
        "more read than there was": ((100, 120, None, 5), (None, 5, 120, None)),
        "more read and written than there was": ((100, 80, 40, 5), (None, 5, 80, 40)),
        "fresh input alone": ((None, 80, 40, 5, 7), (7, 5, 80, 40)),
    },
)
def test_what_contradicts_is_unknown(counts: tuple[Any, ...], found: tuple[int | None, ...]) -> None:
    assert tuple(inside(*counts).values()) == found


SPANS = {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 4}
ALL = "speed=fast service_tier=batch inference_geo=us"
MAIN = {"input_tokens": 100, "output_tokens": 50, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
HALF = {"type": "message", "input_tokens": 60, "output_tokens": 25}
ADVISED = {"type": "advisor_message", "model": "opus", "input_tokens": 2_000, "output_tokens": 800}


OTHER = HALF | {"type": "fallback_message"}
DONE = ("sonnet", 100, 50)
SHORT = {"cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_5m_input_tokens": 9}}


@table(
    ("iterations", "found"),
    {
        "none": (None, [DONE]),
        "no list": ("x", [DONE]),
        "an advisor": ([HALF, ADVISED, HALF], [("sonnet", 120, 50), ("opus", 2_000, 800)]),
        "a compaction": ([HALF | {"type": "compaction"}, HALF], [DONE, ("sonnet", 60, 25)]),
        "who declined after some words": ([HALF | {"model": "opus"}, OTHER], [DONE, ("opus", 60, 25)]),
        "who declined without a word": ([HALF | {"model": "opus", "output_tokens": 0}, OTHER], [DONE]),
        "who declined is not named": ([HALF, OTHER], [DONE, (None, 60, 25)]),
        "who declined in a chain": ([OTHER | {"model": "opus"}, OTHER], [DONE, ("opus", 60, 25)]),
        "odd ones": ([5, None, {}], [DONE]),
    },
)
def test_passes_that_the_sums_leave_out(iterations: object, found: list[tuple[Any, ...]]) -> None:
    billed = beside(MAIN | {"iterations": iterations}, "sonnet")
    assert [(each["model"], each["input_tokens"], each["output_tokens"]) for each in billed] == found


@table(
    ("told", "counts"),
    {
        "of both durations": ({"cache_creation_input_tokens": 9, "cache_creation": SPANS}, (9, 4, None)),
        "by their durations alone": ({"cache_creation": SPANS}, (9, 4, None)),
        "short ones": (SHORT, (9, 0, None)),
        "searches": ({"server_tool_use": {"web_search_requests": 3}}, (None, None, 3)),
        "nulls": ({"cache_creation": None, "server_tool_use": None}, (None, None, None)),
        "a negative count": ({"cache_creation_input_tokens": -9}, (None, None, None)),
    },
)
def test_writes_and_searches(told: dict[str, Any], counts: tuple[int | None, ...]) -> None:
    (found,) = beside(told, "sonnet")
    assert (found["cache_write_tokens"], found["cache_write_1h_tokens"], found["web_searches"]) == counts


@table(
    ("told", "found"),
    {
        "all as usual": ({"speed": "standard", "service_tier": "default", "inference_geo": "not_available"}, None),
        "all": ({"inference_geo": "US", "service_tier": "batch", "speed": "fast"}, ALL),
        "no words": ({"speed": 5, "service_tier": None, "inference_geo": {}}, None),
        "two words": ({"service_tier": "very fast"}, "service_tier=very_fast"),
    },
)
def test_terms_that_are_not_usual(told: dict[str, Any], found: str | None) -> None:
    assert terms(told) == found


@table("told", {"two": (None, 5, 4), "all and the long": (9, None, 4), "all and the short": (9, 5, None)})
def test_what_a_count_of_writes_lacks_follows_from_the_others(told: tuple[int | None, int | None, int | None]) -> None:
    assert tuple(cache_writes(*told).values()) == (9, 4)


def test_terms_hold_for_passes_and_speed_for_the_model_that_was_asked() -> None:
    told = MAIN | {"speed": "fast", "inference_geo": "us", "iterations": [ADVISED, ADVISED | {"model": "sonnet"}]}
    found = [each["terms"] for each in beside(told, "sonnet")]
    assert found == ["speed=fast inference_geo=us", "inference_geo=us", "speed=fast inference_geo=us"]


@table(
    ("told", "found"),
    {
        "an amount": (2, (2, 2, 2_000_000_000)),
        "with a fraction": (2.5, (None, 2, 2_500_000_000)),
        "nothing is less": (-1, (None, None, None)),
        "beyond reason": (10**13, (None, None, None)),
        "no number": ("NaN", (None, None, None)),
    },
)
def test_an_amount_below_nothing_or_beyond_reason_is_unknown(told: Any, found: tuple[int | None, ...]) -> None:
    """Tokens, milliseconds, nano-dollars."""
    assert (count({"a": told}, "a"), rounded({"a": told}, "a"), usd_nano({"a": told}, "a")) == found
