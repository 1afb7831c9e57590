"""The outcome judge: every rule of scoring.md, section 4, as a case."""

from typing import Any
from uuid import UUID

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
    STATED_FAILURE,
    STILL_FAILING,
    TAKEN_OVER,
    UNANSWERED,
    UNCHALLENGED,
    UNSURE_END,
    WAITS,
    OutcomeModel,
    judge_outcome,
)
from aggregates.judging.rubric import JudgeAnswered, answered_outcome
from aggregates.reading.verdicts import Intent, OutcomeVerdict
from aggregates.turns.turn import Turn
from tests.support.stages import turn
from tests.support.tables import each_of, table

NEXT_GOAL = turn("Add a chart to the weekly report page", place=9)
THANKS = turn("Great, it works now, thank you!", place=8)


def judge(*turns: Turn, intent: Intent | None = "bug_fix", following: Turn | None = None) -> OutcomeVerdict:
    return judge_outcome(turns, intent, following)


def work(marks: str = "", *, text: str | None = "Add a flag that prints the version", **fields: Any) -> Turn:
    """A turn whose answer says nothing of how it went."""
    return turn(text, marks=marks, **({"answer": "Here it is."} | fields))


def whats(verdict: OutcomeVerdict) -> tuple[set[str], set[str]]:
    return {each.what for each in verdict.evidence_for}, {each.what for each in verdict.evidence_against}


@table(
    ("marks", "intent", "complete"),
    {
        "a change that nothing checked": ("Ca", "bug_fix", None),
        "an answer, of which the next prompt may ask more": ("a", "question", None),
        "a check shows it, wherever the goal ends": ("CKa", "bug_fix", True),
        "so does a commit": ("CMa", "bug_fix", True),
    },
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


def test_a_go_ahead_after_an_interruption_is_no_thanks() -> None:
    """It lets the work go on; praise is praise all the same."""
    stopped = turn("Add a search to the list", answer=None, marks="CI")
    assert ACCEPTED not in whats(judge(stopped, turn("continue", place=2, marks="a")))[0]
    assert ACCEPTED in whats(judge(stopped, turn("thanks, it works now", place=2, marks="a")))[0]


CORRECTION = turn("No, that's not what I meant", place=9, answer="Here it is.")
FAILURE = turn("It still fails with the same error", place=9, answer="Here it is.")
DONE = "Done. All tests pass."
OPEN = "Two tests still fail."
GAVE_UP = "I could not find the reason."
ASKS = "Shall I change the tests as well?"
INVITES = "Let me know if there is anything else."
BREAKS_OFF = "Now I will write the parser:"
COMMIT = "Commit this and push it, please"
GO = "yes, go ahead"


@table(
    ("turns", "intent", "following", "pieces"),
    {
        "nothing speaks for or against it": ([work()], None, None, set()),
        # for
        "accepted": ([work(), work(text="Thanks, that is right!")], None, None, {ACCEPTED}),
        "accepted by the turn that follows": ([work()], None, THANKS, {ACCEPTED, MOVED_ON}),
        "changed": ([work("Ca")], None, None, {CHANGED}),
        "committed and interrupted": ([work("CMaI")], None, None, {COMMITTED, INTERRUPTED_LAST}),
        "said to be done": ([work(answer=DONE)], None, None, {REPORTED}),
        "checked and committed": ([work("CKMa")], None, None, {CHANGED, CHECKED, COMMITTED}),
        "a commit asked for": ([work(), work(text=COMMIT)], None, None, {SHIPPED}),
        "and not answered": ([work(), work(text=COMMIT, answer=None)], None, None, {SHIPPED}),
        # against
        "cancelled while looping": (
            [work("CKMI", repeats=3)],
            None,
            THANKS,
            {CANCELLED_LOOPING, INTERRUPTED_LAST, CHECKED, COMMITTED, ACCEPTED, MOVED_ON},
        ),
        "corrected": ([work()], None, CORRECTION, {CORRECTED}),
        "does not work": ([work()], None, FAILURE, {NOT_WORKING}),
        "changed and reverted": ([work("CRa")], None, None, {CHANGED, REVERTED}),
        "not answered": ([work(answer=None)], None, None, {UNANSWERED}),
        "the last one not answered": ([work(), work(answer=None)], None, None, {LAST_UNANSWERED}),
        "no change": ([work("a")], "bug_fix", None, {NO_CHANGE}),
        "something is left open": ([work(answer=OPEN)], None, None, {OPEN_FAILURE, STATED_FAILURE}),
        "a failure is told that was asked about": ([work(answer=OPEN)], "question", None, {UNCHALLENGED}),
        "the answer asks": ([work(answer=ASKS)], None, None, {WAITS}),
        "the answer offers more help": ([work(answer=INVITES)], None, None, set()),
        "the answer breaks off": ([work(answer=BREAKS_OFF)], None, None, {BROKE_OFF}),
        "the last prompt reports a failure": ([work(), FAILURE], None, None, {STILL_FAILING}),
        "the only prompt does": ([FAILURE], None, None, set()),
        "given up": ([work(), work(text="Never mind, leave it as it was")], None, None, {TAKEN_OVER}),
        "by hand": ([work()], None, turn("I fixed it myself, look at the docs", place=9), {TAKEN_OVER, MOVED_ON}),
    },
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


@each_of(
    [
        ([], False, 0.5),
        ([], True, 0.378),
        ([CHANGED], False, 0.731),
        ([CHANGED, CHECKED, OPEN_FAILURE], False, 0.731),
        ([CHANGED] * 9, False, 0.98),
        ([OPEN_FAILURE] * 9, False, 0.02),
        (["something else"], False, 0.5),
    ]
)
def test_weights_add_up_to_a_chance(pieces: list[str], silent: bool, chance: float) -> None:
    """Never surer than .98, either way."""
    assert EVENLY.chance(pieces, silent=silent) == chance


def surely(chance: int) -> OutcomeModel:
    """A model to which the pieces say nothing."""
    return OutcomeModel(chance, 0, {})


@table(
    ("turns", "following", "bias", "said", "why"),
    {
        "surely complete": ([work("CKa")], None, 3_000, True, None),
        "not surely": ([work("CKa")], None, 1_000, None, "unchecked"),
        "a change that was moved on from": ([work("Ca")], NEXT_GOAL, 3_000, True, None),
        "silence after a change that nothing checked": ([work("Ca")], None, 3_000, None, "unchecked"),
        "an answer that was never seen": ([work("C", answer=None)], None, 3_000, None, "unseen"),
        "what speaks against it balances": ([work("Ca")], CORRECTION, 3_000, None, "balanced"),
        "a failed check does": ([work("CkKka")], NEXT_GOAL, 3_000, None, "balanced"),
        "surely not complete": ([work("Ca")], CORRECTION, -3_000, False, None),
        "perhaps not": ([work("Ca")], CORRECTION, -1_000, None, "balanced"),
        "never complete": ([work("CE")], THANKS, 3_000, False, None),
        "nor in a loop": ([work("CKMaI", repeats=3)], THANKS, 3_000, False, None),
    },
)
def test_an_outcome_is_said_or_undecided(
    turns: list[Turn], following: Turn | None, bias: int, said: bool | None, why: str | None
) -> None:
    """By the bounds, and by what silence and complaints leave open; what would be said by force is kept."""
    verdict = judge_outcome(turns, None, following, surely(bias))
    assert (verdict.goal_complete, verdict.undecided) == (said, why)
    assert verdict.forced is (bias > 0 and said is not False)


ASKED_AGAIN = work("a", place=2)
IN_TEN_WORDS = "Undo that and then one two three four five six"
RED = work(text="```\nFAILED tests/test_a.py::test_one\n17 failed, 266 passed in 14.22s\n```", answer=None)
GREEN = work(text="```\ncollected 283 items\n283 passed in 14.22s\n```", answer=None)


def told_done(asked: Turn) -> Turn:
    """The same turn, whose answer says that the work is done."""
    return replace(asked, response=work(answer=DONE).response)


def unknown(calls: int) -> Turn:
    """A turn with so many calls of tools whose names say nothing."""
    asked = work("a")
    return replace(asked, work=replace(asked.work, unknown_calls=calls))


@table(
    ("piece", "intent", "there", "not_there"),
    {
        "a check of the last change": (CHECKED, None, "CkKa C,Ka CKkKa", "Ka CKka CKCa CkKka"),
        "a commit of the last change": (COMMITTED, None, "CPa", "Ma CMCa MCa"),
        "an answer that was not interrupted": (UNCHALLENGED, "question", "IKa", "aI Ia"),
        "an error at the end": (ENDED_ON_ERROR, None, "EaE", "E,a aEa"),
        "the last check failed": (CHECK_FAILS, None, "k kKka k,a", "kKa KkKa"),
        "the last call of a tool was refused": (REFUSED, None, "Ja", "JKa"),
        "a revert of a change": (REVERTED, None, "CRa RCRa", "Ra CRCa"),
        "an interruption at the end": (INTERRUPTED_LAST, None, "IaI", "aIa"),
        "no change in turns that were observed": (NO_CHANGE, "bug_fix", "a,a", "Ca Ma"),
    },
)
def test_after_which_work_a_piece_is_there(piece: str, intent: Intent | None, there: str, not_there: str) -> None:
    """Courses of marks, a comma between two turns."""
    for course in (*there.split(), *not_there.split()):
        turns = [work(marks, place=place) for place, marks in enumerate(course.split(","), 1)]
        assert (piece in set.union(*whats(judge(*turns, intent=intent)))) is (course in there.split()), course


@table(
    ("piece", "turns", "intent", "there"),
    {
        "an opening prompt accepts nothing": (ACCEPTED, [THANKS], None, False),
        "a nod that sets work going": (ACCEPTED, [work(), work("Ca", text="yes")], None, False),
        "a nod to what was done": (ACCEPTED, [work("Ca"), work("a", text="ok great")], None, True),
        "thanks, and more is changed": (ACCEPTED, [work(), work("Ca", text="Thanks, it works now!")], None, True),
        "thanks in between": (ACCEPTED, [work(), THANKS, work(text="Now add a chart")], None, False),
        "an answer to what asks for a change": (UNCHALLENGED, [work("a")], "bug_fix", False),
        "no answer": (UNCHALLENGED, [work(answer=None)], "question", False),
        "a change that nobody answered for": (CHANGED, [work("C", answer=None)], None, False),
        "a change that was broken off": (CHANGED, [work("CaI")], None, False),
        "what was found of a question": (REPORTED, [work("a", answer=DONE)], "question", False),
        "and something was changed": (REPORTED, [work("Ca", answer=DONE)], "question", True),
        "done, but it asks": (REPORTED, [work(answer="Done. Shall I rename it?")], None, False),
        "done, and it may be committed": (REPORTED, [work(answer="Done. Shall I commit it?")], None, True),
        "no change was asked for": (NO_CHANGE, [work("a")], "question", False),
        "nobody knows what was asked for": (NO_CHANGE, [work("a")], None, False),
        "the work was not observed": (NO_CHANGE, [work()], "bug_fix", False),
        "one of two turns was observed": (NO_CHANGE, [work("a"), work()], "bug_fix", False),
        "a tool of which nobody knows what it does": (NO_CHANGE, [unknown(1)], "bug_fix", False),
        "all of them are known": (NO_CHANGE, [unknown(0)], "bug_fix", True),
        "the answer tells of it": (NO_CHANGE, [work("a", answer="Pushed and merged.")], "bug_fix", False),
        "and goes on": (REPORTED, [work(answer=f"{DONE}\nSpawning a researcher...")], None, False),
        "busy": (BROKE_OFF, [work(answer="The context is set.\n◆ Spawning a researcher...")], None, True),
        "busy after a commit": (BROKE_OFF, [work("CMa", answer=BREAKS_OFF)], None, False),
        "offers to push": (WAITS, [work(answer=f"{DONE} Want me to push and open a PR?")], None, False),
        "then a few letters": (SHIPPED, [work(), work(text=COMMIT), work(text="npm t")], None, True),
        "a rebase brings in others' work": (SHIPPED, [work(), work(text="/rebase main")], None, False),
        "failed tests pasted alone": (STILL_FAILING, [work(), RED], "plan", True),
        "tests that passed": (STILL_FAILING, [work(), GREEN], "plan", False),
        "said to be done, and not observed": (STILL_FAILING, [work(), told_done(FAILURE)], None, False),
        "a command, worked on": (BROKE_OFF, [work(), work(text="/fix-ci", answer=BREAKS_OFF)], None, True),
        "said to be done and open": (OPEN_FAILURE, [work(answer=f"{DONE} {OPEN}")], None, False),
        "then only a command": (INTERRUPTED_LAST, [work("aI"), work("a", text="/compact")], None, True),
        "in the only turn, a command": (INTERRUPTED_LAST, [work("I", text="/review it")], None, True),
        # taking back
        "it was the work asked for": (REVERTED, [work("CRa", text="Undo that")], None, False),
        "asked for at the end": (REVERTED, [work("Ca"), work("a", text="Undo that")], None, True),
        "it was not captured what was asked for": (REVERTED, [work("Ca"), work("a", text=None)], None, False),
        "and something else done": (REVERTED, [work("Ca"), work("RCa", text="Undo that")], None, False),
        "asked for in ten words": (REVERTED, [work("Ca"), work("a", text=IN_TEN_WORDS)], None, True),
        "in more, it may be a part": (REVERTED, [work("Ca"), work("a", text=f"{IN_TEN_WORDS} seven")], None, False),
        "undone by a change": (REVERTED, [work("Ca"), work("Ca", text="Undo that")], None, True),
        "the same short question again": (CORRECTED, [work("a", text="Why so?")] * 2, None, False),
        "thanks after it": (NOT_WORKING, [work("Ca"), FAILURE, THANKS], None, False),
        "where the work was not observed": (NOT_WORKING, [work(), FAILURE], None, False),
        "a failed one after it": (NOT_WORKING, [work("Ca"), FAILURE, work("k", text="Why?")], None, True),
        # complaints within it
        "where only an answer was wanted": (NOT_WORKING, [work("Ca"), FAILURE], "question", False),
        "the opening prompt complains of nothing": (NOT_WORKING, [FAILURE, work("a")], None, False),
        "a change after it": (NOT_WORKING, [work("Ca"), FAILURE, work("C", text="Hm?")], None, False),
        "asked again after an answer": (CORRECTED, [work("a"), ASKED_AGAIN], None, True),
        "sent again without one": (CORRECTED, [work("E", answer=None), ASKED_AGAIN], None, False),
        "asked later": (CORRECTED, [work("a"), work("a", text="And why?"), ASKED_AGAIN], None, True),
        "the same nod again": (CORRECTED, [work("a", text="go"), work("a", text="go")], None, False),
    },
)
def test_when_a_piece_is_there(piece: str, turns: list[Turn], intent: Intent | None, there: bool) -> None:
    verdict = judge(*turns, intent=intent)
    assert (piece in set.union(*whats(verdict))) is there


def test_each_piece_names_the_fact_that_shows_it() -> None:
    """A prompt, an answer, or nothing where it is no text."""
    first, last = work("a"), work("CKMaI", place=5, repeats=3, answer=DONE)
    verdict = judge(first, last, intent="plan", following=THANKS)
    assert {each.what: each.position for each in verdict.evidence_for} == {
        **{ACCEPTED: 8, CHECKED: 5, COMMITTED: 5, MOVED_ON: 8, REPORTED: 105}
    }
    assert {each.what: each.position for each in verdict.evidence_against} == {
        CANCELLED_LOOPING: 5,
        INTERRUPTED_LAST: 5,
    }
    silent = judge(first, work("a", place=5, answer=GAVE_UP, text="Where is it?"), intent="plan")
    assert [(each.what, each.position) for each in silent.evidence_for] == [(UNCHALLENGED, 105)]
    assert [(each.what, each.position) for each in silent.evidence_against] == [(STATED_FAILURE, 105)]
    nothing = judge(work("E", answer=None), intent="bug_fix", following=FAILURE)
    assert [(each.what, each.position) for each in nothing.evidence_against] == [
        *((ENDED_ON_ERROR, 1), (UNANSWERED, None), (NO_CHANGE, None), (NOT_WORKING, 9))
    ]


def test_no_model_makes_an_evident_failure_a_success() -> None:
    """What the answer itself says; a text model's word counts for any other ending."""
    about: dict[str, Any] = {"organization_id": UUID(int=1), "developer_id": UUID(int=2), "capture_id": UUID(int=3)}
    told: dict[str, Any] = {"model": "m", "prompt_version": 1, "input_digest": b"", "confidence": 0.8, "complete": True}
    said = JudgeAnswered(received_at_us=0, kind="outcome", agent_session_id="s", **about, **told)
    dead, other = judge(work("C", answer=GAVE_UP)), judge(work("C"))
    assert (answered_outcome(dead, said), answered_outcome(other, said).goal_complete) == (dead, True)
