"""Completion rate, speed and tokens per calendar window (scoring.md, section 5)."""

from collections.abc import Sequence
from typing import Any

import msgspec

from aggregates.event import Scope
from aggregates.scores.grades import median, personal_tier, svc_letter, svc_score
from aggregates.times import US_PER_SECOND, Window, WindowName, iso
from projections.reader import Reader, sum_in_halves, whole_sums
from projections.sub_sessions.listing import CRUSHED, QUALIFIES, SETTLED, bounds

NANO = 1_000_000_000


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What a client needs to know before it shows a figure: shown only when its count is above 0."""

    total_count: int
    crushed_count: int
    unclassified_count: int
    overridden_count: int


class Score(Counts, frozen=True, kw_only=True):
    """The completion rate."""

    window: WindowName
    svc_score: float
    letter_grade: str
    personal_tier: str
    crush_weight: float
    crush_weight_count: int
    """Over how many crushed ones that median is: those whose tokens were seen."""
    sparkline: list[float]
    sparkline_counts: list[int]
    """Over how many qualifying ones each rate is; a rate over none is 0, and no figure."""


class Speed(Counts, frozen=True, kw_only=True):
    """Crushed sub-sessions per window, and how long they took."""

    window: WindowName
    cspw: int
    delta_cspw: int
    ttc_median_seconds: float
    sparkline: list[float]
    sparkline_counts: list[int]
    """How many qualifying ones there were of which those are crushed; 0: there was no work to crush."""


class Breakdown(msgspec.Struct, frozen=True):
    """Sums over all sub-sessions of the window."""

    input: int
    output: int
    cache_read: int
    cache_write: int


class TokenFigures(Counts, frozen=True, kw_only=True):
    """What crushed sub-sessions cost, in tokens and dollars.

    A median of nothing is 0 by the contract; the count beside it tells that from a figure.
    """

    crush_weight: float
    crush_weight_count: int
    """Over how many crushed ones it is: those whose tokens were seen."""
    tet: float
    tet_count: int
    """Over how many of the window with the fewer of them; 0: nothing could be compared, and `tet` is 1."""
    tpt: float
    request_count: int
    """How many requests `tpt` and `breakdown` are sums of; 0: tokens are unknown."""
    cpcs_estimate: float
    cpcs_count: int
    """Over how many crushed ones it is: those whose every request has an exact price."""
    cpcs_lower_bound_count: int
    """Of the other crushed ones, those whose every request has a price, and some may have cost more."""
    cpcs_unpriced_count: int
    """Of the other crushed ones, those with a request without a price, or with none that was seen."""
    breakdown: Breakdown


class Tokens(TokenFigures, frozen=True, kw_only=True):
    """The figures of one window, and how the weight came there."""

    window: WindowName
    sparkline: list[float]
    sparkline_counts: list[int]
    """The `crush_weight_count` of each."""


class TokenPoint(TokenFigures, frozen=True, kw_only=True):
    """The figures of the window that starts then."""

    period_start: str


class TokenTrend(msgspec.Struct, frozen=True):
    """Windows in time order, those without a sub-session too."""

    window: WindowName
    points: list[TokenPoint]


class _Crushed(msgspec.Struct, frozen=True):
    """One crushed sub-session: medians need each."""

    started_us: int
    last_activity_us: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd_nano: int
    requests: int
    unpriced_requests: int
    lower_bound_requests: int

    @property
    def seconds(self) -> float:
        return (self.last_activity_us - self.started_us) / US_PER_SECOND

    @property
    def priced(self) -> bool:
        """Every request has a price, if perhaps a lower bound."""
        return self.requests > 0 and not self.unpriced_requests

    @property
    def fully_priced(self) -> bool:
        return self.priced and not self.lower_bound_requests

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


# SQLite adds up, from an index alone: a month holds hundreds of sub-sessions, and three windows lie before it.
_IN_WINDOW = (
    "FROM bookmark b CROSS JOIN sub_sessions s "
    "WHERE s.organization_id = ? AND s.developer_id = ? AND s.started_us >= ? AND s.started_us < ?"
)
"""A sub-session belongs to the window in which it started."""
_COUNTED = (
    f"count(*) FILTER (WHERE {QUALIFIES}), count(*) FILTER (WHERE {CRUSHED}), "
    f"count(*) FILTER (WHERE {SETTLED} AND s.floor_passed AND s.intent IS NULL), "
    "count(*) FILTER (WHERE s.overridden)"
)
_COUNTS = f"SELECT {_COUNTED} {_IN_WINDOW}"
_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_SUMS = (
    f"SELECT {_COUNTED}, coalesce(sum(s.turns), 0), coalesce(sum(s.requests), 0), "
    f"{', '.join(map(sum_in_halves, _TOKENS))} {_IN_WINDOW}"
)
_CRUSHED_ROWS = f"SELECT {', '.join(f's.{name}' for name in _Crushed.__struct_fields__)} {_IN_WINDOW} AND {CRUSHED}"


def score(reader: Reader, scope: Scope, name: WindowName, windows: Sequence[Window]) -> Score:
    """The completion rate of the last window given; the sparkline over all of them."""
    per_window = [window_counts(reader, scope, window) for window in windows]
    counts = per_window[-1]
    rate, crushed = _rate(counts), _crushed(reader, scope, windows[-1:])[0]
    return Score(
        window=name,
        svc_score=rate,
        letter_grade=svc_letter(rate, counts.total_count),
        personal_tier=personal_tier(rate, counts.total_count),
        crush_weight=_crush_weight(crushed),
        crush_weight_count=_seen(crushed),
        sparkline=[_rate(each) for each in per_window],
        sparkline_counts=[each.total_count for each in per_window],
        **msgspec.structs.asdict(counts),
    )


def speed(reader: Reader, scope: Scope, name: WindowName, windows: Sequence[Window]) -> Speed:
    """Crushed sub-sessions of the last window given, against the one before."""
    per_window = [window_counts(reader, scope, window) for window in windows]
    counts = per_window[-1]
    before = per_window[-2].crushed_count if len(per_window) > 1 else 0
    return Speed(
        window=name,
        cspw=counts.crushed_count,
        delta_cspw=counts.crushed_count - before,
        ttc_median_seconds=median(row.seconds for row in _crushed(reader, scope, windows[-1:])[0]),
        sparkline=[float(each.crushed_count) for each in per_window],
        sparkline_counts=[each.total_count for each in per_window],
        **msgspec.structs.asdict(counts),
    )


def tokens(reader: Reader, scope: Scope, name: WindowName, windows: Sequence[Window]) -> Tokens:
    """Token weight and cost of the last window given, against the one before."""
    crushed = _crushed(reader, scope, windows)
    before = crushed[-2] if len(crushed) > 1 else []
    return Tokens(
        window=name,
        sparkline=[_crush_weight(rows) for rows in crushed],
        sparkline_counts=[_seen(rows) for rows in crushed],
        **_token_figures(reader, scope, windows[-1], crushed[-1], before),
    )


def token_trend(reader: Reader, scope: Scope, name: WindowName, windows: Sequence[Window]) -> TokenTrend:
    """A point for each window but the first, which is there for the second to be compared with."""
    crushed = _crushed(reader, scope, windows)
    points = [
        TokenPoint(period_start=iso(window.start_us), **_token_figures(reader, scope, window, rows, before))
        for window, rows, before in zip(windows[1:], crushed[1:], crushed, strict=False)
    ]
    return TokenTrend(name, points)


def _token_figures(
    reader: Reader, scope: Scope, window: Window, crushed: Sequence[_Crushed], earlier: Sequence[_Crushed]
) -> dict[str, Any]:
    """The fields of `TokenFigures` for a window; `earlier`: what was crushed in the one before it."""
    row = reader.db.execute(_SUMS, bounds(scope, window)).fetchone()
    counts, turns, requests, sums = _counts(row[:4]), row[4], row[5], Breakdown(*whole_sums(row[6:]))
    weight, before = _crush_weight(crushed), _crush_weight(earlier)
    return {
        "crush_weight": weight,
        "crush_weight_count": _seen(crushed),
        "tet": weight / before if weight and before else 1.0,
        "tet_count": min(_seen(crushed), _seen(earlier)) if weight and before else 0,
        "tpt": (sums.input + sums.output) / turns if turns else 0.0,
        "request_count": requests,
        "cpcs_estimate": _cost_per_crushed_usd(crushed),
        "cpcs_count": sum(each.fully_priced for each in crushed),
        "cpcs_lower_bound_count": sum(each.priced and not each.fully_priced for each in crushed),
        "cpcs_unpriced_count": sum(not each.priced for each in crushed),
        "breakdown": sums,
        **msgspec.structs.asdict(counts),
    }


def window_counts(reader: Reader, scope: Scope, window: Window) -> Counts:
    """The counts of one window; for responses that are about prompts, too."""
    return _counts(reader.db.execute(_COUNTS, bounds(scope, window)).fetchone())


def _counts(counted: Sequence[int]) -> Counts:
    total, crushed, unclassified, overridden = counted
    return Counts(
        total_count=total, crushed_count=crushed, unclassified_count=unclassified, overridden_count=overridden
    )


def _crushed(reader: Reader, scope: Scope, windows: Sequence[Window]) -> list[list[_Crushed]]:
    """Those of each window."""
    return [[_Crushed(*row) for row in reader.db.execute(_CRUSHED_ROWS, bounds(scope, window))] for window in windows]


def _rate(counts: Counts) -> float:
    return svc_score(counts.crushed_count, counts.total_count)


def _crush_weight(crushed: Sequence[_Crushed]) -> float:
    """Over those whose tokens were seen: tokens that nobody reported are unknown, not zero."""
    return float(median(row.total_tokens for row in crushed if row.requests))


def _seen(crushed: Sequence[_Crushed]) -> int:
    """How many of them that median is over."""
    return sum(row.requests > 0 for row in crushed)


def _cost_per_crushed_usd(crushed: Sequence[_Crushed]) -> float:
    return median(row.cost_usd_nano for row in crushed if row.fully_priced) / NANO
