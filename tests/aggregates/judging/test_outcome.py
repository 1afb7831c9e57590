"""The outcome judge: every rule of scoring.md, section 4, as a case."""

from itertools import product
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from aggregates.judging.outcome import (
    ACCEPTED,
    BROKE_OFF,
    CANCELLED_LOOPING,
    CHANGED,
    CHECK_FAILS,
    CHECKED,
    COMMITTED,
    CORRECTED,
    ENDED_ON_ERROR,
    INTERRUPTED_LAST,
    LAST_UNANSWERED,
    MOVED_ON,
    NO_CHANGE,
    NOT_WORKING,
    OPEN_FAILURE,
    REFUSED,
    REPORTED,
    REVERTED,
    SHIPPED,
    SPEAKS_AGAINST,
    SPEAKS_FOR,
    STILL_FAILING,
    TAKEN_OVER,
    UNANSWERED,
    UNCHALLENGED,
    UNSURE_END,
    WAITS,
    OutcomeModel,
    judge_outcome,
    never_complete,
)
from aggregates.judging.rubric import JudgeAnswered, answered_outcome
from aggregates.reading.verdicts import INTENTS, Intent, OutcomeVerdict
from aggregates.turns.turn import Turn
from tests.support.judging import turn

NEXT_GOAL = turn("Add a chart to the weekly report page", place=9)
THANKS = turn("Great, it works now, thank you!", place=8)


def judge(*turns: Turn, intent: Intent | None = "bug_fix", following: Turn | None = None) -> OutcomeVerdict:
    return judge_outcome(turns, intent, following)


def work(marks: str = "", *, text: str | None = "Add a flag that prints the version", **fields: Any) -> Turn:
    """A turn whose answer says nothing of how it went."""
    return turn(text, marks=marks, **({"answer": "Here it is."} | fields))


def whats(verdict: OutcomeVerdict) -> tuple[set[str], set[str]]:
    return {each.what for each in verdict.evidence_for}, {each.what for each in verdict.evidence_against}


@pytest.mark.parametrize(
    ("marks", "intent", "complete"),
    [
        pytest.param("Ca", "bug_fix", None, id="a change that nothing checked"),
        pytest.param("a", "question", None, id="an answer, of which the next prompt may ask more"),
        pytest.param("CKa", "bug_fix", True, id="a check shows it, wherever the goal ends"),
        pytest.param("CMa", "bug_fix", True, id="so does a commit"),
    ],
)
def test_where_the_next_prompt_may_go_on_with_the_goal_something_must_show_it(
    marks: str, intent: Intent, complete: bool | None
) -> None:
    """That somebody went on to another goal is known only where that goal is surely another one."""
    turns = [work(marks)]
    assert judge_outcome(turns, intent, NEXT_GOAL).goal_complete is True
    unsure = judge_outcome(turns, intent, NEXT_GOAL, unsure_end=True)
    assert unsure.goal_complete is complete
    assert MOVED_ON not in whats(unsure)[0]
    assert UNSURE_END in whats(unsure)[1]


def test_an_error_pasted_without_a_word_says_that_it_does_not_work() -> None:
    pasted = turn("Traceback (most recent call last):\n  File \"a.py\", line 3, in run\nKeyError: 'x'", place=9)
    assert NOT_WORKING in whats(judge(work("Ca"), following=pasted))[1]


def test_a_go_ahead_after_an_interruption_is_no_thanks() -> None:
    """It lets the work go on; praise is praise all the same."""
    stopped = turn("Add a search to the list", answer=None, marks="CI")
    assert ACCEPTED not in whats(judge(stopped, turn("continue", place=2, marks="a")))[0]
    assert ACCEPTED in whats(judge(stopped, turn("thanks, it works now", place=2, marks="a")))[0]


@pytest.mark.parametrize("said", ["continue", "do it", "go ahead please", "proceed"])
def test_an_order_to_go_on_is_no_thanks(said: str) -> None:
    """Whatever the answer before ended with; "ok great" is a nod."""
    assert ACCEPTED not in whats(judge(turn(marks="Ca"), turn(said, place=2, marks="Ca")))[0]
    assert ACCEPTED in whats(judge(turn(marks="Ca"), turn("ok great", place=2, marks="Ca")))[0]


ASKING: list[Intent] = ["question", "investigation", "review", "plan"]
LOOKED = turn(answer="I looked at it.", marks="a", tool_calls=1)


@pytest.mark.parametrize(
    ("asked", "following", "intents", "complete"),
    [
        pytest.param(turn(marks="CKa"), None, ["bug_fix"], True, id="a checked change, even in silence"),
        pytest.param(turn(marks="Ca"), NEXT_GOAL, ["bug_fix"], True, id="a change that was moved on from"),
        pytest.param(work("a"), None, ASKING, True, id="an answer to what only asks"),
        pytest.param(LOOKED, None, [each for each in INTENTS if each not in ASKING], False, id="nothing was changed"),
        pytest.param(turn(answer=None), None, INTENTS, False, id="nothing was answered"),
    ],
)
def test_what_the_shipped_judge_calls_complete(
    asked: Turn, following: Turn | None, intents: list[Intent], complete: bool
) -> None:
    for intent in intents:
        assert bool(judge(asked, intent=intent, following=following).goal_complete) is complete


@pytest.mark.parametrize("marks", ["", "a", "Ca", "CKa", "Cka", "CMa", "CaI", "aE", "CRa", "CKMaPa"])
def test_a_confidence_is_a_rounded_share(marks: str) -> None:
    """Between 0 and 1, three digits, whatever was seen."""
    for intent, following in product([*INTENTS, None], (None, THANKS, NEXT_GOAL)):
        confidence = judge(turn(marks=marks), intent=intent, following=following).confidence
        assert 0 <= confidence <= 1
        assert confidence == round(confidence, 3)


# --- which pieces are there -----------------------------------------------------------------------------------

CORRECTION = turn("No, that's not what I meant", place=9, answer="Here it is.")
FAILURE = turn("It still fails with the same error", place=9, answer="Here it is.")
DONE = "Done. All tests pass."
OPEN = "Two tests still fail."
ASKS = "Shall I change the tests as well?"
INVITES = "Let me know if there is anything else."
BREAKS_OFF = "Now I will write the parser:"
COMMIT = "Commit this and push it, please"
GO = "yes, go ahead"


@pytest.mark.parametrize(
    ("turns", "intent", "following", "pieces"),
    [
        pytest.param([work()], None, None, set(), id="nothing speaks for or against it"),
        # for
        pytest.param([work(), work(text="Thanks, that is right!")], None, None, {ACCEPTED}, id="accepted"),
        pytest.param([work()], None, THANKS, {ACCEPTED, MOVED_ON}, id="accepted by the turn that follows"),
        pytest.param([work("Ca")], None, None, {CHANGED}, id="changed"),
        pytest.param([work("CKa")], None, None, {CHANGED, CHECKED}, id="changed and checked"),
        pytest.param(
            [work("CMaI")], None, None, {CHANGED, COMMITTED, INTERRUPTED_LAST}, id="committed and interrupted"
        ),
        pytest.param([work()], None, NEXT_GOAL, {MOVED_ON}, id="moved on"),
        pytest.param([work()], "question", None, {UNCHALLENGED}, id="an answer that stands"),
        pytest.param([work(answer=DONE)], None, None, {REPORTED}, id="said to be done"),
        pytest.param([work("CKMa")], None, None, {CHANGED, CHECKED, COMMITTED}, id="checked and committed"),
        pytest.param([work(), work(text=COMMIT)], None, None, {SHIPPED}, id="a commit asked for"),
        pytest.param([work(), work(text=COMMIT, answer=None)], None, None, {SHIPPED}, id="and not answered"),
        # against
        pytest.param([work("E")], None, None, {ENDED_ON_ERROR}, id="ended on an error"),
        pytest.param(
            [work("CKMI", repeats=3)],
            None,
            THANKS,
            {CANCELLED_LOOPING, INTERRUPTED_LAST, CHANGED, CHECKED, COMMITTED, ACCEPTED, MOVED_ON},
            id="cancelled while looping",
        ),
        pytest.param([work("I")], None, None, {INTERRUPTED_LAST}, id="interrupted"),
        pytest.param([work("k")], None, None, {CHECK_FAILS}, id="the last check failed"),
        pytest.param([work()], None, CORRECTION, {CORRECTED}, id="corrected"),
        pytest.param([work()], None, FAILURE, {NOT_WORKING}, id="does not work"),
        pytest.param([work("CRa")], None, None, {CHANGED, REVERTED}, id="changed and reverted"),
        pytest.param([work("J")], None, None, {REFUSED}, id="refused"),
        pytest.param([work(answer=None)], None, None, {UNANSWERED}, id="not answered"),
        pytest.param([work(), work(answer=None)], None, None, {LAST_UNANSWERED}, id="the last one not answered"),
        pytest.param([work("a")], "bug_fix", None, {NO_CHANGE}, id="no change"),
        pytest.param([work(answer=OPEN)], None, None, {OPEN_FAILURE}, id="something is left open"),
        pytest.param([work(answer=ASKS)], None, None, {WAITS}, id="the answer asks"),
        pytest.param([work(answer=ASKS)], None, NEXT_GOAL, {MOVED_ON}, id="the answer asks, and was left"),
        pytest.param([work(answer=INVITES)], None, None, set(), id="the answer offers more help"),
        pytest.param([work(answer=BREAKS_OFF)], None, None, {BROKE_OFF}, id="the answer breaks off"),
        pytest.param([work(answer=BREAKS_OFF)], None, NEXT_GOAL, {MOVED_ON}, id="it breaks off, and was left"),
        pytest.param([work(), FAILURE], None, None, {STILL_FAILING}, id="the last prompt reports a failure"),
        pytest.param([FAILURE], None, None, set(), id="the only prompt does"),
        pytest.param([work(), work(text="Never mind, leave it as it was")], None, None, {TAKEN_OVER}, id="given up"),
        pytest.param(
            [work()], None, turn("I fixed it myself, look at the docs", place=9), {TAKEN_OVER, MOVED_ON}, id="by hand"
        ),
    ],
)
def test_which_pieces_are_there(
    turns: list[Turn], intent: Intent | None, following: Turn | None, pieces: set[str]
) -> None:
    assert set.union(*whats(judge(*turns, intent=intent, following=following))) == pieces


def test_a_bare_go_ahead_after_a_question_accepts_nothing() -> None:
    """It answers the agent; thanks do accept."""
    asked, told = work(answer=ASKS), work()
    for before, nod, accepts in (
        (asked, GO, False),
        (told, GO, False),
        (told, "ok great", True),
        (asked, "ok great", False),
        (asked, "Great, it works now, thank you!", True),
    ):
        assert (ACCEPTED in whats(judge(before, work(text=nod)))[0]) is accepts
        assert (ACCEPTED in whats(judge(before, following=turn(nod, place=9)))[0]) is accepts


EVENLY = OutcomeModel(0, -500, {**dict.fromkeys(SPEAKS_FOR, 1_000), **dict.fromkeys(SPEAKS_AGAINST, -1_000)})


@pytest.mark.parametrize(
    ("pieces", "silent", "chance"),
    [
        ([], False, 0.5),
        ([], True, 0.378),
        ([CHANGED], False, 0.731),
        ([CHANGED, CHECKED, OPEN_FAILURE], False, 0.731),
        ([CHANGED] * 9, False, 0.98),
        ([OPEN_FAILURE] * 9, False, 0.02),
        (["something else"], False, 0.5),
    ],
)
def test_weights_add_up_to_a_chance(pieces: list[str], silent: bool, chance: float) -> None:
    """Never surer than .98, either way."""
    assert EVENLY.chance(pieces, silent=silent) == chance


def surely(chance: int) -> OutcomeModel:
    """A model to which the pieces say nothing."""
    return OutcomeModel(chance, 0, {})


@pytest.mark.parametrize(
    ("turns", "following", "bias", "said", "why"),
    [
        pytest.param([work("CKa")], None, 3_000, True, None, id="surely complete"),
        pytest.param([work("CKa")], None, 1_000, None, "unchecked", id="not surely"),
        pytest.param([work("Ca")], NEXT_GOAL, 3_000, True, None, id="a change that was moved on from"),
        pytest.param([work("Ca")], None, 3_000, None, "unchecked", id="silence after a change that nothing checked"),
        pytest.param([work("C", answer=None)], None, 3_000, None, "unseen", id="an answer that was never seen"),
        pytest.param([work("Ca")], FAILURE, 3_000, None, "balanced", id="what speaks against it balances"),
        pytest.param([work("CkKka")], NEXT_GOAL, 3_000, None, "balanced", id="a failed check does"),
        pytest.param([work("Ca")], FAILURE, -3_000, False, None, id="surely not complete"),
        pytest.param([work("Ca")], FAILURE, -1_000, None, "balanced", id="perhaps not"),
        pytest.param([work("CE")], THANKS, 3_000, False, None, id="never complete"),
    ],
)
def test_an_outcome_is_said_or_undecided(
    turns: list[Turn], following: Turn | None, bias: int, said: bool | None, why: str | None
) -> None:
    """By the bounds, and by what silence and complaints leave open; what would be said by force is kept."""
    verdict = judge_outcome(turns, None, following, surely(bias))
    assert (verdict.goal_complete, verdict.undecided) == (said, why)
    assert verdict.forced is (bias > 0 and said is not False)


@pytest.mark.parametrize(
    ("marks", "repeats", "never"),
    [
        pytest.param("CKMaE", 0, True, id="an error at the end"),
        pytest.param("CKMEa", 0, False, id="an error after which something was answered"),
        pytest.param("CKMaI", 2, False, id="cancelled after two equal calls"),
        pytest.param("CKMaI", 3, True, id="cancelled after three"),
        pytest.param("CKMaI", 4, True, id="cancelled after four"),
        pytest.param("CKMIa", 3, False, id="an interruption after which something was answered"),
        pytest.param("CKMa", 3, False, id="three equal calls without a cancellation"),
    ],
)
def test_what_is_never_complete(marks: str, repeats: int, never: bool) -> None:
    verdict = judge(work(marks, repeats=repeats, answer=DONE), intent=None, following=THANKS)
    assert never_complete(verdict) is never
    assert (verdict.goal_complete is False) is never


# --- when a piece is there ------------------------------------------------------------------------------------

ASKED_AGAIN = work("a", place=2)
RED = work(text="```\nFAILED tests/test_a.py::test_one\n17 failed, 266 passed in 14.22s\n```", answer=None)
GREEN = work(text="```\ncollected 283 items\n283 passed in 14.22s\n```", answer=None)


def told_done(asked: Turn) -> Turn:
    """The same turn, whose answer says that the work is done."""
    return replace(asked, response=work(answer=DONE).response)


def unknown(calls: int) -> Turn:
    """A turn with so many calls of tools whose names say nothing."""
    asked = work("a")
    return replace(asked, work=replace(asked.work, unknown_calls=calls))


@pytest.mark.parametrize(
    ("piece", "turns", "intent", "there"),
    [
        pytest.param(ACCEPTED, [THANKS], None, False, id="an opening prompt accepts nothing"),
        pytest.param(ACCEPTED, [work(), THANKS, work(text="Now add a chart")], None, False, id="thanks in between"),
        pytest.param(CHECKED, [work("Ka")], None, False, id="a check without a change"),
        pytest.param(CHECKED, [work("CkKa")], None, True, id="a check that passed after one that failed"),
        pytest.param(CHECKED, [work("CKka")], None, False, id="a check that failed after one that passed"),
        pytest.param(CHECKED, [work("C"), work("Ka", place=2)], None, True, id="a check in a later turn"),
        pytest.param(CHECKED, [work("CKCa")], None, False, id="a check before the last change"),
        pytest.param(CHECKED, [work("CKkKa")], None, True, id="a check that passed, failed and passed"),
        pytest.param(CHECKED, [work("CkKka")], None, False, id="a check that failed, passed and failed"),
        pytest.param(COMMITTED, [work("Ma")], None, False, id="a commit without a change"),
        pytest.param(COMMITTED, [work("CMCa")], None, False, id="a commit before the last change"),
        pytest.param(COMMITTED, [work("MCa")], None, False, id="a commit before the change"),
        pytest.param(COMMITTED, [work("CPa")], None, True, id="a pull request after the change"),
        pytest.param(UNCHALLENGED, [work("a")], "bug_fix", False, id="an answer to what asks for a change"),
        pytest.param(UNCHALLENGED, [work("a", answer=None)], "question", True, id="an answer whose text was not seen"),
        pytest.param(UNCHALLENGED, [work(answer=None)], "question", False, id="no answer"),
        pytest.param(UNCHALLENGED, [work("aI")], "question", False, id="an answer that was interrupted"),
        pytest.param(UNCHALLENGED, [work("Ia")], "question", False, id="an answer right after an interruption"),
        pytest.param(UNCHALLENGED, [work("IKa")], "question", True, id="an answer some time after it"),
        pytest.param(CHANGED, [work("C", answer=None)], None, False, id="a change that nobody answered for"),
        pytest.param(REPORTED, [work(answer="Done. Shall I rename it?")], None, False, id="done, but it asks"),
        pytest.param(
            REPORTED, [work(answer="Done. Shall I commit it?")], None, True, id="done, and it may be committed"
        ),
        pytest.param(REPORTED, [work(answer=None)], None, False, id="nothing was said"),
        pytest.param(ENDED_ON_ERROR, [work("E"), work("a", place=2)], None, False, id="an error in an earlier turn"),
        pytest.param(CHECK_FAILS, [work("kKa")], None, False, id="a check that failed before one that passed"),
        pytest.param(CHECK_FAILS, [work("kKka")], None, True, id="failed, passed and failed"),
        pytest.param(CHECK_FAILS, [work("KkKa")], None, False, id="passed, failed and passed"),
        pytest.param(CHECK_FAILS, [work("k"), work("a", place=2)], None, True, id="a check that failed earlier"),
        pytest.param(REFUSED, [work("Ja")], None, True, id="a refusal that was answered"),
        pytest.param(REFUSED, [work("JKa")], None, False, id="a refusal after which something was done"),
        pytest.param(UNANSWERED, [work(answer=None), work()], None, False, id="one of two was answered"),
        pytest.param(NO_CHANGE, [work("a")], "question", False, id="no change was asked for"),
        pytest.param(NO_CHANGE, [work("a")], None, False, id="nobody knows what was asked for"),
        pytest.param(NO_CHANGE, [work()], "bug_fix", False, id="the work was not observed"),
        pytest.param(NO_CHANGE, [work("Ca")], "bug_fix", False, id="a change was made"),
        pytest.param(NO_CHANGE, [work("Ma")], "bug_fix", False, id="a commit was made"),
        pytest.param(NO_CHANGE, [work("a"), work()], "bug_fix", False, id="one of two turns was observed"),
        pytest.param(NO_CHANGE, [work("a"), work("a")], "bug_fix", True, id="both were"),
        pytest.param(NO_CHANGE, [work("a", mutating=1)], "bug_fix", False, id="a command that was not seen ran"),
        pytest.param(NO_CHANGE, [unknown(1)], "bug_fix", False, id="a tool of which nobody knows what it does"),
        pytest.param(NO_CHANGE, [unknown(0)], "bug_fix", True, id="all of them are known"),
        pytest.param(
            NO_CHANGE, [work("a", answer="Pushed and merged.")], "bug_fix", False, id="the answer tells of it"
        ),
        pytest.param(REPORTED, [work(answer=f"{DONE}\nSpawning a researcher...")], None, False, id="and goes on"),
        pytest.param(
            BROKE_OFF, [work(answer="The context is set.\n◆ Spawning a researcher...")], None, True, id="busy"
        ),
        pytest.param(BROKE_OFF, [work(answer="All is in place. Committing and shipping it.")], None, True, id="ships"),
        pytest.param(BROKE_OFF, [work(answer="Everything is in place.")], None, False, id="in place"),
        pytest.param(WAITS, [work(answer=f"{DONE} Want me to push and open a PR?")], None, False, id="offers to push"),
        pytest.param(WAITS, [work(answer="Want me to update both plans?")], None, True, id="offers to change"),
        pytest.param(SHIPPED, [work(), work(text=COMMIT), work(text="npm t")], None, True, id="then a few letters"),
        pytest.param(SHIPPED, [work(), work(text="/rebase main")], None, False, id="a rebase brings in others' work"),
        pytest.param(STILL_FAILING, [work(), RED], "plan", True, id="failed tests pasted alone"),
        pytest.param(STILL_FAILING, [work(), GREEN], "plan", False, id="tests that passed"),
        pytest.param(STILL_FAILING, [work(), told_done(FAILURE)], None, False, id="said to be done, and not observed"),
        pytest.param(
            BROKE_OFF, [work(), work(text="/fix-ci", answer=BREAKS_OFF)], None, True, id="a command, worked on"
        ),
        pytest.param(OPEN_FAILURE, [work(answer=f"{DONE} {OPEN}")], None, False, id="said to be done and open"),
        pytest.param(INTERRUPTED_LAST, [work("aI"), work("a", text="/compact")], None, True, id="then only a command"),
        pytest.param(INTERRUPTED_LAST, [work("I", text="/review it")], None, True, id="in the only turn, a command"),
        pytest.param(INTERRUPTED_LAST, [work("aI"), work("a", text=None)], None, False, id="then one not captured"),
        pytest.param(INTERRUPTED_LAST, [work("aI", text=None)], None, True, id="in the only turn, not captured"),
        # taking back
        pytest.param(REVERTED, [work("Ra")], None, False, id="a revert without a change"),
        pytest.param(REVERTED, [work("CRa")], None, True, id="a revert after a change"),
        pytest.param(REVERTED, [work("RCRa")], None, True, id="a revert before it and after it"),
        pytest.param(REVERTED, [work("CRCa")], None, False, id="a change after the revert"),
        pytest.param(REVERTED, [work("CRa", text="Undo that")], None, False, id="it was the work asked for"),
        pytest.param(REVERTED, [work("CRa", text=None)], None, True, id="its prompt was not captured"),
        pytest.param(REVERTED, [work("Ca"), work("a", text="Undo that")], None, True, id="asked for at the end"),
        pytest.param(REVERTED, [work("Ca"), work("a", text=None)], None, False, id="nobody knows what was asked for"),
        pytest.param(REVERTED, [work("Ca"), work("RCa", text="Undo that")], None, False, id="and something else done"),
        pytest.param(
            REVERTED,
            [work("Ca"), work("a", text="Undo that and then one two three four five six")],
            None,
            True,
            id="asked for in ten words",
        ),
        pytest.param(
            REVERTED,
            [work("Ca"), work("a", text="Undo that and then one two three four five six seven")],
            None,
            False,
            id="asked for in more than ten, it may be a part",
        ),
        pytest.param(ENDED_ON_ERROR, [work("EaE")], None, True, id="an error, an answer and an error"),
        pytest.param(ENDED_ON_ERROR, [work("aEa")], None, False, id="an answer, an error and an answer"),
        pytest.param(INTERRUPTED_LAST, [work("IaI")], None, True, id="stopped, answered and stopped"),
        pytest.param(INTERRUPTED_LAST, [work("aIa")], None, False, id="answered, stopped and answered"),
        pytest.param(
            REVERTED, [work("Ca"), work("CRCa", text="Undo that")], None, False, id="changed, undone, changed"
        ),
        pytest.param(REVERTED, [work("Ca"), work("Ca", text="Undo that")], None, True, id="undone by a change"),
        pytest.param(CORRECTED, [work("a", text="Why so?")] * 2, None, False, id="the same short question again"),
        pytest.param(NOT_WORKING, [work("Ca"), FAILURE, THANKS], None, False, id="thanks after it"),
        pytest.param(NOT_WORKING, [work(), FAILURE], None, False, id="where the work was not observed"),
        pytest.param(
            NOT_WORKING, [work("Ca"), FAILURE, work("k", text="Why?")], None, True, id="a failed one after it"
        ),
        # complaints within it
        pytest.param(NOT_WORKING, [work("Ca"), FAILURE], "question", False, id="where only an answer was wanted"),
        pytest.param(NOT_WORKING, [work("Ca"), FAILURE], None, True, id="where nobody knows what was wanted"),
        pytest.param(NOT_WORKING, [FAILURE, work("a")], None, False, id="the opening prompt complains of nothing"),
        pytest.param(NOT_WORKING, [work("Ca"), FAILURE, work("a", text="Hm, why?")], None, True, id="it stands"),
        *(
            pytest.param(
                NOT_WORKING, [work("Ca"), FAILURE, work(mark, text="Hm, why?")], None, False, id=f"{did} after it"
            )
            for mark, did in (("C", "a change"), ("K", "a passed check"), ("M", "a commit"), ("R", "a revert"))
        ),
        pytest.param(CORRECTED, [work("a"), ASKED_AGAIN], None, True, id="asked again after an answer"),
        pytest.param(CORRECTED, [work("E", answer=None), ASKED_AGAIN], None, False, id="sent again without one"),
        pytest.param(CORRECTED, [work("a", text=None), ASKED_AGAIN], None, False, id="after one not captured"),
        pytest.param(CORRECTED, [work("a"), work("a", text="And why?"), ASKED_AGAIN], None, True, id="asked later"),
        pytest.param(CORRECTED, [work("a", text="go"), work("a", text="go")], None, False, id="the same nod again"),
        pytest.param(CORRECTED, [work("a"), work("a", text=None)], None, False, id="nobody knows what was said"),
    ],
)
def test_when_a_piece_is_there(piece: str, turns: list[Turn], intent: Intent | None, there: bool) -> None:
    verdict = judge(*turns, intent=intent)
    assert (piece in set.union(*whats(verdict))) is there


def test_each_piece_names_the_fact_that_shows_it() -> None:
    """A prompt, an answer, or nothing where it is no text."""
    first, last = work("a"), work("CKMaI", place=5, repeats=3, answer=DONE)
    verdict = judge(first, last, intent="plan", following=THANKS)
    assert {each.what: each.position for each in verdict.evidence_for} == {
        **{ACCEPTED: 8, CHECKED: 5, COMMITTED: 5, MOVED_ON: 8, CHANGED: 5, REPORTED: 105}
    }
    assert {each.what: each.position for each in verdict.evidence_against} == {
        CANCELLED_LOOPING: 5,
        INTERRUPTED_LAST: 5,
    }
    silent = judge(first, work("a", place=5, answer=OPEN, text="Where is it?"), intent="plan")
    assert [(each.what, each.position) for each in silent.evidence_for] == [(UNCHALLENGED, 105)]
    assert [(each.what, each.position) for each in silent.evidence_against] == [(OPEN_FAILURE, 105)]
    nothing = judge(work("E", answer=None), intent="bug_fix", following=FAILURE)
    assert [(each.what, each.position) for each in nothing.evidence_against] == [
        *((ENDED_ON_ERROR, 1), (UNANSWERED, None), (NO_CHANGE, None), (NOT_WORKING, 9))
    ]


def test_no_model_makes_a_dead_end_a_success() -> None:
    """A request that failed for good; a text model's word counts for any other ending."""
    about: dict[str, Any] = {"organization_id": UUID(int=1), "developer_id": UUID(int=2), "capture_id": UUID(int=3)}
    told: dict[str, Any] = {"model": "m", "prompt_version": 1, "input_digest": b"", "confidence": 0.8, "complete": True}
    said = JudgeAnswered(received_at_us=0, kind="outcome", agent_session_id="s", **about, **told)
    dead, other = judge(work("CE")), judge(work("C"))
    assert (answered_outcome(dead, said), answered_outcome(other, said).goal_complete) == (dead, True)
