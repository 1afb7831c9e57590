"""The reads of a range of days: files, best prompts, time per task, models per kind of task."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeVar

import msgspec
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.event import Scope
from aggregates.people.directory import Principal
from aggregates.reports.prose import NarrativeRequest
from aggregates.times import US_PER_DAY, Window, local_date, local_day_bounds
from projections.reader import Reader
from projections.reports.days import TodaySummary, own_work, today_summary
from projections.scores import activity
from projections.scores.activity import TaskTime
from projections.scores.activity import model_task as model_tasks
from projections.scores.insights import InsightsQuery
from projections.scores.insights import insights as insights_of
from projections.scores.skill import TopPrompt
from projections.scores.skill import top_prompts as best_prompts
from svc_http.errors import bad_request, json_reply
from svc_http.listener import ByKey, Personal
from svc_http.params import (
    DATE,
    FROM_TO,
    PAGE,
    RANGE,
    TIMEZONE,
    RangeEcho,
    asked_range,
    asked_zone,
    day_asked,
    from_and_to,
    language_asked,
    page,
    text_parameter,
    zone_of,
)
from svc_http.ports import Service

_I = TypeVar("_I")


class Listed(msgspec.Struct, Generic[_I], frozen=True):
    """A page of what a range holds."""

    range: RangeEcho
    items: Sequence[_I]


class TaskTimesShown(msgspec.Struct, frozen=True, rename="camel"):
    """A page of sub-sessions, and the active time of the whole range."""

    range: RangeEcho
    items: Sequence[TaskTime]
    total_active_seconds: float


RangeQuery = Callable[[Reader, Scope, Window, int, int], Sequence[object]]


def _of_range(query: RangeQuery) -> Personal:
    """The route of a query over a range, today by default, a page at a time."""

    async def handler(service: Service, request: Request, caller: Principal) -> TrioResponse:
        asked = asked_range(service, caller, request.args)
        found = await service.read(caller.scope, query, asked.window, *page(request.args))
        return json_reply(Listed(asked.echo, found))

    return handler


async def task_time(service: Service, request: Request, caller: Principal) -> TrioResponse:
    asked = asked_range(service, caller, request.args)
    found = await service.read(caller.scope, activity.task_time, asked.window, *page(request.args))
    return json_reply(TaskTimesShown(asked.echo, found.items, found.total_active_seconds))


async def today(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Today, or the day asked for, from midnight to midnight in the zone asked for, else that of the profile."""
    zone = asked_zone(service, caller, request.args)
    day = day_asked(request.args) or local_date(service.now_us(), zone)
    bounds = local_day_bounds(day, zone)
    shown = await service.read(caller.scope, today_summary, day.isoformat(), zone.key, bounds)
    if not service.narrates(caller.scope.organization_id):
        return json_reply(shown)
    narrative = await service.narrate(await _narration(service, caller, shown, bounds))
    return json_reply(shown if narrative is None else msgspec.structs.replace(shown, narrative=narrative.text))


async def _narration(service: Service, caller: Principal, shown: TodaySummary, bounds: Window) -> NarrativeRequest:
    language, about = language_asked(service, caller), str(caller.scope.developer_id)
    work = await service.read(caller.scope, own_work, bounds)
    return NarrativeRequest("today", caller.scope, about, shown.date, shown.timezone, language, work)


DAYS_DEFAULT = 30
DAYS_MAX = 366
"""The longest range: every prompt of it is looked at."""


async def insights(service: Service, request: Request, caller: Principal) -> TrioResponse:
    zone = zone_of(service, caller)
    window = from_and_to(request.args, zone, service.now_us(), DAYS_DEFAULT)
    if window.end_us - window.start_us > DAYS_MAX * US_PER_DAY:
        raise bad_request(f"the range is longer than {DAYS_MAX} days; ask for a shorter one")
    asked = InsightsQuery(window, zone, language_asked(service, caller))
    return json_reply(await service.read(caller.scope, insights_of, asked))


_SCOPE = text_parameter("scope", "Accepted, and changes nothing: only the caller's own data are shown.")
_INSIGHTS = "One payload over a range: activity, habits, what went well and wrong; the last 30 days by default."


def _insights(method: Literal["GET", "POST"], path: str) -> ByKey:
    return ByKey(method, path, insights, _INSIGHTS, insights_of, (*FROM_TO, _SCOPE), listeners="both")


def _ranged(path: str, query: RangeQuery, about: str, row: Any) -> ByKey:
    return ByKey("GET", f"/v1/score_v3/{path}", _of_range(query), about, Listed[row], (*RANGE, *PAGE))


ROUTES = (
    _ranged("files", activity.files, "Files that were worked on.", activity.TouchedFile),
    _ranged("prompts/top", best_prompts, "The best prompts.", TopPrompt),
    _ranged("model-task", model_tasks, "Models per kind of task.", activity.ModelTask),
    ByKey("GET", "/v1/score_v3/task-time", task_time, "Active time per sub-session.", TaskTimesShown, (*RANGE, *PAGE)),
    ByKey("GET", "/v1/score_v3/today-summary", today, "One day.", today_summary, (DATE, TIMEZONE), listeners="both"),
    _insights("GET", "/v1/insights/report"),
    _insights("POST", "/v1/insights/report/generate"),
    _insights("POST", "/v1/insights/report/quick"),
)
