"""The quick ways of reading a text give what the plain ways give."""

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from aggregates.event import packed, unpacked
from aggregates.reading.features import (
    FEATURES,
    FLAGS,
    extract,
    features_of,
    find_references,
    phrase_cues,
    sentences_of,
)
from aggregates.reading.lexicon import PHRASE_CUES, VOCABULARY
from aggregates.reading.pasted import look
from aggregates.reading.reading import read_prompt
from aggregates.reading.rubric_model import SHIPPED, Lanes
from aggregates.redaction.redaction import Caseless, lower_cased
from tests.support.judging import DIGESTER

PIECES = st.sampled_from(
    (
        *sorted(VOCABULARY)[::12],
        *(" ".join(phrases[0]) for phrases in PHRASE_CUES.values()),
        *("src/a.py", "`run_all`", "--fast", "don't", "#", "\n", "\n- ", "?", ". ", ": ", "! ", ", ", "...", "5"),
        *("```\nlog\n```\n", "\x1f", "\t", "😀", "naïve", "¶"),
    )
)
TEXT = st.lists(PIECES, max_size=40).map(" ".join)
VECTOR = st.lists(st.integers(-(2**20), 2**20), min_size=3, max_size=3)


@given(st.lists(VECTOR, max_size=30))
def test_a_sum_of_vectors_is_the_sum_in_every_lane(vectors: list[list[int]]) -> None:
    """Below zero too, where a lane borrows from its neighbour."""
    lanes = Lanes(3)
    total = lanes.signs + sum(map(lanes.pack, vectors))
    assert lanes.unpack(total) == tuple(sum(vector[place] for vector in vectors) for place in range(3))


@given(TEXT)
def test_a_reading_holds_the_sums_and_flags_of_the_features_a_model_is_trained_on(text: str) -> None:
    """So a judge and its trainer see the same."""
    numbers = features_of(text)
    reading = read_prompt(text, DIGESTER)
    assert int.from_bytes(reading.sums, "little") == SHIPPED.total(numbers)
    shown = {FEATURES[number] for number in numbers}
    assert {name for name, flag in FLAGS.items() if reading.flags & flag} == shown & FLAGS.keys()


@given(st.text(st.characters(max_codepoint=126), max_size=120))
def test_a_text_is_cut_into_the_same_words_within_ascii_and_beyond(text: str) -> None:
    """A letter beyond takes the slower way; all words before it stay the same."""
    quick = [tokens for tokens, _, _ in sentences_of(text + "\n")]
    slow = [tokens for tokens, _, _ in sentences_of(text + "\né")]
    assert slow == [*quick, ["é"]]


@given(TEXT)
def test_every_phrase_that_is_found_stands_in_one_sentence(text: str) -> None:
    """And every phrase of two words that stands there is found, or another of its cue."""
    sentences = [list(tokens) for tokens, _, _ in sentences_of(text)]
    words = {word for tokens in sentences for word in tokens}
    pairs = {pair for sentence in sentences for pair in pairwise(sentence)}
    found = phrase_cues(sentences, words, pairs)
    said = [f" {' '.join(tokens)} " for tokens in sentences]
    for cue, phrases in PHRASE_CUES.items():
        standing = {" ".join(phrase) for phrase in phrases if any(f" {' '.join(phrase)} " in each for each in said)}
        assert found.get(cue) in standing if standing else cue not in found


def test_references_are_counted_and_the_first_is_placed() -> None:
    """Plain words, punctuation and everyday abbreviations are none."""
    text = "Please fix it, e.g. in (src/parser.py:12), and run --all; see parse_total and JSON."
    active: set[int] = set()
    place = find_references(text, text, active)
    assert place is not None
    assert text[slice(*place)] == "(src/parser.py:12)"
    shown = {FEATURES[number] for number in active}
    assert {"reference", "references 2", "path", "flagged", "symbol", "reference first"} == shown


def test_a_text_of_plain_words_names_nothing() -> None:
    """Not even where they are capitalised or end a sentence."""
    active: set[int] = set()
    assert find_references("Please fix It, now.", "Please fix It, now.", active) is None
    assert active == set()


@given(st.text(st.sampled_from("abkKsSiI\u017f\u212a\u0131\u0130ßΣ ."), max_size=30))
def test_a_caseless_search_finds_what_the_pattern_without_case_finds(text: str) -> None:
    """At the same place, odd letters of other alphabets included."""
    pattern = r"k(?<!\wk)[' ]?is?|sb"
    found, expected = Caseless(pattern).search(text, lower_cased(text)), re.search(pattern, text, re.IGNORECASE)
    assert (found and found.span()) == (expected and expected.span())


@given(st.lists(st.integers(0, 2**63 - 1)))
def test_digests_come_back_as_they_were_packed(numbers: list[int]) -> None:
    """However many."""
    assert unpacked(packed(numbers)) == tuple(numbers)


def test_words_are_counted_once_per_kind_however_often_they_stand() -> None:
    """A cue holds from one word on, `cues:` from three."""
    shown = {FEATURES[number] for number in extract(look("error and error in this")).numbers}
    assert "cue:symptom" in shown
    assert "cues:symptom" not in shown
    assert "cues:symptom" in {FEATURES[number] for number in extract(look("error, error, error again")).numbers}
