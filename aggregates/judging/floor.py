"""The substance floor: whether a sub-session is work or trivia (scoring.md, section 2). Deterministic, no model."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from aggregates.judging.outcome import ships, tells_of_work
from aggregates.turns.turn import CHECK_FAILED, CHECK_OK, INTERRUPTED, Turn

COUNTABLE_TURNS_MIN = 3
CHANGED_LINES_MIN = 10
MUTATING_CALLS_MIN = 1
TOOL_CALLS_MIN = 5
TriviaReason = Literal["interrupted", "no_real_work", "too_few_lines", "no_mutating_calls", "too_few_turns"]


class Floor(msgspec.Struct, frozen=True, array_like=True):
    """What a sub-session holds against the floor, and why it is trivia where it is."""

    passed: bool
    countable_turns: int  # grading units that do more than navigate; a turn whose text was not captured counts
    changed_lines: int
    mutating_calls: int
    reason: TriviaReason | None
    unseen: bool = False
    """Whether what the agent did for one of its turns was not observed: there may be more than this."""
    told: bool = False  # whether a prompt asks to commit the work, or an answer tells that it was done


def countable(turn: Turn) -> bool:
    return turn.prompt is None or turn.prompt.navigational is None


def substance(turns: Sequence[Turn], units: Sequence[Turn]) -> Floor:
    """`units`: the grading units of these turns, each as one turn."""
    count = sum(map(countable, units))
    lines = sum(turn.work.lines_added + turn.work.lines_removed for turn in turns)
    mutating = sum(turn.work.mutating_calls for turn in turns)
    checked = any(mark in turn.work.marks for turn in turns for mark in (CHECK_OK, CHECK_FAILED))
    attempted = sum(turn.work.tool_calls for turn in turns) >= TOOL_CALLS_MIN
    passed = count >= COUNTABLE_TURNS_MIN or lines >= CHANGED_LINES_MIN or mutating >= MUTATING_CALLS_MIN
    passed = passed or checked or attempted
    reason = None if passed else _trivia_reason(turns, count, lines)
    unseen = any(turn.answered and not turn.work.observed for turn in turns)
    told = any(map(ships, turns)) or tells_of_work(turns)
    return Floor(passed, count, lines, mutating, reason, unseen, told)


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
