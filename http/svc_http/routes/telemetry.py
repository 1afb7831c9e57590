"""Telemetry reads: records as received, sums of them, and what a range or a turn used."""

from collections.abc import Callable
from typing import Annotated, TypeVar, get_args

import msgspec

from aggregates.event import Scope
from aggregates.telemetry.envelope import Signal
from aggregates.times import US_PER_DAY
from projections.reader import Reader
from projections.telemetry import records, usage
from projections.telemetry.records import Page, RecordsQuery, TelemetryRow
from projections.telemetry.usage import GroupBy
from svc_http import params
from svc_http.bodies import HttpError
from svc_http.params import ByKey
from svc_http.routing import Routes

_R = TypeVar("_R", bound=TelemetryRow)
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]


class Groups(msgspec.Struct):
    groups: list[usage.RecordGroup]


class AnalyticsShown(usage.Analytics, frozen=True):
    range: params.RangeEcho


class TurnsBody(msgspec.Struct):
    session_id: _Name
    prompt_ids: Annotated[list[_Name], msgspec.Meta(max_length=500)]


class TurnsUse(msgspec.Struct):
    turns: list[usage.TurnUse]


_LAST_DAY = params.until_now("24 hours ago")
_LIMIT = params.clamped("limit", 100, 1_000, "How many records")
_SESSION = params.text_parameter("session_id", "Records of this agent session only.")
_SIGNAL: params.Choice[Signal] = params.choice("signal", get_args(Signal), "logs", "Which kind of record.")
_GROUP_BY: params.Choice[GroupBy] = params.choice("group_by", get_args(GroupBy), "day", "By what records are grouped.")
_STATS = (*_LAST_DAY, _SIGNAL, _GROUP_BY, params.TIMEZONE)
routes = Routes()


def _of_records(signal: Signal, query: Callable[[Reader, Scope, RecordsQuery], Page[_R]], about: str) -> None:
    """The route of records of one kind, the last 24 hours by default, a page at a time."""
    parameters, listeners = (*_LAST_DAY, _SESSION, _LIMIT, params.OFFSET), "both" if signal == "logs" else "api"

    @routes(f"GET /v1/telemetry/{signal}", about, parameters, answers=query, listeners=listeners)
    async def handler(call: ByKey) -> Page[_R]:
        asked = RecordsQuery(
            window=call.from_until(call.own_zone, US_PER_DAY),
            session_id=call.query.get("session_id"),
            limit=_LIMIT.read(call.query),
            offset=params.OFFSET.read(call.query),
        )
        return await call.read(query, asked)


_of_records("logs", records.logs, "Log records as received.")
_of_records("metrics", records.metrics, "Metric points as received.")
_of_records("traces", records.traces, "Spans as received.")


@routes("GET /v1/telemetry/stats", "Records counted by hour, day or agent session.", _STATS)
async def stats(call: ByKey) -> Groups:
    zone = call.asked_zone()
    window = call.from_until(zone, US_PER_DAY)
    signal, group_by = _SIGNAL.read(call.query), _GROUP_BY.read(call.query)
    return Groups(await call.read(usage.stats, window, signal, group_by, zone))


@routes(
    "GET /v1/telemetry/analytics", "Tools, failures, models and hours of a range.", (*params.FROM_TO, *params.RANGE)
)
async def analytics(call: ByKey) -> AnalyticsShown:
    """`from` and `to` are a third form beside those of every range of days."""
    if "from" not in call.query and "to" not in call.query:
        window, echo = call.asked_range()
    elif call.query.keys() & {"from_us", "to_us", "date", "from_date", "to_date"}:
        why = "send one of from and to, from_us and to_us, from_date and to_date, or date; not two of them"
        raise HttpError(400, why)
    else:
        window = call.from_and_to(call.asked_zone())
        echo = params.RangeEcho(window.start_us, window.end_us, call.asked_zone().key)
    found = await call.read(usage.analytics, window, call.asked_zone())
    return AnalyticsShown(**msgspec.structs.asdict(found), range=echo)


@routes("POST /v1/telemetry/per-turn", "What some prompts used.")
async def per_turn(call: ByKey, body: TurnsBody) -> TurnsUse:
    return TurnsUse(await call.read(usage.per_turn, body.session_id, body.prompt_ids))
