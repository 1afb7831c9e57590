"""Comparing a completion rate with those of the same teams, or with one's own past (scoring.md, section 8).

What leaves here names nobody and holds no peer's own number.
"""

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.people.directory import Directory, TeamMembership
from aggregates.scores.grades import median, percentile

PEERS_MIN = 4

REQUIRED_DAYS = 7

Basis = Literal["peers", "selfHistory", "insufficient"]


class Distribution(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The completion rates, 0-100, of everybody in the cohort who has one, the caller among them."""

    peer_count: int
    cohort_mean: float
    p25: float
    p50: float
    p75: float


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The caller's own daily completion rates, 0-100."""

    days: int
    typical: float
    latest: float
    delta: float


class Comparison(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a caller is shown; of distribution, percentile and baseline the unused are None."""

    my_score: float | None
    """None without any scored sub-session."""
    basis: Basis
    distribution: Distribution | None = None
    my_percentile: float | None = None
    """The share of scored peers, 0-100, whose rate is at or below the caller's."""
    required_days: int = REQUIRED_DAYS
    baseline: Baseline | None = None
    metric: str = "completionRate"
    unit: str = "percent"
    definition: str = "crushed_substantive_sessions / substantive_sessions"


def cohort_of(directory: Directory, scope: Scope) -> list[UUID]:
    """Who shares an active team with the developer now and belongs to the organization now; without the developer."""
    teams = {team.team_id for team in directory.teams_of(scope)}
    stays = (stay for stay in directory.all(TeamMembership) if stay.active and stay.team_id in teams)
    found = {stay.developer_id for stay in stays} - {scope.developer_id}
    return sorted(each for each in found if directory.membership(Scope(scope.organization_id, each)) is not None)


def compare(mine: float | None, peers: Sequence[float], daily: Sequence[float]) -> Comparison:
    """The caller's rate against those of the scored peers, else against the own days, oldest first."""
    if len(peers) >= PEERS_MIN:
        return Comparison(
            my_score=mine,
            basis="peers",
            distribution=_distribution(mine, peers),
            my_percentile=None if mine is None else 100.0 * sum(rate <= mine for rate in peers) / len(peers),
        )
    if len(daily) >= REQUIRED_DAYS:
        typical = median(daily)
        baseline = Baseline(days=len(daily), typical=typical, latest=daily[-1], delta=daily[-1] - typical)
        return Comparison(my_score=mine, basis="selfHistory", baseline=baseline)
    return Comparison(my_score=mine, basis="insufficient")


def _distribution(mine: float | None, peers: Sequence[float]) -> Distribution:
    rates = sorted(peers if mine is None else (*peers, mine))
    return Distribution(
        peer_count=len(peers),
        cohort_mean=sum(rates) / len(rates),
        p25=percentile(rates, 0.25),
        p50=percentile(rates, 0.50),
        p75=percentile(rates, 0.75),
    )
