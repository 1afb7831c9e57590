"""What a team spent in a window: the answer made of what was read, and which amounts it leaves open.

An amount is shown only where it is known whole; docs/wire.md says when that is.
"""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from projections.spending import Coverage, Reading, Spent

NANO = 1_000_000_000


class Rollup(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The team's sums. A number that is not known whole is None."""

    cost_usd: float | None
    lower_bound_cost_usd: float | None
    """What was spent at the least, where the cost is not known whole or a price is a lower bound; else None."""
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_creation_tokens: int | None
    request_count: int | None
    unmeasured_requests: int | None
    """Requests whose tokens nobody told; where there are any, the token sums are None."""
    is_estimate: bool = True


class Member(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One developer's part, for the days in the team."""

    developer_id: UUID
    display_name: str
    cost_usd: float | None
    total_tokens: int | None
    request_count: int | None
    share: float | None
    """Of the team's cost, 0 to 1."""


class PricingCoverage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether requests could be priced."""

    priced_requests: int | None
    unpriced_requests: int | None
    lower_bound_requests: int | None
    """Of the priced ones: those whose cache writes may have cost more."""
    ratio: float | None
    """Priced of all; None where there are none."""


class TeamCost(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a team spent in a window, and in the one before."""

    is_partial: bool
    prev_is_partial: bool
    read_coverage: Coverage
    prev_read_coverage: Coverage
    cost_ranking_available: bool
    rollup: Rollup
    members: list[Member]
    """By cost, the highest first, where everybody's is known; else by name."""
    pricing_coverage: PricingCoverage
    prev_cost_usd: float | None


def team_cost(names: Mapping[UUID, str], current: Reading, previous: Reading) -> TeamCost:
    """The answer for a window. `names`: everybody who was in the team within it."""
    partial = current.coverage.reason != "complete"
    total = sum(current.spent.values(), Spent())
    members = _members(names, current.spent, _cost_usd(total, partial), partial)
    ranked = all(member.cost_usd is not None for member in members)
    return TeamCost(
        is_partial=partial,
        prev_is_partial=previous.coverage.reason != "complete",
        read_coverage=current.coverage,
        prev_read_coverage=previous.coverage,
        cost_ranking_available=ranked,
        rollup=_rollup(total, partial),
        members=sorted(members, key=_rank) if ranked else members,
        pricing_coverage=_pricing(total, partial),
        prev_cost_usd=_previous_usd(previous),
    )


def _cost_usd(spent: Spent, partial: bool) -> float | None:
    """None where it is not known whole. Requests that all cost nothing are no exact zero: only no request is."""
    nought_is_doubtful = spent.requests > 0 and spent.cost_usd_nano == 0
    return None if partial or spent.unpriced or nought_is_doubtful else spent.cost_usd_nano / NANO


def _previous_usd(previous: Reading) -> float | None:
    return _cost_usd(sum(previous.spent.values(), Spent()), previous.coverage.reason != "complete")


def _rollup(total: Spent, partial: bool) -> Rollup:
    below = partial or total.unpriced or total.lower_bound
    known = not partial and not total.unmeasured
    return Rollup(
        cost_usd=_cost_usd(total, partial),
        lower_bound_cost_usd=total.cost_usd_nano / NANO if below and total.cost_usd_nano > 0 else None,
        input_tokens=total.input_tokens if known else None,
        output_tokens=total.output_tokens if known else None,
        cache_read_tokens=total.cache_read_tokens if known else None,
        cache_creation_tokens=total.cache_write_tokens if known else None,
        request_count=None if partial else total.requests,
        unmeasured_requests=None if partial else total.unmeasured,
    )


def _members(
    names: Mapping[UUID, str], spent: Mapping[UUID, Spent], total_usd: float | None, partial: bool
) -> list[Member]:
    by_name = sorted(names, key=lambda developer_id: (names[developer_id], developer_id))
    return [_member(each, names[each], spent.get(each, Spent()), total_usd, partial) for each in by_name]


def _rank(member: Member) -> float:
    """The highest cost first; equal ones stay in the order of their names."""
    return -(member.cost_usd or 0.0)


def _member(developer_id: UUID, name: str, spent: Spent, total_usd: float | None, partial: bool) -> Member:
    cost_usd = _cost_usd(spent, partial)
    return Member(
        developer_id=developer_id,
        display_name=name,
        cost_usd=cost_usd,
        total_tokens=None if partial or spent.unmeasured else spent.total_tokens,
        request_count=None if partial else spent.requests,
        share=cost_usd / total_usd if cost_usd is not None and total_usd else None,
    )


def _pricing(total: Spent, partial: bool) -> PricingCoverage:
    priced = total.requests - total.unpriced
    return PricingCoverage(
        priced_requests=None if partial else priced,
        unpriced_requests=None if partial else total.unpriced,
        lower_bound_requests=None if partial else total.lower_bound,
        ratio=None if partial or not total.requests else priced / total.requests,
    )
