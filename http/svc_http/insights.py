"""`/v1/insights/report`: one payload over a range, by three routes; all answer at once, without a text model."""

from zoneinfo import ZoneInfo

from quart_trio.wrappers import TrioResponse

from aggregates.habits import language_of
from aggregates.people import Principal
from aggregates.people_records import Developer
from aggregates.times import US_PER_DAY
from aggregates.windows import Window
from projections.insights import Asked
from projections.insights import insights as insights_of
from svc_http.bodies import Request
from svc_http.errors import bad_request
from svc_http.moments import from_and_to
from svc_http.params import Query, zone_of
from svc_http.ports import Service
from svc_http.replies import json_reply

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
