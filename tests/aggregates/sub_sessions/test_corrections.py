"""What people say against the judges: when a correction comes, then this fact; and what stands of many."""

from itertools import permutations
from typing import Any

import pytest
from msgspec.structs import replace

from aggregates.decide import decide, evolve, required_streams, touched_streams
from aggregates.event import Context, Decision, Digester, Done
from aggregates.ids import overrides_stream
from aggregates.sub_sessions import sub_session as said
from tests.support.basics import named

_ANA, _CAPTURE, _TURN = named("ana"), named("capture"), named("turn")
_BY: dict[str, Any] = {"organization_id": named("acme"), "developer_id": _ANA}
_CONTEXT = Context(now_us=7, digester=Digester(b"a fixed key"), redaction=True)
_FACT: dict[str, Any] = _BY | {"received_at_us": 0, "agent_session_id": "s1"}

SAID: dict[str, tuple[said.OverrideEvent, str]] = {
    "a boundary": (said.GapOverridden(**_FACT, before_capture=_CAPTURE, boundary=True), "yes"),
    "a goal": (said.GoalOverridden(**_FACT, capture_id=_CAPTURE, complete=False), "no"),
    "rework": (said.ReworkOverridden(**_FACT, capture_id=_CAPTURE, rework=True), "yes"),
    "an intent": (said.IntentOverridden(**_FACT, capture_id=_CAPTURE, intent_class="refactor"), "refactor"),
}


@pytest.mark.parametrize("case", SAID)
def test_a_correction_is_a_fact_about_a_capture(case: str) -> None:
    """In the developer's stream of corrections, as of now; said again, it is a fact again."""
    fact, word = SAID[case]
    command, stream, taken = (
        said.Override(**_BY, facts=(fact,)),
        overrides_stream(_ANA),
        replace(fact, received_at_us=7),
    )
    for known in ({}, {stream: evolve(None, taken)}):
        assert decide(command, known, _CONTEXT) == Decision(((stream, taken),), Done(True))
    assert said.override_words_of(fact)[0] == _CAPTURE
    assert [said for _, said in said.override_words_of(fact)[1]] == [word]
    assert touched_streams(command) == required_streams(command) == (stream,)


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_the_later_word_in_the_log_wins_in_whatever_order_they_are_read(order: tuple[int, ...]) -> None:
    """Each topic by itself, even where two captures of one turn were spoken of."""
    words = [
        said.OverrideWord(_TURN, "goal", "no", 3),
        said.OverrideWord(_TURN, "goal", "yes", 9),
        said.OverrideWord(_TURN, "intent", "plan", 5),
        said.OverrideWord(_TURN, "gap", "no", 6),
    ]
    shuffled = [words[index] for index in order]
    assert said.overrides_of(shuffled, {_TURN}) == said.Overrides(
        boundary=True, drawn=True, gaps_reviewed=True, complete=True, rework=None, intent="plan"
    )
    assert said.gap_overrides(shuffled) == {_TURN: False}


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_what_was_taken_back_counts_no_more(order: tuple[int, ...]) -> None:
    words = [
        said.OverrideWord(_TURN, "goal", "no", 3),
        said.OverrideWord(_TURN, "gap", "yes", 4),
        said.OverrideWord(_TURN, "goal", "cleared", 5),
        said.OverrideWord(_TURN, "gap", "cleared", 6),
    ]
    shuffled = [words[index] for index in order]
    assert (said.overrides_of(shuffled), said.gap_overrides(shuffled)) == (said.Overrides(), {})
    again = [*shuffled, said.OverrideWord(_TURN, "goal", "yes", 7)]
    assert said.overrides_of(again) == said.Overrides(complete=True)


def test_a_word_that_a_turn_goes_on_is_an_override_only_where_a_boundary_was_seen() -> None:
    words = [said.OverrideWord(_TURN, "gap", "no", 3)]
    assert said.overrides_of(words) == said.Overrides(boundary=False, gaps_reviewed=True)
    assert said.overrides_of(words, {_TURN}) == said.Overrides(boundary=True, drawn=True, gaps_reviewed=True)


def test_whose_end_a_person_drew_is_drawn_without_an_override() -> None:
    """The split is an override of what it opened; peers leave out what it closed, too."""
    assert said.overrides_of([], parted=True) == said.Overrides(drawn=True)


def test_clearing_a_label_takes_the_class_and_the_title_back() -> None:
    fact = said.OverrideCleared(**_FACT, capture_id=_CAPTURE, field="label")
    assert said.override_words_of(fact) == (_CAPTURE, [("intent", "cleared"), ("title", "cleared")])
