"""What people say against the judges: when a correction comes, then this fact; and what stands of many."""

from itertools import permutations
from typing import Any

import pytest

from aggregates.decide import decide, evolve, required_streams, touched_streams
from aggregates.event import Context, Digester, Done
from aggregates.ids import overrides_stream
from aggregates.sub_sessions.sub_session import (
    AnyOverride,
    ClearOverride,
    GapOverridden,
    GoalOverridden,
    IntentOverridden,
    OverrideCleared,
    OverrideEvent,
    OverrideGap,
    OverrideGoal,
    OverrideIntent,
    OverrideRework,
    Overrides,
    OverrideWord,
    ReworkOverridden,
    gap_overrides,
    override_words_of,
    overrides_of,
)
from tests.support.log import named

_ANA, _CAPTURE, _TURN = named("ana"), named("capture"), named("turn")
_OWNED: dict[str, Any] = {"organization_id": named("acme"), "developer_id": _ANA, "agent_session_id": "s1"}
_CONTEXT = Context(now_us=7, digester=Digester(b"a fixed key"), redaction=True)

_ABOUT: dict[str, Any] = _OWNED | {"capture_id": _CAPTURE}
_GAP = OverrideGap(**_ABOUT, boundary=True)
_GOAL = OverrideGoal(**_ABOUT, complete=False)
_REWORK = OverrideRework(**_ABOUT, rework=True)
_INTENT = OverrideIntent(**_ABOUT, intent_class="refactor")
_FACT: dict[str, Any] = _OWNED | {"received_at_us": 7}

DECIDED: dict[str, tuple[AnyOverride, OverrideEvent, str]] = {
    "a boundary": (_GAP, GapOverridden(**_FACT, before_capture=_CAPTURE, boundary=True), "yes"),
    "a goal": (_GOAL, GoalOverridden(**_FACT, capture_id=_CAPTURE, complete=False), "no"),
    "rework": (_REWORK, ReworkOverridden(**_FACT, capture_id=_CAPTURE, rework=True), "yes"),
    "an intent": (_INTENT, IntentOverridden(**_FACT, capture_id=_CAPTURE, intent_class="refactor"), "refactor"),
}


@pytest.mark.parametrize("case", DECIDED)
def test_a_correction_is_a_fact_about_a_capture(case: str) -> None:
    """In the developer's stream of corrections; said again, it is a fact again."""
    command, fact, word = DECIDED[case]
    stream = overrides_stream(_ANA)
    for known in ({}, {stream: evolve(None, fact)}):
        decision = decide(command, known, _CONTEXT)
        assert decision.events == ((stream, fact),)
        assert decision.reply == Done(True, _CAPTURE)
    assert override_words_of(fact)[0] == _CAPTURE
    assert [said for _, said in override_words_of(fact)[1]] == [word]
    assert touched_streams(command) == required_streams(command) == (stream,)


def test_nothing_said_leaves_everything_as_judged() -> None:
    """No word is no verdict."""
    assert overrides_of([]) == Overrides(boundary=False, complete=None, rework=None, intent=None)
    assert gap_overrides([]) == {}


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_the_later_word_in_the_log_wins_in_whatever_order_they_are_read(order: tuple[int, ...]) -> None:
    """Each topic by itself, even where two captures of one turn were spoken of."""
    words = [
        OverrideWord(_TURN, "goal", "no", 3),
        OverrideWord(_TURN, "goal", "yes", 9),
        OverrideWord(_TURN, "intent", "plan", 5),
        OverrideWord(_TURN, "gap", "no", 6),
    ]
    shuffled = [words[index] for index in order]
    assert overrides_of(shuffled, {_TURN}) == Overrides(
        boundary=True, drawn=True, gaps_reviewed=True, complete=True, rework=None, intent="plan"
    )
    assert gap_overrides(shuffled) == {_TURN: False}


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_what_was_taken_back_counts_no_more(order: tuple[int, ...]) -> None:
    """Until something is said again."""
    words = [
        OverrideWord(_TURN, "goal", "no", 3),
        OverrideWord(_TURN, "gap", "yes", 4),
        OverrideWord(_TURN, "goal", "cleared", 5),
        OverrideWord(_TURN, "gap", "cleared", 6),
    ]
    shuffled = [words[index] for index in order]
    assert (overrides_of(shuffled), gap_overrides(shuffled)) == (Overrides(), {})
    again = [*shuffled, OverrideWord(_TURN, "goal", "yes", 7)]
    assert overrides_of(again) == Overrides(complete=True)


def test_a_word_that_a_turn_goes_on_is_an_override_only_where_a_boundary_was_seen() -> None:
    """Else it confirms what was judged."""
    words = [OverrideWord(_TURN, "gap", "no", 3)]
    assert overrides_of(words) == Overrides(boundary=False, gaps_reviewed=True)
    assert overrides_of(words, {_TURN}) == Overrides(boundary=True, drawn=True, gaps_reviewed=True)


def test_whose_end_a_person_drew_is_drawn_without_an_override() -> None:
    """The split is an override of what it opened; peers leave out what it closed, too."""
    assert overrides_of([], parted=True) == Overrides(drawn=True)


def test_clearing_a_label_takes_the_class_and_the_title_back() -> None:
    """For each capture that the command names a fact."""
    command = ClearOverride(**_ABOUT, field="label", more=(("s2", _TURN),))
    facts = [fact for _, fact in decide(command, {}, _CONTEXT).events]
    assert [
        (fact.agent_session_id, override_words_of(fact)) for fact in facts if isinstance(fact, OverrideCleared)
    ] == [
        ("s1", (_CAPTURE, [("intent", "cleared"), ("title", "cleared")])),
        ("s2", (_TURN, [("intent", "cleared"), ("title", "cleared")])),
    ]
