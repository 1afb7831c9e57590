"""`GET /v1/score_v3/today-summary`: one day of the caller's; on both listeners."""

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.habits import language_of
from aggregates.narration import Narration
from aggregates.people import Principal
from aggregates.people_records import Developer
from aggregates.times import local_date
from aggregates.windows import Window, local_day_bounds
from projections.team_day import own_work
from projections.today import TodaySummary, today_summary
from svc_http.bodies import Request
from svc_http.params import day_asked
from svc_http.ports import Service
from svc_http.ranges import asked_zone
from svc_http.replies import json_reply


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
