"""The outcome judge: every rule of scoring.md, section 4, as a case."""

import pytest

from aggregates.judging.outcome import (
    ACCEPTED,
    CANCELLED_LOOPING,
    CHECK_FAILS,
    CHECKED,
    COMMITTED,
    CORRECTED,
    ENDED_ON_ERROR,
    INTERRUPTED_LAST,
    MOVED_ON,
    NOT_WORKING,
    REVERTED,
    UNCHALLENGED,
    judge_outcome,
)
from aggregates.reading.verdicts import INTENTS, Intent, OutcomeVerdict
from aggregates.turns.turn import Turn
from tests.support.judging import rubric, turn

NEXT_GOAL = turn("Add a chart to the weekly report page", place=9)
THANKS = turn("Great, it works now, thank you!", place=8)


def judge(*turns: Turn, intent: Intent | None = "bug_fix", following: Turn | None = None) -> OutcomeVerdict:
    """Judge the turns as one sub-session."""
    return judge_outcome(turns, [rubric(intent)] * len(turns), intent, following)


def whats(verdict: OutcomeVerdict) -> tuple[set[str], set[str]]:
    """The phrases for and against."""
    return {each.what for each in verdict.evidence_for}, {each.what for each in verdict.evidence_against}


def test_a_checked_change_is_complete_even_in_silence() -> None:
    """A test that passed after the last change."""
    verdict = judge(turn(marks="CKa"))
    assert verdict.goal_complete
    assert CHECKED in whats(verdict)[0]


def test_a_check_before_the_last_change_proves_nothing() -> None:
    """It has to come after it."""
    assert CHECKED not in whats(judge(turn(marks="KCa")))[0]


def test_a_commit_after_the_change_counts() -> None:
    """So does a pull request."""
    assert COMMITTED in whats(judge(turn(marks="CMa")))[0]
    assert COMMITTED in whats(judge(turn(marks="CPa")))[0]
    assert COMMITTED not in whats(judge(turn(marks="MCa")))[0]


def test_thanks_complete_a_change() -> None:
    """Said in the last turn or in the one that follows."""
    assert ACCEPTED in whats(judge(turn(marks="Ca"), THANKS))[0]
    assert ACCEPTED in whats(judge(turn(marks="Ca"), following=THANKS))[0]


def test_moving_on_without_a_complaint_completes() -> None:
    """The next turn opens another goal."""
    verdict = judge(turn(marks="Ca"), following=NEXT_GOAL)
    assert verdict.goal_complete
    assert MOVED_ON in whats(verdict)[0]


@pytest.mark.parametrize(
    ("said", "what"),
    [("It still fails with the same error", NOT_WORKING), ("No, that's not what I meant", CORRECTED)],
)
def test_a_complaint_in_the_next_turn_speaks_against(said: str, what: str) -> None:
    """And is no moving on."""
    speaks_for, against = whats(judge(turn(marks="Ca"), following=turn(said, place=9)))
    assert what in against
    assert MOVED_ON not in speaks_for


def test_ending_on_an_api_error_is_never_complete() -> None:
    """Whatever else speaks for it."""
    verdict = judge(turn(marks="CKMaE"), following=THANKS)
    assert not verdict.goal_complete
    assert ENDED_ON_ERROR in whats(verdict)[1]


def test_an_api_error_that_was_recovered_is_none() -> None:
    """An answered request came after it."""
    assert ENDED_ON_ERROR not in whats(judge(turn(marks="CEKa")))[1]


@pytest.mark.parametrize(("repeats", "never"), [(2, False), (3, True)])
def test_cancelled_while_looping_is_never_complete(repeats: int, never: bool) -> None:
    """Three or more identical calls before the interruption."""
    verdict = judge(turn(marks="CKMaI", repeats=repeats), following=THANKS)
    assert (CANCELLED_LOOPING in whats(verdict)[1]) is never
    assert not (never and verdict.goal_complete)


def test_looping_without_a_cancellation_is_allowed() -> None:
    """Unobserved means not cancelled."""
    assert CANCELLED_LOOPING not in whats(judge(turn(marks="CKa", repeats=5)))[1]


def test_an_interruption_after_which_work_went_on_is_none() -> None:
    """The last state decides."""
    assert INTERRUPTED_LAST in whats(judge(turn(marks="CaI")))[1]
    assert INTERRUPTED_LAST not in whats(judge(turn(marks="aI"), turn("use the other file", place=2, marks="CKa")))[1]


def test_a_failed_last_check_speaks_against() -> None:
    """Until one passes."""
    assert not judge(turn(marks="Cka")).goal_complete
    assert CHECK_FAILS in whats(judge(turn(marks="CKka")))[1]
    assert CHECK_FAILS not in whats(judge(turn(marks="CkCKa")))[1]


def test_work_that_was_taken_back_is_not_complete() -> None:
    """A revert after the change, and no change after it."""
    verdict = judge(turn(marks="CRa"))
    assert not verdict.goal_complete
    assert REVERTED in whats(verdict)[1]
    assert REVERTED not in whats(judge(turn(marks="CRCa")))[1]
    assert REVERTED not in whats(judge(turn(marks="RCa")))[1]


@pytest.mark.parametrize("intent", ["question", "investigation", "review", "plan"])
def test_an_answer_that_stands_unchallenged_completes_what_only_asks(intent: Intent) -> None:
    """Silence is enough for its floor."""
    verdict = judge(turn("What does the parser do?", answer="It reads tokens.", marks="a"), intent=intent)
    assert verdict.goal_complete
    assert UNCHALLENGED in whats(verdict)[0]


@pytest.mark.parametrize("intent", ["small_change", "bug_fix", "feature", "refactor"])
def test_a_change_that_nothing_speaks_for_is_not_complete_in_silence(intent: Intent) -> None:
    """Asked for, answered, nothing changed."""
    assert not judge(turn(answer="I looked at it.", marks="a", tool_calls=1), intent=intent).goal_complete


@pytest.mark.parametrize("intent", INTENTS)
def test_nothing_answered_is_nothing_reached(intent: Intent) -> None:
    """For every class."""
    assert not judge(turn(answer=None), intent=intent).goal_complete


@pytest.mark.parametrize("intent", [*INTENTS, None])
@pytest.mark.parametrize("marks", ["", "a", "Ca", "CKa", "Cka", "CMa", "CaI", "aE", "CRa", "CKMaPa"])
def test_a_confidence_is_a_rounded_share(intent: Intent | None, marks: str) -> None:
    """Between 0 and 1, three digits, whatever was seen."""
    for following in (None, THANKS, NEXT_GOAL):
        confidence = judge(turn(marks=marks), intent=intent, following=following).confidence
        assert 0 <= confidence <= 1
        assert confidence == round(confidence, 3)


@pytest.mark.parametrize("marks", ["a", "Ca", "CKa", "Cka", "CaI", "CRa"])
def test_a_further_piece_for_it_never_takes_completion_away(marks: str) -> None:
    """Silence, then thanks: what held, holds."""
    if judge(turn(marks=marks)).goal_complete:
        assert judge(turn(marks=marks), following=THANKS).goal_complete


def test_a_complaint_within_it_stands_until_something_is_done() -> None:
    """A change, a passed check or a word of thanks after it ends it."""
    said = turn("It still fails", place=2, marks="a", answer="I cannot see why.")
    assert NOT_WORKING in whats(judge(turn(marks="Ca"), said))[1]
    assert NOT_WORKING not in whats(judge(turn(marks="Ca"), turn("It still fails", place=2, marks="CKa")))[1]
    assert NOT_WORKING not in whats(judge(turn(marks="Ca"), said, THANKS))[1]


def test_a_complaint_is_none_where_the_work_was_not_observed() -> None:
    """What was done about it may not have been seen."""
    assert NOT_WORKING not in whats(judge(turn(), turn("It still fails", place=2)))[1]


def test_asking_for_the_same_once_more_speaks_against() -> None:
    """After an answer; a prompt sent again because nothing came is no complaint."""
    again = turn(place=2, marks="a", answer="It is there.")
    assert CORRECTED in whats(judge(turn(marks="Ca"), again))[1]
    assert CORRECTED not in whats(judge(turn(marks="I", answer=None), turn(place=2, marks="Ca")))[1]


def test_a_revert_that_was_asked_for_is_the_work() -> None:
    """It is done when it is done."""
    asked = turn("Revert the last commit, please", marks="RKa", answer="Reverted.")
    assert REVERTED not in whats(judge(asked, intent="small_change"))[1]
    assert judge(asked, intent="small_change").goal_complete


def test_a_short_last_prompt_that_undoes_speaks_against() -> None:
    """Whichever way the agent takes it back."""
    assert REVERTED in whats(judge(turn(marks="Ca"), turn("Undo that", place=2, marks="Ca")))[1]
    assert REVERTED in whats(judge(turn(marks="Ca"), turn("Undo that", place=2, marks="Ra")))[1]


def test_taking_back_and_changing_something_else_is_no_undoing() -> None:
    """The change that came after it stands."""
    second = turn("Undo that and return None instead", place=2, marks="RCKa")
    assert REVERTED not in whats(judge(turn(marks="Ca"), second))[1]
