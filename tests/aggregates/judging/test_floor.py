"""The substance floor: what passes, and why the rest is trivia."""

import pytest

from aggregates.judging.floor import substance
from tests.support.judging import turn


def test_three_countable_turns_pass() -> None:
    """Even without any tool call."""
    floor = substance([turn("What does this module do?")] * 3)
    assert (floor.passed, floor.countable_turns, floor.reason) == (True, 3, None)


def test_turns_that_only_navigate_do_not_count() -> None:
    """Short, slash, shell and acknowledging prompts beside one real one."""
    floor = substance([turn(text) for text in ("ok", "/help me", "!ls", "yes please do", "What is this module for?")])
    assert (floor.passed, floor.countable_turns, floor.reason) == (False, 1, "too_few_turns")


def test_a_turn_whose_text_was_not_captured_counts() -> None:
    """Its prompt cannot be graded, but it was one."""
    assert substance([turn(None)] * 3).passed


@pytest.mark.parametrize(("lines", "passed"), [(9, False), (10, True)])
def test_ten_changed_lines_pass(lines: int, passed: bool) -> None:
    """Added and removed together."""
    assert substance([turn(lines=lines)]).passed is passed


def test_one_mutating_call_passes() -> None:
    """Whatever it changed."""
    assert substance([turn(mutating=1)]).passed


@pytest.mark.parametrize(
    ("text", "answer", "marks", "tool_calls", "lines", "reason"),
    [
        ("Rename the module to core", None, "I", 0, 0, "interrupted"),
        ("ok", "Fine.", "", 2, 0, "no_real_work"),
        ("Rename the module to core", "Done.", "", 1, 3, "too_few_lines"),
        ("Where is the module?", "Here.", "", 1, 0, "no_mutating_calls"),
        ("Where is the module?", "Here.", "", 0, 0, "too_few_turns"),
    ],
)
def test_the_reason_is_the_first_that_holds(
    text: str, answer: str | None, marks: str, tool_calls: int, lines: int, reason: str
) -> None:
    """In the order of the specification."""
    floor = substance([turn(text, answer=answer, marks=marks, tool_calls=tool_calls, lines=lines)])
    assert (floor.passed, floor.reason) == (False, reason)
