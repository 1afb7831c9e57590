"""Deciding about backfills: one at a time for an organization, within bounds, piece by piece to the end."""

from typing import Any

import pytest

from aggregates.command import Reason, Refused
from aggregates.reports.backfill import (
    RANGE_DAYS_MAX,
    Backfill,
    StartBackfill,
    advanced,
    backfills_of,
    decide_backfill,
    show_backfill,
)
from aggregates.reports.events import BackfillAdvanced, BackfillCompleted, BackfillEvent
from aggregates.times import US_PER_DAY
from tests.support.log import named

ACME, OTHER, ANA = named("acme"), named("other"), named("ana")
T0_US = 1_785_585_600_000_000


def wish(name: str = "first", **fields: Any) -> StartBackfill:
    """Ten days of everybody in Acme, where there are five sub-sessions."""
    usual = {"organization_id": ACME, "developer_id": None, "from_us": T0_US, "to_us": T0_US + 10 * US_PER_DAY}
    return StartBackfill(backfill_id=named(name), sub_sessions=5, **(usual | fields))


def begun(*wishes: StartBackfill) -> list[BackfillEvent]:
    """The facts after these were taken."""
    events: list[BackfillEvent] = []
    for each in wishes:
        event, _ = decide_backfill(each, backfills_of(events), T0_US)
        if event is not None:
            events.append(event)
    return events


def test_the_first_begins() -> None:
    """The reply is the backfill as the fact leaves it."""
    event, reply = decide_backfill(wish(), {}, T0_US)
    assert event is not None
    assert reply == backfills_of([event])[named("first")]
    assert isinstance(reply, Backfill)
    assert (reply.reached_us, reply.done, reply.completed, reply.version) == (T0_US, 0, False, 1)


def test_the_same_again_joins_the_one_that_runs() -> None:
    """Whoever asks twice gets one."""
    event, reply = decide_backfill(wish("second"), backfills_of(begun(wish())), T0_US)
    assert event is None
    assert isinstance(reply, Backfill)
    assert reply.backfill_id == named("first")


@pytest.mark.parametrize("other", [{"developer_id": ANA}, {"from_us": T0_US + 1}, {"to_us": T0_US + 1}])
def test_another_one_has_to_wait(other: dict[str, Any]) -> None:
    """409, naming the one that runs; another organization's runs beside it."""
    known = backfills_of(begun(wish()))
    event, reply = decide_backfill(wish("second", **other), known, T0_US)
    assert event is None
    assert isinstance(reply, Refused)
    assert reply.reason is Reason.CONFLICT
    assert str(named("first")) in reply.message
    assert decide_backfill(wish("second", organization_id=OTHER, **other), known, T0_US)[0] is not None


@pytest.mark.parametrize("wrong", [{"to_us": T0_US}, {"from_us": -1}, {"from_us": T0_US - RANGE_DAYS_MAX * US_PER_DAY}])
def test_a_range_has_bounds(wrong: dict[str, Any]) -> None:
    """Empty, before there was anything, or too long."""
    event, reply = decide_backfill(wish(**wrong), {}, T0_US)
    assert event is None
    assert isinstance(reply, Refused)
    assert reply.reason is Reason.INVALID


def test_pieces_follow_each_other_to_the_end() -> None:
    """Without a gap; with the last one it is completed, and the next may begin."""
    events = begun(wish())
    for to_us, count in ((T0_US + 5, 3), (T0_US + 10 * US_PER_DAY, 2)):
        known = backfills_of(events)[named("first")]
        more = advanced(known, to_us, count, T0_US + 9)
        assert isinstance(more[0], BackfillAdvanced)
        assert (more[0].from_us, more[0].to_us) == (known.reached_us, to_us)
        events += more
    assert isinstance(events[-1], BackfillCompleted)
    done = backfills_of(events)[named("first")]
    assert (done.done, done.completed, done.version) == (5, True, len(events))
    assert decide_backfill(wish("second"), backfills_of(events), T0_US)[0] is not None


def test_it_is_shown_as_text() -> None:
    """Ids and times; `from` and `to` as they were asked for."""
    shown = show_backfill(backfills_of(begun(wish(developer_id=ANA)))[named("first")])
    assert (shown.status, shown.developer_id, shown.from_time) == ("running", str(ANA), "2026-08-01T12:00:00Z")
