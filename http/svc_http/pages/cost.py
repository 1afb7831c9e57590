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
from svc_http.pages.door import BySignIn, chosen
from svc_http.pages.period import Drawn, drawn, period_of
from svc_http.pages.rendering import cut
from svc_http.pages.words import cost_told, usd
from svc_http.routing import Routes

REQUESTS_MAX = 10_000  # the newest of the time, so that nobody waits for the page; the API looks at more
NAME_CHARACTERS = 40
SERIES_MAX = 4  # so many models or projects have a colour of their own, the dearest; the others share one
TABS: tuple[CostBy, ...] = ("outcome", "model", "project", "agent")
STACKS: tuple[CostParts, ...] = ("model", "project")
routes = Routes()


@routes("GET /cost", "What the work cost, and the time lost.")
async def cost(call: BySignIn) -> Response:
    window, asked = await period_of(call)
    by = chosen("by", call.query.get("by", TABS[0]), TABS)
    stack = chosen("stack", call.query.get("stack", STACKS[0]), STACKS)
    zone, bars = call.own_zone, drawn(asked["period"], call.own_zone)
    asked_of_cost = CostQuery(window, bars.unit, zone, stack, dearest=0), CostQuery(window, by, zone)
    (in_time, told), lost = await call.read(
        lambda reader, scope: (
            costs(reader, scope, *asked_of_cost),
            personal_throttle(reader, scope, window, REQUESTS_MAX),
        )
    )
    series = _series(in_time)
    rows = _rows(in_each(in_time, bars, zone), bars, series)
    return await call.show(
        "cost.html",
        **asked,
        by=by,
        stack=stack,
        tabs=TABS,
        stacks=STACKS,
        told=told,
        series=series.names,
        rows=rows,
        unit=bars.unit,
        chart=_chart(rows, series, bars),
        lost=lost,
    )


class Row(NamedTuple):
    """One bar; no group where no goal began."""

    label: str
    group: CostGroup | None
    known_usd: Sequence[float]  # of each series
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


def in_each(found: Cost, bars: Drawn, zone: tzinfo) -> list[CostGroup | None]:
    """The sums of each part of a time; None where no goal began."""
    groups = {group.key: group for group in found.groups}
    return [groups.get(period_start(bars.unit, each.start_us, zone)) for each in bars.windows]


def _rows(groups: Sequence[CostGroup | None], bars: Drawn, series: Series) -> list[Row]:
    rows = []
    for label, query, group in zip(bars.labels, bars.queries, groups, strict=True):
        known_usd = [0.0] * len(series.names)
        for part in () if group is None else group.parts:
            known_usd[series.places[part.key]] += part.known_cost_usd or 0
        rows.append(Row(label, group, known_usd, query))
    return rows


def _chart(rows: Sequence[Row], series: Series, drawn: Drawn) -> Markup:
    """What has a price; a hatched cap where some requests have none."""
    bars = []
    for label, group, known_usd, query in rows:
        said = [f"{usd(value)} {name}" for name, value in zip(series.names, known_usd, strict=True) if value]
        parts_told = f" ({', '.join(said)})" if said[1:] else ""
        about = f"{drawn.named(label)}: {cost_told(group) if group else usd(0)}{parts_told}"
        parts = [(f"s{place}", value) for place, value in enumerate(known_usd)]
        bars.append(Bar(label, parts, about, bool(group and group.unpriced_requests), f"/goals?{query}&sort=cost"))
    return charts.bars(f"Cost by {drawn.unit}", bars, usd)
