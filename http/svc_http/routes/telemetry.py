"""Telemetry reads: records as received, sums of them, and what a range or a turn used."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar, get_args

import msgspec
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.event import Scope
from aggregates.people.directory import Principal
from aggregates.times import US_PER_DAY
from projections.reader import Reader
from projections.telemetry import records as telemetry
from projections.telemetry.records import Asked, Page, Shown, Signal
from projections.telemetry.usage import ErrorCount, Group, GroupBy, HourCount, ModelSums, ToolStats, TurnUse
from projections.telemetry.usage import analytics as use_in_range
from projections.telemetry.usage import per_turn as use_per_turn
from projections.telemetry.usage import stats as grouped
from svc_http.bodies import read_json
from svc_http.errors import bad_request, json_reply
from svc_http.listener import Personal
from svc_http.params import (
    AskedRange,
    Query,
    RangeEcho,
    asked_range,
    asked_zone,
    from_and_to,
    from_until,
    limit,
    offset,
    zone_of,
)
from svc_http.ports import Service

RECORDS_DEFAULT = 100
RECORDS_MAX = 1000
DEFAULT_US = US_PER_DAY
PROMPT_IDS_MAX = 500

SIGNALS: tuple[Signal, ...] = get_args(Signal)
GROUPINGS: tuple[GroupBy, ...] = get_args(GroupBy)

_R = TypeVar("_R", bound=Shown)
_Choice = TypeVar("_Choice", Signal, GroupBy)
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


_TURNS_DECODER = msgspec.json.Decoder(TurnsBody)


def _of_records(query: Callable[[Reader, Scope, Asked], Page[_R]]) -> Personal:
    """The route of records of one kind, the last 24 hours by default, a page at a time."""

    async def handler(service: Service, request: Request, caller: Principal) -> TrioResponse:
        asked = Asked(
            window=from_until(request.args, zone_of(service, caller), service.now_us(), DEFAULT_US),
            session_id=request.args.get("session_id"),
            limit=limit(request.args, RECORDS_DEFAULT, RECORDS_MAX),
            offset=offset(request.args),
        )
        return json_reply(await service.read(caller.scope, query, asked))

    return handler


logs = _of_records(telemetry.logs)
metrics = _of_records(telemetry.metrics)
traces = _of_records(telemetry.traces)


async def stats(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Records counted and their tokens summed, per hour, day or agent session."""
    zone = asked_zone(service, caller, request.args)
    window = from_until(request.args, zone, service.now_us(), DEFAULT_US)
    signal = _one_of(request.args, "signal", SIGNALS, "logs")
    group_by = _one_of(request.args, "group_by", GROUPINGS, "day")
    return json_reply(Groups(await service.read(caller.scope, grouped, window, signal, group_by, zone)))


async def analytics(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Tools, failures, models and hours of a range, today by default."""
    asked = _analytics_range(service, caller, request.args)
    found = await service.read(caller.scope, use_in_range, asked.window, asked.zone)
    return json_reply(AnalyticsShown(asked.echo, found.tools, found.errors, found.models, found.active_hours))


async def per_turn(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """What each of some prompts of one agent session used."""
    body = await read_json(request, _TURNS_DECODER)
    return json_reply(TurnsUse(await service.read(caller.scope, use_per_turn, body.session_id, body.prompt_ids)))


def _analytics_range(service: Service, caller: Principal, query: Query) -> AskedRange:
    """`from` and `to` are a third form beside those of every range of days."""
    if "from" not in query and "to" not in query:
        return asked_range(service, caller, query)
    if query.keys() & {"from_us", "to_us", "date", "from_date", "to_date"}:
        raise bad_request("send one of from and to, from_us and to_us, from_date and to_date, or date; not two of them")
    zone = asked_zone(service, caller, query)
    return AskedRange(from_and_to(query, zone, service.now_us()), zone)


def _one_of(query: Query, name: str, allowed: Sequence[_Choice], default: _Choice) -> _Choice:
    asked: str = query.get(name, default)
    for choice in allowed:
        if asked == choice:
            return choice
    raise bad_request(f"{name} must be one of {', '.join(allowed)}, not {asked[:40]!r}")
