"""Telemetry counted and summed, per hour, day or agent session.

Log records and spans bring the tokens and cost of the model requests that they reported, each request once. Metrics
bring those of the agents' counters: they repeat what the requests tell, so the two are never added.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, Literal
from zoneinfo import ZoneInfo

import msgspec

from aggregates.scope import Scope
from aggregates.windows import Window
from projections.model_usage import USAGE_COLUMNS, Usage
from projections.reader import Reader
from projections.slots import SLOT_US, hour_start, local_time
from projections.telemetry import Signal

_USD_DIGITS = 9
"""Nano-dollars: what lies below comes of adding fractions up."""

GroupBy = Literal["hour", "day", "session_id"]
_Key = str | None


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """One hour, day or agent session in which there was a record. A number that nothing told is None."""

    key: str | None
    """When the hour began, in UTC; the day of the zone; the agent session, None where records name none."""
    records: int
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    """Also None where a request has no price."""
    unpriced_requests: int
    unmeasured_requests: int
    """Requests that told no tokens."""


class _Counters(msgspec.Struct):
    """What the counters of a group came to; None where there was none."""

    input_tokens: float | None = None
    output_tokens: float | None = None
    cost_usd: float | None = None


_OWN = "t.developer_id = :developer AND t.organization_id = :organization AND t.at_us >= :start AND t.at_us < :end"
_RECORDS = f"SELECT {{key}} AS key, count(*) FROM telemetry_records t WHERE {_OWN} AND t.signal = :signal GROUP BY key"
_REQUESTS = (
    f"SELECT {{key}} AS key, {USAGE_COLUMNS} FROM telemetry_records t JOIN requests r "
    "ON r.developer_id = t.developer_id AND r.at_us = t.at_us AND r.record_id = t.record_id "
    f"WHERE {_OWN} AND t.signal = :signal AND r.superseded = 0 AND r.failed = 0 GROUP BY key"
)
_POINTS = f"SELECT {{key}} AS key, count(*) FROM metric_points t WHERE {_OWN} GROUP BY key"
_COUNTED = f"""
WITH counted AS MATERIALIZED (
    SELECT {{key}} AS key, t.meaning, t.value, CASE WHEN t.temporality = 'cumulative' THEN (
        SELECT p.value FROM metric_points p INDEXED BY idx_metric_points_developer_id_series_at_us
        WHERE p.developer_id = t.developer_id AND p.series = t.series AND p.organization_id = t.organization_id
        AND p.at_us <= t.at_us AND (p.at_us < t.at_us OR p.record_id < t.record_id)
        AND p.start_us IS t.start_us AND p.value IS NOT NULL
        ORDER BY p.at_us DESC, p.record_id DESC LIMIT 1
    ) END AS before
    FROM metric_points t
    WHERE {_OWN} AND t.value IS NOT NULL AND t.meaning IN ('input_tokens', 'output_tokens', 'cost_usd')
)
SELECT key, meaning, sum(CASE WHEN before IS NULL OR before > value THEN value ELSE value - before END)
FROM counted GROUP BY key, meaning
"""
"""What the counters gained. A cumulative series counts from the point before, also one before the range; one that
starts anew, or falls, counts from nothing. The index is named, since SQLite would take the order by time for the better
way and walk over everything else that was measured."""


def stats(
    reader: Reader, scope: Scope, window: Window, signal: Signal, group_by: GroupBy, zone: ZoneInfo
) -> list[Group]:
    """The groups in the order of their keys; records that name no session come last."""
    bound = {
        "organization": str(scope.organization_id),
        "developer": str(scope.developer_id),
        "signal": signal,
        "start": window.start_us,
        "end": window.end_us,
    }
    column = "t.agent_session_id" if group_by == "session_id" else f"t.at_us / {SLOT_US}"

    def rows(query: str) -> list[tuple[Any, ...]]:
        return reader.db.execute(query.format(key=column), bound).fetchall()

    named = _naming(group_by, zone)
    if signal == "metrics":
        return _of_points(rows(_POINTS), rows(_COUNTED), named)
    return _of_records(rows(_RECORDS), rows(_REQUESTS), named)


def _naming(group_by: GroupBy, zone: ZoneInfo) -> Callable[[Any], _Key]:
    match group_by:
        case "hour":
            return lambda slot: hour_start(slot, zone)
        case "day":
            return lambda slot: f"{local_time(slot, zone):%Y-%m-%d}"
        case "session_id":
            return lambda session: session


def _counts(rows: list[tuple[Any, ...]], named: Callable[[Any], _Key]) -> list[tuple[_Key, int]]:
    counts: defaultdict[_Key, int] = defaultdict(int)
    for raw, count in rows:
        counts[named(raw)] += count
    return sorted(counts.items(), key=lambda item: (item[0] is None, item[0] or ""))


def _of_records(
    records: list[tuple[Any, ...]], requests: list[tuple[Any, ...]], named: Callable[[Any], _Key]
) -> list[Group]:
    usage: defaultdict[_Key, Usage] = defaultdict(Usage)
    for raw, *sums in requests:
        usage[named(raw)].add(Usage(*sums))
    return [_group_of_records(key, count, usage[key]) for key, count in _counts(records, named)]


def _group_of_records(key: _Key, records: int, usage: Usage) -> Group:
    told = usage.unmeasured < usage.requests
    return Group(
        key=key,
        records=records,
        input_tokens=usage.input if told else None,
        output_tokens=usage.output if told else None,
        cost_usd=usage.cost_usd if usage.requests else None,
        unpriced_requests=usage.unpriced,
        unmeasured_requests=usage.unmeasured,
    )


def _of_points(
    points: list[tuple[Any, ...]], counted: list[tuple[Any, ...]], named: Callable[[Any], _Key]
) -> list[Group]:
    gained: defaultdict[_Key, _Counters] = defaultdict(_Counters)
    for raw, meaning, value in counted:
        counters = gained[named(raw)]
        setattr(counters, meaning, value + (getattr(counters, meaning) or 0.0))
    return [_group_of_points(key, count, gained[key]) for key, count in _counts(points, named)]


def _group_of_points(key: _Key, records: int, counters: _Counters) -> Group:
    return Group(
        key=key,
        records=records,
        input_tokens=None if counters.input_tokens is None else round(counters.input_tokens),
        output_tokens=None if counters.output_tokens is None else round(counters.output_tokens),
        cost_usd=None if counters.cost_usd is None else round(counters.cost_usd, _USD_DIGITS),
        unpriced_requests=0,
        unmeasured_requests=0,
    )
