"""What one day came to: the sub-sessions that started in it, the prompts that were written in it."""

from typing import Any

import msgspec

from aggregates.scope import Scope
from aggregates.times import US_PER_SECOND
from aggregates.windows import Window
from projections.activity import active_times
from projections.bodies import unpack
from projections.reader import Reader
from projections.score import Counts, score
from projections.skill import insight_summary
from projections.started import SETTLED, bounds, started_in
from projections.sub_session_rows import Detail
from projections.sub_session_shown import NANO
from projections.throttle import personal_throttle


class TodaySummary(Counts, frozen=True, kw_only=True):
    """One day of one developer. A sum is None where a part of it is not known; a count beside it says how much."""

    date: str
    timezone: str
    svc_score: float
    trivia_count: int
    apg: float | None
    sample_count: int
    """How many prompts the average is over."""
    prompts: int
    """Every prompt that was captured, commands and acknowledgements too."""
    tokens: int | None
    """Of all kinds, over the sub-sessions that started."""
    unreported_sub_sessions: int
    """How many of them have tokens that nobody reported."""
    cost_usd: float | None
    unpriced_requests: int
    lower_bound_requests: int
    active_seconds: float
    throttle_hours: float | None
    """None where the day holds more requests than one read may look at."""
    narrative: str | None
    """None without a text model."""


class _Spent(msgspec.Struct):
    """Sums over the sub-sessions of the day."""

    trivia: int = 0
    tokens: int = 0
    unreported: int = 0
    unseen: int = 0
    """Sub-sessions of which no request is known."""
    cost_usd_nano: int = 0
    unpriced: int = 0
    lower_bound: int = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """One more sub-session."""
        settled, passed, tokens, requests, cost_usd_nano, unpriced, lower_bound, detail = row
        self.trivia += bool(settled and not passed)
        self.tokens += tokens
        # Where there were only commands and acknowledgements, nothing need have been asked of a model.
        asked = unpack(detail, Detail).floor.countable_turns > 0
        self.unreported += asked and not tokens
        self.unseen += asked and not requests
        self.cost_usd_nano += cost_usd_nano
        self.unpriced += unpriced
        self.lower_bound += lower_bound


def today_summary(reader: Reader, scope: Scope, date: str, timezone: str, day: Window) -> TodaySummary:
    """The day that the bounds are of, in the zone that they were made in."""
    rate, graded = score(reader, scope, "daily", (day,)), insight_summary(reader, scope, "daily", (day,))
    spent, throttled = _spent(reader, scope, day), personal_throttle(reader, scope, day)
    return TodaySummary(
        date=date,
        timezone=timezone,
        svc_score=rate.svc_score,
        trivia_count=spent.trivia,
        apg=graded.apg_current,
        sample_count=graded.sample_count,
        prompts=_prompts(reader, scope, day),
        tokens=None if spent.unreported else spent.tokens,
        unreported_sub_sessions=spent.unreported,
        cost_usd=None if spent.unpriced or spent.unseen else spent.cost_usd_nano / NANO,
        unpriced_requests=spent.unpriced,
        lower_bound_requests=spent.lower_bound,
        active_seconds=sum(us for _, us in active_times(reader.db, scope, day)) / US_PER_SECOND,
        throttle_hours=None if throttled is None else throttled.summary.estimated_hours_lost,
        narrative=None,
        **{name: getattr(rate, name) for name in Counts.__struct_fields__},
    )


def _spent(reader: Reader, scope: Scope, day: Window) -> _Spent:
    query = (
        f"SELECT {SETTLED}, s.floor_passed, "
        "s.input_tokens + s.output_tokens + s.cache_read_tokens + s.cache_write_tokens, s.requests, s.cost_usd_nano, "
        f"s.unpriced_requests, s.lower_bound_requests, s.detail {started_in()}"
    )
    spent = _Spent()
    for row in reader.db.execute(query, bounds(scope, day)):
        spent.add(row)
    return spent


def _prompts(reader: Reader, scope: Scope, day: Window) -> int:
    query = "SELECT count(*) FROM prompts WHERE organization_id = ? AND developer_id = ? AND at_us >= ? AND at_us < ?"
    count: int = reader.db.execute(query, bounds(scope, day)).fetchone()[0]
    return count
