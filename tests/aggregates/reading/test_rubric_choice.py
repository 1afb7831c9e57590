"""The choice among what a model holds likely: the least expected cost, checked against trying everything."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from aggregates.reading.model import (
    WRONG_BOOLEAN_POINTS,
    Leaning,
    decide_labels,
)
from aggregates.reading.verdicts import INTENTS, BooleanName, applicable


def test_of_equal_costs_the_earlier_class_is_said() -> None:
    nothing: dict[BooleanName, float] = {}

    assert decide_labels([Leaning("plan", 0.5, nothing), Leaning("review", 0.5, nothing)]) == ("plan", ())


_chance = st.floats(0, 1)


@st.composite
def _leanings(draw: st.DrawFn) -> list[Leaning]:
    intents = draw(st.lists(st.sampled_from(INTENTS), min_size=1, max_size=4, unique=True))
    return [
        Leaning(intent, draw(st.floats(0.05, 1)), {name: draw(_chance) for name in applicable(intent)})
        for intent in intents
    ]


@given(_leanings())
def test_nothing_else_that_could_be_said_costs_less(leanings: list[Leaning]) -> None:
    likeliest = max(leanings, key=lambda leaning: leaning.chance)
    intent, earned = decide_labels(leanings)

    assert intent == likeliest.intent
    costs = {
        said: _cost(likeliest, said, leanings)
        for size in range(len(likeliest.booleans) + 1)
        for said in combinations(applicable(intent), size)
    }
    assert costs[earned] <= min(costs.values()) + 1e-5


def _cost(leaning: Leaning, said: tuple[BooleanName, ...], leanings: list[Leaning]) -> float:
    """The sum over every class and every set of booleans that may be the truth."""
    points = 100 * len(said) / len(applicable(leaning.intent))
    missed = 0.0
    for truth in leanings:
        names = applicable(truth.intent)
        for size in range(len(names) + 1):
            for true in combinations(names, size):
                chance = truth.chance
                for name in names:
                    chance *= truth.booleans[name] if name in true else 1 - truth.booleans[name]
                missed += chance * abs(points - 100 * size / len(names))
    wrong = sum(1 - leaning.booleans[name] if name in said else leaning.booleans[name] for name in leaning.booleans)
    return missed + WRONG_BOOLEAN_POINTS * wrong
