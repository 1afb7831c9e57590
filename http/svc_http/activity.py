"""The reads of a range of days: files, best prompts, time per task, models per kind of task."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.people import Principal
from aggregates.scope import Scope
from aggregates.windows import Window
from projections import activity
from projections.activity import TaskTime
from projections.model_tasks import model_task as model_tasks
from projections.reader import Reader
from projections.top_prompts import top_prompts as best_prompts
from svc_http.bodies import Request
from svc_http.params import limit, offset
from svc_http.ports import Service
from svc_http.ranges import RangeEcho, asked_range
from svc_http.replies import json_reply
from svc_http.routes import Personal

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
