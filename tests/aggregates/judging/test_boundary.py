"""The boundary judge: what never shifts, what does, and what is said for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.judging.boundary import (
    AFTER_COMMIT,
    SIGNALS,
    BoundaryModel,
    OpenArc,
    boundary_signals,
    continues,
    topic_shift,
)
from tests.support.judging import turn

FIRST = turn("Rename getUsr to getUser in src/user.ts", marks="C", changed=("src/user.ts",))


@pytest.mark.parametrize(
    "text", ["ok", "yes, go ahead", "/compact", "!git diff", "No, that's not what I meant", "It still fails", None]
)
def test_navigating_accepting_and_correcting_turns_never_shift(text: str | None) -> None:
    """However little they share with what came before."""
    eager = BoundaryModel(bias=10_000, weights={})
    verdict = topic_shift([FIRST], turn(text, place=2, files=("docs/other.md",)), eager)
    assert not verdict.shift
    assert verdict.evidence


def test_nothing_shifts_away_from_a_command_alone() -> None:
    """The first real prompt belongs to the commands before it."""
    eager = BoundaryModel(bias=10_000, weights={})
    assert not topic_shift([turn("/code-review")], turn("Review the payment module", place=2), eager).shift


def test_another_long_task_on_other_files_says_so() -> None:
    """The signals name what differs."""
    later = turn(
        "Implement the following plan:\n\n# Plan: export invoices as PDF\n\nAdd a renderer to billing/pdf.py and a "
        "button below the invoice table. Cover totals, taxes, discounts, footers and currencies.",
        place=2,
        marks="C",
        changed=("billing/pdf.py",),
    )
    signals = boundary_signals(OpenArc([FIRST]), later)
    assert {"over 25 words", "12 words or more are new", "hardly a word is known"} <= set(signals)
    assert "changes the same files" not in signals


def test_a_follow_up_on_the_same_files_says_so() -> None:
    """It shares words and files."""
    later = turn("also rename getUsr in the tests of src/user.ts", place=2, marks="C", changed=("src/user.ts",))
    signals = boundary_signals(OpenArc([FIRST]), later)
    assert "changes the same files" in signals
    assert not topic_shift([FIRST], later).shift


@given(st.integers(-5_000, 5_000))
def test_the_verdict_is_the_sign_of_the_sum(bias: int) -> None:
    """And its confidence is never below one half."""
    verdict = topic_shift([FIRST], turn("Add a chart to the weekly report page", place=2), BoundaryModel(bias, {}))
    assert verdict.shift is (bias > 0)
    assert 0.5 <= verdict.confidence <= 1


def test_a_commit_lowers_what_a_boundary_needs() -> None:
    """A turn that neither shifts nor points back does not continue committed work."""
    doubtful = BoundaryModel(bias=-AFTER_COMMIT + 1, weights={})
    later = turn("Add a chart to the weekly report page", place=2)
    assert not topic_shift([FIRST], later, doubtful).shift
    assert not continues([FIRST], later, doubtful)
    assert continues([FIRST], turn("thanks, great", place=2), doubtful)


def test_signals_come_in_a_fixed_order() -> None:
    """So evidence never depends on hashing."""
    signals = boundary_signals(
        OpenArc([FIRST]), turn("now look at docs/intro.md, it is still wrong about names", place=2)
    )
    assert signals == sorted(signals, key=SIGNALS.index)


def test_an_arc_that_grew_turn_by_turn_is_judged_like_its_turns() -> None:
    """What is remembered of it is all that counts."""
    turns = [
        turn(text, place=place, marks="C", changed=(f"src/{place % 3}.py",), files=("docs/a.md",))
        for place, text in enumerate(
            ("Rename getUsr to getUser", "ok", "Add a chart to the weekly report", "Why is the login page slow?") * 3, 1
        )
    ]
    arc = OpenArc(turns[:1])
    for place, each in enumerate(turns[1:], 1):
        assert topic_shift(arc, each) == topic_shift(turns[:place], each)
        assert continues(arc, each) is continues(turns[:place], each)
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
    assert not topic_shift([FIRST], later).shift
    soon = boundary_signals(OpenArc([FIRST]), turn(text, place=2))
    assert boundary_signals(OpenArc([FIRST]), later) == soon


def test_a_prompt_that_is_sent_again_never_shifts() -> None:
    """However long it is, and however eager the model."""
    text = "Review the payment module for races, then list what you would change first and why, by file and line."
    eager = BoundaryModel(bias=10_000, weights={})
    verdict = topic_shift([FIRST, turn(text, place=2)], turn(text + " Please.", place=900), eager)
    assert not verdict.shift
    assert [each.what for each in verdict.evidence] == ["repeats the prompt before"]


def test_a_complaint_among_many_words_may_be_of_another_topic() -> None:
    """A few words that complain are about what came before; a long text, or one that names a new task, may not be."""
    eager = BoundaryModel(bias=10_000, weights={})
    assert not topic_shift([FIRST], turn("the tests are still failing", place=2), eager).shift
    assert topic_shift([FIRST], turn("unrelated to this: the tests are still failing", place=2), eager).shift


DONE = turn(
    "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop.",
    answer="Fixed: parse() returns an empty list for empty input. All 14 tests pass.",
    marks="CKa",
    changed=("src/parser.py",),
)


@pytest.mark.parametrize(
    ("text", "file", "shifts"),
    [
        ("Now write the install instructions for Windows into the README", "README.md", True),
        ("The login page is slow on mobile. Find out why and fix it.", "web/login.tsx", True),
        ("Perfect. Commit that, please.", "src/parser.py", False),
        ("Also handle None in the same way", "src/parser.py", False),
        ("why does it return a list and not a tuple?", "src/parser.py", False),
    ],
)
def test_plain_cases_after_finished_work(text: str, file: str, shifts: bool) -> None:
    """A quarter of an hour later. It guards the wiring: none of these is a close call."""
    assert topic_shift([DONE], turn(text, place=16, marks="Ca", changed=(file,))).shift is shifts
