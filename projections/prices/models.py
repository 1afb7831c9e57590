"""What a developer's models were used for: averages per model, sums per month.

Only answered requests count: one that failed used nothing. An average is over the requests that told the number.
"""

from collections import defaultdict
from operator import add
from typing import TypeVar
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope
from aggregates.times import Window
from projections.reader import Reader, owner
from projections.scores.activity import SLOT_US, local_time
from projections.sub_sessions.rows import NANO

_S = TypeVar("_S", bound=msgspec.Struct)
_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")


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
    unpriced_requests: int
    unmeasured_requests: int


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


class Usage(msgspec.Struct, frozen=True):
    """Sums over answered requests."""

    requests: int = 0
    unmeasured_requests: int = 0
    unpriced_requests: int = 0
    cost_usd_nano: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    told_input_tokens: int = 0
    """How many requests told their input tokens; the same for the other kinds."""
    told_output_tokens: int = 0
    told_cache_read_tokens: int = 0
    told_cache_creation_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*map(add, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))

    @property
    def measured(self) -> bool:
        return self.unmeasured_requests < self.requests

    @property
    def cost_usd(self) -> float | None:
        return None if self.unpriced_requests else self.cost_usd_nano / NANO

    def shown_as(self, kind: type[_S], **more: object) -> _S:
        """The figures that a shape declares, with others that it needs."""
        own: dict[str, int] = msgspec.structs.asdict(self)
        own["total_tokens"] = sum(own[name] for name in _TOKENS)
        told = {"total_tokens": self.requests - self.unmeasured_requests} | {
            name: own[f"told_{name}"] for name in _TOKENS
        }
        averages = {f"avg_{name}": own[name] / count if count else None for name, count in told.items()}
        costs = {"cost_usd": self.cost_usd, "total_cost_usd": self.cost_usd}
        figures = {**own, **averages, **costs, "request_count": self.requests, **more}
        return kind(**{name: figures[name] for name in kind.__struct_fields__})


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
        models[model] += usage
        months[month] += usage
        days[month].add(local.day)
    by_use = sorted(models, key=lambda model: (-models[model].requests, model or ""))
    return Rightsizing(
        recommendations=[],
        model_usage=[models[model].shown_as(ModelUsage, model=model) for model in by_use],
        monthly_usage=[
            months[month].shown_as(MonthlyUsage, month=month, active_days=len(days[month])) for month in sorted(months)
        ],
    )


def usage_per_slot(reader: Reader, scope: Scope, window: Window) -> list[tuple[int, str | None, Usage]]:
    bound = (*owner(scope), window.start_us, window.end_us)
    return [(slot, model, Usage(*sums)) for slot, model, *sums in reader.db.execute(_SUMS, bound)]
