"""Which days of whom belong to a team: whole days of a zone, former members too, nobody twice."""

from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from aggregates.people.commands import AddTeamMember, CreateTeam, EndMembership, PeopleCommand, RemoveTeamMember
from aggregates.people.decide import PeopleRefused
from aggregates.people.directory import Directory, stays_in
from aggregates.people.records import Membership, Team
from aggregates.times import Window
from tests.support.facts import DAY, HOUR, MONDAY
from tests.support.log import named
from tests.support.people import ACME, ANA, BEN, carry_out, company

UTC = ZoneInfo("UTC")
TEAM = named("team")
MIDNIGHT = MONDAY - 9 * HOUR
WEEK = Window(MIDNIGHT, MIDNIGHT + 7 * DAY)


@pytest.fixture
def directory() -> Directory:
    """Acme has a team without members."""
    found = company()
    told(found, CreateTeam(team_id=TEAM, organization_id=ACME, name="Core"), MIDNIGHT - 9 * DAY)
    return found


def told(directory: Directory, command: PeopleCommand, at_us: int) -> None:
    """It was carried out at that time."""
    assert not isinstance(carry_out(directory, command, at_us), PeopleRefused)


def joins(directory: Directory, developer_id: UUID, at_us: int, stay: str) -> None:
    """A developer comes into the team; the stay has a name."""
    told(directory, AddTeamMember(team_membership_id=named(stay), team_id=TEAM, developer_id=developer_id), at_us)


def leaves(directory: Directory, at_us: int, stay: str) -> None:
    """That stay ends."""
    told(directory, RemoveTeamMember(team_membership_id=named(stay)), at_us)


def stays(directory: Directory, window: Window = WEEK, zone: ZoneInfo = UTC) -> list[tuple[str, float, float]]:
    """Who stayed from which day to which, counted in days of the window."""
    team = directory.get(Team, TEAM)
    assert team is not None
    names = {ANA: "ana", BEN: "ben"}

    def day(at_us: int) -> float:
        return (at_us - window.start_us) / DAY

    found = stays_in(directory, team, window, zone)
    return sorted((names[stay.developer_id], day(stay.start_us), day(stay.end_us)) for stay in found)


def test_a_member_all_week(directory: Directory) -> None:
    """Joined before it began."""
    joins(directory, ANA, MIDNIGHT - DAY, "a")
    assert stays(directory) == [("ana", 0, 7)]


def test_days_are_whole(directory: Directory) -> None:
    """Joined on Tuesday afternoon, left on Thursday morning: three days."""
    joins(directory, ANA, MIDNIGHT + DAY + 15 * HOUR, "a")
    leaves(directory, MIDNIGHT + 3 * DAY + HOUR, "a")
    assert stays(directory) == [("ana", 1, 4)]


def test_who_leaves_at_midnight_was_not_there_that_day(directory: Directory) -> None:
    """Half-open, like every range."""
    joins(directory, ANA, MIDNIGHT, "a")
    leaves(directory, MIDNIGHT + 2 * DAY, "a")
    assert stays(directory) == [("ana", 0, 2)]


def test_a_stay_of_a_moment_is_a_day(directory: Directory) -> None:
    """Added by mistake and taken out again."""
    joins(directory, ANA, MIDNIGHT + DAY, "a")
    leaves(directory, MIDNIGHT + DAY, "a")
    assert stays(directory) == [("ana", 1, 2)]


def test_stays_outside_the_window_do_not_count(directory: Directory) -> None:
    """Over before it began, or not begun before it was over."""
    joins(directory, ANA, MIDNIGHT - 5 * DAY, "a")
    leaves(directory, MIDNIGHT - 3 * DAY, "a")
    joins(directory, BEN, MIDNIGHT + 7 * DAY, "b")
    assert stays(directory) == []


def test_who_comes_back_has_two_stays_and_no_day_twice(directory: Directory) -> None:
    """Left on Tuesday and back on Thursday; left on Friday and back the same day."""
    joins(directory, ANA, MIDNIGHT, "a1")
    leaves(directory, MIDNIGHT + DAY + HOUR, "a1")
    joins(directory, ANA, MIDNIGHT + 3 * DAY, "a2")
    leaves(directory, MIDNIGHT + 4 * DAY + HOUR, "a2")
    joins(directory, ANA, MIDNIGHT + 4 * DAY + 2 * HOUR, "a3")
    assert stays(directory) == [("ana", 0, 2), ("ana", 3, 7)]


def test_who_leaves_the_organization_leaves_the_team(directory: Directory) -> None:
    """Though nobody ended the stay itself."""
    joins(directory, BEN, MIDNIGHT, "b")
    membership = next(each for each in directory.all(Membership) if each.developer_id == BEN)
    told(directory, EndMembership(membership_id=membership.membership_id), MIDNIGHT + 2 * DAY + HOUR)
    assert stays(directory) == [("ben", 0, 3)]


def test_another_team_is_another_matter(directory: Directory) -> None:
    """A member of two teams counts in each for the days in it."""
    other = named("other team")
    told(directory, CreateTeam(team_id=other, organization_id=ACME, name="Other"), MIDNIGHT)
    joins(directory, ANA, MIDNIGHT + DAY, "a")
    told(directory, AddTeamMember(team_membership_id=named("x"), team_id=other, developer_id=ANA), MIDNIGHT)
    assert stays(directory) == [("ana", 1, 7)]


def test_days_are_those_of_the_zone(directory: Directory) -> None:
    """Monday, 20:00 in Greenwich is Tuesday in Tokyo."""
    joins(directory, ANA, MIDNIGHT + 20 * HOUR, "a")
    tokyo = Window(MIDNIGHT - 9 * HOUR, MIDNIGHT - 9 * HOUR + 7 * DAY)
    assert stays(directory, tokyo, ZoneInfo("Asia/Tokyo")) == [("ana", 1, 7)]
    assert stays(directory) == [("ana", 0, 7)]
