"""What chances make of a score (scoring.md, 3, Estimates): worked out by hand."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, strategies as st

from aggregates.judging.rubric import standings
from aggregates.reading.verdicts import (
    BOOLEANS,
    INTENTS,
    BooleanName,
    Chances,
    ClassChances,
    Intent,
    Rubric,
    applicable,
    as_said,
    expected_score,
    given as given_class,
    in_words,
    kind_of,
    kind_told,
    said_rubric,
    score_steps,
)
from aggregates.scores.grades import Estimate, estimate, spread, whole_counts
from aggregates.scores.prompt_grade import grade_text
from tests.support.tables import beside, table


def chances(classes: Mapping[Intent, float], booleans: Mapping[BooleanName, float] | float = 0.5) -> Chances:
    """Of classes, and of each boolean the same whatever the class."""
    of = (
        dict.fromkeys(BOOLEANS, booleans)
        if isinstance(booleans, float)
        else {n: booleans.get(n, 0.5) for n in BOOLEANS}
    )
    return tuple(ClassChances(i, classes.get(i, 0.0), tuple(of[n] for n in applicable(i))) for i in INTENTS)


def test_a_score_is_the_mean_over_classes_of_the_mean_over_their_booleans() -> None:
    """.75 x (1 + 0) / 2 of a question, .25 x (1 + .4 + 0 + .6) / 4 of an investigation; of one, its steps."""
    own = {"goal_explicit": 1.0, "context_sufficient": 0.0, "references_concrete": 0.4, "root_cause_oriented": 0.6}
    found = chances({"question": 0.75, "investigation": 0.25}, own)  # type: ignore[arg-type]
    assert expected_score(found) == pytest.approx(50)
    spreads = spread(chances({"question": 1.0}))
    assert (spreads.variance, spreads.letters) == (1250, (0.25, 0, 0.5, 0, 0, 0, 0, 0, 0, 0.25))


@beside()
def test_the_interval_is_the_shortest_that_holds_four_fifths(
    goal: float, context: float, expected: tuple[float, float, float]
) -> None:
    found = estimate(chances({"question": 1.0}, {"goal_explicit": goal, "context_sufficient": context}))
    assert found is not None
    assert (found.score, found.low, found.high) == pytest.approx(expected)


@given(st.lists(st.floats(0.01, 1), min_size=8, max_size=8), st.lists(st.floats(0.001, 0.999), min_size=7, max_size=7))
def test_an_interval_holds_what_it_says(classes: list[float], booleans: list[float]) -> None:
    weights = [each / sum(classes) for each in classes]
    found = chances(dict(zip(INTENTS, weights, strict=True)), dict(zip(BOOLEANS, booleans, strict=True)))
    told, steps = estimate(found), score_steps(found)
    assert told is not None
    assert sum(steps.values()) == pytest.approx(1)
    assert sum(chance for points, chance in steps.items() if told.low <= points <= told.high) >= 0.8 - 1e-6
    assert told.score == pytest.approx(sum(points * chance for points, chance in steps.items()))
    assert sum(spread(found).letters) == pytest.approx(1)


@table(
    ("low", "high", "told"),
    {
        "one letter, signs aside": (66, 84, "B"),
        "two that are neighbours": (50, 80, "between C and B"),
        "the lowest two": (0, 49, "between F and D"),
        "three are none": (49, 80, None),
        "all are none": (0, 100, None),
    },
)
def test_a_letter_is_told_where_the_interval_spans_two_at_most(low: float, high: float, told: str | None) -> None:
    assert Estimate(60, low, high).told == told


@table(
    ("classes", "told", "sentence"),
    {
        "a likely class": ({"bug_fix": 0.8, "feature": 0.2}, "bug_fix", "a bug fix"),
        "else a likely group": ({"bug_fix": 0.79, "feature": 0.21}, "a change", "a change"),
        "a group needs seven tenths": ({"question": 0.5, "review": 0.19, "plan": 0.31}, None, "work of some kind"),
        "with them it is told": ({"question": 0.5, "review": 0.2, "plan": 0.3}, "a question", "a question or a review"),
        "plans are a group of their own": ({"plan": 0.7, "feature": 0.3}, "a plan", "a plan"),
    },
)
def test_the_kind_is_told_where_it_is_likely(classes: dict[Intent, float], told: str | None, sentence: str) -> None:
    assert kind_told(chances(classes)) == told
    assert kind_of(told) == sentence


def test_of_a_goal_that_begins_with_a_question_the_kind_of_a_later_prompt_is_told_as_its_group() -> None:
    assert kind_told(chances({"bug_fix": 0.9, "feature": 0.1}), by_later=True) == "a change"
    assert kind_told(chances({"bug_fix": 1.0}), by_later=True) == "bug_fix", "somebody said it"


@table(
    ("expected", "counts"),
    {
        "whole ones stay": ([1.0, 2.0], [1, 2]),
        "the largest remainder gets one": ([0.4, 1.6], [0, 2]),
        "of equal ones the lower letter": ([0.5, 0.5], [1, 0]),
        "nothing of nothing": ([], []),
    },
)
def test_expected_letters_become_whole_by_largest_remainders(expected: Sequence[float], counts: list[int]) -> None:
    assert whole_counts(expected, round(sum(expected))) == counts


def test_what_somebody_said_is_taken_as_said_and_the_rest_keeps_its_chance() -> None:
    """Of a text model, of a person who names the class, and where the judge of texts had nothing to say."""
    before = chances({"feature": 0.6, "bug_fix": 0.4}, 0.3)
    found = said_rubric("feature", 0.9, {"goal_explicit"}, {"plan_first"}, judge="model:m", chances=before).chances
    feature = given_class(found, "feature")
    assert feature == dict.fromkeys(applicable("feature"), 0.0) | {"goal_explicit": 1.0, "plan_first": 0.3}
    assert given_class(found, "bug_fix")["root_cause_oriented"] == 0.3
    assert [each.chance for each in found if each.chance] == [1.0]
    assert set(given_class(as_said((), "question", {}), "question").values()) == {0.5}


def test_a_prompt_stands_with_its_own_goal_and_the_highest_of_the_rest() -> None:
    """By the class chances of the prompt that names the kind, or by what a person said."""
    first = Rubric("ok", "question", 0.7, chances=chances({"question": 0.7, "feature": 0.3}, 0.9))
    second = Rubric("ok", "feature", 0.6, chances=chances({"feature": 0.6, "bug_fix": 0.4}, 0.2))
    (_, skipped, later), whole = standings([first, Rubric("skipped"), second])
    assert (skipped.chances, standings([Rubric("unclassified")], "plan")[1].chances) == ((), ())
    assert [each.chance for each in later.chances] == [each.chance for each in second.chances]
    stands = given_class(later.chances, "feature")
    assert stands == dict.fromkeys(applicable("feature"), 0.9) | {"goal_explicit": 0.2}
    assert set(given_class(whole.chances, "feature").values()) == {0.9}
    said = standings([first, second], "plan")[1].chances
    assert [each.chance for each in said] == [float(intent == "plan") for intent in INTENTS]


def test_a_chance_in_words() -> None:
    asked = ((True, 0.6), (False, 0.6), (None, 0.67), (None, 0.5), (None, 0.33))
    said = ["surely", "unlikely", "likely", "as likely as not", "unlikely"]
    assert [in_words(*each) for each in asked] == said


@beside()
def test_a_wish_for_better_has_no_goal_and_everything_is_no_scope(
    text: str, goal: bool | None, scope: bool | None
) -> None:
    """None: whatever the judge says, but never the opposite of what is wanted."""
    graded = grade_text(text)
    for name, wanted in (("goal_explicit", goal), ("scope_bounded", scope)):
        (habit,) = (each for each in graded.habits if each.boolean == name)
        if wanted is False:
            assert (habit.earned, habit.unsure) == (False, False)
            assert not habit.applies or (graded.chances[name] or 0) <= 0.1
        elif wanted:
            assert (graded.chances[name] or 1) > 0.1


def test_the_same_short_word_again_is_no_prompt() -> None:
    for text in ("commit", "commit commit commit", "commit\n\ncommit\n\ncommit"):
        assert (grade_text(text).status, grade_text(text).grade_told) == ("skipped", None)
