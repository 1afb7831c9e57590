"""Completion rate, speed and tokens per calendar window (scoring.md, section 5)."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date, tzinfo
from typing import Any, Literal
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.records.record import TOKEN_KINDS
from aggregates.scores.grades import Comparison, Interval, Tally, compare, median, personal_tier, score_of, svc_letter
from aggregates.times import INSTANT_MAX_US, UNTIMED_US, AskedWindow, Window, WindowName, iso, local_date
from projections.prices import NANO
from projections.reader import Reader, bound, json_array, sql, sum_in_halves, whole_sums


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What a client needs to know before it shows a figure: shown only when its count is above 0."""

    total_count: int
    crushed_count: int
    decided_count: int  # of the qualifying ones, those that can be told to have reached the goal or not
    undecided_count: int
    decided_rate: float | None  # 100 x crushed / decided; None where nothing is decided
    unclassified_count: int
    overridden_count: int


class OfWindow(Counts, frozen=True, kw_only=True):
    window: AskedWindow
    newest_at: str | None  # when the newest sub-session of all began; None without any


class Sparked(OfWindow, frozen=True, kw_only=True):
    sparkline: list[float]
    sparkline_counts: list[int]  # over how many sub-sessions each is; a figure over none is 0, and no figure


class Score(Sparked, frozen=True, kw_only=True):
    svc_score: float
    interval: Interval | None  # of `svc_score` and of `decided_rate`; an undecided one may be either
    letter_grade: str  # of `decided_rate`, as the tier; `N/A` and `unranked` where fewer than ten are decided
    personal_tier: str
    crush_weight: float
    crush_weight_count: int  # over how many crushed ones that median is: those whose tokens were seen
    unmeasured_requests: int  # requests whose tokens nobody told: missing from that weight


class Speed(Sparked, frozen=True, kw_only=True):
    """Crushed sub-sessions per window, and how long they took."""

    cspw: int
    delta_cspw: int
    ttc_median_seconds: float


class Breakdown(msgspec.Struct, frozen=True):
    input: int
    output: int
    cache_read: int
    cache_write: int


class TokenFigures(Counts, frozen=True, kw_only=True):
    """What crushed sub-sessions cost, in tokens and dollars.

    A median of nothing is 0 by the contract; the count beside it tells that from a figure.
    """

    crush_weight: float
    crush_weight_count: int  # over how many crushed ones it is: those whose tokens were seen
    tet: float
    tet_count: int  # over how many of the window with the fewer of them; 0: nothing could be compared, and `tet` is 1
    tpt: float
    request_count: int  # how many requests `tpt` and `breakdown` are sums of; 0: tokens are unknown
    unmeasured_requests: int  # of these, those whose tokens nobody told: the figures are of the others
    cpcs_estimate: float
    cpcs_count: int  # over how many crushed ones it is: those whose every request has an exact price
    cpcs_lower_bound_count: int  # of the others, those whose every request has a price, and some may have cost more
    cpcs_upper_bound_count: int  # … and none more, but some less
    cpcs_unpriced_count: int  # of the others, those with a request without a price, or with none that was seen
    breakdown: Breakdown


class TokenScore(TokenFigures, frozen=True, kw_only=True):
    window: AskedWindow
    newest_at: str | None
    sparkline: list[float]
    sparkline_counts: list[int]  # the `crush_weight_count` of each


class TokenPoint(TokenFigures, frozen=True, kw_only=True):
    period_start: str


class TokenTrend(msgspec.Struct, frozen=True):
    window: WindowName
    points: list[TokenPoint]


class _CrushedRow(msgspec.Struct, frozen=True):
    """One crushed sub-session: medians need each."""

    seconds: float | None  # None where no times were told
    tokens: int | None  # None where no request was seen: tokens that nobody reported are unknown, not zero
    cost_usd_nano: int
    price: Literal["exact", "lower bound", "upper bound", "unknown"]


def _token_sums() -> str:
    return sql("token_sums", usage=", ".join(map(sum_in_halves, TOKEN_KINDS)))


def score(reader: Reader, scope: Scope, name: AskedWindow, windows: Sequence[Window]) -> Score:
    """The completion rate of the last window given; the sparkline over all of them."""
    per_window = [window_counts(reader, scope, window) for window in windows]
    counts, rates = per_window[-1], [score_of(each.crushed_count, each.total_count) or 0.0 for each in per_window]
    weights = _weights(_crushed(reader, scope, windows[-1]))
    return Score(
        svc_score=rates[-1],
        interval=tally(reader, scope, windows[-1]).interval(),
        letter_grade=svc_letter(counts.decided_rate, counts.decided_count),
        personal_tier=personal_tier(counts.decided_rate, counts.decided_count),
        crush_weight=float(median(weights)),
        crush_weight_count=len(weights),
        unmeasured_requests=reader.db.execute(_token_sums(), bound(scope, windows[-1])).fetchone()[2],
        sparkline=rates,
        sparkline_counts=[each.total_count for each in per_window],
        **of_window(reader, scope, name, counts),
    )


def speed(reader: Reader, scope: Scope, name: AskedWindow, windows: Sequence[Window]) -> Speed:
    """Crushed sub-sessions of the last window given, against the one before."""
    per_window = [window_counts(reader, scope, window) for window in windows]
    crushed = [each.crushed_count for each in per_window]
    seconds = (row.seconds for row in _crushed(reader, scope, windows[-1]) if row.seconds is not None)
    return Speed(
        cspw=crushed[-1],
        delta_cspw=crushed[-1] - sum(crushed[-2:-1]),
        ttc_median_seconds=median(seconds),
        sparkline=[float(each) for each in crushed],
        sparkline_counts=[each.total_count for each in per_window],
        **of_window(reader, scope, name, per_window[-1]),
    )


def tokens(reader: Reader, scope: Scope, name: AskedWindow, windows: Sequence[Window]) -> TokenScore:
    """Token weight and cost of the last window given, against the one before."""
    crushed = [_crushed(reader, scope, window) for window in windows]
    weights = [_weights(rows) for rows in crushed]
    return TokenScore(
        window=name,
        newest_at=newest_at(reader, scope),
        sparkline=[float(median(each)) for each in weights],
        sparkline_counts=list(map(len, weights)),
        **_token_figures(reader, scope, windows[-1], crushed[-1], crushed[-2] if len(crushed) > 1 else []),
    )


def token_trend(reader: Reader, scope: Scope, name: WindowName, windows: Sequence[Window]) -> TokenTrend:
    """A point for each window but the first, which is there for the second to be compared with."""
    crushed = [_crushed(reader, scope, window) for window in windows]
    points = [
        TokenPoint(period_start=iso(window.start_us), **_token_figures(reader, scope, window, rows, before))
        for window, rows, before in zip(windows[1:], crushed[1:], crushed, strict=False)
    ]
    return TokenTrend(name, points)


def _token_figures(
    reader: Reader, scope: Scope, window: Window, crushed: Sequence[_CrushedRow], earlier: Sequence[_CrushedRow]
) -> dict[str, Any]:
    """The fields of `TokenFigures` for a window; `earlier`: what was crushed in the one before it."""
    turns, requests, unmeasured, *halves = reader.db.execute(_token_sums(), bound(scope, window)).fetchone()
    sums, prices = Breakdown(*whole_sums(halves)), Counter(row.price for row in crushed)
    weights, weights_before = _weights(crushed), _weights(earlier)
    weight, before = float(median(weights)), float(median(weights_before))
    return {
        "crush_weight": weight,
        "crush_weight_count": len(weights),
        "tet": weight / before if weight and before else 1.0,
        "tet_count": min(len(weights), len(weights_before)) if weight and before else 0,
        "tpt": (sums.input + sums.output) / turns if turns else 0.0,
        "request_count": requests,
        "unmeasured_requests": unmeasured,
        "cpcs_estimate": median(row.cost_usd_nano for row in crushed if row.price == "exact") / NANO,
        "cpcs_count": prices["exact"],
        "cpcs_lower_bound_count": prices["lower bound"],
        "cpcs_upper_bound_count": prices["upper bound"],
        "cpcs_unpriced_count": prices["unknown"],
        "breakdown": sums,
        **msgspec.structs.asdict(window_counts(reader, scope, window)),
    }


def window_counts(reader: Reader, scope: Scope, window: Window) -> Counts:
    """The counts of one window; for responses that are about prompts, too."""
    *counts, overridden, unclassified = reader.db.execute(sql("counts"), bound(scope, window)).fetchone()
    found = Tally(*counts)
    return Counts(
        total_count=found.total,
        crushed_count=found.crushed,
        decided_count=found.decided,
        undecided_count=found.undecided,
        decided_rate=score_of(found.crushed, found.decided),
        unclassified_count=unclassified,
        overridden_count=overridden,
    )


def of_window(reader: Reader, scope: Scope, name: AskedWindow, counts: Counts) -> dict[str, Any]:
    """The fields of `OfWindow`."""
    return {"window": name, "newest_at": newest_at(reader, scope), **msgspec.structs.asdict(counts)}


def tally(reader: Reader, scope: Scope, window: Window) -> Tally:
    return Tally(*reader.db.execute(sql("counts"), bound(scope, window)).fetchone()[:4])


def newest_at(reader: Reader, scope: Scope) -> str | None:
    """When the newest sub-session of a developer began, in whatever window."""
    _, newest_us = reader.db.execute(sql("first_and_last"), bound(scope, Window(0, INSTANT_MAX_US))).fetchone()
    return None if newest_us is None else iso(newest_us)


def _crushed(reader: Reader, scope: Scope, window: Window) -> list[_CrushedRow]:
    query = sql("crushed", untimed_us=UNTIMED_US)
    return [_CrushedRow(*row) for row in reader.db.execute(query, bound(scope, window))]


def _weights(crushed: Sequence[_CrushedRow]) -> list[int]:
    return [row.tokens for row in crushed if row.tokens is not None]


def peer_comparison(reader: Reader, scope: Scope, cohort: Sequence[UUID], window: Window, zone: tzinfo) -> Comparison:
    """The caller against the cohort, which does not hold the caller; days are those of the zone.

    What the answer tells: docs/security.md.
    """
    developers = sorted((scope.developer_id, *cohort))
    totals = reader.db.execute(sql("judged_rates"), bound(scope, window, developers=json_array(developers)))
    tallies = {name: (left_out, Tally(*counts)) for name, left_out, *counts in totals}
    left_out, mine = tallies.pop(str(scope.developer_id), (0, Tally(0, 0, 0, 0)))
    rates = [100.0 * each.crushed / each.total for out, each in tallies.values() if _has_score(out, each)]
    if not _has_score(left_out, mine):
        return compare(None, rates, (), left_out=left_out)
    days: defaultdict[date, list[int]] = defaultdict(list)
    own = reader.db.execute(sql("judged_days"), bound(scope, window, developers=json_array([scope.developer_id])))
    for started_us, crushed in own:
        days[local_date(started_us, zone)].append(crushed)
    daily = [100.0 * sum(crushed) / len(crushed) for _, crushed in sorted(days.items())]
    return compare(score_of(mine.crushed, mine.total), rates, daily, mine.interval(), left_out)


def _has_score(left_out: int, counted: Tally) -> bool:
    """Whoever left out more than a tenth is compared with nobody."""
    return counted.total > 0 and 10 * left_out <= left_out + counted.total
