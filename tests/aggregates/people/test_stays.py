"""Which days of whom belong to a team: whole days of a zone, former members too, nobody twice."""

import re
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from aggregates.event import Refused, Scope
from aggregates.ids import membership_stream
from aggregates.people import acts
from aggregates.people.directory import Directory, Team, stays_in
from aggregates.times import Window
from tests.support.basics import ACME, ANA, BEN, EVE, carry_out, company, named
from tests.support.tables import beside, table

HOUR = 3_600_000_000
DAY = 24 * HOUR
MIDNIGHT = 1_767_571_200_000_000  # Monday 2026-01-05, 00:00 UTC
TUESDAY, WEDNESDAY, THURSDAY, FRIDAY = (MIDNIGHT + days * DAY for days in (1, 2, 3, 4))
NEXT_MONDAY = MIDNIGHT + 7 * DAY
WEEK = Window(MIDNIGHT, NEXT_MONDAY)
UTC = ZoneInfo("UTC")
TEAM = named("team")

Stayed = tuple[UUID, int, int | None]  # who came and left when; None: is still there
Days = list[tuple[str, float, float]]  # who stayed from which day to which, counted in days of the window


@pytest.fixture
def directory() -> Directory:
    found = company()
    told(found, acts.CreateTeam(team_id=TEAM, organization_id=ACME, name="Core"), MIDNIGHT - 9 * DAY)
    return found


def told(directory: Directory, command: acts.PeopleAct, at_us: int) -> None:
    assert not isinstance(carry_out(directory, command, at_us), Refused)


def come_and_go(directory: Directory, *stayed: Stayed, team_id: UUID = TEAM) -> None:
    """Developers come into a team and leave it, in the order of the log."""
    for number, (developer_id, came_us, left_us) in enumerate(stayed):
        stay = named(f"stay {number} in {team_id}")
        added = acts.AddTeamMember(
            received_at_us=came_us, team_membership_id=stay, team_id=team_id, developer_id=developer_id
        )
        directory.apply(stay, added)
        if left_us is not None:
            told(directory, acts.RemoveTeamMember(team_membership_id=stay), left_us)


def stays(directory: Directory, window: Window = WEEK, zone: ZoneInfo = UTC) -> Days:
    """The team's stays, in the order in which they are given out."""
    team = directory.get(Team, TEAM)
    assert team is not None
    names = {ANA: "ana", BEN: "ben", EVE: "eve"}

    def day(at_us: int) -> float:
        return (at_us - window.start_us) / DAY

    found = stays_in(directory, team, window, zone)
    return [(names[stay.developer_id], day(stay.start_us), day(stay.end_us)) for stay in found]


PEOPLE, WEEKDAYS, UNITS = {"ana": ANA, "ben": BEN, "eve": EVE}, "mon tue wed thu fri", {"d": DAY, "h": HOUR, "us": 1}


def time_of(told: str) -> int | None:
    """A weekday, and what is added to it; empty: somebody is still there."""
    found = [int(count) * UNITS[unit] for count, unit in re.findall(r"([+-]\d+)(us|d|h)", told)]
    return MIDNIGHT + WEEKDAYS.split().index(told[:3]) * DAY + sum(found) if told else None


@beside("stayed", "days")
def test_days_of_a_stay_are_whole_and_cut_to_the_window(directory: Directory, stayed: str, days: str) -> None:
    """A day counts on which somebody was in the team at all; stays that meet are joined, so no two overlap."""
    words = re.findall(r"(\w+) (\S*?)\.\.([^\s,]*)", stayed)
    come_and_go(directory, *((PEOPLE[who], time_of(came) or 0, time_of(left)) for who, came, left in words))
    assert ", ".join(f"{who} {first:g}-{last:g}" for who, first, last in sorted(stays(directory))) == days


@table(
    ("left_team_us", "left_organization_us", "days"),
    {
        "nobody ended the stay itself": (None, WEDNESDAY + HOUR, [("ben", 0, 3)]),
        "the stay ended first": (TUESDAY, FRIDAY, [("ben", 0, 1)]),
        "the membership ended first": (FRIDAY, TUESDAY, [("ben", 0, 1)]),
    },
)
def test_who_leaves_the_organization_leaves_the_team(
    directory: Directory, left_team_us: int | None, left_organization_us: int, days: Days
) -> None:
    come_and_go(directory, (BEN, MIDNIGHT, left_team_us))
    told(directory, acts.EndMembership(membership_id=membership_stream(ACME, BEN)), left_organization_us)
    assert stays(directory) == days


def test_who_joins_the_organization_again_is_in_no_team_of_it(directory: Directory) -> None:
    """Until somebody adds them once more; the days between count for no team, even where a clock was set back."""
    come_and_go(directory, (BEN, MIDNIGHT, None))
    told(directory, acts.EndMembership(membership_id=membership_stream(ACME, BEN)), TUESDAY + HOUR)
    told(directory, acts.StartMembership(organization_id=ACME, developer_id=BEN), MIDNIGHT + HOUR)
    assert directory.teams_of(Scope(ACME, BEN)) == []
    assert stays(directory) == [("ben", 0, 2)]


def test_another_team_is_another_matter(directory: Directory) -> None:
    """A member of two teams counts in each for the days in it."""
    other = named("other team")
    told(directory, acts.CreateTeam(team_id=other, organization_id=ACME, name="Other"), MIDNIGHT)
    come_and_go(directory, (ANA, TUESDAY, None))
    come_and_go(directory, (ANA, MIDNIGHT, None), team_id=other)
    assert stays(directory) == [("ana", 1, 7)]


@table(
    ("came_us", "day"),
    {
        "the last moment of Monday in Tokyo": (MIDNIGHT + 15 * HOUR - 1, 0),
        "the first moment of Tuesday in Tokyo": (MIDNIGHT + 15 * HOUR, 1),
    },
)
def test_days_are_those_of_the_zone(directory: Directory, came_us: int, day: int) -> None:
    come_and_go(directory, (ANA, came_us, None))
    week_in_tokyo = Window(MIDNIGHT - 9 * HOUR, NEXT_MONDAY - 9 * HOUR)
    assert stays(directory, week_in_tokyo, ZoneInfo("Asia/Tokyo")) == [("ana", day, 7)]
    assert stays(directory) == [("ana", 0, 7)]
