"""The reads of a range of days: files, best prompts, time per task, models per kind of task."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from aggregates.event import Scope
from aggregates.reports.prose import NarrativeRequest
from aggregates.times import US_PER_DAY, Window, local_date, local_day_bounds
from projections.reader import Reader
from projections.reports.days import TodaySummary, own_work, today_summary
from projections.scores import activity, skill
from projections.scores.insights import InsightsQuery
from projections.scores.insights import insights as insights_of
from projections.scores.insights_payload import Insights
from svc_http.bodies import HttpError
from svc_http.params import DATE, FROM_TO, PAGE, RANGE, TIMEZONE, ByKey, RangeEcho, text_parameter
from svc_http.routing import Routes

DAYS_DEFAULT = 30
DAYS_MAX = 366  # the longest range: every prompt of it is looked at

_SCOPE = text_parameter("scope", "Accepted, and changes nothing: only the caller's own data are shown.")
_INSIGHTS = "One payload over a range: activity, habits, what went well and wrong; the last 30 days by default."
_I = TypeVar("_I")
routes = Routes()


class Listed(msgspec.Struct, Generic[_I], frozen=True):
    """A page of what a range holds."""

    range: RangeEcho
    items: Sequence[_I]


class TaskTimesShown(msgspec.Struct, frozen=True, rename="camel"):
    """A page of sub-sessions, and the active time of the whole range."""

    range: RangeEcho
    items: Sequence[activity.TaskTime]
    total_active_seconds: float


def _ranged(
    path: str, query: Callable[[Reader, Scope, Window, int, int], Sequence[object]], about: str, row: Any
) -> None:
    """The route of a query over a range, today by default, a page at a time."""

    @routes(f"GET /v1/score_v3/{path}", about, (*RANGE, *PAGE), answers=Listed[row])
    async def handler(call: ByKey) -> Listed[object]:
        asked = call.asked_range()
        return Listed(asked.echo, await call.read(query, asked.window, *call.page()))


_ranged("files", activity.files, "Files that were worked on.", activity.TouchedFile)
_ranged("prompts/top", skill.top_prompts, "The best prompts.", skill.TopPrompt)
_ranged("model-task", activity.model_task, "Models per kind of task.", activity.ModelTask)


@routes("GET /v1/score_v3/task-time", "Active time per sub-session.", (*RANGE, *PAGE))
async def task_time(call: ByKey) -> TaskTimesShown:
    asked = call.asked_range()
    found = await call.read(activity.task_time, asked.window, *call.page())
    return TaskTimesShown(asked.echo, found.items, found.total_active_seconds)


@routes("GET /v1/score_v3/today-summary", "One day.", (DATE, TIMEZONE), listeners="both")
async def today(call: ByKey) -> TodaySummary:
    """Today, or the day asked for, from midnight to midnight in the zone asked for, else that of the profile."""
    service, zone = call.service, call.asked_zone()
    day = call.asked_day() or local_date(service.now_us(), zone)
    bounds, date = local_day_bounds(day, zone), day.isoformat()
    shown = await call.read(today_summary, date, zone.key, bounds)
    shown = msgspec.structs.replace(shown, unknown_agents=service.arrivals.unread(call.scope.developer_id))
    if not service.narrates(call.scope.organization_id):
        return shown
    language, about = call.language(), str(call.scope.developer_id)
    work = await call.read(own_work, bounds)
    told = await service.narrate(
        NarrativeRequest("today", call.scope, about, shown.date, shown.timezone, language, work)
    )
    text = None if told.narrative is None else told.narrative.text
    return msgspec.structs.replace(shown, narrative=text, narrative_status=told.status)


class InsightsBody(msgspec.Struct, rename={"from_time": "from"}):
    """What the query may say as well; the body wins. `scope` is accepted, and changes nothing."""

    from_time: str | None = None
    to: str | None = None
    scope: str | None = None


@routes("POST /v1/insights/report/generate", _INSIGHTS, (*FROM_TO, _SCOPE), listeners="both", body_required=False)
async def generate_insights(call: ByKey, body: InsightsBody) -> Insights:
    return await _insights(call, call.from_and_to(call.own_zone, DAYS_DEFAULT, body.from_time, body.to))


@routes("GET /v1/insights/report", _INSIGHTS, (*FROM_TO, _SCOPE), listeners="both")
@routes("POST /v1/insights/report/quick", _INSIGHTS, (*FROM_TO, _SCOPE), listeners="both")
async def insights(call: ByKey) -> Insights:
    return await _insights(call, call.from_and_to(call.own_zone, DAYS_DEFAULT))


async def _insights(call: ByKey, window: Window) -> Insights:
    if window.end_us - window.start_us > DAYS_MAX * US_PER_DAY:
        raise HttpError(400, f"the range is longer than {DAYS_MAX} days; ask for a shorter one")
    asked = InsightsQuery(window, call.own_zone, call.language())
    return await call.read(insights_of, asked)
