"""Comparing completion rates: hand-computed, and never a distribution of a few (scoring.md, section 8)."""

from uuid import UUID

import pytest

from aggregates.event import Refused, Scope
from aggregates.ids import membership_stream
from aggregates.people.acts import (
    AddTeamMember,
    CreateDeveloper,
    CreateTeam,
    EndMembership,
    EndTeam,
    RemoveTeamMember,
    StartMembership,
)
from aggregates.people.directory import Directory
from aggregates.scores.grades import Baseline, Basis, Distribution, PeerRanges, cohort_of, compare
from aggregates.times import US_PER_DAY, Window
from tests.support.basics import ACME, ANA, ANA_SCOPE, BEN, EVE, OTHER, carry_out, company, named
from tests.support.facts import HOUR
from tests.support.tables import table

WEEK = [50.0, 100.0, 0.0, 40.0, 60.0, 80.0, 90.0]


@table(
    ("peers", "days", "basis"),
    {
        "four peers make a distribution": (4, 0, "peers"),
        "three peers do not, and seven days make a history": (3, 7, "selfHistory"),
        "three peers and six days say nothing": (3, 6, "insufficient"),
    },
)
def test_what_a_rate_is_compared_with(peers: int, days: int, basis: Basis) -> None:
    """Four peers, else seven days, else nothing; what is unused is empty."""
    found = compare(60.0, [10.0] * peers, WEEK[:days])
    assert (found.basis, found.my_score, found.required_days) == (basis, 60.0, 7)
    assert (found.distribution is not None, found.my_percentile is not None) == (basis == "peers", basis == "peers")
    assert (found.baseline is not None) is (basis == "selfHistory")


@table(
    ("mine", "peers", "mean_and_quarters"),
    {
        "of five rates they are rates": (60.0, [100.0, 0.0, 40.0, 20.0], (44.0, 20.0, 40.0, 60.0)),
        "without a rate of one's own": (None, [0.0, 20.0, 40.0, 100.0], (40.0, 15.0, 30.0, 55.0)),
    },
)
def test_a_distribution(
    mine: float | None, peers: list[float], mean_and_quarters: tuple[float, float, float, float]
) -> None:
    """Of the peers' rates and the caller's own, where there is one; only the peers are counted."""
    mean, p25, p50, p75 = mean_and_quarters
    found = compare(mine, peers, WEEK)
    assert found.distribution == Distribution(peer_count=len(peers), cohort_mean=mean, p25=p25, p50=p50, p75=p75)


@table(
    ("mine", "percentile"),
    {
        "none without a rate of one's own": (None, None),
        "below the least": (9.9, 0.0),
        "equal to the least is at or below": (10.0, 25.0),
    },
)
def test_my_percentile(mine: float | None, percentile: float | None) -> None:
    """The share of the peers whose rate is at or below one's own."""
    assert compare(mine, [40.0, 10.0, 90.0, 20.0], []).my_percentile == percentile


def test_a_history() -> None:
    """The median of the days, the last day, and the latter less the former."""
    assert compare(60.0, [], WEEK).baseline == Baseline(days=7, typical=60.0, latest=90.0, delta=30.0)


CORE, WEB = named("core"), named("web")
CLEO, DAN = named("cleo"), named("dan")


def _joins(directory: Directory, team: UUID, developer: UUID) -> None:
    stay = named(f"{developer} in {team}")
    added = carry_out(directory, AddTeamMember(team_membership_id=stay, team_id=team, developer_id=developer))
    assert not isinstance(added, Refused)


@pytest.fixture
def directory() -> Directory:
    """Ana is in two teams: with Ben and Cleo in the one, with Ben and Dan in the other."""
    found = company()
    for developer in (CLEO, DAN):
        carry_out(found, CreateDeveloper(developer_id=developer, display_name="Somebody"))
        carry_out(found, StartMembership(organization_id=ACME, developer_id=developer))
    for team, others in ((CORE, (BEN, CLEO)), (WEB, (BEN, DAN))):
        carry_out(found, CreateTeam(team_id=team, organization_id=ACME, name="Team"))
        for developer in (ANA, *others):
            _joins(found, team, developer)
    return found


def test_the_cohort_is_everybody_of_ones_teams_once(directory: Directory) -> None:
    assert cohort_of(directory, ANA_SCOPE) == sorted([BEN, CLEO, DAN])
    assert set(cohort_of(directory, Scope(ACME, CLEO))) == {ANA, BEN}


def test_a_team_that_has_ended_brings_nobody(directory: Directory) -> None:
    carry_out(directory, EndTeam(team_id=WEB))
    assert set(cohort_of(directory, ANA_SCOPE)) == {BEN, CLEO}


def test_who_left_the_team_or_the_organization_is_no_peer(directory: Directory) -> None:
    """Cleo left the team; Ben left the organization, and his stays are still on file."""
    carry_out(directory, RemoveTeamMember(team_membership_id=named(f"{CLEO} in {CORE}")))
    carry_out(directory, EndMembership(membership_id=membership_stream(ACME, BEN)))
    assert cohort_of(directory, ANA_SCOPE) == [DAN]


def test_another_organizations_teams_are_no_cohort(directory: Directory) -> None:
    """Eve has a team of her own, and none here."""
    carry_out(directory, CreateTeam(team_id=named("eves"), organization_id=OTHER, name="Eve's"))
    _joins(directory, named("eves"), EVE)
    assert cohort_of(directory, Scope(OTHER, EVE)) == []
    assert EVE not in cohort_of(directory, ANA_SCOPE)


def test_twenty_different_ranges_a_day() -> None:
    ranges = PeerRanges()
    now_us = 100 * US_PER_DAY + HOUR
    asked = [Window(number, number + 1) for number in range(21)]
    assert [ranges.admits(BEN, each, now_us) for each in asked] == [True] * 20 + [False]
    assert ranges.admits(BEN, asked[0], now_us), "one that was asked for today is no further one"
    assert ranges.admits(ANA, asked[-1], now_us), "each person has their own"
    assert ranges.admits(BEN, asked[-1], 101 * US_PER_DAY), "tomorrow is another day"
