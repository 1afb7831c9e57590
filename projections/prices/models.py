"""What a developer's models were used for: averages per model, sums per month.

Only answered requests count: one that failed used nothing. An average is over the requests that told the number.
"""

from collections import defaultdict
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope
from aggregates.times import Window
from projections.reader import Reader, owner
from projections.scores.activity import SLOT_US, local_time

_NANO = 1_000_000_000


class ModelUsage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One model; None names requests whose model was not reported. An average that no request told is None."""

    model: str | None
    request_count: int
    avg_input_tokens: float | None
    avg_output_tokens: float | None
    avg_cache_read_tokens: float | None
    avg_cache_creation_tokens: float | None
    avg_total_tokens: float | None
    total_cost_usd: float | None
    """None where a request has no price."""
    unpriced_requests: int
    unmeasured_requests: int
    """Requests that told no tokens."""


class MonthlyUsage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One month of the caller's zone in which there was a request."""

    month: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_creation_tokens: int
    total_tokens: int
    total_cost_usd: float | None
    request_count: int
    active_days: int
    unpriced_requests: int
    unmeasured_requests: int


class Rightsizing(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`recommendations` is there for its type, and stays empty."""

    recommendations: list[str]
    model_usage: list[ModelUsage]
    monthly_usage: list[MonthlyUsage]


class Usage(msgspec.Struct):
    """Sums over answered requests."""

    requests: int = 0
    unmeasured: int = 0
    unpriced: int = 0
    cost_usd_nano: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    told_input: int = 0
    """How many requests told their input tokens; the same for the other kinds."""
    told_output: int = 0
    told_cache_read: int = 0
    told_cache_write: int = 0

    def add(self, other: "Usage") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    @property
    def cost_usd(self) -> float | None:
        """None where a request has no price."""
        return None if self.unpriced else self.cost_usd_nano / _NANO


USAGE_COLUMNS = (
    "count(*), sum(coalesce(input_tokens, output_tokens, cache_read_tokens, cache_write_tokens) IS NULL), "
    "sum(cost_usd_nano IS NULL), sum(coalesce(cost_usd_nano, 0)), sum(coalesce(input_tokens, 0)), "
    "sum(coalesce(output_tokens, 0)), sum(coalesce(cache_read_tokens, 0)), sum(coalesce(cache_write_tokens, 0)), "
    "count(input_tokens), count(output_tokens), count(cache_read_tokens), count(cache_write_tokens) "
)
"""The fields of `Usage`, in their order, over rows of `requests`."""
_SUMS = (
    f"SELECT at_us / {SLOT_US} AS slot, model, {USAGE_COLUMNS} FROM requests "
    "WHERE +organization_id = ? AND developer_id = ? AND at_us >= ? AND at_us < ? "
    "AND superseded = 0 AND failed = 0 GROUP BY slot, model"
)


def rightsizing(reader: Reader, scope: Scope, window: Window, zone: ZoneInfo) -> Rightsizing:
    """The models of the range, the most used first, and its months, oldest first."""
    models: defaultdict[str | None, Usage] = defaultdict(Usage)
    months: defaultdict[str, Usage] = defaultdict(Usage)
    days: defaultdict[str, set[int]] = defaultdict(set)
    for slot, model, usage in usage_per_slot(reader, scope, window):
        local = local_time(slot, zone)
        month = f"{local:%Y-%m}"
        models[model].add(usage)
        months[month].add(usage)
        days[month].add(local.day)
    by_use = sorted(models, key=lambda model: (-models[model].requests, model or ""))
    return Rightsizing(
        recommendations=[],
        model_usage=[_model_usage(model, models[model]) for model in by_use],
        monthly_usage=[_monthly_usage(month, months[month], len(days[month])) for month in sorted(months)],
    )


def usage_per_slot(reader: Reader, scope: Scope, window: Window) -> list[tuple[int, str | None, Usage]]:
    """Sums for every quarter of an hour and model of the range."""
    bound = (*owner(scope), window.start_us, window.end_us)
    return [(slot, model, Usage(*sums)) for slot, model, *sums in reader.db.execute(_SUMS, bound)]


def _mean(tokens: int, requests: int) -> float | None:
    return tokens / requests if requests else None


def _model_usage(model: str | None, usage: Usage) -> ModelUsage:
    return ModelUsage(
        model=model,
        request_count=usage.requests,
        avg_input_tokens=_mean(usage.input, usage.told_input),
        avg_output_tokens=_mean(usage.output, usage.told_output),
        avg_cache_read_tokens=_mean(usage.cache_read, usage.told_cache_read),
        avg_cache_creation_tokens=_mean(usage.cache_write, usage.told_cache_write),
        avg_total_tokens=_mean(usage.total, usage.requests - usage.unmeasured),
        total_cost_usd=usage.cost_usd,
        unpriced_requests=usage.unpriced,
        unmeasured_requests=usage.unmeasured,
    )


def _monthly_usage(month: str, usage: Usage, active_days: int) -> MonthlyUsage:
    return MonthlyUsage(
        month=month,
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_creation_tokens=usage.cache_write,
        total_tokens=usage.total,
        total_cost_usd=usage.cost_usd,
        request_count=usage.requests,
        active_days=active_days,
        unpriced_requests=usage.unpriced,
        unmeasured_requests=usage.unmeasured,
    )
