"""What was flagged: counted by kind in a window, over the periods of a range, and one by one."""

from quart_trio.wrappers import TrioResponse

from aggregates.people import Principal
from aggregates.times import US_PER_DAY
from aggregates.windows import RANGE_DEFAULT_DAYS
from projections import integrity as flags
from svc_http.bodies import Request
from svc_http.params import limit, offset, time, window_name, windows, zone_of
from svc_http.periods import asked_periods
from svc_http.ports import Service
from svc_http.replies import json_reply


async def integrity(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The kinds that were flagged in the window."""
    (window,) = windows(service, caller, window_name(request.args), 1)
    return json_reply(await service.read(caller.scope, flags.integrity, window))


async def trend(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Every kind in every period; empty periods are there with zeros."""
    asked = asked_periods(service, caller, request.args)
    points = await service.read(caller.scope, flags.integrity_trend, asked.window, asked.buckets)
    return json_reply(asked.trend(points))


async def recent(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The flags themselves, newest first; those of the last four weeks by default."""
    query = request.args
    from_us = time(query, "from", zone_of(service, caller))
    if from_us is None:
        from_us = service.now_us() - RANGE_DEFAULT_DAYS * US_PER_DAY
    rows, skipped = limit(query), offset(query)
    return json_reply(await service.read(caller.scope, flags.recent_flags, from_us, rows, skipped))
