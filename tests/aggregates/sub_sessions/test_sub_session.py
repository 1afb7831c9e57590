"""Sub-sessions: what their turns amount to, and what people say against the judges."""

import re
from itertools import permutations
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from aggregates.decide import decide, evolve, required_streams, touched_streams
from aggregates.event import Context, Decision, Done
from aggregates.ids import overrides_stream
from aggregates.judging.outcome import UNSURE_END
from aggregates.judging.rubric import Answers, JudgeAnswered
from aggregates.reading.reading import read_prompt
from aggregates.reading.readings import PromptReading
from aggregates.reading.verdicts import BooleanName, Intent, expected_score
from aggregates.sub_sessions import sub_session as spoken
from aggregates.sub_sessions.arcs import Arc
from aggregates.sub_sessions.sub_session import Overrides, SubSession, conclude
from aggregates.turns.turn import Turn, Work
from tests.support.basics import named
from tests.support.stages import (
    DIGESTER,
    HOUR,
    MINUTE,
    arc_of,
    judged as answered,
    prompt,
    turn_at,
    usage,
    uuid,
    worked,
)
from tests.support.tables import beside, table

ASKED = prompt("no own words", words="a")
"""A prompt that the embedded judge cannot class: here a text model is answered for it."""
THANKS = prompt(navigational="acknowledgement")
UNDOES = prompt("phrase:undoing", "no own words")


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


TEXTS = {
    "clear": "Move the parser into a package of its own in src/parser",
    "leaning": "and do that for the printer in src/printer as well, please",
    "command": "/pr-review 165",
    "expanded": "## Context\n\n- Current pull request status: open, of the list of sessions",
    "commits": "commit this and push it to the branch of the parser",
}
READ = {name: read_prompt(text, DIGESTER) for name, text in TEXTS.items()}
SAID: dict[str, PromptReading | None] = {"asked": ASKED, "thanks": THANKS, "undoes": UNDOES, "unseen": None, **READ}


@beside()
def test_the_intent_is_that_of_the_first_prompt_or_of_the_first_change_after_a_question(
    prompts: str, intent: Intent | None, goal: int | None
) -> None:
    """The goal is the turn that gives it; else the first that does more than thank."""
    words = [each.partition(":") for each in prompts.split()]
    turns = [turn_at(n, SAID[name], answered=True) for n, (name, _, _) in enumerate(words)]
    found = concluded(*turns, rubrics=[rubric(each or None) for _, _, each in words])  # type: ignore[arg-type]
    assert (found.intent, found.judged_intent) == (intent, intent)
    assert found.goal == (None if goal is None else turns[goal])


def test_a_person_names_another_intent() -> None:
    """What was judged without it stays beside it, the outcome as well: for a question an answer is enough."""
    said = Overrides(intent="question")
    found = concluded(turn_at(1, ASKED, answered=True), rubrics=[rubric("bug_fix", "goal_explicit")], said=said)
    assert (found.intent, found.judged_intent, found.said) == ("question", "bug_fix", said)
    assert (found.outcome.goal_complete, found.judged_complete) == (True, None)
    assert [expected_score(judged.standing.chances) for judged in found.prompts] == [50.0]


def test_the_text_of_a_command_is_not_judged_and_names_no_goal() -> None:
    """The agent put it there at once; the turn itself stays as it was captured."""
    text = read_prompt("## Context\n\n- Status: open\n- Review all of it and list what is wrong in it", DIGESTER)
    picks = read_prompt("address: 8, 12 and 13 of them", DIGESTER)
    made = [turn_at(1.98, READ["command"]), turn_at(2, text, answered=True), turn_at(9, picks, answered=True)]
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
    assert [expected_score(judged.standing.chances) for judged in found.prompts] == [50.0, None, 50.0, None]
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


@table(
    ("intent", "work", "qualifies"),
    {
        "above the floor and classified": ("feature", Work(mutating_calls=1), True),
        "below the floor": ("feature", Work(), False),
        "unclassified": (None, Work(mutating_calls=1), False),
    },
)
def test_what_is_above_the_floor_and_classified_qualifies(intent: Intent | None, work: Work, qualifies: bool) -> None:
    """Whether it has settled is decided by whoever asks."""
    found = concluded(turn_at(1, ASKED, work=work), rubrics=[rubric(intent)])
    assert (found.qualifies, found.floor.passed) == (qualifies, bool(work.mutating_calls))


@beside()
def test_the_goal_is_reached_as_a_person_said_else_as_judged(
    marks: str, outcome: bool | None, said: bool | None, complete: bool | None, judged: bool | None
) -> None:
    found = concluded(
        turn_at(1, ASKED, work=worked(marks, changed=(1,)), answered=True),
        rubrics=[rubric("bug_fix")],
        said=Overrides(complete=said),
        outcome=None if outcome is None else answered("outcome", complete=outcome),
    )
    assert (found.goal_complete, found.judged_complete) == (complete, judged)
    assert found.outcome.goal_complete is judged


@beside()
def test_a_sub_session_reverts_if_that_is_asked_or_done_first(said: str, courses: list[str], reverts: bool) -> None:
    """One revert within it, after its own change, is none."""
    turns = [turn_at(n, SAID[said], work=worked(marks)) for n, marks in enumerate(courses)]
    assert concluded(*turns, rubrics=[rubric("bug_fix")]).reverts is reverts


def test_only_the_goal_asks_to_undo() -> None:
    """A later prompt that does is no rework of what came before the sub-session."""
    turns = [turn_at(0, ASKED, work=worked("C")), turn_at(1, UNDOES, work=worked("R"))]
    assert not concluded(*turns, rubrics=[rubric("bug_fix"), rubric("small_change")]).reverts


def test_tokens_and_costs_are_summed_over_turns_and_models() -> None:
    tokens = {"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4}
    rest = {"cost_usd_nano": 5, "unpriced_requests": 6, "lower_bound_requests": 7, "unmeasured_requests": 2}
    rest |= {"upper_bound_requests": 3}
    both = (usage("opus", requests=8, **tokens, **rest), usage("haiku", **tokens))
    found = concluded(
        turn_at(1, ASKED, work=Work(usage=both, files=worked(changed=(1,), read=(2,)).files)),
        turn_at(2, ASKED, work=Work(usage=both[:1], files=worked(changed=(3,)).files, failed_requests=1)),
    )
    summed = {"requests": 17, "cost_usd_nano": 10, "unpriced_requests": 12, "lower_bound_requests": 14}
    summed |= {name: 3 * count for name, count in tokens.items()} | {
        "unmeasured_requests": 4,
        "upper_bound_requests": 6,
        "failed_requests": 1,
    }
    assert found.totals == summed
    assert found.changed_files == frozenset({1, 3})


FIRST = arc_of(1, session="one", started_us=MINUTE, last_activity_us=HOUR, opened_by="topic", closed_by="clear")
LAST = arc_of(2, session="two", started_us=2 * MINUTE, last_activity_us=3 * MINUTE, closed_by="end", closed_us=HOUR)
AGAIN = arc_of(3, session="one", started_us=HOUR, last_activity_us=2 * HOUR)


@table(
    ("arcs", "sessions", "last_us", "settles_us", "closed_by"),
    {
        "one arc": ([FIRST], ("one",), HOUR, HOUR + 30 * MINUTE, "clear"),
        "two, the first goes on": ([FIRST, LAST], ("one", "two"), HOUR, HOUR + 30 * MINUTE, "clear"),
        "three of two": ([FIRST, LAST, AGAIN], ("one", "two"), 2 * HOUR, 2 * HOUR + 30 * MINUTE, None),
    },
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


# --- what people say against the judges -----------------------------------------------------------------------

ANA, CAPTURE, TURN = named("ana"), named("capture"), named("turn")
BY: dict[str, Any] = {"organization_id": named("acme"), "developer_id": ANA}
FACT: dict[str, Any] = BY | {"received_at_us": 0, "agent_session_id": "s1"}


@table(
    ("fact", "word"),
    {
        "a boundary": (spoken.GapOverridden(**FACT, before_capture=CAPTURE, boundary=True), "yes"),
        "a goal": (spoken.GoalOverridden(**FACT, capture_id=CAPTURE, complete=False), "no"),
        "rework": (spoken.ReworkOverridden(**FACT, capture_id=CAPTURE, rework=True), "yes"),
        "an intent": (spoken.IntentOverridden(**FACT, capture_id=CAPTURE, intent_class="refactor"), "refactor"),
    },
)
def test_a_correction_is_a_fact_about_a_capture(fact: spoken.OverrideEvent, word: str) -> None:
    """In the developer's stream of corrections, as of now; said again, it is a fact again."""
    command, stream = spoken.Override(**BY, facts=(fact,)), overrides_stream(ANA)
    taken = replace(fact, received_at_us=7)
    for known in ({}, {stream: evolve(None, taken)}):
        context = Context(now_us=7, digester=DIGESTER, redaction=True)
        assert decide(command, known, context) == Decision(((stream, taken),), Done(True))
    assert spoken.override_words_of(fact)[0] == CAPTURE
    assert [said for _, said in spoken.override_words_of(fact)[1]] == [word]
    assert touched_streams(command) == required_streams(command) == (stream,)


@table(
    ("told", "seen", "expected", "gaps"),
    {
        "the later word in the log wins, each topic by itself": (
            "goal:no@3 goal:yes@9 intent:plan@5 gap:no@6",
            {TURN},
            Overrides(boundary=True, drawn=True, gaps_reviewed=True, complete=True, intent="plan"),
            {TURN: False},
        ),
        "what was taken back counts no more": ("goal:no@3 gap:yes@4 goal:cleared@5 gap:cleared@6", (), Overrides(), {}),
        "what is said anew does": ("goal:no@3 goal:cleared@5 goal:yes@7", (), Overrides(complete=True), {}),
        "that a turn goes on anyway": ("gap:no@3", (), Overrides(boundary=False, gaps_reviewed=True), {TURN: False}),
    },
)
def test_what_stands_of_many_words(told: str, seen: set[UUID], expected: Overrides, gaps: dict[UUID, bool]) -> None:
    """In whatever order they are read, even where two captures of one turn were spoken of."""
    words = [
        spoken.OverrideWord(TURN, topic, word, int(at)) for topic, word, at in re.findall(r"(\w+):(\w+)@(\d)", told)
    ]
    for shuffled in permutations(words):
        assert (spoken.overrides_of(shuffled, seen), spoken.gap_overrides(shuffled)) == (expected, gaps)


def test_whose_end_a_person_drew_is_drawn_without_an_override() -> None:
    """The split is an override of what it opened; peers leave out what it closed, too."""
    assert spoken.overrides_of([], parted=True) == Overrides(drawn=True)


def test_clearing_a_label_takes_the_class_and_the_title_back() -> None:
    fact = spoken.OverrideCleared(**FACT, capture_id=CAPTURE, field="label")
    assert spoken.override_words_of(fact) == (CAPTURE, [("intent", "cleared"), ("title", "cleared")])
