"""The substance floor: whether a sub-session is work or trivia (scoring.md, section 2). Deterministic, no model."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from aggregates.turns.turn import INTERRUPTED, Turn

COUNTABLE_TURNS_MIN = 3
CHANGED_LINES_MIN = 10
MUTATING_CALLS_MIN = 1

TriviaReason = Literal["interrupted", "no_real_work", "too_few_lines", "no_mutating_calls", "too_few_turns"]


class Floor(msgspec.Struct, frozen=True, array_like=True):
    """What a sub-session holds against the floor, and why it is trivia where it is."""

    passed: bool
    countable_turns: int
    """Turns that do more than navigate; a turn whose text was not captured counts."""
    changed_lines: int
    mutating_calls: int
    reason: TriviaReason | None


def countable(turn: Turn) -> bool:
    return turn.prompt is None or turn.prompt.navigational is None


def substance(turns: Sequence[Turn]) -> Floor:
    count = sum(map(countable, turns))
    lines = sum(turn.work.lines_added + turn.work.lines_removed for turn in turns)
    mutating = sum(turn.work.mutating_calls for turn in turns)
    passed = count >= COUNTABLE_TURNS_MIN or lines >= CHANGED_LINES_MIN or mutating >= MUTATING_CALLS_MIN
    reason = None if passed else _trivia_reason(turns, count, lines)
    return Floor(passed, count, lines, mutating, reason)


def _trivia_reason(turns: Sequence[Turn], count: int, lines: int) -> TriviaReason:
    cancelled = any(INTERRUPTED in turn.work.marks for turn in turns)
    if cancelled and not any(turn.answered for turn in turns):
        return "interrupted"
    if not count:
        return "no_real_work"
    if lines:
        return "too_few_lines"
    if any(turn.work.tool_calls for turn in turns):
        return "no_mutating_calls"
    return "too_few_turns"
