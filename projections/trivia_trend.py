"""How much fell below the substance floor in each period of a range, and why."""

from collections.abc import Sequence
from typing import get_args

import msgspec

from aggregates.buckets import sorted_into
from aggregates.floor import TriviaReason
from aggregates.scope import Scope
from aggregates.times import iso
from aggregates.windows import Window
from projections.reader import Reader
from projections.started import SETTLED, bounds, started_in

REASONS: tuple[TriviaReason, ...] = get_args(TriviaReason)


class ReasonCount(msgspec.Struct, frozen=True):
    """How many were trivia for this reason."""

    reason: TriviaReason
    count: int


class TriviaPoint(msgspec.Struct, frozen=True):
    """One period; every reason is listed, in the order in which they are looked at."""

    period_start: str
    total: int
    by_reason: list[ReasonCount]


def trivia_trend(reader: Reader, scope: Scope, window: Window, periods: Sequence[Window]) -> list[TriviaPoint]:
    """Settled sub-sessions below the floor that started in the range, by the period they started in."""
    query = f"SELECT s.started_us, s.trivia_reason {started_in()} AND {SETTLED} AND NOT s.floor_passed"
    found = reader.db.execute(query, bounds(scope, window))
    return [
        TriviaPoint(
            period_start=iso(period.start_us),
            total=len(reasons),
            by_reason=[ReasonCount(reason, reasons.count(reason)) for reason in REASONS],
        )
        for period, reasons in zip(periods, sorted_into(periods, found), strict=True)
    ]
