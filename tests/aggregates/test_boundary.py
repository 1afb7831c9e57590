"""The boundary judge: what never shifts, what does, and what is said for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.boundary import (
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
    signals = boundary_signals([FIRST], later)
    assert {"hands over a plan", "works on other files", "shares no word", "8 words or more are new"} <= set(signals)


def test_a_follow_up_on_the_same_files_says_so() -> None:
    """It shares words and files."""
    later = turn("also rename getUsr in the tests of src/user.ts", place=2, marks="C", changed=("src/user.ts",))
    signals = boundary_signals([FIRST], later)
    assert {"says also", "works on the same files", "changes the same files"} <= set(signals)
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
    signals = boundary_signals([FIRST], turn("now look at docs/intro.md, it is still wrong about names", place=2))
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
