"""The words and phrases that the embedded judges know: `lexicon.toml`, and `words.txt`, which training writes."""

import tomllib
from collections.abc import Mapping
from pkgutil import get_data

Words = frozenset[str]
Phrase = tuple[str, ...]


def _words(text: str) -> Words:
    return frozenset(text.split())


def _table(texts: Mapping[str, str]) -> dict[str, Words]:
    return {name: _words(text) for name, text in texts.items()}


def _text(name: str) -> str:
    return (get_data(__name__, name) or b"").decode()


_LEXICON = tomllib.loads(_text("lexicon.toml"))
FILLERS = _words(_LEXICON["fillers"])
ACKNOWLEDGEMENTS = _words(_LEXICON["acknowledgements"])
ACKNOWLEDGING_STARTS = _words(_LEXICON["acknowledging_starts"])
ACKNOWLEDGEMENT_WORDS_MAX = 8
FOREIGN_ONLY = _words(_LEXICON["foreign"])
VOCABULARY = _words(_LEXICON["vocabulary"])
VERBS = _table(_LEXICON["verbs"])
OBJECTS = _table(_LEXICON["objects"])
FINDINGS = _table(_LEXICON["findings"])
QUESTION_HEADS = _table(_LEXICON["question_heads"])
SENTENCE_WORDS = _table(_LEXICON["sentence"])
WORD_CUES = _table(_LEXICON["word_cues"])
PHRASE_CUES: dict[str, tuple[Phrase, ...]] = {
    cue: tuple(tuple(phrase.split()) for phrase in phrases) for cue, phrases in _LEXICON["phrase_cues"].items()
}
OPENERS: dict[Phrase, str] = {
    tuple(start.split()): opener for opener, starts in _LEXICON["openers"].items() for start in starts
}
ASKING = frozenset({"ask_you", "ask_we", "lets", "want", "ask_i"})

_LINES = [tuple(line.split()) for line in _text("words.txt").splitlines()]
WORDS = frozenset(line[0] for line in _LINES if len(line) == 1)
"""Words of the prompts that were written for training."""
PAIRS = tuple((line[0], line[1]) for line in _LINES if len(line) == 2)
"""Pairs of neighbours in those; ^ is a sentence's beginning and $ its end."""
