"""Decisions about reports: given what happened to one, when this is wanted, then that is logged and answered."""

from datetime import date
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest

from aggregates.decide import AnyCommand, StreamState, decide, evolve, required_streams, touched_streams
from aggregates.event import Context, Decision, Digester, Done, Reason, Refused, Scope, Words
from aggregates.reports.decide import ATTEMPTS_MAX, RANGE_DAYS_MAX, decide_backfill, show_backfill
from aggregates.reports.events import (
    BackfillRequested,
    ReportCancelled,
    ReportCompleted,
    ReportDeleted,
    ReportEvent,
    ReportFailed,
    ReportPeriod,
    ReportRequested,
    ReportStarted,
    last_whole_period,
    period_of,
    request_report,
)
from aggregates.times import US_PER_DAY, iso, parse_instant
from tests.support.basics import named
from tests.support.tables import beside, each_of

ACME, OTHER, ANA, BEN = named("acme"), named("other"), named("ana"), named("ben")
FIRST = named("first report")
NOW_US = 1_785_585_600_000_000
MONDAY = ReportPeriod(name="daily", start_us=0, end_us=86_400_000_000, timezone="UTC")
TUESDAY = ReportPeriod(name="daily", start_us=86_400_000_000, end_us=2 * 86_400_000_000, timezone="UTC")
CONTEXT = Context(now_us=NOW_US, digester=Digester(b"a fixed key"), redaction=True)

Streams = dict[UUID, StreamState]


def of(report_id: UUID = FIRST, **fields: Any) -> dict[str, Any]:
    owner = {"organization_id": ACME, "developer_id": ANA, "report_id": report_id}
    return owner | fields


ASK = ReportRequested(**of(), period=MONDAY, language="en")
START = ReportStarted(**of())
COMPLETE = ReportCompleted(**of(), rules_version=1, sections=Words("{}"))
FAIL = ReportFailed(**of(), error_code="source_unavailable")
CANCEL = ReportCancelled(**of())
DELETE = ReportDeleted(**of())
ACTS: dict[str, AnyCommand] = dict(ask=ASK, start=START, complete=COMPLETE, fail=FAIL, cancel=CANCEL, delete=DELETE)


def after(*commands: AnyCommand) -> Streams:
    streams: Streams = {}
    for command in commands:
        adopt(streams, decide(command, streams, CONTEXT))
    return streams


def adopt(streams: Streams, decision: Decision) -> None:
    for stream, event in decision.events:
        streams[stream] = evolve(streams.get(stream), event)


def topics(decision: Decision) -> list[str]:
    return [event.TOPIC for _, event in decision.events]


@beside()
def test_a_report_goes_through_its_states(given: str, when: str, then: str, answer: str) -> None:
    """What was done before, what comes now, the fact that it makes, and the answer; `known`: nothing changes."""
    decision = decide(ACTS[when], after(*(ACTS[each] for each in given.split())), CONTEXT)
    assert " ".join(topics(decision)) == then
    if isinstance(decision.reply, Refused):
        assert decision.reply.reason.name.lower().replace("_", " ") == answer
    else:
        assert decision.reply == Done(answer == "done", FIRST)


def test_whoever_asks_at_the_same_time_asks_for_the_same_report() -> None:
    """Another period, another developer or one more report is another."""
    scope = Scope(ACME, ANA)
    wanted = [(scope, MONDAY, 0), (scope, MONDAY, 1), (scope, TUESDAY, 0), (Scope(OTHER, ANA), MONDAY, 0)]
    asked = [request_report(*each, language=language, notices=()) for each in wanted for language in ("en", "ko")]
    assert [each.report_id for each in asked[::2]] == [each.report_id for each in asked[1::2]]
    assert len({each.report_id for each in asked}) == len(wanted)
    assert required_streams(ASK) == touched_streams(ASK) == (FIRST,)


@pytest.mark.parametrize("other", [{"developer_id": BEN}, {"organization_id": OTHER}])
@pytest.mark.parametrize("kind", [ReportStarted, ReportCancelled, ReportDeleted])
def test_somebody_elses_report_is_not_there(kind: type[ReportEvent], other: dict[str, Any]) -> None:
    decision = decide(kind(**of(**other)), after(ASK, START, COMPLETE), CONTEXT)
    assert (decision.events, isinstance(decision.reply, Refused) and decision.reply.reason) == ((), Reason.NOT_FOUND)


def test_one_that_is_begun_again_and_again_is_given_up() -> None:
    """Whatever ends the process each time may be the report itself."""
    decision = decide(START, after(ASK, *[START] * ATTEMPTS_MAX), CONTEXT)
    assert topics(decision) == ["report.failed"]
    assert isinstance(decision.reply, Refused)


@each_of(
    [
        ((), ASK, {"period": MONDAY, "language": "en", "received_at_us": NOW_US}),
        ((ASK, START), START, {"attempt": 2}),
        ((ASK, START), COMPLETE, {"rules_version": 1, "sections": Words("{}")}),
    ]
)
def test_the_facts_say_what_was_asked_for_and_what_came_of_it(
    given: tuple[AnyCommand, ...], when: AnyCommand, expected: dict[str, Any]
) -> None:
    """Times, attempts and words enter as they were given."""
    ((_, fact),) = decide(when, after(*given), CONTEXT).events
    assert {name: getattr(fact, name) for name in expected} == expected


PERIODS = [
    # name, zone, now, start, end
    ("daily", "UTC", "2026-08-01T12:00:00Z", "2026-07-31T00:00:00Z", "2026-08-01T00:00:00Z"),
    ("daily", "Asia/Seoul", "2026-08-01T14:59:59Z", "2026-07-30T15:00:00Z", "2026-07-31T15:00:00Z"),
    ("daily", "Asia/Seoul", "2026-08-01T15:00:00Z", "2026-07-31T15:00:00Z", "2026-08-01T15:00:00Z"),
    ("weekly", "UTC", "2026-08-01T12:00:00Z", "2026-07-20T00:00:00Z", "2026-07-27T00:00:00Z"),
    ("monthly", "UTC", "2026-08-01T12:00:00Z", "2026-07-01T00:00:00Z", "2026-08-01T00:00:00Z"),
    ("daily", "Europe/Berlin", "2026-03-30T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
]


@each_of(PERIODS)
def test_the_last_whole_period_is_over_in_its_own_zone(name: Any, zone: str, now: str, start: str, end: str) -> None:
    """Days are as long as the zone makes them."""
    period = last_whole_period(name, ZoneInfo(zone), parse_instant(now))
    assert (iso(period.start_us), iso(period.end_us), period.timezone) == (start, end, zone)
    assert period.windows(4)[-1] == period.window


@each_of([("daily", "08-02"), ("weekly", "07-27"), ("monthly", "08-01")])
def test_a_period_holds_the_day_it_is_named_by(name: Any, start: str) -> None:
    """A Sunday belongs to the week of the Monday before."""
    assert iso(period_of(name, ZoneInfo("UTC"), date(2026, 8, 2)).start_us).startswith(f"2026-{start}T00:00:00Z")


# --- backfills: one at a time for an organization, within bounds ---------------------------------------------------


def wish(name: str = "first", **fields: Any) -> BackfillRequested:
    """Ten days of everybody in Acme, where there are five sub-sessions."""
    usual: dict[str, Any] = {
        "organization_id": ACME,
        "from_us": NOW_US,
        "to_us": NOW_US + 10 * US_PER_DAY,
        "sub_sessions": 5,
    }
    return BackfillRequested(backfill_id=named(name), received_at_us=NOW_US, **(usual | fields))


@pytest.mark.parametrize("other", [{"developer_id": ANA}, {"from_us": NOW_US + 1}, {"to_us": NOW_US + 1}])
def test_another_one_has_to_wait(other: dict[str, Any]) -> None:
    """The first begins; the same again joins the one that runs."""
    assert decide_backfill(wish(), None) == decide_backfill(wish("second"), wish()) == wish()
    reply = decide_backfill(wish("second", **other), wish())
    assert isinstance(reply, Refused)
    assert (reply.reason, str(named("first")) in reply.message) == (Reason.CONFLICT, True)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"from_us": NOW_US, "to_us": NOW_US}, {"from_us": -1}, {"to_us": 2**62}),
        {"to_us": NOW_US + RANGE_DAYS_MAX * US_PER_DAY + 1},
    ],
)
def test_a_range_out_of_bounds_is_refused(wrong: dict[str, Any]) -> None:
    """Empty, before 1970, after 9998, or longer than ten years."""
    reply = decide_backfill(wish(**wrong), None)
    assert isinstance(reply, Refused)
    assert (reply.reason, "range" in reply.message) == (Reason.INVALID, True)


@each_of([("running", 2), ("completed", 5), ("failed", 2)])
def test_it_is_shown_with_text_for_ids_and_times(status: Any, done: int) -> None:
    """What is done goes with the share of the log."""
    shown = show_backfill(wish(developer_id=ANA), status, 0.5)
    assert msgspec.to_builtins(shown) == {
        "backfill_id": str(named("first")),
        "status": status,
        "organization_id": str(ACME),
        "developer_id": str(ANA),
        "from": "2026-08-01T12:00:00Z",
        "to": "2026-08-11T12:00:00Z",
        "sub_sessions": 5,
        "done": done,
        "requested_at": "2026-08-01T12:00:00Z",
    }
