"""`GET /v1/score_v3/today-summary`: one day of the caller's; on both listeners."""

from datetime import date

from quart_trio.wrappers import TrioResponse

from aggregates.people import Principal
from aggregates.times import bare_date, local_date
from aggregates.windows import local_day_bounds
from projections.today import today_summary
from svc_http.bodies import Request
from svc_http.errors import bad_request
from svc_http.params import Query
from svc_http.ports import Service
from svc_http.ranges import asked_zone
from svc_http.replies import json_reply


async def summary(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Today, or the day asked for, from midnight to midnight in the zone asked for, else that of the profile."""
    zone = asked_zone(service, caller, request.args)
    day = _day(request.args) or local_date(service.now_us(), zone)
    bounds = local_day_bounds(day, zone)
    return json_reply(await service.read(caller.scope, today_summary, day.isoformat(), zone.key, bounds))


def _day(query: Query) -> date | None:
    text = query.get("date")
    day = None if text is None else bare_date(text)
    if text is not None and day is None:
        raise bad_request(f"date must be a date like 2026-08-01, not {text[:40]!r}")
    return day
