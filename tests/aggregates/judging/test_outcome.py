"""The outcome judge: every rule of scoring.md, section 4, as a case."""

import re
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from aggregates.judging import outcome as rules
from aggregates.judging.outcome import SPEAKS_AGAINST, SPEAKS_FOR, OutcomeModel, judge_outcome
from aggregates.judging.rubric import JudgeAnswered, answered_outcome
from aggregates.reading.verdicts import Intent, OutcomeVerdict
from aggregates.turns.turn import Turn
from tests.support.stages import turn
from tests.support.tables import beside, each_of, table

NEXT_GOAL = turn("Add a chart to the weekly report page", place=9)
THANKS = turn("Great, it works now, thank you!", place=8)


def judge(*turns: Turn, intent: Intent | None = "bug_fix", following: Turn | None = None) -> OutcomeVerdict:
    return judge_outcome(turns, intent, following)


def work(marks: str = "", *, text: str | None = "Add a flag that prints the version", **fields: Any) -> Turn:
    """A turn whose answer says nothing of how it went."""
    return turn(text, marks=marks, **({"answer": "Here it is."} | fields))


def told(*turns: str, first: int = 1) -> list[Turn]:
    """A turn's marks, `*` how often a call was repeated before it, `>` the prompt, `<` the answer; `-` is none."""
    found = []
    for place, told in enumerate(turns, first):
        ((marks, repeats, *texts),) = re.findall(r"^(\w*)(?:\*(\d))? ?(?:> (.*?))? ?(?:< (.*))?$", told, re.S)
        said = {name: each for name, each in zip(("text", "answer"), texts, strict=True) if each}
        said = {name: None if each == "-" else each for name, each in said.items()}
        found.append(work(marks, place=place, repeats=int(repeats or 0), **said))
    return found


def next_turn(told_next: str | None) -> Turn | None:
    return None if told_next is None else told(told_next, first=9)[0]


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
    assert rules.MOVED_ON not in whats(unsure)[0]
    assert rules.UNSURE_END in whats(unsure)[1]


def test_a_go_ahead_after_an_interruption_is_no_thanks() -> None:
    """It lets the work go on; praise is praise all the same."""
    stopped = turn("Add a search to the list", answer=None, marks="CI")
    assert rules.ACCEPTED not in whats(judge(stopped, turn("continue", place=2, marks="a")))[0]
    assert rules.ACCEPTED in whats(judge(stopped, turn("thanks, it works now", place=2, marks="a")))[0]


FAILURE = turn("It still fails with the same error", place=9, answer="Here it is.")
DONE, GAVE_UP = "Done. All tests pass.", "I could not find the reason."
ASKS = "Shall I change the tests as well?"
GO = "yes, go ahead"


@beside()
def test_which_pieces_are_there(turns: list[str], intent: Intent | None, following: str | None, names: str) -> None:
    verdict = judge(*told(*turns), intent=intent, following=next_turn(following))
    assert set.union(*whats(verdict)) == {getattr(rules, name) for name in names.split()}


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
        assert (rules.ACCEPTED in whats(judge(before, work(text=nod)))[0]) is accepts
        assert (rules.ACCEPTED in whats(judge(before, following=turn(nod, place=9)))[0]) is accepts


EVENLY = OutcomeModel(0, -500, {**dict.fromkeys(SPEAKS_FOR, 1_000), **dict.fromkeys(SPEAKS_AGAINST, -1_000)})


@each_of(
    [
        ([], False, 0.5),
        ([], True, 0.378),
        ([rules.CHANGED], False, 0.731),
        ([rules.CHANGED, rules.CHECKED, rules.OPEN_FAILURE], False, 0.731),
        ([rules.CHANGED] * 9, False, 0.98),
        ([rules.OPEN_FAILURE] * 9, False, 0.02),
        (["something else"], False, 0.5),
    ]
)
def test_weights_add_up_to_a_chance(pieces: list[str], silent: bool, chance: float) -> None:
    """Never surer than .98, either way."""
    assert EVENLY.chance(pieces, silent=silent) == chance


@beside()
def test_an_outcome_is_said_or_undecided(
    turns: list[str], following: str | None, bias: int, said: bool | None, why: str | None
) -> None:
    """By the bounds, and by what silence and complaints leave open; what would be said by force is kept. The model's
    bias alone gives the chance."""
    verdict = judge_outcome(told(*turns), None, next_turn(following), OutcomeModel(bias, 0, {}))
    assert (verdict.goal_complete, verdict.undecided) == (said, why)
    assert verdict.forced is (bias > 0 and said is not False)


@beside()
def test_after_which_work_a_piece_is_there(name: str, intent: Intent | None, there: str, not_there: str) -> None:
    """Courses of marks, a comma between two turns."""
    for course in (*there.split(), *not_there.split()):
        verdict = judge(*told(*course.split(",")), intent=intent)
        assert (getattr(rules, name) in set.union(*whats(verdict))) is (course in there.split()), course


@beside()
def test_when_a_piece_is_there(name: str, turns: list[str], intent: Intent | None, there: bool) -> None:
    verdict = judge(*told(*turns), intent=intent)
    assert (getattr(rules, name) in set.union(*whats(verdict))) is there


def test_that_no_change_was_made_is_known_where_every_tool_is() -> None:
    asked = work("a")
    for calls, known in ((0, True), (1, False)):
        verdict = judge(replace(asked, work=replace(asked.work, unknown_calls=calls)))
        assert (rules.NO_CHANGE in whats(verdict)[1]) is known


def test_each_piece_names_the_fact_that_shows_it() -> None:
    """A prompt, an answer, or nothing where it is no text."""
    first, last = work("a"), work("CKMaI", place=5, repeats=3, answer=DONE)
    verdict = judge(first, last, intent="plan", following=THANKS)
    assert {each.what: each.position for each in verdict.evidence_for} == {
        **{rules.ACCEPTED: 8, rules.CHECKED: 5, rules.COMMITTED: 5, rules.MOVED_ON: 8, rules.REPORTED: 105}
    }
    assert {each.what: each.position for each in verdict.evidence_against} == {
        rules.CANCELLED_LOOPING: 5,
        rules.INTERRUPTED_LAST: 5,
    }
    silent = judge(first, work("a", place=5, answer=GAVE_UP, text="Where is it?"), intent="plan")
    assert [(each.what, each.position) for each in silent.evidence_for] == [(rules.UNCHALLENGED, 105)]
    assert [(each.what, each.position) for each in silent.evidence_against] == [(rules.STATED_FAILURE, 105)]
    nothing = judge(work("E", answer=None), intent="bug_fix", following=FAILURE)
    assert [(each.what, each.position) for each in nothing.evidence_against] == [
        *((rules.ENDED_ON_ERROR, 1), (rules.UNANSWERED, None), (rules.NO_CHANGE, None), (rules.NOT_WORKING, 9))
    ]


def test_no_model_makes_an_evident_failure_a_success() -> None:
    """What the answer itself says; a text model's word counts for any other ending."""
    about: dict[str, Any] = {"organization_id": UUID(int=1), "developer_id": UUID(int=2), "capture_id": UUID(int=3)}
    told: dict[str, Any] = {"model": "m", "prompt_version": 1, "input_digest": b"", "confidence": 0.8, "complete": True}
    said = JudgeAnswered(received_at_us=0, kind="outcome", agent_session_id="s", **about, **told)
    dead, other = judge(work("C", answer=GAVE_UP)), judge(work("C"))
    assert (answered_outcome(dead, said), answered_outcome(other, said).goal_complete) == (dead, True)
