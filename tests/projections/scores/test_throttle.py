"""What throttling cost, out of the rows of real facts: turns, baselines, outages of others, teams, budgets."""

from typing import Any

import msgspec
import pytest

from aggregates.event import Scope
from aggregates.people.directory import Stay
from aggregates.times import Window
from projections.reader import Reader
from projections.scores import throttle
from projections.scores.throttle import ThrottleImpact, personal_throttle, team_throttle
from tests.support.facts import ANA, BEN, DAY, HOUR, MINUTE, MONDAY, SECOND, Log, Placed, project, reader, request
from tests.support.tables import each_of, table

WEEK = Window(MONDAY - DAY, MONDAY + 6 * DAY)


def stays(*scopes: Scope) -> list[Stay]:
    return [Stay(scope.developer_id, WEEK.start_us, WEEK.end_us) for scope in scopes]


def failed(at_us: int, status_code: int | None = 529, **fields: Any) -> dict[str, Any]:
    return {"kind": "error", "at_us": at_us, "model": "opus", "status_code": status_code, **fields}


def views(*logs: Log) -> Reader:
    facts = [Placed(place, fact.event) for place, fact in enumerate((f for log in logs for f in log.facts), 1)]
    return reader(project(facts), facts)


def personal(read: Reader, scope: Scope = ANA, window: Window = WEEK) -> ThrottleImpact:
    found = personal_throttle(read, scope, window)
    assert found is not None
    return found


def fired(impact: ThrottleImpact) -> list[tuple[str, float]]:
    return [(event.detector, event.estimated_delay_secs) for event in impact.events]


def held_up(at_us: int = MONDAY, minutes: int = 1) -> Log:
    """A refusal, and an answer some minutes later."""
    return Log().claim("s1").records("s1", failed(at_us, 429), request(at_us + minutes * MINUTE))


def test_events_are_shown_newest_first_and_summed() -> None:
    """A refusal of half an hour and one of a minute: what they cost together is what could be saved."""
    log = held_up(minutes=30)
    twice = [failed(MONDAY + HOUR, 429, request_id="r", retry_after_ms=5000, origin=0)]
    log.records("s1", *twice, failed(MONDAY + HOUR + SECOND, 429, request_id="r"), request(MONDAY + HOUR + MINUTE))
    impact = personal(views(log))
    assert fired(impact) == [("rate_limit", 60), ("retry_after", 0), ("rate_limit", 1800)]
    counted = impact.summary.total_api_requests, impact.summary.failed_api_requests
    assert counted == (4, 2), "one that was told twice is one"
    assert impact.summary.estimated_hours_lost == pytest.approx(31 / 60)
    assert msgspec.to_builtins(impact.summary.by_detector) == [
        {"detector": "rate_limit", "count": 2, "estimatedHoursLost": pytest.approx(31 / 60)},
        {"detector": "retry_after", "count": 1, "estimatedHoursLost": 0},
    ]
    (advice,) = impact.recommendations
    assert advice.priority == "medium"
    assert advice.estimated_savings_hours == pytest.approx(31 / 60)
    shown = msgspec.to_builtins(impact.events[-1])
    assert (shown["sessionId"], shown["timestamp"]) == ("s1", "2026-01-05T09:00:00Z")
    assert set(shown) == {"detector", "timestamp", "sessionId", "details", "estimatedDelaySecs"}, "of outages alone"


@each_of(
    [
        ((None, None), True),  # by time: both lie in the first turn
        (("p1", "p1"), True),
        (("p1", "p2"), False),  # by name, whatever the time says
        (("unseen", "unseen"), True),
        (("s1", "s1"), True),  # named like the session: no name at all
    ]
)
def test_a_pause_counts_inside_one_turn(names: tuple[str | None, str | None], gap: bool) -> None:
    """By the prompt that both requests name, else by the turn they lie in."""
    log = Log()
    log.prompt("s1", "Fix the crash in src/parser.py", MONDAY, host_prompt_id="p1")
    log.prompt("s1", "Now add a flag to src/cli.py", MONDAY + HOUR, host_prompt_id="p2")
    before, after = names
    log.records("s1", failed(MONDAY + MINUTE, 400, prompt_id=before), request(MONDAY + 6 * MINUTE, prompt_id=after))
    assert fired(personal(views(log))) == ([("request_gap", 300)] if gap else [])


def test_a_slow_answer_is_held_against_those_before_the_range() -> None:
    log = Log().claim("s1")
    log.records("s1", *(request(MONDAY - 2 * DAY + n, model="opus", duration_ms=2000) for n in range(20)))
    log.records("s1", *(request(MONDAY - 2 * DAY + n, model="haiku", duration_ms=90_000) for n in range(50)))
    log.records("s1", *(failed(MONDAY - 2 * DAY + n, duration_ms=90_000) for n in range(50)))
    log.records("s1", request(MONDAY, model="opus", duration_ms=32_000))
    assert fired(personal(views(log))) == [("latency_spike", 30)]
    late = Window(MONDAY - 2 * DAY + 10, MONDAY + DAY)
    assert ("latency_spike", 30) in fired(personal(views(log), window=late))


def test_an_outage_that_a_colleague_saw_too() -> None:
    """Named by nothing; a developer of another organization does not count, nor does one who saw something else."""
    mine = Log(ANA).claim("a").records("a", failed(MONDAY), request(MONDAY + MINUTE))
    colleague = Log(BEN).claim("b").records("b", failed(MONDAY + SECOND), failed(MONDAY + 2 * SECOND))
    impact = personal(views(mine, colleague))
    assert fired(impact) == [("service_outage", 60)]
    shown = msgspec.to_builtins(impact.events[0])
    assert (shown["confidence"], shown["incidentName"], shown["incidentUrl"]) == (1.0, None, None)
    assert "b" not in {shown["sessionId"]}
    stranger = Scope(BEN.developer_id, BEN.developer_id)
    elsewhere = Log(stranger).claim("b").records("b", failed(MONDAY + SECOND), failed(MONDAY + 2 * SECOND))
    assert fired(personal(views(mine, elsewhere))) == []
    refused = Log(BEN).claim("b").records("b", failed(MONDAY + SECOND, 400), failed(MONDAY + 2 * SECOND, 400))
    assert fired(personal(views(mine, refused))) == []


def test_a_team_sees_the_delays_of_its_members_and_no_names() -> None:
    """One event for the outage that both saw, with both delays; sessions are not shown."""
    ana = Log(ANA).claim("a").records("a", failed(MONDAY), failed(MONDAY + SECOND), request(MONDAY + MINUTE))
    ben = Log(BEN).claim("b").records("b", failed(MONDAY + SECOND), request(MONDAY + 31 * SECOND))
    ben.records("b", failed(MONDAY + HOUR, 429), request(MONDAY + HOUR + SECOND))
    impact = team_throttle(views(ana, ben), ANA, stays(ANA, BEN), WEEK)
    assert fired(impact) == [("rate_limit", 1), ("service_outage", 90)]
    assert (impact.is_partial, impact.summary.total_api_requests) == (False, 7)
    assert {event.session_id for event in impact.events} == {None}
    assert impact.events[1].timestamp == "2026-01-05T09:00:00Z"
    alone = team_throttle(views(ana, ben), ANA, stays(ANA), WEEK)
    assert fired(alone) == [("service_outage", 60)]


def test_a_read_over_its_budget_is_refused_or_says_that_it_is_partial(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own is never a part; a team's looks at the newest requests of each, and still counts all."""
    log = held_up().records("s1", request(MONDAY + 2 * MINUTE))
    read = views(log)
    newest = [personal_throttle(read, ANA, WEEK, most) for most in (3, 2)]
    told = [each and (each.is_partial, fired(each), each.summary.total_api_requests) for each in newest]
    assert told == [(False, [("rate_limit", 60)], 3), (True, [], 2)]
    monkeypatch.setattr(throttle, "PERSONAL_REQUESTS_MAX", 2)
    assert personal_throttle(read, ANA, WEEK) is None
    impact, whole = (team_throttle(read, ANA, stays(ANA, BEN), WEEK, most) for most in (2, 3))
    assert (impact.is_partial, fired(impact), impact.summary.total_api_requests) == (True, [], 3)
    assert whole.is_partial is False
    monkeypatch.setattr(throttle, "PERSONAL_REQUESTS_MAX", 4)
    monkeypatch.setattr(throttle, "OUTSIDE_FAILURES_MAX", 0)
    assert personal_throttle(read, ANA, WEEK) is not None
    assert personal_throttle(views(log.records("s1", failed(MONDAY + 1))), ANA, WEEK) is None


def test_only_requests_of_the_range_and_of_the_scope_count() -> None:
    """Half-open by when an event began; neither another developer's nor another organization's."""
    read = views(held_up())
    assert fired(personal(read, window=Window(MONDAY, MONDAY + MINUTE))) == [("rate_limit", 60)]
    assert fired(personal(read, window=Window(MONDAY + 1, MONDAY + HOUR))) == []
    counts = ("totalEvents", "estimatedHoursLost", "slowAnswerHours", "totalApiRequests", "failedApiRequests")
    nothing = {"byDetector": [], **dict.fromkeys(counts, 0)}
    for scope in (BEN, Scope(ANA.developer_id, ANA.developer_id)):
        found = msgspec.to_builtins(personal(read, scope))
        assert found == {"isPartial": False, "events": [], "summary": nothing, "recommendations": []}


MIDNIGHT = MONDAY + 15 * HOUR
EVE, MORROW = Window(MIDNIGHT - DAY, MIDNIGHT), Window(MIDNIGHT, MIDNIGHT + DAY)
ACROSS: dict[str, tuple[list[dict[str, Any]], tuple[str, float], int]] = {
    "a refusal whose wait ends on the next day": (
        [failed(MIDNIGHT - MINUTE, 429), request(MIDNIGHT + 5 * MINUTE)],
        ("rate_limit", 360),
        1,
    ),
    "a burst of which neither day alone had three": (
        [*(failed(MIDNIGHT + each * SECOND, 400) for each in (-40, -20, 10, 30)), request(MIDNIGHT + MINUTE)],
        ("error_burst", 100),
        2,
    ),
    "an outage of hours, however long it goes on": (
        [*(failed(MIDNIGHT + each * MINUTE) for each in range(-30, 300)), request(MIDNIGHT + 300 * MINUTE)],
        ("service_outage", 330 * 60),
        30,
    ),
}


@table(("records", "event", "requests"), ACROSS)
def test_what_begins_before_midnight_counts_there_with_all_that_it_cost(
    records: Any, event: Any, requests: int
) -> None:
    """And nothing of it is left for the next day; a team's events count where they began as well."""
    read = views(Log().claim("s1").records("s1", *records))
    impact = personal(read, window=EVE)
    assert (fired(impact), impact.summary.total_api_requests) == ([event], requests)
    assert "No other request" not in impact.events[0].details
    assert fired(personal(read, window=MORROW)) == []
    assert fired(team_throttle(read, ANA, [Stay(ANA.developer_id, EVE.start_us, EVE.end_us)], EVE)) == [event]


def test_a_day_is_not_charged_for_time_that_an_earlier_event_stands_for() -> None:
    """A refusal before midnight holds its session up beyond it; a slow answer meanwhile costs no more."""
    log = Log().claim("s1")
    usual = [request(MIDNIGHT - 2 * HOUR + place * MINUTE, model="opus", duration_ms=1_000) for place in range(20)]
    slow = request(MIDNIGHT + MINUTE, model="opus", duration_ms=90_000)
    log.records("s1", *usual, failed(MIDNIGHT - 10 * SECOND, 429), slow)
    both = fired(personal(views(log), window=Window(EVE.start_us, MORROW.end_us)))
    days = fired(personal(views(log), window=MORROW)) + fired(personal(views(log), window=EVE))
    assert days == both == [("latency_spike", 19), ("rate_limit", 70)]
