"""The rules behind the insights: sessions at once, friction, a word for every kind of trouble, and what pays."""

import pytest
from hypothesis import given, strategies as st

from aggregates.judging import outcome
from aggregates.judging.outcome import leading_against
from aggregates.judging.prompt import ADVICE, NO_SIGN, REWORKED, weakest
from aggregates.reading.verdicts import BOOLEANS, INTENTS, Evidence, OutcomeVerdict
from aggregates.scores.insights import PAYS_MIN, SIDE_MIN, Decided, Pay, corrected, had_friction, pays, times_at_once
from tests.support.stages import turn
from tests.support.tables import beside, each_of

AT_ONCE = [
    # turns as (session, start, end), how often a second session became active beside another
    ([], 0),
    ([("a", 0, 10)], 0),
    ([("a", 0, 10), ("a", 5, 15)], 0),
    ([("a", 0, 10), ("b", 10, 20)], 0),
    ([("a", 0, 10), ("b", 9, 20)], 1),
    ([("a", 0, 10), ("b", 2, 3), ("b", 5, 6)], 2),
    ([("a", 0, 10), ("b", 2, 8), ("c", 3, 4)], 1),
    ([("a", 0, 10), ("b", 5, 5)], 0),
    ([("b", 9, 20), ("a", 0, 10), ("a", 30, 40), ("b", 35, 36)], 2),
]


@each_of(AT_ONCE)
def test_sessions_at_once_are_counted_as_they_begin(turns: list[tuple[str, int, int]], times: int) -> None:
    """Each time that one session joins another; a third one beside two is no new time."""
    assert times_at_once(turns) == times
    assert times_at_once(reversed(turns)) == times


def test_there_is_a_word_for_everything_in_both_languages() -> None:
    """Whatever the outcome judge can hold against a sub-session, whatever can be reached, every habit."""
    against = {NO_SIGN, REWORKED, *outcome.SPEAKS_AGAINST}
    assert set(ADVICE) == {"en", "ko"}
    for advice in ADVICE.values():
        assert set(advice.troubles) == against
        assert len({each.label for each in advice.troubles.values()}) == len(against)
        assert len({each.advice for each in advice.troubles.values()}) == len(against)
        assert len(set(advice.reached.values())) == len(advice.reached)
        assert (set(advice.reached), set(advice.habits)) == (set(INTENTS), set(BOOLEANS))
    english, korean = (ADVICE[language].troubles.values() for language in ("en", "ko"))
    assert all(each.label.isascii() for each in english)
    assert not any(each.label.isascii() for each in korean)


def test_the_weightiest_piece_leads() -> None:
    """Of equal ones the first; an unknown phrase of another judge does not count."""

    def verdict(*whats: str) -> OutcomeVerdict:
        return OutcomeVerdict(False, 0.9, (), tuple(Evidence(what) for what in whats))

    assert leading_against(verdict()) is None
    assert leading_against(verdict("something a model said")) is None
    assert leading_against(verdict(outcome.NO_CHANGE, outcome.UNANSWERED)) == outcome.UNANSWERED
    assert leading_against(verdict(outcome.CHECK_FAILS, outcome.CORRECTED)) == outcome.CHECK_FAILS


def test_a_habit_is_weak_only_where_it_was_called_for_often_enough() -> None:
    """Five prompts at least, and one of them missed it; rubric order breaks ties."""
    shares = dict.fromkeys(BOOLEANS, 0.5) | {"plan_first": 0.0, "goal_explicit": 1.0, "scope_bounded": 0.2}
    counts = dict.fromkeys(BOOLEANS, 5) | {"plan_first": 4}
    assert weakest(shares, counts, 2) == ["scope_bounded", "references_concrete"]
    assert weakest(dict.fromkeys(BOOLEANS, 0.0), dict.fromkeys(BOOLEANS, 0), 2) == []


COMPLAINT = "no, that is wrong, it still fails"


def test_a_correction_is_said_in_a_later_prompt() -> None:
    """A goal that opens with a complaint is a new goal."""
    assert corrected([turn(), turn(COMPLAINT)])
    assert not corrected([turn(COMPLAINT), turn()])
    assert had_friction([turn(), turn(COMPLAINT)])


@each_of([("Ca", False), ("aE", True), ("Ia", True), ("CkKa", False), ("CKka", True), ("", False)])
def test_friction_is_an_error_an_interruption_or_a_failed_last_check(marks: str, friction: bool) -> None:
    """A check that passes in the end was no friction."""
    assert had_friction([turn(marks=marks)]) == friction


# Whether a habit pays is told late, drawn to the usual rate, and never as a cause.

CHECKS = frozenset({"verification_requested"})


def of(with_goals: int, with_reached: int, without_goals: int, without_reached: int) -> Pay:
    rows = [
        Decided(CHECKS, CHECKS, with_goals, with_reached),  # type: ignore[arg-type]
        Decided(frozenset(), CHECKS, without_goals, without_reached),  # type: ignore[arg-type]
        Decided(frozenset(), frozenset(), 1_000, 10),
    ]
    return next(each for each in pays(rows) if each.boolean == "verification_requested")


@beside()
def test_a_difference_is_told_where_there_is_one(counts: tuple[int, int, int, int], tells: str) -> None:
    assert of(*counts).tells == tells


def test_a_handful_is_drawn_to_the_usual_rate() -> None:
    """5 of 5 is no 100 percent, and the rates lie between what was seen and what is usual."""
    found = of(5, 5, 45, 25)
    assert found.with_it is not None
    assert found.without is not None
    assert 60 < found.with_it.rate < 75
    assert (found.with_it.goals, found.with_it.reached) == (5, 5)
    assert 25 / 45 * 100 < found.without.rate < 60


side = st.integers(0, 400).flatmap(lambda goals: st.tuples(st.just(goals), st.integers(0, goals)))


@given(side, side)
def test_what_is_told_agrees_with_itself(one: tuple[int, int], other: tuple[int, int]) -> None:
    found, turned = of(*one, *other), of(*other, *one)
    if found.interval is None or found.difference is None or turned.interval is None:
        assert one[0] + other[0] < PAYS_MIN or min(one[0], other[0]) < SIDE_MIN
        return
    assert found.interval.low <= found.difference <= found.interval.high
    assert turned.interval.low == pytest.approx(-found.interval.high)
    assert (found.tells == "more") == (turned.tells == "less")
