"""What a team did and spent, week by week. How work came out is told of days on which enough were at it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, get_args
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope
from aggregates.people.directory import Stay
from aggregates.times import SLOT_US, Window, local_date, sorted_into
from projections.prices import COUNTS, SUMS, Spent, told_by_responses, told_usd
from projections.reader import Reader, bound, json_array, sql
from projections.sub_sessions.rows import UNCLASSIFIED, GoalOutcome

GOALS_READ_MAX = 50_000  # of more no count is told, and of more requests no cost
REQUESTS_READ_MAX = 100_000


class TeamSums(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The six outcomes and `onOtherDays` add up to `begun`."""

    members_active: int | None
    begun: int | None
    reached: int | None  # null, as the other outcomes, where on no day enough members were at work
    undecided: int | None
    not_reached: int | None
    repeated: int | None
    going_on: int | None
    not_counted: int | None
    unclassified: int | None  # among those that do not count
    on_other_days: int | None  # begun on days with fewer members at work; how these came out is not told
    cost_usd: float | None  # of the requests of the time; null where it is not known whole
    lower_bound_cost_usd: float | None  # what is known of it then
    request_count: int | None


class TeamWeek(TeamSums, frozen=True, kw_only=True):
    week_start: date  # its Monday


class TeamTrend(msgspec.Struct, frozen=True, kw_only=True, rename={"team_id": "teamId", "is_partial": "isPartial"}):
    """The whole weeks that touch a range, oldest first, and all of them together. Where `isPartial` some are null."""

    team_id: UUID
    timezone: str
    is_partial: bool
    total: TeamSums
    weeks: list[TeamWeek]


class Begun(NamedTuple):
    """A goal that a member began while in the team."""

    developer_id: UUID
    sub_session_id: str
    started_us: int
    settled: int
    floor_passed: int
    intent: str
    outcome: GoalOutcome

    @property
    def is_unclassified(self) -> bool:
        return bool(self.settled and self.floor_passed and self.intent == UNCLASSIFIED)


def begun(reader: Reader, scope: Scope, stays: Iterable[Stay], most: int = -1) -> list[Begun]:
    """What was begun during stays of the scope's organization, of each the newest first; of all no more than `most`."""
    query = sql("begun_by_member", unclassified=UNCLASSIFIED)
    found = list[Begun]()
    for stay in stays:
        whose, days = Scope(scope.organization_id, stay.developer_id), Window(stay.start_us, stay.end_us)
        rows = reader.db.execute(query, bound(whose, days, limit=most if most < 0 else most - len(found)))
        found += [Begun(stay.developer_id, *row) for row in rows]
    return found


def members_in(found: Iterable[Begun]) -> int:
    return len({each.developer_id for each in found})


def team_trend(
    reader: Reader,
    scope: Scope,
    team_id: UUID,
    weeks: Sequence[Window],
    stays: Sequence[Sequence[Stay]],
    zone: ZoneInfo,
    team_minimum: int,
) -> TeamTrend:
    """`stays`: of each week, those in the team."""
    every = begun(reader, scope, chain(*stays), GOALS_READ_MAX + 1)
    known, spent = len(every) <= GOALS_READ_MAX, _spent(reader, scope, stays)
    told = sorted_into(weeks, ((each.started_us, each) for each in every)) if known else [None] * len(weeks)
    day_of = cache(lambda slot: local_date(slot * SLOT_US, zone))
    shown = [
        TeamWeek(
            week_start=local_date(week.start_us, zone),
            **_counts(goals, day_of, team_minimum),
            **_costs(None if spent is None else spent[number]),
        )
        for number, (week, goals) in enumerate(zip(weeks, told, strict=True))
    ]
    in_all = _costs(None if spent is None else sum(spent, Spent()))
    return TeamTrend(
        team_id=team_id,
        timezone=zone.key,
        is_partial=not known or spent is None,
        total=TeamSums(**_counts(every if known else None, day_of, team_minimum), **in_all),
        weeks=shown,
    )


def _counts(begun: Sequence[Begun] | None, day_of: Callable[[int], date], minimum: int) -> dict[str, Any]:
    outcomes = get_args(GoalOutcome)
    names = ("members_active", "begun", *outcomes, "unclassified", "on_other_days")
    if begun is None:
        return dict.fromkeys(names)
    by_day: defaultdict[date, list[Begun]] = defaultdict(list)
    for each in begun:
        by_day[day_of(each.started_us // SLOT_US)].append(each)
    told = [day for day in by_day.values() if members_in(day) >= minimum]
    of = Counter(each.outcome for each in chain(*told))
    counts: dict[str, Any] = {"members_active": members_in(begun), "begun": len(begun)}
    if begun and not told:
        return dict.fromkeys(names) | counts | {"on_other_days": len(begun)}
    counts |= {name: of[name] for name in outcomes}
    counts["unclassified"] = sum(each.is_unclassified for each in chain(*told))
    return counts | {"on_other_days": len(begun) - sum(map(len, told))}


def _spent(reader: Reader, scope: Scope, stays: Sequence[Sequence[Stay]]) -> list[Spent] | None:
    """By week; None where more was asked than one read may look at."""
    places = [(number, stay) for number, of_week in enumerate(stays) for stay in of_week]
    told = json_array([(number, stay.developer_id, stay.start_us, stay.end_us) for number, stay in places])
    values = {"stays": told, "organization": str(scope.organization_id), "most": REQUESTS_READ_MAX + 1}
    few = sql("requests_of_stays", wanted=1, answered=COUNTS, rest="LIMIT :most")
    sums_of_weeks = sql("requests_of_stays", wanted=f"s.week, {SUMS}", answered=COUNTS, rest="GROUP BY s.week")
    (count,) = reader.db.execute(f"SELECT count(*) FROM ({few})", values).fetchone()
    if count > REQUESTS_READ_MAX:
        return None
    spent = [Spent()] * len(stays)
    for number, *sums in reader.db.execute(sums_of_weeks, values):
        spent[number] += Spent.of(sums)
    for number, stay in places:
        whose, days = Scope(scope.organization_id, stay.developer_id), Window(stay.start_us, stay.end_us)
        for _, _, more in told_by_responses(reader.db, whose, days):
            spent[number] += more
    return spent


def _costs(spent: Spent | None) -> dict[str, Any]:
    if spent is None:
        return dict.fromkeys(("cost_usd", "lower_bound_cost_usd", "request_count"))
    return {**told_usd(spent), "request_count": spent.requests}
