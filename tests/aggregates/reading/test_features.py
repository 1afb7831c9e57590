"""The features of a text: what is found, what it weighs, and the choice among what a model holds likely."""

import json
import re
from collections import Counter
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from hypothesis import given, strategies as st

from aggregates.reading import verdicts
from aggregates.reading.checks import _SAID
from aggregates.reading.features import KNOWN_PAIRS, extract, find_references, known_pairs, phrase_cues, sentences_of
from aggregates.reading.model import (
    SHIPPED,
    WRONG_BOOLEAN_POINTS,
    decide_labels,
)
from aggregates.reading.prompt_text import _OPENS, pasted_lines, split_pasted
from aggregates.reading.reading import best_reference, read_prompt
from aggregates.reading.readings import NAMED
from aggregates.reading.sentences import HELD, PHRASE_CUES, VOCABULARY, Cutter
from aggregates.reading.statements import _SAYS
from aggregates.reading.verdicts import INTENTS, BooleanName, ClassChances, applicable
from tests.judges.names import FEATURES, PASTED, features_of
from tests.support.stages import DIGESTER
from tests.support.tables import beside

RUBRIC = Path(verdicts.__file__).with_name("rubric.json")
PIECES = st.sampled_from(
    (
        *sorted(VOCABULARY)[::12],
        *(" ".join(phrases[0]) for phrases in PHRASE_CUES.values()),
        *("src/a.py", "`run_all`", "--fast", "don't", "#", "\n", "\n- ", "?", ". ", ": ", "! ", ", ", "...", "5"),
        *("```\nlog\n```\n", "\x1f", "\t", "😀", "naïve"),
    )
)
TEXT = st.lists(PIECES, max_size=40).map(" ".join)


@given(TEXT)
def test_a_reading_holds_what_the_features_weigh_that_a_model_is_trained_on(text: str) -> None:
    names = features_of(text)
    reading = read_prompt(text, DIGESTER)
    assert names <= set(FEATURES)
    assert reading.logits == SHIPPED.logits(names)
    assert {name for name in NAMED if reading.shows(name)} & set(FEATURES) == names & set(NAMED)


@given(TEXT)
def test_every_line_is_own_or_pasted(text: str) -> None:
    """Never both, and none is lost."""
    own, pasted = split_pasted(text).own, pasted_lines(text)
    assert Counter(filter(None, (own + "\n" + pasted).split("\n"))) == Counter(filter(None, text.split("\n")))


@cache
def weights_of_the_file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RUBRIC.read_text(encoding="utf-8"))
    return found


@given(TEXT)
def test_what_a_text_weighs_is_the_sum_of_what_its_features_weigh(text: str) -> None:
    names = features_of(text)
    weights, pasted = weights_of_the_file(), {name for name in names if name in PASTED}
    own = [weights["intents"].get(name, [0] * 8) for name in names - pasted]
    assert SHIPPED.logits(names)[:8] == tuple(map(sum, zip(weights["intent_bias"], *own, strict=True)))
    added = [weights["booleans"].get(name, [0] * 7) for name in pasted]
    assert SHIPPED.logits(names)[15:] == tuple(sum(row[place] for row in added) for place in (2, 3))


@given(TEXT)
def test_every_phrase_that_is_found_stands_in_one_sentence(text: str) -> None:
    """And every phrase of two words that stands there is found, or another of its cue."""
    sentences = sentences_of(text)
    words = {word for tokens, _, _ in sentences for word in tokens}
    found = phrase_cues(sentences, words, known_pairs(sentences))
    said = [f" {' '.join(tokens)} " for tokens, _, _ in sentences]
    for cue, phrases in PHRASE_CUES.items():
        standing = {" ".join(phrase) for phrase in phrases if any(f" {' '.join(phrase)} " in each for each in said)}
        assert found.get(cue) in standing if standing else cue not in found


@given(TEXT)
def test_every_known_pair_of_neighbours_is_found(text: str) -> None:
    """Those of each sentence, with its beginning and its end."""
    sentences = sentences_of(text)
    neighbours = {pair for tokens, _, _ in sentences for pair in pairwise(("^", *tokens, "$"))}
    assert known_pairs(sentences) == neighbours.intersection(KNOWN_PAIRS)


@given(TEXT | st.text())
def test_a_text_is_cut_as_its_pattern_says(text: str) -> None:
    pattern = re.compile(r"\w+")
    assert Cutter(pattern).cut(text) == [pattern.findall(text)]


HELD_BY_PATTERN = [(each, HELD[name]) for some in (_OPENS, _SAID, _SAYS) for name, each in some.items() if name in HELD]
HELD_BY_PATTERN += [(_OPENS["asks to commit"], ("commit",)), (_OPENS["speaks of the agent's work"], ("you",))]


@given(st.data())
def test_nothing_is_missed_for_want_of_a_word(data: st.DataObject) -> None:
    """What a pattern matches holds one of the words without which it is not searched."""
    for pattern, words in HELD_BY_PATTERN:
        text = data.draw(st.from_regex(pattern))
        assert any(word in text for word in words), (pattern.pattern[:60], text)


def test_references_are_counted_and_the_most_telling_is_placed() -> None:
    """Plain words, punctuation and everyday abbreviations are none."""
    text = "Please fix it, e.g. in (src/parser.py:12), and run --all; see parse_total and JSON."
    active: set[str] = set()
    assert find_references(text, text, active)
    assert active == {"reference", "references 2", "path", "flagged", "symbol", "reference first", "findable"}


@beside()
def test_what_can_be_found_is_no_product_no_secret_and_no_word_in_capitals(text: str, most: str | None) -> None:
    """A reference is said surely, and quoted, only where one stands."""
    place = best_reference(text)
    assert (None if place is None else text[slice(*place[1:])]) == most
    assert extract(split_pasted(text)).findable is (most is not None)


# The least expected cost, checked against trying everything.


_chance = st.floats(0.001, 1)  # 0 is of what may not be said


@st.composite
def _leanings(draw: st.DrawFn) -> list[ClassChances]:
    intents = draw(st.lists(st.sampled_from(INTENTS), min_size=1, max_size=4, unique=True))
    return [
        ClassChances(intent, draw(st.floats(0.05, 1)), tuple(draw(_chance) for _ in applicable(intent)))
        for intent in intents
    ]


@given(_leanings())
def test_nothing_else_that_could_be_said_costs_less(leanings: list[ClassChances]) -> None:
    likeliest = max(leanings, key=lambda leaning: leaning.chance)
    intent, earned = decide_labels(leanings)

    assert intent == likeliest.intent
    costs = {
        said: _cost(likeliest, said, leanings)
        for size in range(len(likeliest.booleans) + 1)
        for said in combinations(applicable(intent), size)
    }
    assert costs[earned] <= min(costs.values()) + 1e-5


def _cost(leaning: ClassChances, said: tuple[BooleanName, ...], leanings: list[ClassChances]) -> float:
    """The sum over every class and every set of booleans that may be the truth."""
    points = 100 * len(said) / len(applicable(leaning.intent))
    missed = 0.0
    for truth in leanings:
        names = applicable(truth.intent)
        for size in range(len(names) + 1):
            for true in combinations(names, size):
                chance = truth.chance
                for name, likely in zip(names, truth.booleans, strict=True):
                    chance *= likely if name in true else 1 - likely
                missed += chance * abs(points - 100 * size / len(names))
    shown = zip(applicable(leaning.intent), leaning.booleans, strict=True)
    wrong = sum(1 - likely if name in said else likely for name, likely in shown)
    return missed + WRONG_BOOLEAN_POINTS * wrong
