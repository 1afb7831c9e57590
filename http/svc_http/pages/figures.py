"""The pages of figures: Home, Habits, Cost and Team."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta, tzinfo
from functools import partial
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from markupsafe import Markup
from quart import Response

from aggregates.event import Scope
from aggregates.judging.prompt import next_habit
from aggregates.people import directory as records
from aggregates.reading.verdicts import BOOLEANS, BooleanName
from aggregates.scores import grades, prompt_grade
from aggregates.scores.insights import pays
from aggregates.times import US_PER_DAY, Window, calendar_windows, local_date, parse_instant
from projections import CostBy
from projections.cost import Cost, CostGroup, CostParts, CostQuery, cost, costs, period_start
from projections.reader import Reader
from projections.scores import skill, throttle
from projections.scores.score import peer_comparison, tally
from projections.sub_sessions.goals import Wanted, goals
from projections.teams import TeamWeek
from svc_http.bodies import Form, unauthorized
from svc_http.pages import charts, rendering
from svc_http.pages.charts import Bar
from svc_http.pages.door import BySignIn, sign_in_of
from svc_http.pages.period import EVER, Drawn, Period, drawn, period_of
from svc_http.pages.settings import questions, stays
from svc_http.pages.words import cost_told, counted, number, percent, usd
from svc_http.params import one_of
from svc_http.ports import beside
from svc_http.records import Asked, day_of, told_as
from svc_http.routes.scores import organization_of, spent_by_team, team_of, trend_of
from svc_http.routes.sub_sessions import answer_stream
from svc_http.routing import path_id

# --- Cost: told apart in several ways, and the time that limits and failures took -----------------------------------

REQUESTS_MAX = 10_000  # the newest of the time, so that nobody waits for the page; the API looks at more
NAME_CHARACTERS = 40
SERIES_MAX = 4  # so many models or projects have a colour of their own, the dearest; the others share one
TABS: tuple[CostBy, ...] = ("outcome", "model", "project", "agent")
STACKS: tuple[CostParts, ...] = ("model", "project")


async def cost_page(call: BySignIn) -> Response:
    period = await period_of(call)
    by = one_of("by", call.query.get("by", TABS[0]), TABS)
    stack = one_of("stack", call.query.get("stack", STACKS[0]), STACKS)
    zone, bars = call.own_zone, drawn(period, call.own_zone)
    asked_of_cost = CostQuery(period.window, bars.unit, zone, stack, dearest=0), CostQuery(period.window, by, zone)
    (in_time, told), lost = await call.read(
        lambda reader, scope: (
            costs(reader, scope, *asked_of_cost),
            throttle.personal_throttle(reader, scope, period.window, REQUESTS_MAX),
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
        names[part.key] = rendering.cut(part.name, NAME_CHARACTERS) or "unknown"
    ranked = sorted(sums, key=lambda key: (-sums[key], key or ""))
    shown = [names[key] for key in ranked[:SERIES_MAX]] + (["others"] if len(ranked) > SERIES_MAX else [])
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


# --- Home: the verdict, the next habit, what it cost, what is to be said, and what goes on --------------------------

UNDECIDED_SHOWN = 3
LIVE_SHOWN = 10


def _home(reader: Reader, scope: Scope, period: Period, parts: Drawn, zone: ZoneInfo, now_us: int) -> dict[str, Any]:
    window, before = period.window, period.before
    lost = throttle.personal_throttle(reader, scope, window, REQUESTS_MAX)
    # A part of the requests is no match for all of the time before, which would cost as much again.
    is_whole = lost is not None and not lost.is_partial
    going_on = Wanted(outcome="going_on", window=Window(now_us - US_PER_DAY, 2**62))
    spent = cost(reader, scope, CostQuery(window, parts.unit, zone, dearest=0))
    bars = [tally(reader, scope, each) for each in parts.windows]
    shown, rows = skill.skill(reader, scope, "range", [window]), cost_rows(spent, parts, zone)
    return {
        "now": tally(reader, scope, window),
        "bars": bars,
        "rows": rows,
        "goals_chart": _goals_chart(bars, parts),
        "cost_chart": cost_chart(rows, parts),
        "skill": shown,
        "habit": next_habit(shown.per_boolean, shown.per_boolean_counts),
        "cost": spent,
        "cost_before": before and cost(reader, scope, CostQuery(before, "outcome", zone, dearest=0)),
        "lost": lost,  # None where failures are too many for one read
        "lost_before": throttle.personal_throttle(reader, scope, before, REQUESTS_MAX) if before and is_whole else None,
        "undecided": goals(reader, scope, Wanted(window=window, outcome="undecided"), UNDECIDED_SHOWN),
        "live": goals(reader, scope, going_on, LIVE_SHOWN),
    }


async def home(call: BySignIn) -> Response:
    period, zone, now_us = await period_of(call), call.own_zone, call.service.now_us()
    parts, asked = drawn(period, zone), questions(call, at_home=True)
    found = await call.read(_home, period, parts, zone, now_us)
    return await call.show("home.html", period=period, found=found, drawn=parts, questions=asked, stays=stays(call))


def _goals_chart(tallies: Sequence[grades.Tally], parts: Drawn) -> Markup:
    bars = [
        Bar(
            label,
            (("reached", of.crushed), ("missed", of.decided - of.crushed), ("undecided", of.undecided)),
            f"{parts.named(label)}: {rendering.rate(of)}",
            href=f"/goals?{query}",
        )
        for label, query, of in zip(parts.labels, parts.queries, tallies, strict=True)
    ]
    return charts.bars(f"Goals by {parts.unit}: reached, not reached, undecided", bars, number)


async def live_stream(call: BySignIn) -> Response:
    def still_in() -> None:
        if sign_in_of(call.service, call.request) is None:
            raise unauthorized("this browser is no longer signed in")

    return await answer_stream(call, still_in)


# --- Habits: the next one to train, how often each shows, week by week, and whether it pays -------------------------

WEEKS_SHOWN = 12
EXAMPLES_DAYS = 90  # examples are of the last days of the chosen time: older words tell little of how one works now


def _habits(reader: Reader, scope: Scope, window: Window, zone: ZoneInfo) -> dict[str, Any]:
    found = skill.skill(reader, scope, "range", [window])
    newest_us = window.end_us - 1 if found.newest_at is None else parse_instant(found.newest_at)
    last_us = min(newest_us, window.end_us - 1)
    weeks = calendar_windows("weekly", zone, last_us, WEEKS_SHOWN)  # of the time that have work, and those before them
    recent = Window(max(window.start_us, last_us - EXAMPLES_DAYS * US_PER_DAY), window.end_us)
    by_week = [skill.habit_counts(reader, scope, each) for each in weeks]
    decided = skill.decided_goals(reader, scope)
    return {
        "found": found,
        "next": next_habit(found.per_boolean, found.per_boolean_counts),
        "habits": {each: _by_week(each, by_week) for each in BOOLEANS},
        "best": skill.best_shown(reader, scope, recent),
        "missed": skill.newest_missed(reader, scope, recent),
        "weeks": weeks,
        "last_us": min(weeks[-1].end_us, window.end_us) - 1,
        "decided": sum(each.goals for each in decided),
        "pays": pays(decided),
    }


async def habits_page(call: BySignIn) -> Response:
    period = await period_of(call)
    found = await call.read(_habits, period.window, call.own_zone)
    return await call.show("reflection/habits.html", period=period, text="", grade=None, **found)


def _by_week(name: BooleanName, weeks: Sequence[skill.HabitCounts]) -> Markup:
    shares = [100 * each.hits[name] / each.applied[name] if each.applied[name] else None for each in weeks]
    return charts.spark(f"Percent by week, the oldest first: {' '.join(map(percent, shares))}", shares)


async def grade(call: BySignIn, form: Form) -> Response:
    text, found = form.get("prompt", ""), None
    is_long = len(text.encode()) > prompt_grade.GRADED_BYTES_MAX
    if text.strip() and not is_long:
        found = await beside(call.body.cpu, len(text), partial(prompt_grade.grade_text, text))
    # htmx shows no answer that is an error.
    status = 400 if is_long and "HX-Request" not in call.request.headers else 200
    return await call.show("reflection/grade.html", status, text=text, grade=found, is_long=is_long)


# --- Team: what it did, week by week, what its members spent, and one's own place -----------------------------------

TEAM_REQUESTS_MAX = 30_000  # of the newest of all members, so that nobody waits for the page; the API looks at more


async def team_page(call: BySignIn) -> Response:
    directory = call.service.directory
    wanted, teams = call.query.get("team"), directory.teams_of(call.scope)
    chosen = next(iter(teams), None) if wanted is None else team_of(call, path_id(wanted, "team_id"))
    stays = () if chosen is None else records.stays_in(directory, chosen, EVER, call.own_zone)
    period = await period_of(call, stays)
    times, before_told = _compared(period, call.own_zone)
    organization = organization_of(call)
    members = [each for each in directory.all(records.Membership) if each.active and each.role == "owner"]
    owners = [directory.name_of(each.developer_id) for each in members if each.organization_id == organization.id]
    return await call.show(
        "organization/team.html",
        period=period,
        team=chosen,
        owners=owners,
        minimum=organization.team_minimum,
        told=rendering.text_of("lead"),
        before_told=before_told,
        **({} if chosen is None else await _of_team(call, chosen, times)),
        **await _of_peers(call, times),
    )


def _compared(period: Period, zone: ZoneInfo) -> tuple[Sequence[Window], str | None]:
    """Beside the same weekdays of as many weeks before, and what these are called; None where nothing was there."""
    window = period.window
    first, last = local_date(window.start_us, zone), local_date(window.end_us - 1, zone)
    back = timedelta(weeks=(last - first).days // 7 + 1)
    asked = Asked("range", first - back, last - back)
    before = asked.window(zone) if asked.first.year >= 1970 else Window(0, 0)
    is_there = period.oldest_us is not None and period.oldest_us < before.end_us
    return (before, window), told_as(asked, period.today) if is_there else None


async def _of_team(call: BySignIn, chosen: records.Team, times: Sequence[Window]) -> dict[str, Any]:
    directory, zone, window = call.service.directory, call.own_zone, times[-1]
    trend = await trend_of(call, chosen, window, zone)
    stays = records.stays_in(directory, chosen, window, zone)
    cost = await spent_by_team(call, chosen, times, zone)
    present = {each.developer_id for each in directory.all(records.TeamMembership, active=True, team_id=chosen.id)}
    this_year = local_date(call.service.now_us(), zone).year
    labels = [day_of(each.week_start, this_year, "%b") for each in trend.weeks]
    return {
        "present": present,
        "members": [each for each in cost.members if each.developer_id in present or each.request_count != 0],
        "trend": trend,
        "weeks": [*zip(labels, trend.weeks, strict=True)],
        "chart": _team_chart(labels, trend.weeks),
        "cost": cost,
        "impact": await call.read(throttle.team_throttle, stays, window, TEAM_REQUESTS_MAX),
    }


def _team_chart(labels: Sequence[str], weeks: Sequence[TeamWeek]) -> Markup:
    """How work came out, as far as it is told; what is not told, goes on or does not count is grey."""
    bars = []
    for label, week in zip(labels, weeks, strict=True):
        reached, undecided = week.reached or 0, week.undecided or 0
        missed = (week.not_reached or 0) + (week.repeated or 0)
        rest = (week.begun or 0) - reached - undecided - missed
        told = f", {number(reached)} reached, {number(missed)} not, {number(undecided)} undecided"
        is_told = week.begun and week.reached is not None
        about = f"Week of {label}: {counted(week.begun or 0, 'goal')} begun{told if is_told else ''}"
        parts = (("reached", reached), ("missed", missed), ("undecided", undecided), ("s4", rest))
        bars.append(Bar(label, parts, about))
    return charts.bars("Goals of the team by week", bars, number)


# --- one's own place: beside one's past, and nameless peers --------------------------------------------------------


async def _of_peers(call: BySignIn, times: Sequence[Window]) -> dict[str, Any]:
    window, cohort = times[-1], grades.cohort_of(call.service.directory, call.scope)
    before, now = await call.read(lambda reader, scope: [tally(reader, scope, each) for each in times])
    # The days of a period are the same until midnight, so looking at them again is no further range.
    admitted = call.service.peer_ranges.admits(call.scope.developer_id, window, call.service.now_us())
    found = await call.read(peer_comparison, cohort, window, call.own_zone) if admitted else None
    return {
        "now": now,
        "before": before,
        "cohort": len(cohort),
        "found": found,
        "place": None if found is None else _place(found),
    }


def _place(found: grades.Comparison) -> Markup | None:
    peers, fits = found.distribution, found.interval
    if peers is None:
        return None
    mine = None if found.my_score is None or fits is None else (fits.low, found.my_score, fits.high)
    about = f"Half of the group lies between {peers.p25:.0f} and {peers.p75:.0f} percent, the middle at {peers.p50:.0f}"
    yours = "" if mine is None else f"; yours is {mine[1]:.0f}, likely {mine[0]:.0f} to {mine[2]:.0f}"
    return charts.place(about + yours, (peers.p25, peers.p50, peers.p75), mine)
