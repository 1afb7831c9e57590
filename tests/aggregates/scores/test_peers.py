"""Comparing completion rates: hand-computed, and never a distribution of a few."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.event import Scope
from aggregates.ids import membership_stream
from aggregates.people.commands import (
    AddTeamMember,
    CreateDeveloper,
    CreateTeam,
    EndMembership,
    EndTeam,
    RemoveTeamMember,
    StartMembership,
)
from aggregates.people.decide import PeopleRefused
from aggregates.people.directory import Directory
from aggregates.scores.peers import Baseline, Distribution, cohort_of, compare
from tests.support.log import named
from tests.support.people import ACME, ANA, ANA_SCOPE, BEN, EVE, OTHER, carry_out, company

RATES = st.lists(st.floats(0, 100), max_size=8)
WEEK = [50.0, 100.0, 0.0, 40.0, 60.0, 80.0, 90.0]


def test_four_peers_make_a_distribution() -> None:
    """0, 20, 40, 60, 100: quarters at 20, 40 and 60, the mean 44; of four peers, three are at or below 60."""
    found = compare(60.0, [100.0, 0.0, 40.0, 20.0], WEEK)
    assert found.basis == "peers"
    assert found.distribution == Distribution(peer_count=4, cohort_mean=44.0, p25=20.0, p50=40.0, p75=60.0)
    assert found.my_percentile == 75.0
    assert (found.my_score, found.baseline) == (60.0, None)


def test_percentiles_are_interpolated() -> None:
    """Six rates: the quarters lie at the places 1.25, 2.5 and 3.75."""
    found = compare(10.0, [0.0, 20.0, 40.0, 80.0, 100.0], [])
    assert found.distribution is not None
    quarters = (found.distribution.p25, found.distribution.p50, found.distribution.p75)
    assert quarters == (12.5, 30.0, 70.0)
    assert found.my_percentile == 20.0


def test_a_peer_with_the_same_rate_is_at_or_below() -> None:
    """All equal: everybody is."""
    assert compare(50.0, [50.0] * 4, []).my_percentile == 100.0


def test_without_a_rate_of_ones_own_the_peers_are_still_shown() -> None:
    """They are four, and nothing of the caller is among them."""
    found = compare(None, [0.0, 20.0, 40.0, 100.0], [])
    assert (found.basis, found.my_score, found.my_percentile) == ("peers", None, None)
    assert found.distribution == Distribution(peer_count=4, cohort_mean=40.0, p25=15.0, p50=30.0, p75=55.0)


def test_seven_days_make_a_history() -> None:
    """0, 40, 50, 60, 80, 90, 100 has the middle 60; the last day was 90."""
    found = compare(60.0, [10.0, 20.0, 30.0], WEEK)
    assert (found.basis, found.distribution, found.my_percentile) == ("selfHistory", None, None)
    assert found.baseline == Baseline(days=7, typical=60.0, latest=90.0, delta=30.0)


def test_too_little_of_both() -> None:
    """Three peers and six days say nothing."""
    found = compare(60.0, [10.0, 20.0, 30.0], WEEK[:6])
    assert (found.basis, found.my_score) == ("insufficient", 60.0)
    assert (found.distribution, found.my_percentile, found.baseline) == (None, None, None)


@given(st.none() | st.floats(0, 100), RATES, RATES)
def test_whatever_is_known_one_basis_holds_and_the_rest_is_empty(
    mine: float | None, peers: list[float], daily: list[float]
) -> None:
    """A cohort of three never shows a distribution; what is constant is constant."""
    found = compare(mine, peers, daily)
    assert (found.distribution is not None) == (len(peers) >= 4) == (found.basis == "peers")
    assert (found.baseline is not None) == (found.basis == "selfHistory")
    assert (found.my_percentile is not None) == (found.basis == "peers" and mine is not None)
    assert (found.required_days, found.metric, found.unit) == (7, "completionRate", "percent")
    assert found.definition == "crushed_substantive_sessions / substantive_sessions"
    if found.distribution is not None:
        shown = found.distribution
        assert 0 <= shown.p25 <= shown.p50 <= shown.p75 <= 100


# --- who belongs to the cohort --------------------------------------------------------------------------------

CORE, WEB = named("core"), named("web")
CLEO, DAN = named("cleo"), named("dan")


def _joins(directory: Directory, team: UUID, developer: UUID) -> None:
    stay = named(f"{developer} in {team}")
    added = carry_out(directory, AddTeamMember(team_membership_id=stay, team_id=team, developer_id=developer))
    assert not isinstance(added, PeopleRefused)


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
    """Without oneself."""
    assert set(cohort_of(directory, ANA_SCOPE)) == {BEN, CLEO, DAN}
    assert len(cohort_of(directory, ANA_SCOPE)) == 3
    assert set(cohort_of(directory, Scope(ACME, CLEO))) == {ANA, BEN}


def test_a_team_that_has_ended_brings_nobody(directory: Directory) -> None:
    """Dan is met nowhere else."""
    carry_out(directory, EndTeam(team_id=WEB))
    assert set(cohort_of(directory, ANA_SCOPE)) == {BEN, CLEO}


def test_who_left_the_team_or_the_organization_is_no_peer(directory: Directory) -> None:
    """Cleo left the team; Ben left the organization, and his stays are still on file."""
    carry_out(directory, RemoveTeamMember(team_membership_id=named(f"{CLEO} in {CORE}")))
    carry_out(directory, EndMembership(membership_id=membership_stream(ACME, BEN)))
    assert cohort_of(directory, ANA_SCOPE) == [DAN]


def test_whoever_left_a_team_has_no_peers_there(directory: Directory) -> None:
    """Ana left Core; Cleo and she are strangers to each other now."""
    carry_out(directory, RemoveTeamMember(team_membership_id=named(f"{ANA} in {CORE}")))
    assert set(cohort_of(directory, ANA_SCOPE)) == {BEN, DAN}
    assert cohort_of(directory, Scope(ACME, CLEO)) == [BEN]


def test_another_organizations_teams_are_no_cohort(directory: Directory) -> None:
    """Eve has a team of her own, and none here."""
    carry_out(directory, CreateTeam(team_id=named("eves"), organization_id=OTHER, name="Eve's"))
    _joins(directory, named("eves"), EVE)
    assert cohort_of(directory, Scope(OTHER, EVE)) == []
    assert EVE not in cohort_of(directory, ANA_SCOPE)
