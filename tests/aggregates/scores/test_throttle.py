"""The throttle detectors: what fires, for how long, and that no moment is counted twice."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.scores.throttle import ApiRequest, Claims, Detector, ThrottleEvent, Timing, throttle_events
from aggregates.scores.throttle_advice import recommendations

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE
NOON = 12 * 60 * MINUTE


def asked(at_s: float, status: int | None = None, **fields: Any) -> ApiRequest:
    """A request that was answered or failed so many seconds after noon; it failed where it has a status."""
    at_us = NOON + int(at_s * SECOND)
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


def found(events: list[ThrottleEvent]) -> list[tuple[Detector, float]]:
    """What fired, and how many seconds each cost."""
    return [(event.detector, event.delay_us / SECOND) for event in events]


def spikes(duration_ms: int, usual_ms: int = 4000, count: int = 20, at_us: int = NOON - DAY) -> list[ThrottleEvent]:
    """What a request of that duration is taken for after some of the usual one."""
    earlier = [Timing(at_us + number, "opus", usual_ms) for number in range(count)]
    return throttle_events([asked(0, duration_ms=duration_ms)], earlier)


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ([asked(0), asked(60)], []),
        ([asked(0, 429), asked(90)], [("rate_limit", 90)]),
        ([asked(0, 429), asked(20, 429), asked(90)], [("rate_limit", 90), ("rate_limit", 0)]),
        ([asked(0, 429), asked(1900)], [("rate_limit", 0)]),  # nobody waited that long
        ([asked(0, 429)], [("rate_limit", 0)]),
        ([asked(0, 429), asked(30, session_id="s2"), asked(90)], [("rate_limit", 90)]),
        ([asked(0, 503, retry_after_ms=5000), asked(40)], [("retry_after", 40)]),
        ([asked(0, 429, retry_after_ms=5000), asked(40)], [("rate_limit", 40), ("retry_after", 0)]),
        ([asked(0, 400), asked(60, 400), asked(121, 400)], []),  # three, but not within two minutes
        ([asked(0, 400), asked(60, 400), asked(120, 400), asked(150)], [("error_burst", 150)]),
        ([asked(0, 400), asked(60, 400), asked(120, 400), asked(200, 400)], [("error_burst", 200)]),
        ([asked(0, 400), asked(1, 400), asked(2, 400), asked(9999)], [("error_burst", 2)]),
        ([asked(0, 429), asked(1, 429), asked(2, 429), asked(9)],
         [("rate_limit", 9), ("error_burst", 0), ("rate_limit", 0), ("rate_limit", 0)]),
        ([asked(0, 500), asked(119)], []),
        ([asked(0, 500), asked(120)], [("request_gap", 120)]),
        ([asked(0, 500), asked(120, duration_ms=1)], []),  # it had been sent before two minutes were over
        ([asked(0, 500), asked(1800)], [("request_gap", 1800)]),
        ([asked(0, 500), asked(1801)], []),
        ([asked(0), asked(600)], []),  # nothing had failed
        ([asked(0, 500), asked(300, turn="t2")], []),  # somebody asked anew
        ([asked(0, 500, turn=None), asked(300, turn=None)], []),  # which turn was not seen
    ],
)  # fmt: skip
def test_what_fires_and_what_it_costs(requests: list[ApiRequest], expected: list[tuple[Detector, float]]) -> None:
    """A table of one developer's requests: seconds after noon, and the status of those that failed."""
    assert found(throttle_events(requests)) == expected
    assert found(throttle_events(reversed(requests))) == expected


def test_failures_by_the_providers_fault_that_last_are_an_outage() -> None:
    """Over five minutes, seen by one; the share that failed says how sure that is."""
    failures = [asked(second, 529) for second in range(0, 301, 60)]
    assert found(throttle_events([*failures, asked(310)])) == [("error_burst", 310)]
    (outage,) = throttle_events([*failures, asked(301, 503), asked(310)])
    assert found([outage]) == [("service_outage", 310)]
    assert outage.confidence == 1.0
    (partly,) = throttle_events([*failures, asked(301, 503), asked(150), asked(310)])
    assert partly.confidence == 7 / 8
    assert found([partly]) == [("service_outage", 150 + 130)]


def test_failures_that_others_saw_too_are_an_outage() -> None:
    """Together they are enough for a burst, and nothing says who the others are."""
    (outage,) = throttle_events([asked(10, 500), asked(60)], elsewhere_us=[NOON, NOON + 20 * SECOND])
    assert found([outage]) == [("service_outage", 50)]
    assert outage.details == "1 request failed within 0.0 s (500 x 1); others in the organization saw it, too."
    assert (outage.at_us, outage.outage_us) == (NOON + 10 * SECOND, NOON)


@pytest.mark.parametrize(
    ("requests", "elsewhere_us"),
    [
        ([asked(10, 500), asked(60)], [NOON]),  # two are no burst
        ([asked(10, 404), asked(60)], [NOON, NOON + SECOND]),  # a mistake of one's own
        ([asked(10), asked(60)], [NOON, NOON + 1, NOON + 2]),  # it passed by
    ],
)
def test_what_is_no_outage_for_this_developer(requests: list[ApiRequest], elsewhere_us: list[int]) -> None:
    """Nothing fires."""
    assert throttle_events(requests, elsewhere_us=elsewhere_us) == []


def test_an_outage_and_another_session_share_no_moment() -> None:
    """Refused for its rate in one session while another stands still: the outage's minute is the outage's."""
    requests = [asked(second, 529) for second in (0, 1, 2)] + [asked(60)]
    refused = [asked(30, 429, session_id="s2"), asked(100, session_id="s2")]
    events = throttle_events([*requests, *refused], elsewhere_us=[NOON])
    assert found(events) == [("service_outage", 60), ("rate_limit", 40)]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (spikes(12_001), [("latency_spike", 8.001)]),
        (spikes(12_000), []),  # three times the median is not over it
        (spikes(9_000, usual_ms=1000), []),  # under ten seconds
        (spikes(10_000, usual_ms=1000), []),
        (spikes(10_001, usual_ms=1000), [("latency_spike", 9.001)]),
        (spikes(60_000, count=19), []),  # too few to know what is usual
        (spikes(60_000, at_us=NOON - 29 * DAY), []),  # too long ago
    ],
)
def test_latency_spikes(events: list[ThrottleEvent], expected: list[tuple[Detector, float]]) -> None:
    """Over three times the usual and over ten seconds; the excess is what was lost."""
    assert found(events) == expected


def test_what_is_usual_is_told_by_the_last_hundred_of_that_model() -> None:
    """Older ones, other models and failures do not count."""
    old = [Timing(number, "opus", 100_000) for number in range(NOON - DAY, NOON - DAY + 200)]
    new = [Timing(number, "opus", 1000) for number in range(NOON - MINUTE, NOON - MINUTE + 100)]
    others = [Timing(number, "haiku", 100_000) for number in range(NOON - SECOND, NOON)]
    (spike,) = throttle_events([asked(0, 500, duration_ms=500_000), asked(20, duration_ms=20_000)], old + new + others)
    assert found([spike]) == [("latency_spike", 19)]
    assert spike.details == "A request to opus took 20.0 s; the median of the last 100 was 1.0 s."


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


@given(st.lists(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=4), max_size=8))
def test_claims_give_out_every_moment_once(claims: list[list[tuple[int, int]]]) -> None:
    """Exactly what a set of moments would say."""
    book, taken = Claims(), set[int]()
    for wanted in claims:
        moments = {moment for start, end in wanted for moment in range(start, end)}
        pieces = book.claim(wanted)
        assert {moment for start, end in pieces for moment in range(start, end)} == moments - taken
        taken |= moments


def test_recommendations_say_what_cost_most_first() -> None:
    """One sentence per cause; nothing where nothing was lost."""
    assert recommendations({}) == []
    assert recommendations({"rate_limit": 0.0}) == []
    advice = recommendations({"rate_limit": 0.15, "retry_after": 0.15, "latency_spike": 2.0, "request_gap": 0.1})
    assert [(each.priority, each.estimated_savings_hours) for each in advice] == [
        ("high", 2.0),
        ("medium", 0.3),
        ("low", 0.1),
    ]
    assert all(each.action.endswith(".") for each in advice)
