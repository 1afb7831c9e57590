"""The substance floor: what passes, and why the rest is trivia (scoring.md, section 2)."""

from typing import Any

import pytest
from msgspec.structs import replace

from aggregates.judging.outcome import TriviaReason, countable, substance
from aggregates.turns.turn import Turn, Work
from tests.support.judging import turn

ASKED = "What does this module do?"


def worked(text: str | None = ASKED, *, answer: str | None = "Here it is.", **work: Any) -> Turn:
    """A turn that did just this work."""
    return replace(turn(text, answer=answer), work=Work(observed=True, **work))


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        pytest.param("Why is so", False, id="nine characters only navigate"),
        pytest.param("Why is so?", True, id="ten characters count"),
        pytest.param("수정해", False, id="three CJK characters are worth nine"),
        pytest.param("수정해줘", True, id="four CJK characters are worth twelve"),
        pytest.param("/help the parser", False, id="a slash command navigates"),
        pytest.param("/deep find out why it fails", True, id="a prompt after a slash command counts"),
        pytest.param("!ls -la src/aggregates", False, id="shell pass-through navigates"),
        pytest.param("yes please do", False, id="a bare acknowledgement navigates"),
        pytest.param(None, True, id="a prompt whose text was not captured counts"),
    ],
)
def test_which_turns_count(text: str | None, counts: bool) -> None:
    assert countable(turn(text)) is counts


NAVIGATES = worked("ok")


@pytest.mark.parametrize(
    ("turns", "unseen", "told"),
    [
        pytest.param([worked()], False, False, id="all was seen"),
        pytest.param([turn(ASKED, answer="It parses.")], True, False, id="nothing was observed"),
        pytest.param([worked(), turn(ASKED, answer="It parses.")], True, False, id="of one turn nothing was"),
        pytest.param(
            [worked(), turn("/exit now please", answer=None)], False, False, id="what was not answered did nothing"
        ),
        pytest.param([turn(ASKED), turn("commit this, please", answer="Ok.")], True, True, id="a commit was asked for"),
        pytest.param(
            [turn(ASKED, answer="Here."), turn("commit this, please", answer="Here.")], True, True, id="only asked for"
        ),
        pytest.param([turn(ASKED, answer="The notes were created.")], True, True, id="an answer tells of work"),
    ],
)
def test_what_was_not_observed_may_be_work(turns: list[Turn], unseen: bool, told: bool) -> None:
    """It passes no floor, and nobody says that there was none."""
    floor = substance(turns, turns)
    assert (floor.passed, floor.unseen, floor.told) == (False, unseen, told)


@pytest.mark.parametrize(
    ("turns", "passed"),
    [
        pytest.param([worked()] * 2, False, id="two countable turns are too few"),
        pytest.param([worked()] * 3, True, id="three countable turns pass without any tool"),
        pytest.param([worked(), worked(), NAVIGATES], False, id="a third that only navigates does not help"),
        pytest.param([worked(lines_added=9)], False, id="nine added lines are too few"),
        pytest.param([worked(lines_added=10)], True, id="ten added lines pass"),
        pytest.param([worked(lines_removed=9)], False, id="nine removed lines are too few"),
        pytest.param([worked(lines_removed=10)], True, id="ten removed lines pass"),
        pytest.param([worked(lines_added=5, lines_removed=4)], False, id="five added and four removed are too few"),
        pytest.param([worked(lines_added=5, lines_removed=5)], True, id="five added and five removed pass"),
        pytest.param([worked(lines_added=4), worked(lines_added=6)], True, id="lines of two turns add up"),
        pytest.param([NAVIGATES, worked("ok", lines_added=10)], True, id="lines count beside turns that navigate"),
        pytest.param([worked(tool_calls=4)], False, id="four reading calls do not pass"),
        pytest.param([worked(tool_calls=2), worked(tool_calls=3)], True, id="five do: an attempt is work"),
        pytest.param([worked(marks="K", tool_calls=1)], True, id="a check that passed"),
        pytest.param([worked(marks="k", tool_calls=1)], True, id="a check that failed"),
        pytest.param([worked(tool_calls=1, mutating_calls=1)], True, id="one mutating call passes"),
        pytest.param([worked(), worked("ok", mutating_calls=1)], True, id="in whichever turn it was made"),
    ],
)
def test_what_passes(turns: list[Turn], passed: bool) -> None:
    """Any one of three turns, ten lines, one mutating call, one check and five calls."""
    floor = substance(turns, turns)
    assert floor.passed is passed
    assert (floor.reason is None) is passed


def test_what_was_counted_is_told() -> None:
    counted = [worked(lines_added=1, lines_removed=2), worked("ok", lines_added=4)]
    floor = substance(counted, counted)
    assert (floor.countable_turns, floor.changed_lines, floor.mutating_calls) == (1, 7, 0)
    turns = [*counted, worked(mutating_calls=2, lines_added=9), worked(mutating_calls=1)]
    floor = substance(turns, turns)
    assert (floor.countable_turns, floor.changed_lines, floor.mutating_calls) == (3, 16, 3)


CANCELLED = worked(answer=None, marks="I")


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        pytest.param([CANCELLED], "interrupted", id="cancelled before any answer"),
        pytest.param([worked(marks="aI")], "too_few_turns", id="cancelled after an answer"),
        pytest.param([worked(answer=None)], "too_few_turns", id="not answered, but not cancelled either"),
        pytest.param([worked(answer=None), CANCELLED], "interrupted", id="one of two unanswered turns was cancelled"),
        pytest.param([worked(), CANCELLED], "too_few_turns", id="the turn before the cancelled one was answered"),
        pytest.param(
            [worked("ok", answer=None, marks="I", lines_added=3)], "interrupted", id="interrupted comes first"
        ),
        pytest.param([worked("ok")], "no_real_work", id="no turn counts"),
        pytest.param([worked("ok", lines_added=3, tool_calls=2)], "no_real_work", id="no real work comes before lines"),
        pytest.param([worked(lines_added=1)], "too_few_lines", id="one added line is too few"),
        pytest.param([worked(lines_removed=1)], "too_few_lines", id="one removed line is too few"),
        pytest.param([worked(lines_added=9)], "too_few_lines", id="nine lines are too few"),
        pytest.param([worked(lines_added=1, tool_calls=1)], "too_few_lines", id="lines come before calls"),
        pytest.param([worked(tool_calls=1)], "no_mutating_calls", id="tools ran and changed nothing"),
        pytest.param([worked(), worked(tool_calls=1)], "no_mutating_calls", id="tools ran in one of two turns"),
        pytest.param([worked()], "too_few_turns", id="one turn without any tool"),
        pytest.param([worked()] * 2, "too_few_turns", id="two turns without any tool"),
    ],
)
def test_the_reason_is_the_first_that_holds(turns: list[Turn], reason: TriviaReason) -> None:
    assert substance(turns, turns).reason == reason
