"""How agents were used: tools, failures, models, months, hours and turns; only answered requests count."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope
from aggregates.scores.grades import median
from aggregates.telemetry.envelope import Signal
from aggregates.times import SLOT_US, US_PER_SECOND, Window, iso
from aggregates.turns.turn import Observation
from projections.prices import SUMS, Spent, told_by_responses
from projections.reader import Reader, bound, json_array, sql, unpack
from projections.scores.score import Breakdown
from projections.sub_sessions.rows import CostDoubts

HOURS = 24
_DIGITS = {"input_tokens": None, "output_tokens": None, "cost_usd": 9}  # of what counters gained: nano-dollars

GroupBy = Literal["hour", "day", "session_id"]


class ToolStats(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One tool; None names calls whose tool was not reported."""

    name: str | None
    calls: int
    errors: int
    median_ms: float | None  # over the calls whose duration was reported; None where none was


class ErrorCount(msgspec.Struct, frozen=True, rename="camel"):
    """Requests that failed in one way; None was not reported."""

    status_code: int | None
    model: str | None
    count: int


class _Doubts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How many requests lack a price or tokens, and how many may have cost more or less than their price says."""

    unpriced_requests: int
    lower_bound_requests: int
    upper_bound_requests: int
    unmeasured_requests: int


class ModelSums(_Doubts, frozen=True, kw_only=True, rename="camel"):
    model: str | None
    requests: int
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_creation_tokens: int | None
    cost_usd: float | None


class HourCount(msgspec.Struct, frozen=True):
    """How many requests were answered in one hour of the zone's day, 0-23."""

    hour: int
    requests: int


class Analytics(msgspec.Struct, frozen=True, rename="camel"):
    tools: list[ToolStats]
    errors: list[ErrorCount]
    models: list[ModelSums]
    active_hours: list[HourCount]


class ModelAverages(_Doubts, frozen=True, kw_only=True, rename="camel"):
    """One model; None names requests whose model was not reported. An average that no request told is None."""

    model: str | None
    request_count: int
    avg_input_tokens: float | None
    avg_output_tokens: float | None
    avg_cache_read_tokens: float | None
    avg_cache_creation_tokens: float | None
    avg_total_tokens: float | None
    total_cost_usd: float | None


class MonthlyUsage(_Doubts, frozen=True, kw_only=True, rename="camel"):
    """One month of the caller's zone in which there was a request."""

    month: str
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_creation_tokens: int | None
    total_tokens: int | None
    total_cost_usd: float | None
    request_count: int
    active_days: int


class Rightsizing(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`recommendations` is there for its type, and stays empty."""

    recommendations: list[str]
    model_usage: list[ModelAverages]
    monthly_usage: list[MonthlyUsage]


class TurnUse(CostDoubts, frozen=True, kw_only=True):
    """What was reported for one prompt; of a prompt that nothing named, zeros and nulls."""

    prompt_id: str
    requests: int
    tools: int
    tokens: Breakdown | None  # None where there was no request
    cost_usd: float | None  # None where there was no request
    errors: int
    tool_errors: int


class RecordGroup(CostDoubts, frozen=True, kw_only=True):
    """One hour, day or agent session in which there was a record."""

    key: str | None  # when the hour began, in UTC; the day of the zone; the agent session, None where records name none
    records: int
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None


def analytics(reader: Reader, scope: Scope, window: Window, zone: ZoneInfo) -> Analytics:
    """Tools, failures and models, the most frequent first, and the hours of the zone's day."""
    own = bound(scope, window)
    models: defaultdict[str | None, Spent] = defaultdict(Spent)
    hours = [0] * HOURS
    for slot, model, usage in _usage_per_slot(reader, scope, window):
        models[model] += usage
        hours[local_time(slot, zone).hour] += usage.requests
    tools = []
    for name, calls, errors, timed in reader.db.execute(sql("tools"), own):
        durations_ms = msgspec.json.decode(timed, type=list[int])
        median_ms = float(median(durations_ms)) if durations_ms else None
        tools.append(ToolStats(name=name, calls=calls, errors=errors, median_ms=median_ms))
    return Analytics(
        tools=tools,
        errors=[ErrorCount(*row) for row in reader.db.execute(sql("failed"), own)],
        models=[usage.shown_as(ModelSums, model=model) for model, usage in _most_used(models)],
        active_hours=[HourCount(hour, requests) for hour, requests in enumerate(hours)],
    )


def rightsizing(reader: Reader, scope: Scope, window: Window, zone: ZoneInfo) -> Rightsizing:
    """The models of the range, the most used first, and its months, oldest first."""
    models: defaultdict[str | None, Spent] = defaultdict(Spent)
    months: defaultdict[str, Spent] = defaultdict(Spent)
    days: defaultdict[str, set[int]] = defaultdict(set)
    for slot, model, usage in _usage_per_slot(reader, scope, window):
        local = local_time(slot, zone)
        month = f"{local:%Y-%m}"
        models[model] += usage
        months[month] += usage
        days[month].add(local.day)
    return Rightsizing(
        recommendations=[],
        model_usage=[usage.shown_as(ModelAverages, model=model) for model, usage in _most_used(models)],
        monthly_usage=[
            usage.shown_as(MonthlyUsage, month=month, active_days=len(days[month]))
            for month, usage in sorted(months.items(), key=lambda item: item[0])
        ],
    )


def _most_used(models: Mapping[str | None, Spent]) -> list[tuple[str | None, Spent]]:
    return sorted(models.items(), key=lambda item: (-item[1].requests, item[0] or ""))


def _usage_per_slot(reader: Reader, scope: Scope, window: Window) -> list[tuple[int, str | None, Spent]]:
    found = reader.db.execute(sql("per_slot", usage=SUMS, slot_us=SLOT_US), bound(scope, window))
    told = [(slot, model, Spent.of(sums)) for slot, model, *sums in found]
    responses = told_by_responses(reader.db, scope, window)
    return told + [(at_us // SLOT_US, model, usage) for at_us, model, usage in responses]


def per_turn(reader: Reader, scope: Scope, session_id: str, prompt_ids: Sequence[str]) -> list[TurnUse]:
    """One row for each prompt id, as the agent names it, in the order in which they were asked for."""
    asked = bound(scope, session=session_id, prompts=json_array(prompt_ids))
    usage: defaultdict[tuple[str, int], Spent] = defaultdict(Spent)
    for prompt_id, failed, *sums in reader.db.execute(sql("turn_requests", usage=SUMS), asked):
        usage[prompt_id, failed] = Spent.of(sums)
    calls: defaultdict[str, list[bool | None]] = defaultdict(list)
    for prompt_id, body in reader.db.execute(sql("turn_tools"), asked):
        seen = unpack(body, Observation)
        if seen.kind == "tool":
            calls[prompt_id].append(None if seen.tool is None else seen.tool.ok)
    turns = []
    for prompt_id in dict.fromkeys(prompt_ids):
        own, results = usage[prompt_id, 0], calls[prompt_id]
        tokens = Breakdown(own.input_tokens, own.output_tokens, own.cache_read_tokens, own.cache_write_tokens)
        turn = own.shown_as(
            TurnUse,
            prompt_id=prompt_id,
            tools=len(results),
            tokens=tokens if own.requests and not own.unmeasured_requests else None,
            cost_usd=own.cost_usd if own.requests else None,
            errors=usage[prompt_id, 1].requests,
            tool_errors=sum(ok is False for ok in results),
        )
        turns.append(turn)
    return turns


def stats(
    reader: Reader, scope: Scope, window: Window, signal: Signal, group_by: GroupBy, zone: ZoneInfo
) -> list[RecordGroup]:
    """The groups in the order of their keys; records that name no session come last."""
    column = "t.agent_session_id" if group_by == "session_id" else f"t.at_us / {SLOT_US}"
    shown: Callable[[Any], str | None] = {
        "hour": lambda slot: hour_start(slot, zone),
        "day": lambda slot: f"{local_time(slot, zone):%Y-%m-%d}",
        "session_id": lambda session: session,
    }[group_by]

    def rows(name: str) -> list[tuple[Any, ...]]:
        found = reader.db.execute(sql(name, key=column, usage=SUMS), bound(scope, window, signal=signal))
        return [(shown(key), *values) for key, *values in found]

    records: defaultdict[str | None, int] = defaultdict(int)
    for key, count in rows("points" if signal == "metrics" else "records"):
        records[key] += count
    gained: defaultdict[tuple[str | None, str], float] = defaultdict(float)
    for key, meaning, value in rows("counted") if signal == "metrics" else ():
        gained[key, meaning] += value
    usage: defaultdict[str | None, Spent] = defaultdict(Spent)
    for key, *sums in rows("requests") if signal != "metrics" else ():
        usage[key] += Spent.of(sums)
    groups = []
    for key, count in sorted(records.items(), key=lambda item: (item[0] is None, item[0] or "")):
        told: dict[str, Any] = {}
        if not usage[key].requests:  # what counters gained; nothing of records that told of no request
            told = {name: gained.get((key, name)) for name in ("input_tokens", "output_tokens", "cost_usd")}
            told = {name: None if value is None else round(value, _DIGITS[name]) for name, value in told.items()}
        groups.append(usage[key].shown_as(RecordGroup, key=key, records=count, **told))
    return groups


def local_time(slot: int, zone: ZoneInfo) -> datetime:
    """What clocks in the zone show when a quarter of an hour, counted since 1970, begins."""
    return datetime.fromtimestamp(slot * SLOT_US // US_PER_SECOND, UTC).astimezone(zone)


def hour_start(slot: int, zone: ZoneInfo) -> str:
    """When the zone's hour that holds a quarter began, in UTC; of an hour that clocks repeat, each by itself."""
    return iso(slot * SLOT_US - local_time(slot, zone).minute * 60 * US_PER_SECOND)
