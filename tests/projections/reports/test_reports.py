"""Reports as rows: what happened to each is shown the same whatever the order, and nobody sees another's."""

from itertools import permutations
from typing import Any

from aggregates.event import Event, Words
from aggregates.reports.events import (
    ReportCancelled,
    ReportCompleted,
    ReportDeleted,
    ReportFailed,
    ReportPeriod,
    ReportRequested,
    ReportSlotFreed,
    ReportStarted,
)
from projections.facts.reports import asked_before, latest_report, open_reports, pending_report, report, reports
from tests.support.basics import named
from tests.support.facts import ANA, BEN, DAY, MONDAY, Placed, project, reader, tables

PERIOD = ReportPeriod(name="daily", start_us=MONDAY, end_us=MONDAY + DAY, timezone="UTC")
SECTIONS = '{"score":{"svc_score":50.0}}'


def fact(position: int, kind: type[Event], name: str, scope: Any = ANA, **fields: Any) -> Placed:
    """What happened to the report of that name, a second later for each position."""
    about = {"organization_id": scope.organization_id, "developer_id": scope.developer_id, "report_id": named(name)}
    return Placed(position, kind(received_at_us=MONDAY + position * 1_000_000, **about, **fields))


def asked(position: int, name: str, scope: Any = ANA) -> Placed:
    return fact(position, ReportRequested, name, scope, period=PERIOD, language="en")


MADE = [
    asked(1, "made"),
    fact(2, ReportStarted, "made", attempt=1),
    fact(3, ReportStarted, "made", attempt=2),
    fact(4, ReportCompleted, "made", rules_version=1, sections=Words(SECTIONS)),
    fact(5, ReportSlotFreed, "made"),
]


def test_the_order_of_the_facts_is_no_matter() -> None:
    wanted = tables(project(MADE))["report_steps"]
    assert len(wanted) == 3
    for order in permutations(MADE):
        assert tables(project(order))["report_steps"] == wanted


def test_each_list_shows_what_it_is_for() -> None:
    """Latest is completed, pending is not over, the history has all but the deleted."""
    facts = [
        *MADE,
        asked(10, "deleted"),
        fact(11, ReportCancelled, "deleted"),
        fact(12, ReportDeleted, "deleted"),
        asked(13, "failed"),
        fact(14, ReportFailed, "failed", error_code="source_unavailable"),
        asked(15, "broken"),
        fact(16, ReportFailed, "broken"),
        asked(17, "running"),
        fact(18, ReportStarted, "running", attempt=1),
        asked(19, "queued"),
        asked(20, "hers", BEN),
    ]
    look = reader(project(facts), facts)
    latest, pending = latest_report(look, ANA), pending_report(look, ANA)
    assert latest is not None
    assert pending is not None
    assert (latest.created_at[-3:], latest.started_at, latest.finished_at) == (
        *("01Z", "2026-01-05T09:00:02Z", "2026-01-05T09:00:04Z"),
    ), "from when it was first begun, though it was begun twice"
    assert (latest.report_id, pending.report_id) == (str(named("made")), str(named("queued")))
    listed = [(each.report_id, each.status) for each in reports(look, ANA, 50, 0)]
    names = ("queued", "queued"), ("running", "running"), ("broken", "failed"), ("failed", "failed")
    assert listed == [(str(named(name)), status) for name, status in (*names, ("made", "completed"))]
    assert [each.report_id for each in reports(look, ANA, 2, 1)] == [id_ for id_, _ in listed[1:3]]
    assert [each.report_id for each in open_reports(look, 9)] == [named(name) for name in ("running", "queued", "hers")]
    assert asked_before(look, ANA, PERIOD) == (6, named("running"), 2)
    assert report(look, ANA, named("deleted")) is None
