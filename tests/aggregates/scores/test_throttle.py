"""The throttle detectors: what fires, for how long, what helps, and no moment twice (scoring.md, section 7)."""

import re
from itertools import pairwise
from typing import Any

from hypothesis import given, settings, strategies as st

from aggregates.scores.throttle import (
    ApiRequest,
    Claims,
    Detector,
    Priority,
    ThrottleEvent,
    Timing,
    Wait,
    merged,
    recommendations,
    throttle_events,
    wait_after,
)
from tests.support.tables import beside, each_of, table

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE
NOON = 12 * 60 * MINUTE


def asked(at_s: float, status: int | None = None, **fields: Any) -> ApiRequest:
    """A request that was answered or failed so many seconds after noon; it failed where it has a status."""
    at_us = NOON + round(at_s * SECOND)
    usual: dict[str, Any] = {
        "at_us": at_us,
        "record_id": f"r{at_s}{fields.get('session_id', '')}",
        "session_id": "s1",
        "turn": "t1",
        "model": "opus",
        "failed": status is not None,
        "status_code": status,
        "retry_after_ms": None,
        "duration_ms": None,
    }
    return ApiRequest(**(usual | fields))


def failed(status: int, *at_s: float) -> list[ApiRequest]:
    return [asked(at, status) for at in at_s]


WORD = re.compile(r"(\d*|\?)@([\d.]+)(?:/(\w+))?(?::(-|\w+))?(?:\+(\d+))?(?:~(\d+))?(\*?)")


def requests_of(told: str) -> list[ApiRequest]:
    """A status, if it failed, `@` how many seconds after noon, `/` its session, `:` its turn, `*` without a model; and
    in milliseconds `+` the wait that was named and `~` how long it took."""
    found = []
    for status, at, session, turn, wait, took, unnamed in WORD.findall(told):
        fields: dict[str, Any] = {"session_id": session or "s1", "turn": None if turn == "-" else turn or "t1"}
        fields |= {"retry_after_ms": int(wait or 0) or None, "duration_ms": int(took or 0) or None}
        fields |= {"failed": bool(status), "model": None if unnamed else "opus"}
        found.append(asked(float(at), int(status) if status.isdigit() else None, **fields))
    return found


def found(events: list[ThrottleEvent]) -> list[tuple[Detector, float]]:
    return [(event.detector, event.delay_us / SECOND) for event in events]


def costs(events: list[ThrottleEvent]) -> str:
    return ", ".join(f"{detector} {delay_s:g}" for detector, delay_s in found(events))


MICRO = 1e-6  # A microsecond, in seconds


@beside()
def test_what_fires_and_what_it_costs(told: str, expected: str) -> None:
    """Of one developer's requests."""
    requests = requests_of(told)
    assert costs(throttle_events(requests)) == costs(throttle_events(reversed(requests))) == expected


@each_of([(499, False), (500, True), (529, True), (599, True), (600, False)])
def test_which_status_says_that_the_provider_failed(status: int, expected: bool) -> None:
    assert asked(0, status).is_server_error is expected
    assert not asked(0, status, failed=False).is_server_error
    assert not asked(0, None, failed=True).is_server_error


FAILURES = failed(529, *range(0, 301, 60))


@beside()
def test_outages(told: str, elsewhere_s: list[float], expected: str) -> None:
    """Failures by the provider's fault that two developers saw, or one for over five minutes."""
    elsewhere_us = [NOON + round(second * SECOND) for second in elsewhere_s]
    assert costs(throttle_events(requests_of(told), elsewhere_us=reversed(elsewhere_us))) == expected


@table(
    ("answered_s", "confidence"),
    {
        "all failed": ([], 1.0),
        "one of eight was answered": ([150], 7 / 8),
        "those before and after it do not count": ([-1, 150, 301.5], 7 / 8),
    },
)
def test_how_sure_an_outage_is(answered_s: list[float], confidence: float) -> None:
    """The share of the developer's requests during it that failed."""
    (outage,) = throttle_events([*FAILURES, asked(301, 503), *(asked(at) for at in answered_s)])
    assert outage.confidence == confidence


def test_an_outage_says_what_was_seen_and_nothing_of_others() -> None:
    (outage,) = throttle_events([asked(10, 500), asked(60)], elsewhere_us=[NOON, NOON + 20 * SECOND])
    assert outage.details == "1 request failed within 0.0 s (500 x 1); others in the organization saw it, too."
    assert (outage.at_us, outage.outage_us, outage.session_id) == (NOON + 10 * SECOND, NOON, "s1")
    (lasting,) = throttle_events([*FAILURES, asked(301, 503)])
    assert lasting.details == "7 requests failed within 301.0 s (503 x 1, 529 x 6); it lasted over 5 minutes."
    assert (lasting.at_us, lasting.outage_us) == (NOON, NOON)


@beside()
def test_an_event_says_what_was_seen(told: str, details: str) -> None:
    """One sentence; its time and its session are those of the first request; only an outage has a confidence."""
    (event,) = throttle_events(requests_of(told))
    assert (event.details, event.at_us, event.session_id) == (details, NOON, "s1")
    assert (event.confidence, event.outage_us) == (None, None)


@beside()
def test_who_comes_first_takes_the_time(told: str, elsewhere_s: list[float], expected: str) -> None:
    elsewhere_us = [NOON + round(second * SECOND) for second in elsewhere_s]
    assert costs(throttle_events(requests_of(told), elsewhere_us=elsewhere_us)) == expected


def timings(
    count: int, duration_ms: int = 4000, until_us: int = NOON - DAY, model: str = "opus", output: int | None = 100
) -> list[Timing]:
    """So many requests of that duration, the last of them at that time."""
    return [Timing(until_us - number, model, duration_ms, output) for number in range(count)]


@table(
    ("duration_ms", "usual", "expected"),
    {
        "over three times the median": (12_001, timings(20), [("latency_spike", 8.001)]),
        "three times the median is not over it": (12_000, timings(20), []),
        "over ten seconds": (10_001, timings(20, 1000), [("latency_spike", 9.001)]),
        "twenty requests tell what is usual": (60_000, timings(20), [("latency_spike", 56)]),
        "up to 28 days old": (60_000, timings(20, until_us=NOON - 28 * DAY + 19), [("latency_spike", 56)]),
        "one is older than 28 days": (60_000, timings(20, until_us=NOON - 28 * DAY + 18), []),
        "another model tells nothing": (60_000, [*timings(19), *timings(9, model="haiku")], []),
        "the median lies between two": (16_000, [*timings(10, 4000), *timings(10, 6000)], [("latency_spike", 11)]),
    },
)
def test_latency_spikes(duration_ms: int, usual: list[Timing], expected: list[tuple[Detector, float]]) -> None:
    """Over three times the usual and over ten seconds; the excess is what was lost."""
    assert found(throttle_events([asked(0, duration_ms=duration_ms, output_tokens=100)], usual)) == expected


@table(
    ("output_tokens", "usual", "lost"),
    {
        "as many tokens as usual": (100, timings(20), 56),
        "ten times as many: they take ten times as long": (1_000, timings(20), 20),
        "fewer take no less than an answer usually takes": (1, timings(20), 56),
        "so many that it was no slower than usual": (2_000, timings(20), 0),
        "how many it gave is not known": (None, timings(20), 0),
        "how many others gave is known of too few": (100, [*timings(19), *timings(1, output=None)], 0),
    },
)
def test_a_slow_answer_lost_what_its_tokens_do_not_explain(
    output_tokens: int | None, usual: list[Timing], lost: float
) -> None:
    events = throttle_events([asked(0, duration_ms=60_000, output_tokens=output_tokens)], usual)
    assert found(events) == [("latency_spike", lost)]


@table(
    "fields",
    {
        "a failed request": {"failed": True},
        "one of a model that is new": {"model": "haiku"},
        "one whose duration was not seen": {"duration_ms": None},
    },
)
def test_what_is_no_spike(fields: dict[str, Any]) -> None:
    assert throttle_events([asked(0, **({"duration_ms": 60_000} | fields))], timings(20)) == []


def test_what_is_usual_is_told_by_the_last_hundred() -> None:
    """The hundred and first does not count."""
    old, new = timings(51, 100_000, NOON - DAY), timings(50, 1000, NOON - MINUTE)
    (spike,) = throttle_events([asked(0, duration_ms=400_000)], [*new, *old])
    assert spike.details.startswith("A request to opus took 400.0 s; the median of the last 100 was 50.5 s. ")


_REQUESTS = st.lists(
    st.builds(
        asked,
        st.integers(0, 4000),
        st.sampled_from([None, None, 400, 429, 500, 529]),
        session_id=st.sampled_from(["s1", "s2", None]),
        turn=st.sampled_from(["t1", "t2", None]),
        retry_after_ms=st.sampled_from([None, None, 2000]),
        duration_ms=st.sampled_from([None, 500, 1000, 20_000, 200_000]),
    ),
    max_size=40,
    unique_by=lambda request: request.key,
)


@settings(max_examples=20)
@given(_REQUESTS, st.lists(st.integers(NOON, NOON + 4000 * SECOND), max_size=10))
def test_no_moment_is_counted_twice(requests: list[ApiRequest], elsewhere_us: list[int]) -> None:
    """Whatever happened: delays do not overlap, and together are no longer than the time they lie in."""
    usual = [Timing(NOON - number, "opus", 1000) for number in range(30)]
    events = throttle_events(requests, usual, elsewhere_us)
    waits = sorted(wait for event in events for wait in event.waits)
    assert all(start < end for start, end in waits)
    assert all(before[1] <= after[0] for before, after in pairwise(waits))
    if waits:
        assert sum(event.delay_us for event in events) <= waits[-1][1] - waits[0][0]


# How long requests held a developer up, and what helps.

HALF_AN_HOUR = 30 * MINUTE


@table(
    ("successes", "failures", "expected"),
    {
        "nothing follows": ([], [100], (100, 100)),
        "a success of the same moment is no later one": ([100], [100], (100, 100)),
        "the next success": ([101], [100], (100, 101)),
        "a success half an hour later": ([100 + HALF_AN_HOUR], [100], (100, 100 + HALF_AN_HOUR)),
        "a success later than that": ([101 + HALF_AN_HOUR], [100], (100, 100)),
        "unless it is too far off as well": ([], [100, 101 + HALF_AN_HOUR], (100, 100)),
    },
)
def test_a_wait_after_a_failure(successes: list[int], failures: list[int], expected: Wait) -> None:
    """To the next success, else to the next failure, within half an hour."""
    assert wait_after(100, successes, failures) == expected


@table(
    ("intervals", "expected"),
    {
        "nothing": ([], []),
        "empty ones are left out": ([(1, 1), (3, 2)], []),
        "those that meet are one": ([(1, 2), (2, 3)], [(1, 3)]),
        "those a moment apart are two": ([(1, 2), (3, 4)], [(1, 2), (3, 4)]),
    },
)
def test_intervals_are_joined(intervals: list[Wait], expected: list[Wait]) -> None:
    """As few as possible."""
    assert merged(intervals) == expected


@settings(max_examples=100)
@given(st.lists(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=4), max_size=8))
def test_claims_give_out_every_moment_once(claims: list[list[tuple[int, int]]]) -> None:
    book, taken = Claims(), set[int]()
    for wanted in claims:
        moments = {moment for start, end in wanted for moment in range(start, end)}
        pieces = book.claim(wanted)
        assert all(start < end for start, end in pieces)
        assert {moment for start, end in pieces for moment in range(start, end)} == moments - taken
        taken |= moments


@table(
    ("hours", "expected"),
    {
        "a quarter of an hour is medium": ({"latency_spike": 0.25}, [("medium", 0.25)]),
        "an hour is high": ({"service_outage": 1.0}, [("high", 1.0)]),
        "rate limits and waits are one": ({"rate_limit": 0.5, "retry_after": 0.5}, [("high", 1.0)]),
        "bursts and pauses are one": ({"error_burst": 0.125, "request_gap": 0.125}, [("medium", 0.25)]),
        "what cost most comes first": (
            {"rate_limit": 0.125, "retry_after": 0.25, "latency_spike": 2.0, "request_gap": 0.125},
            [("high", 2.0), ("medium", 0.375), ("low", 0.125)],
        ),
    },
)
def test_recommendations(hours: dict[Detector, float], expected: list[tuple[Priority, float]]) -> None:
    """One sentence per cause; nothing where nothing was lost."""
    advice = recommendations(hours)
    assert [(each.priority, each.estimated_savings_hours) for each in advice] == expected
    assert all(each.action.endswith(".") for each in advice)
    assert len({each.action for each in advice}) == len(advice)
