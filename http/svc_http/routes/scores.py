"""Figures of windows and ranges, trends, integrity, peers, throttling; telemetry as it came; what teams see."""

from collections.abc import Callable, Sequence
from datetime import timedelta, timezone, tzinfo
from itertools import islice
from typing import Annotated, Any, Generic, TypeVar, get_args
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from aggregates import times
from aggregates.event import Scope, shaped
from aggregates.judging.prompt import language_of
from aggregates.people.directory import Developer, Organization, Team, stays_in
from aggregates.reports.prose import Narration, NarrativeRequest
from aggregates.scores.grades import PEER_RANGES_MAX, Comparison, cohort_of
from aggregates.telemetry.envelope import Signal
from aggregates.times import Window
from projections import CostBy
from projections.cost import CostParts, CostQuery, cost
from projections.prices import TeamCost, TeamWindow, team_cost
from projections.reader import Reader
from projections.reports import TeamSummary, own_work, team_day, team_summary, withheld
from projections.scores import activity, insights, score, skill, throttle
from projections.teams import TeamTrend, team_trend
from projections.telemetry import records, usage
from svc_http import params
from svc_http.bodies import HttpError, found
from svc_http.params import ByKey
from svc_http.routing import Routes

WINDOWS_SHOWN = 4  # a sparkline has this many points; the last is the window asked for
POINTS_MAX = 1000  # of one trend: almost three years of days
OFFSET_MINUTES = (-12 * 60, 14 * 60)  # the zones there are, in minutes east of UTC, both included
RIGHTSIZING_DAYS = 90
_P = TypeVar("_P")
_POINTS = params.clamped("points", 12, 52, "How many windows")
_OFFSETS = {"type": "integer", "default": 0, "minimum": OFFSET_MINUTES[0], "maximum": OFFSET_MINUTES[1]}
TZ_OFFSET = params.Parameter("tz_offset", _OFFSETS, "The zone of bare dates, in minutes east of UTC.")
_V3 = "/v1/score_v3"
routes = Routes()


class Trend(msgspec.Struct, Generic[_P], frozen=True, rename={"from_time": "from"}):
    from_time: str
    to: str
    period: times.Period
    points: Sequence[_P]


_BY_WINDOWS = params.Arguments(params.WINDOW_OR_RANGE, lambda call: call.asked_windows(WINDOWS_SHOWN))
routes.reads(f"{_V3}/score", "The completion rate of a window.", score.score, _BY_WINDOWS)
routes.reads(f"{_V3}/speed", "How fast goals were reached.", score.speed, _BY_WINDOWS)
routes.reads(f"{_V3}/tokens", "What reaching goals took in tokens.", score.tokens, _BY_WINDOWS)
routes.reads(f"{_V3}/skill", "Which habits prompts show.", skill.skill, _BY_WINDOWS)
routes.reads(f"{_V3}/insight/summary", "The average prompt grade of a window.", skill.insight_summary, _BY_WINDOWS)

_LAST_WINDOWS = params.Arguments(
    (params.WINDOW, _POINTS),
    lambda call: (name := params.WINDOW.read(call.query), call.windows(name, _POINTS.read(call.query) + 1)),
)
_BY = params.choice("by", get_args(CostBy), "day", "What the sums are told apart by.")
_PARTS = params.choice("parts", get_args(CostParts), "none", "What each of them is told apart by once more.")
_OF_COST = params.Arguments(
    (*params.FROM_TO, _BY, _PARTS),
    lambda call: (CostQuery(call.own_range(), _BY.read(call.query), call.own_zone, _PARTS.read(call.query)),),
)
routes.reads(f"{_V3}/tokens/trend", "The tokens of the last windows.", score.token_trend, _LAST_WINDOWS)
routes.reads(f"{_V3}/cost", "What goals cost that began in a range.", cost, _OF_COST)
routes.reads(f"{_V3}/integrity", "What was flagged in a window.", activity.integrity, params.IN_WINDOW)


def _trend(
    path: str, query: Callable[[Reader, Scope, Window, list[Window]], Sequence[_P]], about: str, point: type[_P]
) -> None:
    """The route of counts over the calendar periods of a range; empty periods are there with zeros."""

    @routes(f"GET {_V3}/{path}", about, (*params.FROM_TO, params.PERIOD), answers=Trend[point])  # type: ignore[valid-type]
    async def handler(call: ByKey) -> Trend[_P]:
        zone, period = call.own_zone, params.PERIOD.read(call.query)
        window = call.from_and_to(zone)
        points = await call.read(query, window, periods_in(window, period, zone))
        return Trend(times.iso(window.start_us), times.iso(window.end_us), period, points)


def periods_in(window: Window, period: times.Period, zone: tzinfo) -> list[Window]:
    """Those that touch the range. Raises `HttpError` 400 where they are too many for one answer."""
    periods = list(islice(times.buckets(window, period, zone), POINTS_MAX + 1))
    if len(periods) > POINTS_MAX:
        why = f"the range has more than {POINTS_MAX} {period}s; ask for a shorter range, or for longer periods"
        raise HttpError(400, why)
    return periods


_trend("integrity/trend", activity.integrity_trend, "Flags by period.", activity.IntegrityPoint)
_trend("trivia/trend", activity.trivia_trend, "Trivia by period.", activity.TriviaPoint)


@routes(f"GET {_V3}/integrity/recent", "The flags themselves, newest first.", (params.SINCE, *params.PAGE))
async def recent_flags(call: ByKey) -> list[activity.FlagRow]:
    from_us = call.time("from", call.own_zone)
    if from_us is None:
        from_us = call.service.now_us() - times.RANGE_DEFAULT_DAYS * times.US_PER_DAY
    return await call.read(activity.recent_flags, from_us, *call.page())


_PEERS = "The caller's completion rate beside the team's."


@routes(f"GET {_V3}/peer-comparison", _PEERS, (*params.FROM_TO, params.TZ))
async def peers(call: ByKey) -> Comparison:
    """The cohort is that of the caller's active teams; nobody chooses it."""
    zone, now_us = call.asked_tz(call.own_zone), call.service.now_us()
    window = call.from_and_to(zone)
    # The range that nobody chose moves with the clock, and is no further one.
    if "from" in call.query and not call.service.peer_ranges.admits(call.scope.developer_id, window, now_us):
        tomorrow = {"Retry-After": str(-(-(times.US_PER_DAY - now_us % times.US_PER_DAY) // times.US_PER_SECOND))}
        why = "they could single a colleague out; ask for one of today's again, or wait for midnight UTC"
        raise HttpError(429, f"{PEER_RANGES_MAX} different ranges were compared over today; {why}", tomorrow)
    return await call.read(score.peer_comparison, cohort_of(call.service.directory, call.scope), window, zone)


@routes("GET /v1/intelligence/throttle", "What throttling cost the caller.", (*params.FROM_TO, TZ_OFFSET))
async def throttle_of_caller(call: ByKey) -> throttle.ThrottleImpact:
    found = await call.read(throttle.personal_throttle, call.from_and_to(offset_zone(call.query)))
    if found is None:
        # Trying again would not help, so there is no Retry-After.
        raise HttpError(503, "the range holds more requests than one read may look at; ask for a shorter range")
    return found


def offset_zone(query: params.Query) -> timezone:
    minutes = params.integer(query, "tz_offset") or 0
    least, most = OFFSET_MINUTES
    if not least <= minutes <= most:
        raise HttpError(400, f"tz_offset must be minutes east of UTC, from {least} to {most}")
    return timezone(timedelta(minutes=minutes))


_LAST_DAYS = params.Arguments(
    params.until_now(f"{RIGHTSIZING_DAYS} days ago"),
    lambda call: (call.from_until(call.own_zone, RIGHTSIZING_DAYS * times.US_PER_DAY), call.own_zone),
)
routes.reads("/v1/intelligence/rightsizing", "What each model was used for.", usage.rightsizing, _LAST_DAYS)


# --- ranges of days: files, best prompts, time per task, models per kind of task -----------------------------

DAYS_DEFAULT = 30
DAYS_MAX = 366  # the longest range: every prompt of it is looked at
_SCOPE = params.text_parameter("scope", "Accepted, and changes nothing: only the caller's own data are shown.")
_RANGE = (*params.FROM_TO, _SCOPE)
_INSIGHTS = "One payload over a range: activity, habits, what went well and wrong; the last 30 days by default."
_I = TypeVar("_I")


class Listed(msgspec.Struct, Generic[_I], frozen=True):
    range: params.RangeEcho
    items: Sequence[_I]


class TaskTimesShown(activity.TaskTimes, frozen=True):
    range: params.RangeEcho


def _ranged(
    path: str, query: Callable[[Reader, Scope, Window, int, int], Sequence[object]], about: str, row: Any
) -> None:
    @routes(f"GET {_V3}/{path}", about, (*params.RANGE, *params.PAGE), answers=Listed[row])
    async def handler(call: ByKey) -> Listed[object]:
        window, echo = call.asked_range()
        return Listed(echo, await call.read(query, window, *call.page()))


_ranged("files", activity.files, "Files that were worked on.", activity.TouchedFile)
_ranged("prompts/top", skill.top_prompts, "The best prompts.", skill.TopPrompt)
_ranged("model-task", activity.model_task, "Models per kind of task.", activity.ModelTask)


@routes(f"GET {_V3}/task-time", "Active time per sub-session.", (*params.RANGE, *params.PAGE))
async def task_time(call: ByKey) -> TaskTimesShown:
    window, echo = call.asked_range()
    return shaped(TaskTimesShown, await call.read(activity.task_time, window, *call.page()), range=echo)


@routes(f"GET {_V3}/today-summary", "One day.", (params.DATE, params.TIMEZONE), listeners="both")
async def today(call: ByKey) -> activity.TodaySummary:
    service, zone = call.service, call.asked_zone()
    day = call.asked_day() or times.local_date(service.now_us(), zone)
    bounds, date = times.local_day_bounds(day, zone), day.isoformat()
    shown = await call.read(activity.today_summary, date, zone.key, bounds)
    shown = msgspec.structs.replace(shown, unknown_agents=service.arrivals.unread(call.scope.developer_id))
    if not service.narrates(call.scope.organization_id):
        return shown
    about, work = str(call.scope.developer_id), await call.read(own_work, bounds)
    asked = NarrativeRequest("today", call.scope, about, shown.date, shown.timezone, call.language(), work)
    told = await service.narrate(asked)
    text = None if told.narrative is None else told.narrative.text
    return msgspec.structs.replace(shown, narrative=text, narrative_status=told.status)


class InsightsBody(msgspec.Struct, rename={"from_time": "from"}):
    """What the query may say as well; the body wins. `scope` is accepted, and changes nothing."""

    from_time: str | None = None
    to: str | None = None
    scope: str | None = None


@routes("POST /v1/insights/report/generate", _INSIGHTS, _RANGE, listeners="both", body_required=False)
async def generate_insights(call: ByKey, body: InsightsBody) -> insights.Insights:
    is_told = body.from_time is not None or body.to is not None
    asked = call.asking({"from": body.from_time, "to": body.to}) if is_told else call
    window = asked.from_and_to(call.own_zone, DAYS_DEFAULT)
    if window.end_us - window.start_us > DAYS_MAX * times.US_PER_DAY:
        raise HttpError(400, f"the range is longer than {DAYS_MAX} days; ask for a shorter one")
    return await call.read(insights.insights, window, call.own_zone, call.language())


@routes("GET /v1/insights/report", _INSIGHTS, _RANGE, listeners="both")
@routes("POST /v1/insights/report/quick", _INSIGHTS, _RANGE, listeners="both")
async def insights_of_range(call: ByKey) -> insights.Insights:
    return await generate_insights(call, InsightsBody())


# --- telemetry: records as received, sums of them, and what a range or a turn used ------------------------------

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]


class Groups(msgspec.Struct):
    groups: list[usage.RecordGroup]


class AnalyticsShown(usage.Analytics, frozen=True):
    range: params.RangeEcho


class TurnsBody(msgspec.Struct):
    session_id: _Name
    prompt_ids: Annotated[list[_Name], msgspec.Meta(max_length=500)]


class TurnsUse(msgspec.Struct):
    turns: list[usage.TurnUse]


_LAST_DAY = params.until_now("24 hours ago")
_LIMIT = params.clamped("limit", 100, 1_000, "How many records")
_SESSION = params.text_parameter("session_id", "Records of this agent session only.")
_SIGNAL: params.Choice[Signal] = params.choice("signal", get_args(Signal), "logs", "Which kind of record.")
_GROUP_BY: params.Choice[usage.GroupBy] = params.choice(
    "group_by", get_args(usage.GroupBy), "day", "By what records are grouped."
)
_STATS = (*_LAST_DAY, _SIGNAL, _GROUP_BY, params.TIMEZONE)


def _of_records(signal: Signal, about: str) -> None:
    """The route of records of one kind, the last 24 hours by default, a page at a time."""
    parameters, listeners = (*_LAST_DAY, _SESSION, _LIMIT, params.OFFSET), "both" if signal == "logs" else "api"
    answers = records.Page[records.KINDS[signal]]  # type: ignore[valid-type]

    @routes(f"GET /v1/telemetry/{signal}", about, parameters, answers=answers, listeners=listeners)
    async def handler(call: ByKey) -> records.Page[Any]:
        window, limit = call.from_until(call.own_zone, times.US_PER_DAY), _LIMIT.read(call.query)
        offset, session_id = params.OFFSET.read(call.query), call.query.get("session_id")
        return await call.read(records.page, signal, window, limit, offset, session_id)


_of_records("logs", "Log records as received.")
_of_records("metrics", "Metric points as received.")
_of_records("traces", "Spans as received.")


@routes("GET /v1/telemetry/stats", "Records counted by hour, day or agent session.", _STATS)
async def stats(call: ByKey) -> Groups:
    zone = call.asked_zone()
    window = call.from_until(zone, times.US_PER_DAY)
    signal, group_by = _SIGNAL.read(call.query), _GROUP_BY.read(call.query)
    return Groups(await call.read(usage.stats, window, signal, group_by, zone))


@routes(
    "GET /v1/telemetry/analytics", "Tools, failures, models and hours of a range.", (*params.FROM_TO, *params.RANGE)
)
async def analytics(call: ByKey) -> AnalyticsShown:
    """`from` and `to` are a third form beside those of every range of days."""
    if "from" not in call.query and "to" not in call.query:
        window, echo = call.asked_range()
    elif call.query.keys() & {"from_us", "to_us", "date", "from_date", "to_date"}:
        why = "send one of from and to, from_us and to_us, from_date and to_date, or date; not two of them"
        raise HttpError(400, why)
    else:
        window = call.from_and_to(call.asked_zone())
        echo = params.RangeEcho(window.start_us, window.end_us, call.asked_zone().key)
    return shaped(AnalyticsShown, await call.read(usage.analytics, window, call.asked_zone()), range=echo)


@routes("POST /v1/telemetry/per-turn", "What some prompts used.")
async def per_turn(call: ByKey, body: TurnsBody) -> TurnsUse:
    return TurnsUse(await call.read(usage.per_turn, body.session_id, body.prompt_ids))


# --- what teams see of themselves: what they spent, how their weeks came out; members only --------------------------

UTC = ZoneInfo("UTC")
TEAM_ID = params.Parameter("team_id", {"type": "string", "format": "uuid"}, "One of the caller's teams.", required=True)
_LANG = params.text_parameter("lang", "`ko` for Korean; English for any other. By default that of the profile.")
_SUMMARY = "What a team did in one day: counts, and a narrative where a text model wrote one."


@routes("GET /v1/intelligence/throttle/team", "What it cost a team.", (TEAM_ID, *params.FROM_TO, TZ_OFFSET))
async def throttle_of_team(call: ByKey) -> throttle.ThrottleImpact:
    """Those who were in a team of the caller on each day together, naming nobody; who left since is among them."""
    zone = offset_zone(call.query)
    window, team = call.from_and_to(zone), asked_team(call)
    stays = stays_in(call.service.directory, team, window, zone)
    return await call.read(throttle.team_throttle, stays, window)


@routes("GET /v1/team/cost", "What a team spent.", (TEAM_ID, params.WINDOW, params.TZ))
async def cost_of_team(call: ByKey) -> TeamCost:
    name, zone, team = params.WINDOW.read(call.query), call.asked_tz(UTC), asked_team(call)
    return await spent_by_team(call, team, times.calendar_windows(name, zone, call.service.now_us(), 2), zone)


@routes("GET /v1/team/trend", "What a team did and spent week by week.", (TEAM_ID, *params.FROM_TO, params.TZ))
async def trend(call: ByKey) -> TeamTrend:
    zone, team = call.asked_tz(UTC), asked_team(call)
    return await trend_of(call, team, call.from_and_to(zone), zone)


async def trend_of(call: ByKey, team: Team, window: Window, zone: ZoneInfo) -> TeamTrend:
    directory, weeks = call.service.directory, periods_in(window, "week", zone)
    stays = [stays_in(directory, team, each, zone) for each in weeks]
    return await call.read(team_trend, team.team_id, weeks, stays, zone, organization_of(call).team_minimum)


async def spent_by_team(call: ByKey, team: Team, windows: Sequence[Window], zone: tzinfo) -> TeamCost:
    directory = call.service.directory
    previous, current = (TeamWindow(each, stays_in(directory, team, each, zone)) for each in windows)
    before, now = await call.service.team_spending(call.scope, (previous, current))
    developers = (directory.get(Developer, each.developer_id) for each in current.stays)
    return team_cost({each.id: each.display_name for each in developers if each is not None}, now, before)


@routes("GET /v1/team/daily-summary", _SUMMARY, (TEAM_ID, params.DATE, _LANG, params.TZ))
async def daily_summary(call: ByKey) -> TeamSummary:
    service, zone, team = call.service, call.asked_tz(UTC), asked_team(call)
    # The contract's defaults, whatever the zone and whoever asks: what is answered is the whole team's.
    day, language = call.asked_day() or times.local_date(service.now_us(), UTC), language_of(call.query.get("lang"))
    date = day.isoformat()
    stays = stays_in(service.directory, team, times.local_day_bounds(day, zone), zone)
    found, work = await call.read(team_day, stays, labels=service.narrates(call.scope.organization_id))
    reason, told = withheld(found, organization_of(call).team_minimum), Narration("withheld")
    if reason is None:
        asked = NarrativeRequest("team", call.scope, str(team.team_id), date, zone.key, language, work)
        told = await service.narrate(asked)
    return team_summary(team.team_id, date, zone.key, language, found, reason, told)


def asked_team(call: ByKey) -> Team:
    text = call.query.get("team_id")
    if text is None:
        raise HttpError(400, "team_id is missing; send the id of one of your teams")
    return team_of(call, params.id_sent("team_id", text))


def organization_of(call: ByKey) -> Organization:
    found = call.service.directory.get(Organization, call.scope.organization_id)
    assert found is not None, "a caller's organization is there"
    return found


def team_of(call: ByKey, wanted: UUID) -> Team:
    """The team, where the caller belongs to it now and it is active. Raises `HttpError` 404."""
    teams = (team for team in call.service.directory.teams_of(call.scope) if team.team_id == wanted)
    return found(next(teams, None), f"no team {wanted} of yours")
