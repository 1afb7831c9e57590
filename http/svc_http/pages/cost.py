"""What the work cost: by outcome, by model, by day, by goal; and how much of it nobody could price."""

from collections.abc import Mapping, Sequence

import msgspec
from quart import Response

from aggregates.event import Scope
from aggregates.times import Window
from projections.prices.goals import ModelSpent, dearest, spent_by_model, spent_by_outcome, spent_in
from projections.prices.spending import Spent
from projections.reader import Reader
from projections.sub_sessions.rows import GoalOutcome, SubSessionRow
from svc_http.pages.door import BySignIn
from svc_http.pages.home import cost_chart, days_of, period_or_month
from svc_http.pages.words import STATES, short_day
from svc_http.routing import Routes

DEAREST_SHOWN = 10
_FAILED: tuple[GoalOutcome, ...] = ("not_reached", "rework")
routes = Routes()


class Look(msgspec.Struct, frozen=True):
    outcomes: Mapping[GoalOutcome, tuple[int, Spent]]
    models: Sequence[ModelSpent]
    days: Sequence[Spent]
    dearest: Sequence[SubSessionRow]


def _look(reader: Reader, scope: Scope, window: Window, days: Sequence[Window]) -> Look:
    return Look(
        spent_by_outcome(reader, scope, window),
        spent_by_model(reader, scope, window),
        spent_in(reader, scope, days),
        dearest(reader, scope, window, DEAREST_SHOWN),
    )


@routes("GET /cost", "What the work cost.")
async def cost(call: BySignIn) -> Response:
    name, window, periods = period_or_month(call)
    days = days_of(call, window)
    look = await call.read(_look, window, days)
    parts = [spent for _, spent in look.outcomes.values()]
    failed = [look.outcomes[each][1] for each in _FAILED if each in look.outcomes]
    return await call.show(
        "cost.html",
        period=name,
        periods=periods,
        look=look,
        outcomes=[name for name in STATES if name != "live"] + ["live"],
        days=days,
        total=sum(parts, Spent()),
        failed=sum(failed, Spent()),
        chart=cost_chart(look.days, [short_day(each.start_us, call.own_zone) for each in days]),
    )
