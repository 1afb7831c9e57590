"""What a developer's goals cost, summed in one place for pages, terminal, MCP, reports and the API.

A goal counts in the period in which it began, with all its requests.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import tzinfo
from functools import cache
from operator import attrgetter
from typing import Any, Literal, NamedTuple, get_args
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope
from aggregates.times import SLOT_US, Window, first_day, iso, local_date
from projections import CostBy, CostPeriod
from projections.derive.sub_session_rows import ModelTotals
from projections.prices import Spent
from projections.reader import Reader, bound, sql, unpack
from projections.sub_sessions.goals import Goal, shown
from projections.sub_sessions.projects import Projects, projects_of
from projections.sub_sessions.rows import select

GOALS_READ_MAX = 20_000  # so many goals are read, the newest first; of more no sum is told
DEAREST_MAX = 5
FAILED = ("not_reached", "repeated")

CostParts = Literal["none", "model", "project"]


class CostSums(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over the requests of goals. Null where more goals began than one read may look at."""

    goals: int | None  # one that several models worked on counts for each of them
    requests: int | None
    priced_requests: int | None
    unpriced_requests: int | None
    lower_bound_requests: int | None  # of the priced ones: those that may have cost more
    upper_bound_requests: int | None  # of the priced ones: those that may have cost less
    unmeasured_requests: int | None  # whose tokens nobody told; where there are any, the token sums are null
    cost_usd: float | None  # null where a request has no price
    known_cost_usd: float | None  # of the priced requests
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    total_tokens: int | None


class CostPart(CostSums, frozen=True, kw_only=True):
    key: str | None  # null where nobody told it
    name: str | None  # as a person reads it


class CostGroup(CostPart, frozen=True, kw_only=True):
    """Of a period the key is its first day."""

    parts: list[CostPart]  # the same sums by model or project, where they were asked for; the dearest first


class Cost(msgspec.Struct, frozen=True, kw_only=True, rename={"from_time": "from"}):
    """What the goals cost that began in a range."""

    from_time: str
    to: str
    by: CostBy
    is_partial: bool  # whether more goals began than one read may look at; every sum is null then
    total: CostSums
    not_reached: CostSums  # the part of it that went to goals not reached, or repeated
    groups: list[CostGroup]  # periods in time order, without those in which no goal began; else the dearest first
    dearest: list[Goal]


class CostQuery(msgspec.Struct, frozen=True):
    window: Window
    by: CostBy
    zone: ZoneInfo  # whose days, weeks and months they are
    parts: CostParts = "none"
    dearest: int = DEAREST_MAX  # so many goals are told


class _Goal(NamedTuple):
    started_us: int
    outcome: str
    agent: str | None
    folder: int | None
    models: bytes


_Goals = Sequence[tuple[_Goal, Sequence[tuple[str | None, Spent]]]]
"""Each with what it spent on each model."""


def cost(reader: Reader, scope: Scope, asked: CostQuery) -> Cost:
    (found,) = costs(reader, scope, asked)
    return found


def costs(reader: Reader, scope: Scope, *asked: CostQuery) -> list[Cost]:
    """The cost of one window in several ways; its goals are read once."""
    window, projects = asked[0].window, projects_of(reader, scope)
    rows = reader.db.execute(sql("spent_on_goals"), bound(scope, window, limit=GOALS_READ_MAX + 1)).fetchall()
    known = len(rows) <= GOALS_READ_MAX
    goals = []
    for goal in map(_Goal._make, rows if known else ()):
        totals = enumerate(unpack(goal.models, list[ModelTotals]))  # it is counted with its first model
        goals.append((goal, [(each.model, Spent.of_model(each, goals=int(number == 0))) for number, each in totals]))
    priced = "{in_range} AND s.cost_usd_nano > 0 ORDER BY s.cost_usd_nano DESC, s.sub_session_id LIMIT :limit"
    dearest = [select(reader, scope, priced, window, limit=each.dearest) if each.dearest else () for each in asked]
    return [
        _cost(goals, projects, each, known, shown(reader, rows, projects))
        for each, rows in zip(asked, dearest, strict=True)
    ]


def _cost(goals: _Goals, projects: Projects, asked: CostQuery, known: bool, dearest: Iterable[Goal]) -> Cost:
    failed = Spent()
    groups: defaultdict[str | None, Spent] = defaultdict(Spent)
    parts: defaultdict[str | None, defaultdict[str | None, Spent]] = defaultdict(lambda: defaultdict(Spent))
    names: dict[str | None, str] = {each.key: each.name for each in projects.of.values()}
    key_of, part_of = (_keys(each, asked.zone, projects) for each in (asked.by, asked.parts))
    for goal, models in goals:
        for model, spent in models:
            key, of_model = key_of(goal, model), msgspec.structs.replace(spent, goals=1)
            if goal.outcome in FAILED:
                failed += spent
            groups[key] += of_model if asked.by == "model" else spent
            if asked.parts != "none":
                parts[key][part_of(goal, model)] += of_model if "model" in (asked.by, asked.parts) else spent
    told = [
        each.shown_as(
            CostGroup, known=known, key=key, name=names.get(key, key), parts=_dearest_first(parts[key], names)
        )
        for key, each in groups.items()
    ]
    total = msgspec.structs.replace(sum(groups.values(), Spent()), goals=sum(bool(models) for _, models in goals))
    return Cost(
        from_time=iso(asked.window.start_us),
        to=iso(asked.window.end_us),
        by=asked.by,
        is_partial=not known,
        total=total.shown_as(CostSums, known=known),
        not_reached=failed.shown_as(CostSums, known=known),
        groups=sorted(told, key=attrgetter("key") if asked.by in get_args(CostPeriod) else _by_cost),
        dearest=list(dearest),
    )


def period_start(period: CostPeriod, at_us: int, zone: tzinfo) -> str:
    """The first day of the day, week, month or year that holds a time: the key of its group."""
    day = local_date(at_us, zone)
    return (day.replace(month=1, day=1) if period == "year" else first_day(period, day)).isoformat()


def _keys(by: CostBy | CostParts, zone: ZoneInfo, projects: Projects) -> Callable[[_Goal, str | None], str | None]:
    match by:
        case "model":
            return lambda _, model: model
        case "project":
            known = {folder: project.key for folder, project in projects.of.items()}
            return lambda goal, _: None if goal.folder is None else known.get(goal.folder)
        case "outcome" | "agent" | "none":
            return lambda goal, _: getattr(goal, by, None)
        case _:
            start_of = cache(lambda slot: period_start(by, slot * SLOT_US, zone))
            return lambda goal, _: start_of(goal.started_us // SLOT_US)


def _by_cost(group: CostPart) -> Any:
    """The dearest first; those without any price last."""
    return -(group.known_cost_usd or 0), -(group.requests or 0), group.key or ""


def _dearest_first(sums: Mapping[str | None, Spent], names: Mapping[str | None, str]) -> list[CostPart]:
    shown = [each.shown_as(CostPart, known=True, key=key, name=names.get(key, key)) for key, each in sums.items()]
    return sorted(shown, key=_by_cost)
