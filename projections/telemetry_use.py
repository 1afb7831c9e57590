"""What telemetry says about how agents were used: tools, failures, models and hours of a range, and single turns."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from aggregates.grades import median
from aggregates.observation import Observation
from aggregates.scope import Scope
from aggregates.windows import Window
from projections.bodies import unpack
from projections.model_usage import USAGE_COLUMNS, Usage, usage_per_slot
from projections.reader import Reader
from projections.slots import local_time

HOURS = 24


class ToolStats(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One tool; None names calls whose tool was not reported."""

    name: str | None
    calls: int
    errors: int
    median_ms: float | None
    """Over the calls whose duration was reported; None where none was."""


class ErrorCount(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Requests that failed in one way; None was not reported."""

    status_code: int | None
    model: str | None
    count: int


class ModelSums(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answered requests of one model."""

    model: str | None
    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_creation_tokens: int
    cost_usd: float | None
    unpriced_requests: int
    unmeasured_requests: int


class HourCount(msgspec.Struct, frozen=True):
    """How many requests were answered in one hour of the zone's day, 0-23."""

    hour: int
    requests: int


class Analytics(msgspec.Struct, frozen=True, kw_only=True):
    """How agents were used in a range."""

    tools: list[ToolStats]
    errors: list[ErrorCount]
    models: list[ModelSums]
    active_hours: list[HourCount]


class TurnTokens(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over a turn's answered requests."""

    input: int
    output: int
    cache_read: int
    cache_write: int


class TurnUse(msgspec.Struct, frozen=True, kw_only=True):
    """What was reported for one prompt; of a prompt that nothing named, zeros and nulls."""

    prompt_id: str
    requests: int
    """Answered ones."""
    tools: int
    tokens: TurnTokens | None
    """None where no request told any."""
    cost_usd: float | None
    """None where there was no request, or one has no price."""
    errors: int
    """Requests that failed."""
    tool_errors: int
    unpriced_requests: int


_OWN = "developer_id = :developer AND +organization_id = :organization AND at_us >= :start AND at_us < :end"
_TOOLS = (
    "SELECT t.tool, min(t.ok), max(t.duration_ms) FROM telemetry_records t LEFT JOIN observations o "
    "ON o.agent_session_id = t.agent_session_id AND o.at_us = t.at_us AND o.record_id = t.record_id "
    "WHERE t.developer_id = :developer AND t.organization_id = :organization AND t.at_us >= :start AND t.at_us < :end "
    "AND t.kind = 'tool' "
    "GROUP BY t.agent_session_id, iif(o.twin LIKE '~%', t.record_id, coalesce(o.twin, t.record_id)), t.tool"
)
"""A call that a log record and a span tell of is one, where both name it."""
_FAILED = (
    f"SELECT status_code, model, count(*) FROM requests WHERE {_OWN} AND superseded = 0 AND failed = 1 "
    "GROUP BY status_code, model ORDER BY 3 DESC, 1, 2"
)


def analytics(reader: Reader, scope: Scope, window: Window, zone: ZoneInfo) -> Analytics:
    """Tools, failures and models, the most frequent first, and the hours of the zone's day."""
    bound = {
        "organization": str(scope.organization_id),
        "developer": str(scope.developer_id),
        "start": window.start_us,
        "end": window.end_us,
    }
    models: defaultdict[str | None, Usage] = defaultdict(Usage)
    hours = [0] * HOURS
    for slot, model, usage in usage_per_slot(reader, scope, window):
        models[model].add(usage)
        hours[local_time(slot, zone).hour] += usage.requests
    return Analytics(
        tools=_tools(reader.db.execute(_TOOLS, bound)),
        errors=[
            ErrorCount(status_code=status_code, model=model, count=count)
            for status_code, model, count in reader.db.execute(_FAILED, bound)
        ],
        models=[_model_sums(model, usage) for model, usage in sorted(models.items(), key=_most_used_first)],
        active_hours=[HourCount(hour, requests) for hour, requests in enumerate(hours)],
    )


def _tools(calls: Iterable[tuple[str | None, int | None, int | None]]) -> list[ToolStats]:
    by_name: defaultdict[str | None, list[tuple[int | None, int | None]]] = defaultdict(list)
    for name, ok, duration_ms in calls:
        by_name[name].append((ok, duration_ms))
    tools = [_tool_stats(name, outcomes) for name, outcomes in by_name.items()]
    return sorted(tools, key=lambda tool: (-tool.calls, tool.name or ""))


def _tool_stats(name: str | None, outcomes: Sequence[tuple[int | None, int | None]]) -> ToolStats:
    durations_ms = [duration_ms for _, duration_ms in outcomes if duration_ms is not None]
    return ToolStats(
        name=name,
        calls=len(outcomes),
        errors=sum(ok == 0 for ok, _ in outcomes),
        median_ms=float(median(durations_ms)) if durations_ms else None,
    )


def _most_used_first(item: tuple[str | None, Usage]) -> tuple[int, str]:
    return -item[1].requests, item[0] or ""


def _model_sums(model: str | None, usage: Usage) -> ModelSums:
    return ModelSums(
        model=model,
        requests=usage.requests,
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_creation_tokens=usage.cache_write,
        cost_usd=usage.cost_usd,
        unpriced_requests=usage.unpriced,
        unmeasured_requests=usage.unmeasured,
    )


# --- single turns ---------------------------------------------------------------------------------------------

_TURN_REQUESTS = (
    f"SELECT prompt_id, failed, {USAGE_COLUMNS} FROM requests WHERE agent_session_id = :session "
    "AND +developer_id = :developer AND +organization_id = :organization AND superseded = 0 "
    "AND prompt_id IN (SELECT value FROM json_each(:prompts)) GROUP BY prompt_id, failed"
)
_TURN_TOOLS = (
    "SELECT o.prompt_id, o.body FROM sessions s JOIN observations o ON o.agent_session_id = s.agent_session_id "
    "WHERE s.agent_session_id = :session AND s.developer_id = :developer AND s.organization_id = :organization "
    "AND o.superseded = 0 AND o.prompt_id IN (SELECT value FROM json_each(:prompts))"
)


def per_turn(reader: Reader, scope: Scope, session_id: str, prompt_ids: Sequence[str]) -> list[TurnUse]:
    """One row for each prompt id, as the agent names it, in the order in which they were asked for."""
    bound: dict[str, Any] = {
        "organization": str(scope.organization_id),
        "developer": str(scope.developer_id),
        "session": session_id,
        "prompts": msgspec.json.encode(prompt_ids).decode(),
    }
    answered: dict[str, Usage] = {}
    failed: dict[str, int] = {}
    for prompt_id, has_failed, *sums in reader.db.execute(_TURN_REQUESTS, bound):
        usage = Usage(*sums)
        if has_failed:
            failed[prompt_id] = usage.requests
        else:
            answered[prompt_id] = usage
    tools = _tool_calls(reader.db.execute(_TURN_TOOLS, bound))
    return [
        _turn_use(prompt_id, answered.get(prompt_id, Usage()), tools[prompt_id], failed.get(prompt_id, 0))
        for prompt_id in dict.fromkeys(prompt_ids)
    ]


def _tool_calls(rows: Iterable[tuple[str, bytes]]) -> defaultdict[str, list[bool | None]]:
    """By prompt id, whether each call succeeded."""
    calls: defaultdict[str, list[bool | None]] = defaultdict(list)
    for prompt_id, body in rows:
        seen = unpack(body, Observation)
        if seen.kind == "tool":
            calls[prompt_id].append(None if seen.tool is None else seen.tool.ok)
    return calls


def _turn_use(prompt_id: str, usage: Usage, calls: Sequence[bool | None], errors: int) -> TurnUse:
    tokens = TurnTokens(
        input=usage.input, output=usage.output, cache_read=usage.cache_read, cache_write=usage.cache_write
    )
    return TurnUse(
        prompt_id=prompt_id,
        requests=usage.requests,
        tools=len(calls),
        tokens=tokens if usage.unmeasured < usage.requests else None,
        cost_usd=usage.cost_usd if usage.requests else None,
        errors=errors,
        tool_errors=sum(ok is False for ok in calls),
        unpriced_requests=usage.unpriced,
    )
