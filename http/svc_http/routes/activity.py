"""The reads of a range of days: files, best prompts, time per task, models per kind of task."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar
from zoneinfo import ZoneInfo

import msgspec
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.event import Scope
from aggregates.judging.advice import language_of
from aggregates.people.directory import Principal
from aggregates.people.records import Developer
from aggregates.reports.prose import Narration
from aggregates.times import US_PER_DAY, Window, local_date, local_day_bounds
from projections.reader import Reader
from projections.reports.days import TodaySummary, own_work, today_summary
from projections.scores import activity
from projections.scores.activity import TaskTime
from projections.scores.activity import model_task as model_tasks
from projections.scores.insights import Asked
from projections.scores.insights import insights as insights_of
from projections.scores.skill import top_prompts as best_prompts
from svc_http.errors import bad_request, json_reply
from svc_http.listener import Personal
from svc_http.params import Query, RangeEcho, asked_range, asked_zone, day_asked, from_and_to, limit, offset, zone_of
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
        rows, skipped = limit(request.args), offset(request.args)
        found = await service.read(caller.scope, query, asked.window, rows, skipped)
        return json_reply(Listed(asked.echo, found))

    return handler


files = _of_range(activity.files)


top_prompts = _of_range(best_prompts)


model_task = _of_range(model_tasks)


async def task_time(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """How long each sub-session of the range was worked on, and all of them together."""
    asked = asked_range(service, caller, request.args)
    rows, skipped = limit(request.args), offset(request.args)
    found = await service.read(caller.scope, activity.task_time, asked.window, rows, skipped)
    return json_reply(TaskTimesShown(asked.echo, found.items, found.total_active_seconds))


# `GET /v1/score_v3/today-summary`: one day of the caller's; on both listeners.


async def summary(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Today, or the day asked for, from midnight to midnight in the zone asked for, else that of the profile."""
    zone = asked_zone(service, caller, request.args)
    day = day_asked(request.args) or local_date(service.now_us(), zone)
    bounds = local_day_bounds(day, zone)
    shown = await service.read(caller.scope, today_summary, day.isoformat(), zone.key, bounds)
    if not service.narrates(caller.scope.organization_id):
        return json_reply(shown)
    narrative = await service.narrate(await _narration(service, caller, shown, bounds))
    return json_reply(shown if narrative is None else msgspec.structs.replace(shown, narrative=narrative.text))


async def _narration(service: Service, caller: Principal, shown: TodaySummary, bounds: Window) -> Narration:
    """A developer's own narrative, in the language of the profile."""
    developer = service.directory.get(Developer, caller.scope.developer_id)
    language = language_of(None if developer is None else developer.language)
    about = str(caller.scope.developer_id)
    work = await service.read(caller.scope, own_work, bounds)
    return Narration("today", caller.scope, about, shown.date, shown.timezone, language, work)


# `/v1/insights/report`: one payload over a range, by three routes; all answer at once, without a text model.

DAYS_DEFAULT = 30


DAYS_MAX = 366
"""The longest range: every prompt of it is looked at."""


async def report(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The caller's own, over `from` and `to`, the last 30 days by default. `scope` is accepted and changes nothing."""
    zone = zone_of(service, caller)
    developer = service.directory.get(Developer, caller.scope.developer_id)
    language = language_of(None if developer is None else developer.language)
    asked = Asked(_window(request.args, zone, service.now_us()), zone, language)
    return json_reply(await service.read(caller.scope, insights_of, asked))


def _window(query: Query, zone: ZoneInfo, now_us: int) -> Window:
    window = from_and_to(query, zone, now_us, DAYS_DEFAULT)
    if window.end_us - window.start_us > DAYS_MAX * US_PER_DAY:
        raise bad_request(f"the range is longer than {DAYS_MAX} days; ask for a shorter one")
    return window
