"""The names of all features of a text, and their numbers.

A feature's number is its place in `FEATURES`. A few features are asked for by name after a text was read; each of
these is also one bit of the reading's flags.
"""

from collections.abc import Iterable

from aggregates.judge_words import PAIRS, WORDS
from aggregates.lexicons import OPENERS, PHRASE_CUES, VERBS, VOCABULARY, WORD_CUES
from aggregates.traits import TRAITS

LENGTHS = (3, 6, 10, 16, 25, 40, 70, 130, 260)
_OPENER_NAMES = tuple(sorted(set(OPENERS.values()) | {"other", "empty"} | {f"do_{verb}" for verb in VERBS}))
_PLACES = ("first", "last", "any")

_names: list[str] = []


def _register(names: Iterable[str], kind: str = "") -> dict[str, int]:
    """The numbers of further features, by their names without their kind."""
    fresh = list(names)
    start = len(_names)
    _names.extend(kind + name for name in fresh)
    return {name: start + index for index, name in enumerate(fresh)}


KNOWN_WORDS = VOCABULARY | WORDS
WORD = _register(sorted(KNOWN_WORDS), "word:")
CUE = _register(WORD_CUES, "cue:")
CUES = _register(WORD_CUES, "cues:")
PHRASE = _register(PHRASE_CUES, "phrase:")
OPEN = {place: _register(_OPENER_NAMES, f"open {place}:") for place in _PLACES}
ASK = {place: _register(VERBS, f"ask {place}:") for place in _PLACES}
START = _register(sorted(VOCABULARY), "start:")
LENGTH = _register(f"words over {bound}" for bound in LENGTHS)
SHAPE = _register(
    (
        *("ends in ?", "asks ?", "asks ? twice", "ends in :", "exclaims", "quotes", "colon first line", "filler first"),
        *("one sentence", "over 3 sentences", "over 8 sentences", "heading", "bullets", "numbered", "number"),
        *("reference", "references 2", "references 4", "references 8", "reference first", "lines named"),
        *("path", "symbol", "code name", "mention", "url", "flagged"),
        *("no own words", "pasted", "pasted over own", "pasted reference"),
    )
)
TRAIT = _register(TRAITS)
_PAIR_NAMES = _register((f"{first} {second}" for first, second in PAIRS), "pair:")
PAIR = {pair: _PAIR_NAMES[" ".join(pair)] for pair in PAIRS}
"""The number of each pair of neighbouring words that is a feature."""
FEATURES: tuple[str, ...] = tuple(_names)
"""Every feature's name; a feature's number is its place."""
PASTED_FEATURES: frozenset[int] = frozenset(number for name, number in SHAPE.items() if name.startswith("pasted"))
"""What pasted text shows; only references and context may rest on it."""

CROSSED = (
    "phrase:goal_given",
    "phrase:check_asked",
    "phrase:cause_asked",
    "phrase:symptom_only",
    "phrase:scope_limit",
    "reference",
    "references 2",
    "begins:request",
    "ends:request",
    "only question",
    "has report",
    "prose",
    "bare",
    "pasted",
    "words over 10",
    "words over 25",
    "words over 70",
)
"""Cues that mean another thing for another intent."""
_REACTIONS = ("phrase:accepting", "phrase:correcting", "phrase:failing", "phrase:undoing")
_CONTEXT = ("words over 6", "words over 16", "no own words", "bare paste", "cue:review", "word:review")
_BOUNDARY = (
    *("phrase:shifting", "phrase:continuing", "phrase:review_asked", "phrase:look_asked", "phrase:answered"),
    *("begins:question", "begins:statement", "open first:conditional", "plan handed over"),
    *("word:still", "word:now", "word:also", "cue:where", "cue:vague", "path", "reference first", "words over 40"),
)
FLAGS: dict[str, int] = {name: 1 << place for place, name in enumerate((*CROSSED, *_REACTIONS, *_CONTEXT, *_BOUNDARY))}
"""Feature → its bit in the flags of a reading, for those that judges and rules ask for by name."""
assert FLAGS.keys() <= set(FEATURES)
