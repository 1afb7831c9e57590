"""What a developer's models were used for: averages per model, sums per month.

Only answered requests count: one that failed used nothing. An average is over the requests that told the number.
"""

from collections import defaultdict
from typing import TypeVar
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope
from aggregates.times import Window
from projections.prices.spending import SUMS, TOKENS, Spent
from projections.reader import Reader, owner
from projections.scores.activity import SLOT_US, local_time

_S = TypeVar("_S", bound=msgspec.Struct)


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


class Usage(Spent, frozen=True):
    """The same sums, and how many requests told each kind of token."""

    told_input_tokens: int = 0
    told_output_tokens: int = 0
    told_cache_read_tokens: int = 0
    told_cache_write_tokens: int = 0

    @property
    def measured(self) -> bool:
        return self.unmeasured < self.requests

    def shown_as(self, kind: type[_S], **more: object) -> _S:
        """The figures that a shape declares, with others that it needs."""
        tokens = {name: (getattr(self, name), getattr(self, f"told_{name}")) for name in TOKENS}
        tokens["cache_creation_tokens"] = tokens["cache_write_tokens"]
        tokens["total_tokens"] = self.total_tokens, self.requests - self.unmeasured
        figures: dict[str, object] = {
            **dict.fromkeys(("requests", "request_count"), self.requests),
            **dict.fromkeys(("cost_usd", "total_cost_usd"), self.cost_usd),
            **{name: in_all for name, (in_all, _) in tokens.items()},
            **{f"avg_{name}": in_all / told if told else None for name, (in_all, told) in tokens.items()},
            "unpriced_requests": self.unpriced,
            "unmeasured_requests": self.unmeasured,
            **more,
        }
        return kind(**{name: figures[name] for name in kind.__struct_fields__})


USAGE = f"{SUMS}, {', '.join(f'count({name})' for name in TOKENS)}"
"""What makes a `Usage` of rows of `requests`."""
_SUMS = (
    f"SELECT at_us / {SLOT_US} AS slot, model, {USAGE} FROM requests "
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
    return [(slot, model, Usage.of(sums)) for slot, model, *sums in reader.db.execute(_SUMS, bound)]
