"""Scheduled reports: off by default, in the developer's own zone, each period once, and what was missed once."""

from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
import trio
from trio.testing import MockClock

from aggregates.decide import AnyCommand
from aggregates.event import Done, Reply
from aggregates.ids import membership_stream
from aggregates.people.acts import ChangeDeveloper, EndMembership
from aggregates.reports.events import ReportCancelled, ReportRequested, last_whole_period, request_report
from aggregates.times import iso, parse_instant
from svc.jobs.reports import SCHEDULE_DELAY_SECONDS, SCHEDULE_LOOK_SECONDS, ReportSchedules
from tests.support.basics import ACME, ANA, ANA_SCOPE, BEN, carry_out, company
from tests.svc_http.house import House

SECOND_US = 1_000_000
LATE = int(SCHEDULE_DELAY_SECONDS) * SECOND_US
MIDNIGHT_UTC = parse_instant("2026-08-11T00:00:00Z")
"""A Tuesday; the people of these tests are there since the first of August."""


class Office(House):
    """Schedules over a company, and what they asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = company()
        self.clock_us = MIDNIGHT_UTC + LATE
        self.asked: list[ReportRequested] = []
        self.schedules = ReportSchedules(self)

    async def send(self, command: AnyCommand) -> Reply:
        """To the log, if that can be written; only what was taken counts."""
        reply = await super().send(command)
        if isinstance(command, ReportRequested) and isinstance(reply, Done) and reply.created:
            self.asked.append(command)
        return reply

    def change(self, developer_id: UUID = ANA, **profile: Any) -> None:
        carry_out(self.directory, ChangeDeveloper(developer_id=developer_id, **profile))

    async def at(self, time: str) -> list[tuple[str, str]]:
        """What is asked for at that time: the name of each period, and its first instant."""
        self.clock_us = parse_instant(time)
        self.asked.clear()
        await self.schedules.look()
        return [(each.period.name, iso(each.period.start_us)) for each in self.asked]


@pytest.fixture
def office() -> Office:
    return Office()


YESTERDAY = ("daily", "2026-08-31T00:00:00Z")
TABLE = [
    # schedules, zone, now, what is asked for
    ((), "UTC", "2026-08-11T01:00:00Z", []),
    (("daily",), "UTC", "2026-08-11T00:59:59Z", [("daily", "2026-08-09T00:00:00Z")]),
    (("daily",), "UTC", "2026-08-11T01:00:00Z", [("daily", "2026-08-10T00:00:00Z")]),
    (("daily",), "Asia/Seoul", "2026-08-11T16:00:00Z", [("daily", "2026-08-10T15:00:00Z")]),
    (("daily", "monthly"), "UTC", "2026-09-01T01:00:00Z", [YESTERDAY, ("monthly", "2026-08-01T00:00:00Z")]),
    (("monthly",), "UTC", "2026-08-11T01:00:00Z", []),
]


@pytest.mark.parametrize(("schedules", "zone", "now", "wanted"), TABLE)
async def test_the_last_whole_period_of_ones_own_zone_is_asked_for(
    office: Office, schedules: tuple[str, ...], zone: str, now: str, wanted: list[tuple[str, str]]
) -> None:
    """An hour after it is over; none that was over before the developer was there."""
    office.change(report_schedules=schedules, timezone=zone)
    assert await office.at(now) == wanted


async def test_each_period_is_asked_for_once_also_after_a_restart(office: Office) -> None:
    """A week of silence is one report, of the day before; not seven. Whoever wants to be told is told of these."""
    office.change(report_schedules=("daily", "weekly"), report_notices=("webhook",))
    assert len(await office.at("2026-08-11T01:00:00Z")) == 2
    assert [each.notices for each in office.asked] == [("webhook",)] * 2
    assert await office.at("2026-08-11T09:00:00Z") == []
    office.schedules = ReportSchedules(office)
    assert await office.at("2026-08-11T10:00:00Z") == []
    found = await office.at("2026-08-18T07:00:00Z")
    assert found == [("daily", "2026-08-17T00:00:00Z"), ("weekly", "2026-08-10T00:00:00Z")]
    assert await office.at("2026-08-18T08:00:00Z") == []


async def test_what_a_person_asked_for_is_not_made_again(office: Office) -> None:
    """Whatever became of it: a schedule only fills in."""
    period = last_whole_period("daily", ZoneInfo("UTC"), MIDNIGHT_UTC + LATE)
    by_hand = request_report(ANA_SCOPE, period, 0, language="en", notices=())
    await office.send(by_hand)
    await office.send(ReportCancelled(**{name: getattr(by_hand, name) for name in ReportCancelled.__struct_fields__}))
    office.change(report_schedules=("daily",))
    assert await office.at("2026-08-11T01:00:00Z") == []


async def test_everybody_has_their_own_zone_and_language_until_they_leave(office: Office) -> None:
    office.change(report_schedules=("daily",), language="ko-KR")
    office.change(BEN, report_schedules=("daily",))
    assert await office.at("2026-08-11T01:00:00Z") == [
        ("daily", "2026-08-10T00:00:00Z"),
        ("daily", "2026-08-09T22:00:00Z"),
    ]
    assert [each.language for each in office.asked] == ["ko", "en"]
    carry_out(office.directory, EndMembership(membership_id=membership_stream(ACME, BEN)))
    assert len(await office.at("2026-08-12T01:00:00Z")) == 1


async def test_what_cannot_be_stored_is_asked_for_at_the_next_look(
    office: Office, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    office.change(report_schedules=("daily",))
    office.refuses = "the event store cannot be written at present"
    nursery.start_soon(office.schedules.run)
    await trio.sleep(3 * SCHEDULE_LOOK_SECONDS)
    assert office.asked == []
    office.refuses = None
    await trio.sleep(3 * SCHEDULE_LOOK_SECONDS)
    assert len(office.asked) == 1
