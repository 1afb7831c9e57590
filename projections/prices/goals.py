"""What a developer's goals cost: by day, by outcome, by model, and which cost most. A goal counts where it began."""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from aggregates.event import Scope
from aggregates.times import Window
from aggregates.turns.turn import UNKNOWN_MODEL, ModelTotals
from projections.prices.spending import Spent
from projections.reader import Reader, bound, sum_in_halves, unpack
from projections.sub_sessions.goals import with_agents
from projections.sub_sessions.rows import OUTCOME, GoalOutcome, SubSessionRow, select, started_in

_KINDS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd_nano")
_COUNTS = ("requests", "unpriced_requests", "lower_bound_requests", "unmeasured_requests")
_SUMS = ", ".join(
    (*(f"coalesce(sum(s.{name}), 0)" for name in _COUNTS), *(sum_in_halves(f"s.{name}") for name in _KINDS))
)


class ModelSpent(msgspec.Struct, frozen=True):
    model: str | None  # None where it was not reported
    spent: Spent


def spent_in(reader: Reader, scope: Scope, windows: Sequence[Window]) -> list[Spent]:
    """The goals that began in each window."""
    query = f"SELECT {_SUMS} {started_in()}"
    return [Spent.of(reader.db.execute(query, bound(scope, window)).fetchone()) for window in windows]


def spent_by_outcome(reader: Reader, scope: Scope, window: Window) -> dict[GoalOutcome, tuple[int, Spent]]:
    """How many goals came out so, and what they took."""
    query = f"SELECT {OUTCOME}, count(*), {_SUMS} {started_in()} GROUP BY 1"
    return {row[0]: (row[1], Spent.of(row[2:])) for row in reader.db.execute(query, bound(scope, window))}


def spent_by_model(reader: Reader, scope: Scope, window: Window) -> list[ModelSpent]:
    """The dearest first; those without any price last."""
    sums: defaultdict[str, Spent] = defaultdict(Spent)
    for (body,) in reader.db.execute(f"SELECT s.models {started_in()}", bound(scope, window)):
        for each in unpack(body, list[ModelTotals]):
            sums[each.model or UNKNOWN_MODEL] += Spent(
                each.requests,
                each.unpriced_requests,
                unmeasured=each.unmeasured_requests,
                output_tokens=each.tokens,
                cost_usd_nano=each.cost_usd_nano,
            )
    found = [ModelSpent(None if name == UNKNOWN_MODEL else name, spent) for name, spent in sums.items()]
    return sorted(found, key=lambda each: (-each.spent.cost_usd_nano, -each.spent.requests, each.model or ""))


def dearest(reader: Reader, scope: Scope, window: Window, limit: int) -> list[SubSessionRow]:
    """Those with the highest cost, as far as their requests have a price."""
    where = (
        "AND s.started_us >= :start AND s.started_us < :end AND s.cost_usd_nano > 0 "
        "ORDER BY s.cost_usd_nano DESC, s.sub_session_id LIMIT :limit"
    )
    return with_agents(reader, select(reader, scope, where, window, limit=limit))
