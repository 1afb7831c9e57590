"""The substance floor: what passes, and why the rest is trivia (scoring.md, section 2)."""

from typing import Any

from msgspec.structs import replace

from aggregates.judging.rubric import TriviaReason, countable, substance
from aggregates.turns.turn import Turn, Work
from tests.support.stages import turn
from tests.support.tables import beside, table

ASKED = "What does this module do?"


def worked(text: str | None = ASKED, *, answer: str | None = "Here it is.", **work: Any) -> Turn:
    """A turn that did just this work."""
    return replace(turn(text, answer=answer), work=Work(observed=True, **work))


@beside()
def test_which_turns_count(text: str | None, counts: bool) -> None:
    assert countable(turn(text)) is counts


@table(
    ("turns", "unseen", "told"),
    {
        "all was seen": ([worked()], False, False),
        "nothing was observed": ([turn(ASKED, answer="It parses.")], True, False),
        "what was not answered did nothing": ([worked(), turn("/exit now please", answer=None)], False, False),
        "a commit was asked for": ([turn(ASKED), turn("commit this, please", answer="Ok.")], True, True),
        "only asked for": ([turn(ASKED, answer="Here."), turn("commit this, please", answer="Here.")], True, True),
        "an answer tells of work": ([turn(ASKED, answer="The notes were created.")], True, True),
    },
)
def test_what_was_not_observed_may_be_work(turns: list[Turn], unseen: bool, told: bool) -> None:
    """It passes no floor, and nobody says that there was none."""
    floor = substance(turns, turns)
    assert (floor.passed, floor.unseen, floor.told) == (False, unseen, told)


@beside()
def test_what_passes(told: list[dict[str, Any]], passed: bool) -> None:
    """Any one of three turns, ten lines, one mutating call, one check and five calls."""
    turns = [worked(**each) for each in told]
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


@beside()
def test_the_reason_is_the_first_that_holds(told: list[dict[str, Any]], reason: TriviaReason) -> None:
    turns = [worked(**each) for each in told]
    assert substance(turns, turns).reason == reason
