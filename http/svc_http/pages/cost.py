"""The page Cost: what goals cost, told apart in several ways, and the time that limits and failures took."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import NamedTuple

from markupsafe import Markup
from quart import Response

from projections import CostBy
from projections.cost import Cost, CostGroup, CostParts, CostQuery, costs, period_start
from projections.scores.throttle import personal_throttle
from svc_http.pages import charts
from svc_http.pages.charts import Bar
from svc_http.pages.door import BySignIn
from svc_http.pages.period import Drawn, drawn, period_of
from svc_http.pages.rendering import cut
from svc_http.pages.words import cost_told, usd
from svc_http.params import one_of

REQUESTS_MAX = 10_000  # the newest of the time, so that nobody waits for the page; the API looks at more
NAME_CHARACTERS = 40
SERIES_MAX = 4  # so many models or projects have a colour of their own, the dearest; the others share one
TABS: tuple[CostBy, ...] = ("outcome", "model", "project", "agent")
STACKS: tuple[CostParts, ...] = ("model", "project")


async def cost(call: BySignIn) -> Response:
    period = await period_of(call)
    by = one_of("by", call.query.get("by", TABS[0]), TABS)
    stack = one_of("stack", call.query.get("stack", STACKS[0]), STACKS)
    zone, bars = call.own_zone, drawn(period, call.own_zone)
    asked_of_cost = CostQuery(period.window, bars.unit, zone, stack, dearest=0), CostQuery(period.window, by, zone)
    (in_time, told), lost = await call.read(
        lambda reader, scope: (
            costs(reader, scope, *asked_of_cost),
            personal_throttle(reader, scope, period.window, REQUESTS_MAX),
        )
    )
    series = _series(in_time)
    rows = cost_rows(in_time, bars, zone, series)
    return await call.show(
        "cost.html",
        period=period,
        by=by,
        stack=stack,
        tabs=TABS,
        stacks=STACKS,
        told=told,
        series=series.names,
        rows=rows,
        unit=bars.unit,
        chart=cost_chart(rows, bars, series.names),
        lost=lost,
    )


class Row(NamedTuple):
    """One bar; no group where no goal began."""

    label: str
    group: CostGroup | None
    known_usd: Sequence[float]  # of each series, or of all in one
    query: str  # what asks for its goals


class Series(NamedTuple):
    names: Sequence[str]
    places: Mapping[str | None, int]  # of the keys of models or projects


def _series(found: Cost) -> Series:
    """The dearest models or projects, and one for all others where there are more."""
    sums: defaultdict[str | None, float] = defaultdict(float)
    names: dict[str | None, str] = {}
    for part in (part for group in found.groups for part in group.parts):
        sums[part.key] += part.known_cost_usd or 0
        names[part.key] = cut(part.name, NAME_CHARACTERS) or "unknown"
    ranked = sorted(sums, key=lambda key: (-sums[key], key or ""))
    others = ["others"] if len(ranked) > SERIES_MAX else []
    shown = [names[key] for key in ranked[:SERIES_MAX]] + others
    return Series(shown, {key: min(place, SERIES_MAX) for place, key in enumerate(ranked)})


def cost_rows(found: Cost, bars: Drawn, zone: tzinfo, series: Series | None = None) -> list[Row]:
    """The sums of each part of a time."""
    groups, rows = {group.key: group for group in found.groups}, []
    for label, query, window in zip(bars.labels, bars.queries, bars.windows, strict=True):
        group = groups.get(period_start(bars.unit, window.start_us, zone))
        known_usd = [0.0] * (1 if series is None else len(series.names))
        for part in () if group is None else (group,) if series is None else group.parts:
            known_usd[0 if series is None else series.places[part.key]] += part.known_cost_usd or 0
        rows.append(Row(label, group, known_usd, query))
    return rows


def cost_chart(rows: Sequence[Row], drawn: Drawn, series: Sequence[str] = ()) -> Markup:
    """What has a price; a hatched cap where some requests have none. `series`: the names, where there are several."""
    bars = []
    for label, group, known_usd, query in rows:
        said = [f"{usd(value)} {name}" for name, value in zip(series, known_usd, strict=False) if value]
        parts_told = f" ({', '.join(said)})" if said[1:] else ""
        about = f"{drawn.named(label)}: {cost_told(group) if group else usd(0)}{parts_told}"
        parts = [(f"s{place}" if series else "priced", value) for place, value in enumerate(known_usd)]
        bars.append(Bar(label, parts, about, bool(group and group.unpriced_requests), f"/goals?{query}&sort=cost"))
    return charts.bars(f"Cost by {drawn.unit}", bars, usd)
