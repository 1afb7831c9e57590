"""Counts over the calendar periods of a range."""

from quart_trio.wrappers import TrioResponse

from aggregates.people import Principal
from projections.trivia_trend import trivia_trend
from svc_http.bodies import Request
from svc_http.periods import asked_periods
from svc_http.ports import Service
from svc_http.replies import json_reply


async def trivia(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """What fell below the substance floor, and why; empty periods are there with zeros."""
    asked = asked_periods(service, caller, request.args)
    points = await service.read(caller.scope, trivia_trend, asked.window, asked.buckets)
    return json_reply(asked.trend(points))
