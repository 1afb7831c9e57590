"""The figures of a calendar window: score, speed, tokens, skill and the insight summary; and tokens over many."""

from collections.abc import Callable, Sequence

from quart_trio.wrappers import TrioResponse

from aggregates.people import Principal
from aggregates.scope import Scope
from aggregates.windows import Window, WindowName
from projections import score as scores
from projections import skill as skills
from projections.reader import Reader
from svc_http.bodies import Request
from svc_http.params import WINDOWS_SHOWN, integer, window_name, windows
from svc_http.ports import Service
from svc_http.replies import json_reply
from svc_http.routes import Personal

TREND_POINTS_DEFAULT = 12
TREND_POINTS_MAX = 52

WindowQuery = Callable[[Reader, Scope, WindowName, Sequence[Window]], object]


def _of_windows(query: WindowQuery) -> Personal:
    """The route of a query over the last windows, the current one last."""

    async def handler(service: Service, request: Request, caller: Principal) -> TrioResponse:
        name = window_name(request.args)
        shown = windows(service, caller, name, WINDOWS_SHOWN)
        return json_reply(await service.read(caller.scope, query, name, shown))

    return handler


score = _of_windows(scores.score)
speed = _of_windows(scores.speed)
tokens = _of_windows(scores.tokens)
skill = _of_windows(skills.skill)
insight_summary = _of_windows(skills.insight_summary)


async def token_trend(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The tokens of the last windows, 12 by default, clamped to 1-52."""
    name = window_name(request.args)
    points = min(max(integer(request.args, "points", TREND_POINTS_DEFAULT), 1), TREND_POINTS_MAX)
    shown = windows(service, caller, name, points + 1)
    return json_reply(await service.read(caller.scope, scores.token_trend, name, shown))
