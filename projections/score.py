"""Completion rate, speed and tokens per calendar window (scoring.md, section 5)."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from aggregates.grades import median, personal_tier, svc_letter, svc_score
from aggregates.scope import Scope
from aggregates.times import iso
from aggregates.windows import Window, WindowName
from projections.reader import Reader


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
    sparkline: list[float]


class Speed(Counts, frozen=True, kw_only=True):
    """Crushed sub-sessions per window, and how long they took."""

    window: WindowName
    cspw: int
    delta_cspw: int
    ttc_median_seconds: float
    sparkline: list[float]


class Breakdown(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over all sub-sessions of the window."""

    input: int
    output: int
    cache_read: int
    cache_write: int


class TokenFigures(Counts, frozen=True, kw_only=True):
    """What crushed sub-sessions cost, in tokens and dollars."""

    crush_weight: float
    tet: float
    tpt: float
    cpcs_estimate: float
    breakdown: Breakdown


class Tokens(TokenFigures, frozen=True, kw_only=True):
    """The figures of one window, and how the weight came there."""

    window: WindowName
    sparkline: list[float]


class TokenPoint(TokenFigures, frozen=True, kw_only=True):
    """The figures of the window that starts then."""

    period_start: str


class TokenTrend(msgspec.Struct, frozen=True):
    """Windows in time order, those without a sub-session too."""

    window: WindowName
    points: list[TokenPoint]


class _Row(msgspec.Struct, frozen=True):
    started_us: int
    last_activity_us: int
    turns: int
    settled: bool
    floor_passed: bool
    classified: bool
    complete: bool
    """And not rework; as a person said, else as judged."""
    overridden: bool
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd_nano: int
    requests: int
    unpriced_requests: int
    lower_bound_requests: int

    @property
    def qualifies(self) -> bool:
        return self.settled and self.floor_passed and self.classified

    @property
    def crushed(self) -> bool:
        return self.qualifies and self.complete

    @property
    def fully_priced(self) -> bool:
        return self.requests > 0 and not self.unpriced_requests and not self.lower_bound_requests

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


_ROWS = (
    "SELECT s.started_us, s.last_activity_us, s.turns, s.settles_at_us <= b.log_time_us, s.floor_passed, "
    "s.intent IS NOT NULL, s.goal_complete AND s.rework_of IS NULL, s.overridden, "
    "s.input_tokens, s.output_tokens, s.cache_read_tokens, s.cache_write_tokens, s.cost_usd_nano, "
    "s.requests, s.unpriced_requests, s.lower_bound_requests FROM sub_sessions s, bookmark b "
    "WHERE s.organization_id = ? AND s.developer_id = ? AND s.started_us >= ? AND s.started_us < ?"
)

_PerWindow = list[list[_Row]]


def score(reader: Reader, scope: Scope, name: WindowName, windows: Sequence[Window]) -> Score:
    """The completion rate of the last window given; the sparkline over all of them."""
    per_window = _rows(reader, scope, windows)
    counts = _counts(per_window[-1])
    rate = svc_score(counts.crushed_count, counts.total_count)
    return Score(
        window=name,
        svc_score=rate,
        letter_grade=svc_letter(rate, counts.total_count),
        personal_tier=personal_tier(rate, counts.total_count),
        crush_weight=_crush_weight(per_window[-1]),
        sparkline=_each(per_window, _rate),
        **msgspec.structs.asdict(counts),
    )


def speed(reader: Reader, scope: Scope, name: WindowName, windows: Sequence[Window]) -> Speed:
    """Crushed sub-sessions of the last window given, against the one before."""
    per_window = _rows(reader, scope, windows)
    crushed = [row for row in per_window[-1] if row.crushed]
    counts = _counts(per_window[-1])
    before = _counts(per_window[-2]).crushed_count if len(per_window) > 1 else 0
    return Speed(
        window=name,
        cspw=len(crushed),
        delta_cspw=len(crushed) - before,
        ttc_median_seconds=median((row.last_activity_us - row.started_us) / 1_000_000 for row in crushed),
        sparkline=_each(per_window, lambda rows: float(_counts(rows).crushed_count)),
        **msgspec.structs.asdict(counts),
    )


def tokens(reader: Reader, scope: Scope, name: WindowName, windows: Sequence[Window]) -> Tokens:
    """Token weight and cost of the last window given, against the one before."""
    per_window = _rows(reader, scope, windows)
    return Tokens(window=name, sparkline=_each(per_window, _crush_weight), **_token_figures(per_window)[-1])


def token_trend(reader: Reader, scope: Scope, name: WindowName, windows: Sequence[Window]) -> TokenTrend:
    """A point for each window but the first, which is there for the second to be compared with."""
    figures = _token_figures(_rows(reader, scope, windows))
    points = [
        TokenPoint(period_start=iso(window.start_us), **shown) for window, shown in zip(windows, figures, strict=True)
    ]
    return TokenTrend(name, points[1:])


def _token_figures(per_window: _PerWindow) -> list[dict[str, Any]]:
    """The fields of `TokenFigures` for each window, each against the one before."""
    weights = [_crush_weight(rows) for rows in per_window]
    return [
        {
            "crush_weight": weight,
            "tet": weight / before if weight and before else 1.0,
            "tpt": _tokens_per_turn(rows),
            "cpcs_estimate": _cost_per_crushed_usd(rows),
            "breakdown": _breakdown(rows),
            **msgspec.structs.asdict(_counts(rows)),
        }
        for rows, weight, before in zip(per_window, weights, [0.0, *weights], strict=False)
    ]


def window_counts(reader: Reader, scope: Scope, window: Window) -> Counts:
    """The counts of one window, for responses that are about prompts."""
    return _counts(_rows(reader, scope, (window,))[0])


def _rows(reader: Reader, scope: Scope, windows: Sequence[Window]) -> _PerWindow:
    """A sub-session belongs to the window in which it started."""
    owner = (str(scope.organization_id), str(scope.developer_id))
    found = [
        _Row(*row[:3], *map(bool, row[3:8]), *row[8:])
        for row in reader.db.execute(_ROWS, (*owner, windows[0].start_us, windows[-1].end_us))
    ]
    return [[row for row in found if w.start_us <= row.started_us < w.end_us] for w in windows]


def _counts(rows: Sequence[_Row]) -> Counts:
    return Counts(
        total_count=sum(row.qualifies for row in rows),
        crushed_count=sum(row.crushed for row in rows),
        unclassified_count=sum(row.settled and row.floor_passed and not row.classified for row in rows),
        overridden_count=sum(row.overridden for row in rows),
    )


def _rate(rows: Sequence[_Row]) -> float:
    counts = _counts(rows)
    return svc_score(counts.crushed_count, counts.total_count)


def _crush_weight(rows: Sequence[_Row]) -> float:
    """Over the crushed sub-sessions whose tokens were seen: tokens that nobody reported are unknown, not zero."""
    return float(median(row.total_tokens for row in rows if row.crushed and row.requests))


def _cost_per_crushed_usd(rows: Sequence[_Row]) -> float:
    priced = [row.cost_usd_nano for row in rows if row.crushed and row.fully_priced]
    return median(priced) / 1_000_000_000


def _tokens_per_turn(rows: Sequence[_Row]) -> float:
    turns = sum(row.turns for row in rows)
    return sum(row.input_tokens + row.output_tokens for row in rows) / turns if turns else 0.0


def _breakdown(rows: Sequence[_Row]) -> Breakdown:
    return Breakdown(
        input=sum(row.input_tokens for row in rows),
        output=sum(row.output_tokens for row in rows),
        cache_read=sum(row.cache_read_tokens for row in rows),
        cache_write=sum(row.cache_write_tokens for row in rows),
    )


def _each(per_window: _PerWindow, figure: Callable[[Sequence[_Row]], float]) -> list[float]:
    return [figure(rows) for rows in per_window]
