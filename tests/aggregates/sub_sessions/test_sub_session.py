"""Sub-sessions: what their turns amount to, as a conclusion."""

from typing import Any

import pytest
from msgspec.structs import replace

from aggregates.judging.outcome import UNSURE_END
from aggregates.judging.rubric import Answers, JudgeAnswered
from aggregates.reading.reading import read_prompt
from aggregates.reading.verdicts import BooleanName, Intent
from aggregates.sub_sessions.arcs import Arc
from aggregates.sub_sessions.sub_session import Overrides, SubSession, conclude
from aggregates.turns.turn import Turn, Work
from tests.support.stages import DIGESTER, HOUR, MINUTE, arc_of, prompt, turn_at, usage, uuid, worked

ASKED = prompt("no own words", words="a")
"""A prompt that the embedded judge cannot class: here a text model is answered for it."""
THANKS = prompt(navigational="acknowledgement")
COMPLETE = worked("CKa", changed=(1,))


def answered(**told: Any) -> JudgeAnswered:
    return JudgeAnswered(
        received_at_us=0,
        organization_id=uuid(1),
        developer_id=uuid(2),
        kind=told.pop("kind", "rubric"),
        agent_session_id="session",
        capture_id=uuid(3),
        model="m",
        prompt_version=1,
        input_digest=b"",
        confidence=0.8,
        **told,
    )


def rubric(intent: Intent | None, *earned: BooleanName) -> JudgeAnswered:
    return answered(intent=intent, earned=earned)


def concluded(
    *turns: Turn,
    rubrics: list[JudgeAnswered | None] | None = None,
    arcs: list[Arc] | None = None,
    following: Turn | None = None,
    said: Overrides | None = None,
    outcome: JudgeAnswered | None = None,
) -> SubSession:
    """Conclude turns whose prompts have these rubrics, in order."""
    known = {
        frozenset((turn.turn_id,)): each for turn, each in zip(turns, rubrics or [], strict=False) if each is not None
    }
    return conclude(arcs or [arc_of()], turns, following, said or Overrides(), Answers(known, outcome))


@pytest.mark.parametrize(
    ("intents", "intent"),
    [
        pytest.param([None], None, id="no classified prompt"),
        pytest.param(["bug_fix"], "bug_fix", id="the one prompt"),
        pytest.param([None, "bug_fix"], "bug_fix", id="the first classified prompt"),
        pytest.param(["bug_fix", "feature"], "bug_fix", id="of two changes the first"),
        pytest.param(["question", "feature"], "feature", id="a question, then a change"),
        pytest.param(["investigation", "question", "refactor"], "refactor", id="an investigation, then a change"),
        pytest.param(["question", "small_change", "feature"], "small_change", id="a question, then two changes"),
        pytest.param(["question", "review"], "question", id="a question, then no change"),
        pytest.param(["question", "plan"], "question", id="a plan is no change"),
        pytest.param(["review", "feature"], "review", id="a review stays one"),
        pytest.param(["plan", "feature"], "plan", id="a plan stays one"),
    ],
)
def test_the_intent_is_that_of_the_first_prompt_or_of_the_first_change_after_a_question(
    intents: list[Intent | None], intent: Intent | None
) -> None:
    """Unclassified without any; the turn that gives it is the goal, else the first one that was classified."""
    turns = [turn_at(n, ASKED, answered=True) for n in range(len(intents))]
    found = concluded(*turns, rubrics=[rubric(each) for each in intents])
    assert (found.intent, found.judged_intent) == (intent, intent)
    assert found.goal == turns[intents.index(intent)]


def test_a_person_names_another_intent() -> None:
    """What was judged without it stays beside it, the outcome as well: for a question an answer is enough."""
    said = Overrides(intent="question")
    found = concluded(turn_at(1, ASKED, answered=True), rubrics=[rubric("bug_fix", "goal_explicit")], said=said)
    assert (found.intent, found.judged_intent, found.said) == ("question", "bug_fix", said)
    assert (found.outcome.goal_complete, found.judged_complete) == (True, None)
    assert [judged.standing.score for judged in found.prompts] == [50.0]


CLEAR = read_prompt("Move the parser into a package of its own in src/parser", DIGESTER)
LEANING = read_prompt("and do that for the printer in src/printer as well, please", DIGESTER)
COMMAND = read_prompt("/pr-review 165", DIGESTER)
EXPANDED = read_prompt("## Context\n\n- Current pull request status: open, of the list of sessions", DIGESTER)
COMMITS = read_prompt("commit this and push it to the branch of the parser", DIGESTER)


@pytest.mark.parametrize(
    ("turns", "rubrics", "goal"),
    [
        pytest.param([ASKED, ASKED], [None, rubric("review")], 1, id="the first classified prompt"),
        pytest.param([ASKED, ASKED], [rubric("question"), rubric("feature")], 1, id="the change after a question"),
        pytest.param([ASKED, ASKED], [rubric("review"), rubric("feature")], 0, id="a review before a change"),
        pytest.param([None, THANKS, ASKED], [], 2, id="unclassified: the first prompt that was captured and does more"),
        pytest.param([None, THANKS], [], None, id="none"),
        pytest.param([CLEAR, LEANING], [rubric("question"), rubric("feature")], 0, id="not a change that leans on it"),
        pytest.param(
            [COMMITS, CLEAR], [rubric("small_change"), rubric("question")], 1, id="not a request for a commit"
        ),
        pytest.param([COMMAND, EXPANDED], [None, rubric("review")], 0, id="the command, not the text in its place"),
        pytest.param(
            [COMMAND, EXPANDED, LEANING], [None, rubric("review")], 2, id="rather a prompt that leans than such a text"
        ),
    ],
)
def test_the_goal_is_the_prompt_that_gives_the_intent(
    turns: list[Any], rubrics: list[JudgeAnswered | None], goal: int | None
) -> None:
    made = [turn_at(n, each, answered=True) for n, each in enumerate(turns)]
    assert concluded(*made, rubrics=rubrics).goal == (None if goal is None else made[goal])


def test_the_text_of_a_command_is_not_judged_and_names_no_goal() -> None:
    """The agent put it there at once; the turn itself stays as it was captured."""
    text = read_prompt("## Context\n\n- Status: open\n- Review all of it and list what is wrong in it", DIGESTER)
    picks = read_prompt("address: 8, 12 and 13 of them", DIGESTER)
    made = [turn_at(1.98, COMMAND), turn_at(2, text, answered=True), turn_at(9, picks, answered=True)]
    found = concluded(*made)
    assert [judged.rubric.status for judged in found.prompts] == ["skipped", "skipped", "ok"]
    assert [judged.turn for judged in found.prompts] == made
    assert found.goal == made[0]
    assert found.floor.countable_turns == 1


def test_what_a_prompt_earned_stands_for_the_later_ones() -> None:
    """Of what applies to the sub-session's intent, in rubric order; a prompt that was not classified has no score."""
    found = concluded(
        *(turn_at(n, said, answered=True) for n, said in enumerate((ASKED, THANKS, ASKED, ASKED))),
        rubrics=[rubric("question", "context_sufficient"), None, rubric("investigation", "root_cause_oriented"), None],
    )
    assert (found.intent, found.standing.earned) == ("question", ("context_sufficient",))
    assert [judged.standing.score for judged in found.prompts] == [50.0, None, 50.0, None]
    assert [judged.standing.earned for judged in found.prompts] == [
        *(("context_sufficient",), ()),
        *(("context_sufficient",), ()),
    ]
    assert [judged.rubric.status for judged in found.prompts] == ["ok", "skipped", "ok", "unclassified"]
    assert [judged.turn.turn_id for judged in found.prompts] == [uuid(n) for n in range(4)]


def test_a_prompt_that_nobody_answered_ends_nothing_later() -> None:
    found = concluded(turn_at(1, ASKED, answered=True), replace(turn_at(9, ASKED), agent_us=0))
    assert (found.ended_us, found.prompts[-1].turn.last_activity_us) == (MINUTE, 9 * MINUTE)


def test_only_the_end_of_the_last_arc_is_unsure() -> None:
    """A gap within what a person joined is told by them."""
    arcs = [replace(arc_of(1), end_chance=0.4), arc_of(2, started_us=2 * MINUTE)]
    turns = turn_at(1, ASKED, answered=True), turn_at(2, ASKED, answered=True)
    for drawn, unsure in ((arcs, False), ([arcs[1], replace(arcs[1], end_chance=0.4)], True)):
        against = concluded(*turns, arcs=drawn, following=turn_at(9, ASKED)).outcome.evidence_against
        assert (UNSURE_END in [piece.what for piece in against]) is unsure


def test_what_is_taken_back_is_known_where_every_revert_names_it() -> None:
    """One that names nothing takes back whatever there is."""
    named, whole = (replace(worked("R"), reverted=paths) for paths in (((1, 2),), ()))
    assert concluded(turn_at(1, ASKED, work=named)).reverted == ((1, 2),)
    assert concluded(turn_at(1, ASKED, work=named), turn_at(2, ASKED, work=whole)).reverted == ()


@pytest.mark.parametrize(
    ("intent", "work", "qualifies"),
    [
        pytest.param("feature", Work(mutating_calls=1), True, id="above the floor and classified"),
        pytest.param("feature", Work(), False, id="below the floor"),
        pytest.param(None, Work(mutating_calls=1), False, id="unclassified"),
    ],
)
def test_what_is_above_the_floor_and_classified_qualifies(intent: Intent | None, work: Work, qualifies: bool) -> None:
    """Whether it has settled is decided by whoever asks."""
    found = concluded(turn_at(1, ASKED, work=work), rubrics=[rubric(intent)])
    assert (found.qualifies, found.floor.passed) == (qualifies, bool(work.mutating_calls))


@pytest.mark.parametrize(
    ("work", "outcome", "said", "complete", "judged"),
    [
        pytest.param(COMPLETE, None, None, True, True, id="as judged, complete"),
        pytest.param(worked("CE"), None, None, False, False, id="as judged, not complete"),
        pytest.param(worked("Ck"), None, None, None, None, id="as judged, undecided"),
        pytest.param(COMPLETE, None, False, False, True, id="a person says no"),
        pytest.param(worked("Ck"), None, True, True, None, id="a person says yes"),
        pytest.param(COMPLETE, False, None, False, False, id="a text model says no"),
        pytest.param(worked("Ck"), True, None, True, True, id="a text model says yes"),
        pytest.param(worked("CKE"), True, None, False, False, id="never complete, whatever a text model says"),
        pytest.param(worked("CKE"), True, True, True, False, id="a person may say so all the same"),
    ],
)
def test_the_goal_is_reached_as_a_person_said_else_as_judged(
    work: Work, outcome: bool | None, said: bool | None, complete: bool | None, judged: bool | None
) -> None:
    found = concluded(
        turn_at(1, ASKED, work=work, answered=True),
        rubrics=[rubric("bug_fix")],
        said=Overrides(complete=said),
        outcome=None if outcome is None else answered(kind="outcome", complete=outcome),
    )
    assert (found.goal_complete, found.judged_complete) == (complete, judged)
    assert found.outcome.goal_complete is judged


@pytest.mark.parametrize(
    ("said", "courses", "reverts"),
    [
        pytest.param(ASKED, ["CKa"], False, id="a change"),
        pytest.param(ASKED, ["aRa"], True, id="a revert alone"),
        pytest.param(ASKED, ["aKRC"], True, id="a revert before a change"),
        pytest.param(ASKED, ["CR"], False, id="a revert of its own change"),
        pytest.param(ASKED, ["C", "R"], False, id="a revert of its own change in the next turn"),
        pytest.param(ASKED, ["a", "R"], True, id="a revert in the second turn, nothing before it"),
        pytest.param(ASKED, ["KMPa"], False, id="neither"),
        pytest.param(prompt("phrase:undoing", "no own words"), ["C"], True, id="a person asks to undo"),
        pytest.param(None, ["C"], False, id="a prompt that was not captured"),
    ],
)
def test_a_sub_session_reverts_if_that_is_asked_or_done_first(said: Any, courses: list[str], reverts: bool) -> None:
    """One revert within it, after its own change, is none."""
    turns = [turn_at(n, said, work=worked(marks)) for n, marks in enumerate(courses)]
    assert concluded(*turns, rubrics=[rubric("bug_fix")]).reverts is reverts


def test_only_the_goal_asks_to_undo() -> None:
    """A later prompt that does is no rework of what came before the sub-session."""
    undo = prompt("phrase:undoing", "no own words")
    turns = [turn_at(0, ASKED, work=worked("C")), turn_at(1, undo, work=worked("R"))]
    assert not concluded(*turns, rubrics=[rubric("bug_fix"), rubric("small_change")]).reverts


def test_tokens_and_costs_are_summed_over_turns_and_models() -> None:
    tokens = {"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4}
    rest = {"cost_usd_nano": 5, "unpriced_requests": 6, "lower_bound_requests": 7, "unmeasured_requests": 2}
    both = (usage("opus", requests=8, **tokens, **rest), usage("haiku", **tokens))
    found = concluded(
        turn_at(1, ASKED, work=Work(usage=both, files=worked(changed=(1,), read=(2,)).files)),
        turn_at(2, ASKED, work=Work(usage=both[:1], files=worked(changed=(3,)).files)),
    )
    summed = {"requests": 17, "cost_usd_nano": 10, "unpriced_requests": 12, "lower_bound_requests": 14}
    summed |= {name: 3 * count for name, count in tokens.items()} | {"unmeasured_requests": 4}
    assert found.totals == summed
    assert found.changed_files == frozenset({1, 3})


FIRST = arc_of(1, session="one", started_us=MINUTE, last_activity_us=HOUR, opened_by="topic", closed_by="clear")
LAST = arc_of(2, session="two", started_us=2 * MINUTE, last_activity_us=3 * MINUTE, closed_by="end", closed_us=HOUR)
AGAIN = arc_of(3, session="one", started_us=HOUR, last_activity_us=2 * HOUR)


@pytest.mark.parametrize(
    ("arcs", "sessions", "last_us", "settles_us", "closed_by"),
    [
        pytest.param([FIRST], ("one",), HOUR, HOUR + 30 * MINUTE, "clear", id="one arc"),
        pytest.param([FIRST, LAST], ("one", "two"), HOUR, HOUR + 30 * MINUTE, "clear", id="two, the first goes on"),
        pytest.param([FIRST, LAST, AGAIN], ("one", "two"), 2 * HOUR, 2 * HOUR + 30 * MINUTE, None, id="three of two"),
    ],
)
def test_merged_arcs_keep_the_first_session_as_parent_and_settle_with_the_last_to_settle(
    arcs: list[Arc], sessions: tuple[str, ...], last_us: int, settles_us: int, closed_by: str | None
) -> None:
    """The first arc names and opens it; the one that settles last closes it."""
    found = concluded(turn_at(1, ASKED), arcs=arcs)
    assert (found.sub_session_id, found.started_us, found.opened_by) == (uuid(1), MINUTE, "topic")
    assert (found.agent_session_ids, found.last_activity_us) == (sessions, last_us)
    assert (found.settles_at_us, found.closed_by) == (settles_us, closed_by)


def test_of_arcs_that_settle_together_the_last_one_closes() -> None:
    arcs = [FIRST, arc_of(2, started_us=HOUR, last_activity_us=HOUR, closed_by="end")]
    assert concluded(turn_at(1, ASKED), arcs=arcs).closed_by == "end"
