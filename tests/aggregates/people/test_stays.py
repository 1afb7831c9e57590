"""Which days of whom belong to a team: whole days of a zone, former members too, nobody twice."""

from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from aggregates.event import Refused, Scope
from aggregates.ids import membership_stream
from aggregates.people import acts
from aggregates.people.directory import Directory, Team, stays_in
from aggregates.times import Window
from tests.support.basics import ACME, ANA, BEN, EVE, carry_out, company, named
from tests.support.tables import table

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


LASTING = (ANA, MIDNIGHT, TUESDAY)
STAYS: dict[str, tuple[list[Stayed], Days]] = {
    "a member all week": ([(ANA, MIDNIGHT - DAY, None)], [("ana", 0, 7)]),
    "days are whole at both ends": ([(ANA, TUESDAY + 15 * HOUR, THURSDAY + HOUR)], [("ana", 1, 4)]),
    "coming in the last moment of Monday is Monday": ([(ANA, TUESDAY - 1, None)], [("ana", 0, 7)]),
    "coming in the first moment of Tuesday is Tuesday": ([(ANA, TUESDAY, None)], [("ana", 1, 7)]),
    "who leaves at midnight was not there that day": ([(ANA, MIDNIGHT, WEDNESDAY)], [("ana", 0, 2)]),
    "who leaves a moment later was": ([(ANA, MIDNIGHT, WEDNESDAY + 1)], [("ana", 0, 3)]),
    "a stay of a moment is a day": ([(ANA, TUESDAY, TUESDAY)], [("ana", 1, 2)]),
    "over before the window began": ([(ANA, MIDNIGHT - 5 * DAY, MIDNIGHT - 3 * DAY)], []),
    "left at its first midnight": ([(ANA, MIDNIGHT - DAY, MIDNIGHT)], []),
    "came in its last moment": ([(ANA, NEXT_MONDAY - 1, None)], [("ana", 6, 7)]),
    "came when it was over": ([(ANA, NEXT_MONDAY, None)], []),
    "came before and left after it": ([(ANA, MIDNIGHT - DAY, NEXT_MONDAY + DAY)], [("ana", 0, 7)]),
    "back after a day are two stays": ([LASTING, (ANA, WEDNESDAY, None)], [("ana", 0, 1), ("ana", 2, 7)]),
    "back on the next day is one stay": ([LASTING, (ANA, TUESDAY, None)], [("ana", 0, 7)]),
    "the third goes on with the second": (
        [LASTING, (ANA, THURSDAY, FRIDAY + HOUR), (ANA, FRIDAY + 2 * HOUR, None)],
        [("ana", 0, 1), ("ana", 3, 7)],
    ),
    "a clock that was set back makes no day twice": (
        [(ANA, MIDNIGHT, FRIDAY), (ANA, TUESDAY, WEDNESDAY)],
        [("ana", 0, 4)],
    ),
    "nor does it change their order": ([(ANA, FRIDAY, None), LASTING], [("ana", 0, 1), ("ana", 4, 7)]),
    "two members are told apart": ([LASTING, (BEN, MIDNIGHT, None)], [("ana", 0, 1), ("ben", 0, 7)]),
    "a stay without a membership counts for itself": ([(EVE, TUESDAY, None)], [("eve", 1, 7)]),
}


@table(("stayed", "days"), STAYS)
def test_days_of_a_stay_are_whole_and_cut_to_the_window(directory: Directory, stayed: list[Stayed], days: Days) -> None:
    """A day counts on which somebody was in the team at all; stays that meet are joined, so no two overlap."""
    come_and_go(directory, *stayed)
    assert sorted(stays(directory)) == days


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
    """Until somebody adds them once more; the days between count for no team."""
    come_and_go(directory, (BEN, MIDNIGHT, None))
    told(directory, acts.EndMembership(membership_id=membership_stream(ACME, BEN)), TUESDAY + HOUR)
    told(directory, acts.StartMembership(organization_id=ACME, developer_id=BEN), WEDNESDAY + HOUR)
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
