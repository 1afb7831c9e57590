"""The sub-sessions of a range with their turns, as the insights sum them up."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from aggregates.insights import corrected, had_friction
from aggregates.mitigations import NO_SIGN, REWORKED
from aggregates.outcome import leading_against
from aggregates.scope import Scope
from aggregates.turn import Turn
from aggregates.verdicts import Intent
from aggregates.windows import Window
from projections.bodies import unpack
from projections.reader import Reader
from projections.started import CRUSHED, QUALIFIES, SETTLED, TURNS, bounds, started_in
from projections.sub_session_rows import Detail

NANO = 1_000_000_000


Span = tuple[str, int, int]
"""A turn: its agent session, its first and its last moment."""


class Arc(msgspec.Struct, frozen=True, kw_only=True):
    """One sub-session of the range: numbers alone, since there may be many thousands."""

    agent_session_id: str
    started_us: int
    qualifies: bool
    crushed: bool
    rework: bool
    """Settled, and found to be rework."""
    intent: Intent | None
    asked: bool
    """Whether anything need have been asked of a model: commands and acknowledgements alone ask nothing."""
    input_tokens: int
    output_tokens: int
    tokens: int
    cost_usd_nano: int
    requests: int
    unpriced_requests: int
    turns: tuple[Span, ...]
    elapsed_ms: tuple[int, ...]
    """Of the turns whose answer was timed."""
    corrected: bool
    """A later prompt of it corrects what was done."""
    friction: bool
    """An error, a failed last check, a correction or an interruption."""
    leading: str
    """The weightiest evidence against its goal."""

    @property
    def priced(self) -> bool:
        """Whether what it cost is known whole."""
        return not self.unpriced_requests and (self.requests > 0 or not self.asked)

    @property
    def measured(self) -> bool:
        """Whether its tokens were reported."""
        return self.tokens > 0 or not self.asked

    @property
    def first_try(self) -> bool:
        """Crushed, and never corrected on the way."""
        return self.crushed and not self.corrected

    @property
    def trouble(self) -> str:
        """Why it is not crushed, as a key of `TROUBLES`."""
        return REWORKED if self.rework else self.leading


_ARCS = (
    f"SELECT s.sub_session_id, s.agent_session_id, s.started_us, {QUALIFIES}, {CRUSHED}, "
    f"{SETTLED} AND s.rework_of IS NOT NULL, s.intent, s.input_tokens, s.output_tokens, "
    "s.input_tokens + s.output_tokens + s.cache_read_tokens + s.cache_write_tokens, s.cost_usd_nano, s.requests, "
    f"s.unpriced_requests, s.detail, t.body {started_in(TURNS)}"
    "ORDER BY s.started_us, s.sub_session_id, t.started_us, t.turn_id"
)
_OF_ARC = slice(0, 14)


def arcs(reader: Reader, scope: Scope, window: Window) -> list[Arc]:
    """Those that started in the range, in time order."""
    found = reader.db.execute(_ARCS, bounds(scope, window))
    return [_arc(values, rows) for values, rows in groupby(found, key=itemgetter(_OF_ARC))]


def _arc(values: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Arc:
    _, session, started_us, qualifies, crushed, rework, intent, *sums, detail = values
    names = ("input_tokens", "output_tokens", "tokens", "cost_usd_nano", "requests", "unpriced_requests")
    judged, turns = unpack(detail, Detail), [unpack(row[-1], Turn) for row in rows]
    return Arc(
        agent_session_id=session,
        started_us=started_us,
        qualifies=bool(qualifies),
        crushed=bool(crushed),
        rework=bool(rework),
        intent=intent,
        asked=judged.floor.countable_turns > 0,
        turns=tuple((turn.agent_session_id, turn.started_us, turn.last_activity_us) for turn in turns),
        elapsed_ms=tuple(turn.elapsed_ms for turn in turns if turn.elapsed_ms is not None),
        corrected=corrected(turns),
        friction=had_friction(turns),
        leading=leading_against(judged.outcome) or NO_SIGN,
        **dict(zip(names, sums, strict=True)),
    )


def cost_usd(found: Iterable[Arc]) -> float | None:
    """The sum; None where what one of them cost is not known whole."""
    total = 0
    for arc in found:
        if not arc.priced:
            return None
        total += arc.cost_usd_nano
    return total / NANO


def tokens(found: Sequence[Arc], name: str) -> int | None:
    """The sum of one kind of tokens; None where a sub-session reported none at all."""
    return sum(getattr(arc, name) for arc in found) if all(arc.measured for arc in found) else None


def rate(part: int, whole: int) -> float | None:
    """0-1; None of nothing."""
    return part / whole if whole else None
