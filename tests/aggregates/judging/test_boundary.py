"""The boundary judge: what never shifts, what does, and what is said for it."""

import math

import pytest
from msgspec.structs import replace

from aggregates.judging.boundary import (
    EXPANDED,
    EXPANSION,
    BoundaryModel,
    OpenArc,
    as_typed,
    boundary_signals,
    cannot_shift,
    expands,
    topic_shift,
    verdict_of,
)
from aggregates.reading.readings import PromptReading
from aggregates.reading.verdicts import Evidence
from aggregates.turns.turn import Turn
from tests.support.stages import MINUTE, SECOND, SPAN, prompt, response, turn, turn_at, worked
from tests.support.tables import beside, each_of, table

FIRST = turn("Rename getUsr to getUser in src/user.ts", marks="C", changed=("src/user.ts",))


def test_an_arc_that_grew_turn_by_turn_is_judged_like_its_turns() -> None:
    turns = [
        turn(text, place=place, marks="C", changed=(f"src/{place % 3}.py",), files=("docs/a.md",))
        for place, text in enumerate(
            ("Rename getUsr to getUser", "ok", "Add a chart to the weekly report", "Why is the login page slow?") * 3, 1
        )
    ]
    arc = OpenArc(turns[:1])
    for place, each in enumerate(turns[1:], 1):
        assert topic_shift(arc, each) == topic_shift(OpenArc(turns[:place]), each)
        arc.add(each)


@pytest.mark.parametrize("minutes", [1, 20, 90, 3_000])
@pytest.mark.parametrize(
    "text",
    [
        "also rename it in src/user.ts",
        "add a test for that",
        "and the other one?",
        "Perfect. Commit that, please.",
        "now rename getUsr in the tests of src/user.ts too",
    ],
)
def test_idle_time_alone_is_no_boundary(text: str, minutes: int) -> None:
    """What goes on with the topic goes on with it, a minute or two days later."""
    later = turn(text, place=1 + minutes)
    assert not topic_shift(OpenArc([FIRST]), later).shift
    soon = boundary_signals(OpenArc([FIRST]), turn(text, place=2))
    assert boundary_signals(OpenArc([FIRST]), later) == soon


@table(
    ("bias", "shifts", "after_commit"),
    {
        "above even odds": (1, True, True),
        "even odds": (0, False, True),
        "just short of what a commit adds": (-699, False, True),
    },
)
def test_a_commit_adds_seven_tenths_of_a_logit(bias: int, shifts: bool, after_commit: bool) -> None:
    """Without one a prompt shifts above 0; after one it continues from -0.7 down."""
    arc, later = OpenArc([turn_at(0, prompt(words="a"))]), turn_at(1, prompt("words over 6"))
    model = BoundaryModel(bias - 40, {"over 6 words": 40})
    assert topic_shift(arc, later, model).shift is shifts
    assert topic_shift(arc, later, model, after_commit=True).shift is after_commit


@beside()
def test_sureness_is_the_chance_of_what_is_said(logit: int, even: int, shift: bool, sure: float) -> None:
    """Where the cut lies at a chance of .2, a gap that is taken for a boundary may well be none."""
    verdict = verdict_of(logit, model=BoundaryModel(0, {}, even))
    assert (verdict.shift, verdict.confidence) == (shift, sure)


@each_of([(0.02, False), (0.1, False), (0.11, True), (0.3, True), (0.51, True), (0.9, True)])
def test_a_gap_is_unsure_from_the_bound_on(chance: float, unsure: bool) -> None:
    """On both sides of the cut, which lies at .2. A boundary is never sure: too many are none."""
    logit = math.log(chance / (1 - chance)) - math.log(0.25)
    verdict = verdict_of(round(1_000 * logit), model=BoundaryModel(0, {}, -1_386))
    assert (verdict.shift, verdict.unsure) == (chance > 0.2, unsure)


@table(
    ("said", "why"),
    {
        "a plain prompt": (prompt(words="b"), None),
        "not captured": (None, "the prompt was not captured"),
        "navigates": (prompt(navigational="short"), "only navigates"),
        "corrects": (prompt("phrase:correcting"), "corrects what came before"),
        "reports a failure": (prompt("phrase:failing"), "corrects what came before"),
        "in over sixteen words": (prompt("phrase:failing", "words over 16"), None),
        "and names a new task": (prompt("phrase:correcting", opens=("names a new task",)), None),
        "repeats": (prompt(words="a"), "repeats the prompt before"),
    },
)
def test_why_a_turn_stays_whatever_it_says(said: PromptReading | None, why: str | None) -> None:
    arc, later = OpenArc([turn_at(0, prompt(words="a"))]), turn_at(1, said)
    assert cannot_shift(arc, later) == why
    verdict = topic_shift(arc, later, BoundaryModel(10_000, {}))
    assert (verdict.shift, verdict.confidence) == ((True, 1.0) if why is None else (False, 0.95))
    assert topic_shift(arc, later, BoundaryModel(10_000, {}), after_commit=True).shift is (why is None)


def test_nothing_stays_away_from_a_topic_that_was_never_said() -> None:
    """Turns that only navigate have none; a command that was worked on has."""
    command = prompt(navigational="command")
    arc = OpenArc([turn_at(0, command), turn_at(1)])
    assert cannot_shift(arc, turn_at(2, prompt(words="a"))) == "no topic before it"
    for worked_on in (turn_at(0, command, answer=response()), turn_at(0, command, work=worked(read=(1,)))):
        assert cannot_shift(OpenArc([worked_on]), turn_at(2, prompt(words="a"))) is None


def test_a_command_that_is_worked_on_may_open_another_topic() -> None:
    """Commands that follow each other are one way to a goal, until somebody says in words what is wanted."""
    command, arc = prompt(navigational="command"), OpenArc([turn_at(0, prompt(words="a"))])
    assert cannot_shift(arc, turn_at(1, command, answer=response(characters=19))) == "only navigates"
    assert cannot_shift(arc, turn_at(1, command, answer=response())) is None
    assert cannot_shift(arc, turn_at(1, command, work=worked(read=(1,)))) is None
    commands = OpenArc([turn_at(0, command, answer=response())])
    assert cannot_shift(commands, turn_at(1, command, answer=response())) == "no topic before it"


TYPED = replace(prompt(navigational="command"), characters=12)
TEXT = replace(prompt("words over 16", words="a b c"), characters=600)
AT_ONCE = 1 + 4 * SECOND / MINUTE


@table(
    ("before", "later", "made"),
    {
        "four seconds after a command": (turn_at(1, TYPED), turn_at(AT_ONCE, TEXT), True),
        "a minute after it": (turn_at(1, TYPED), turn_at(2, TEXT), False),
        "hardly longer": (turn_at(1, TYPED), turn_at(AT_ONCE, replace(TEXT, characters=30)), False),
        "it was answered": (turn_at(1, TYPED, answer=response()), turn_at(AT_ONCE, TEXT), False),
        "a command that only sets something has no text": (
            turn_at(1, prompt(navigational="command", opens=("sets up the session",))),
            turn_at(AT_ONCE, TEXT),
            False,
        ),
    },
)
def test_the_text_of_a_command_is_no_prompt_of_a_person(before: Turn, later: Turn, made: bool) -> None:
    assert expands(before, later) is made
    assert (cannot_shift(OpenArc([turn_at(0, prompt(words="z")), before]), later) == EXPANSION) is made
    (_, text) = as_typed([before, later])
    assert text.prompt is not None
    assert (text.prompt.navigational == EXPANDED) is made


WEIGHTS = {"over 6 words": 10, "goes back": 20, "names a step": 20, "names a file": 5, "says what is wrong": 30}
LONG = prompt("words over 6", "path", "has report", opens=("goes back", "names a step"))


@table(
    ("weights", "bias", "told"),
    {
        "the four heaviest": (WEIGHTS, 0, ("says what is wrong", "goes back", "names a step", "over 6 words")),
        "none speaks for the verdict": (WEIGHTS, -1_000, ()),
        "goes on": ({"over 6 words": -1, "names a file": -3, "names a step": 1}, 0, ("names a file", "over 6 words")),
        "those for the same topic at even odds": ({"over 6 words": 2, "names a file": -2}, 0, ("names a file",)),
    },
)
def test_the_heaviest_signals_are_told_as_evidence(weights: dict[str, int], bias: int, told: tuple[str, ...]) -> None:
    """Those that speak for the verdict, at most four, the heaviest first and then by name."""
    arc, later = OpenArc([turn_at(0, prompt("words over 10"))]), turn_at(9, LONG)
    evidence = topic_shift(arc, later, BoundaryModel(bias, weights)).evidence
    assert evidence == tuple(Evidence(what, 9, SPAN) for what in told)
