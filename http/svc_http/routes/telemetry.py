"""Telemetry reads: records as received, sums of them, and what a range or a turn used."""

from collections.abc import Callable
from typing import Annotated, TypeVar, get_args

import msgspec
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.event import Scope
from aggregates.people.directory import Principal
from aggregates.times import US_PER_DAY
from projections.reader import Reader
from projections.telemetry import records as telemetry
from projections.telemetry.records import Page, RecordsQuery, Signal, TelemetryRow
from projections.telemetry.usage import ErrorCount, Group, GroupBy, HourCount, ModelSums, ToolStats, TurnUse
from projections.telemetry.usage import analytics as use_in_range
from projections.telemetry.usage import per_turn as use_per_turn
from projections.telemetry.usage import stats as grouped
from svc_http.bodies import json_body
from svc_http.errors import bad_request, json_reply
from svc_http.listener import ByKey, Personal
from svc_http.params import (
    FROM_TO,
    OFFSET,
    RANGE,
    TIMEZONE,
    AskedRange,
    Choice,
    Query,
    RangeEcho,
    asked_range,
    asked_zone,
    choice,
    clamped,
    from_and_to,
    from_until,
    text_parameter,
    until_now,
    zone_of,
)
from svc_http.ports import Service

RECORDS_MAX = 1000
PROMPT_IDS_MAX = 500
_R = TypeVar("_R", bound=TelemetryRow)
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]


class Groups(msgspec.Struct):
    groups: list[Group]


class AnalyticsShown(msgspec.Struct, rename="camel"):
    range: RangeEcho
    tools: list[ToolStats]
    errors: list[ErrorCount]
    models: list[ModelSums]
    active_hours: list[HourCount]


class TurnsBody(msgspec.Struct):
    session_id: _Name
    prompt_ids: Annotated[list[_Name], msgspec.Meta(max_length=PROMPT_IDS_MAX)]


class TurnsUse(msgspec.Struct):
    turns: list[TurnUse]


_LAST_DAY = until_now("24 hours ago")
_LIMIT = clamped("limit", 100, RECORDS_MAX, "How many records")
_SESSION = text_parameter("session_id", "Records of this agent session only.")
_RECORDS = (*_LAST_DAY, _SESSION, _LIMIT, OFFSET)
_SIGNAL: Choice[Signal] = choice("signal", get_args(Signal), "logs", "Which kind of record.")
_GROUP_BY: Choice[GroupBy] = choice("group_by", get_args(GroupBy), "day", "By what records are grouped.")


def _of_records(query: Callable[[Reader, Scope, RecordsQuery], Page[_R]]) -> Personal:
    """The route of records of one kind, the last 24 hours by default, a page at a time."""

    async def handler(service: Service, request: Request, caller: Principal) -> TrioResponse:
        asked = RecordsQuery(
            window=from_until(request.args, zone_of(service, caller), service.now_us(), US_PER_DAY),
            session_id=request.args.get("session_id"),
            limit=_LIMIT.read(request.args),
            offset=OFFSET.read(request.args),
        )
        return json_reply(await service.read(caller.scope, query, asked))

    return handler


async def stats(service: Service, request: Request, caller: Principal) -> TrioResponse:
    zone = asked_zone(service, caller, request.args)
    window = from_until(request.args, zone, service.now_us(), US_PER_DAY)
    signal, group_by = _SIGNAL.read(request.args), _GROUP_BY.read(request.args)
    return json_reply(Groups(await service.read(caller.scope, grouped, window, signal, group_by, zone)))


async def analytics(service: Service, request: Request, caller: Principal) -> TrioResponse:
    asked = _analytics_range(service, caller, request.args)
    found = await service.read(caller.scope, use_in_range, asked.window, asked.zone)
    return json_reply(AnalyticsShown(asked.echo, found.tools, found.errors, found.models, found.active_hours))


async def per_turn(service: Service, request: Request, caller: Principal) -> TrioResponse:
    body = await json_body(request, TurnsBody)
    return json_reply(TurnsUse(await service.read(caller.scope, use_per_turn, body.session_id, body.prompt_ids)))


def _analytics_range(service: Service, caller: Principal, query: Query) -> AskedRange:
    """`from` and `to` are a third form beside those of every range of days."""
    if "from" not in query and "to" not in query:
        return asked_range(service, caller, query)
    if query.keys() & {"from_us", "to_us", "date", "from_date", "to_date"}:
        raise bad_request("send one of from and to, from_us and to_us, from_date and to_date, or date; not two of them")
    zone = asked_zone(service, caller, query)
    return AskedRange(from_and_to(query, zone, service.now_us()), zone)


ROUTES = (
    ByKey(
        "GET",
        "/v1/telemetry/logs",
        _of_records(telemetry.logs),
        "Log records as received.",
        telemetry.logs,
        _RECORDS,
        listeners="both",
    ),
    ByKey(
        "GET",
        "/v1/telemetry/metrics",
        _of_records(telemetry.metrics),
        "Metric points as received.",
        telemetry.metrics,
        _RECORDS,
    ),
    ByKey(
        "GET", "/v1/telemetry/traces", _of_records(telemetry.traces), "Spans as received.", telemetry.traces, _RECORDS
    ),
    ByKey(
        "GET",
        "/v1/telemetry/stats",
        stats,
        "Records counted by hour, day or agent session.",
        Groups,
        (*_LAST_DAY, _SIGNAL, _GROUP_BY, TIMEZONE),
    ),
    ByKey(
        "GET",
        "/v1/telemetry/analytics",
        analytics,
        "Tools, failures, models and hours of a range.",
        AnalyticsShown,
        (*FROM_TO, *RANGE),
    ),
    ByKey("POST", "/v1/telemetry/per-turn", per_turn, "What some prompts used.", TurnsUse, body=TurnsBody),
)
