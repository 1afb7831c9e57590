"""The words of a prompt that speak for each boolean of the rubric, as spans."""

import re
from collections.abc import Mapping
from functools import lru_cache

from aggregates.event import Span
from aggregates.reading.lexicon import PHRASE_CUES, WORD_CUES
from aggregates.reading.pasted import PromptText

EVIDENCE_CHARS_MAX = 160

_CUES: tuple[tuple[str, ...], ...] = (
    ("goal_given", "feature_asked", "small_asked", "refactor_asked"),
    ("scope_limit",),
    (),
    ("cause_asked", "goal_given"),
    ("check_asked",),
    ("cause_asked",),
    ("plan_given", "plan_asked"),
)
"""For each boolean in rubric order, the phrases whose place is kept as its evidence."""
_SCOPE, _REFERENCES = 1, 2
"""The booleans for which a reference speaks: for the second alone, for the first where no phrase does."""
_WORD_LISTS: dict[int, tuple[str, ...]] = {
    0: ("want",),
    _SCOPE: ("scope", "where"),
    4: ("test", "check", "accept"),
    5: ("cause",),
    6: ("plan",),
}
"""The lists of words that speak for a boolean where no phrase does."""
_SENTENCE_END = re.compile(r"[.?!] |\n")
assert {cue for cues in _CUES for cue in cues} <= PHRASE_CUES.keys()


def _any_of(lists: tuple[str, ...]) -> re.Pattern[str]:
    words = frozenset[str]().union(*(WORD_CUES[name] for name in lists))
    return re.compile(rf"\b(?:{'|'.join(sorted(words))})\b", re.IGNORECASE)


_ELSE = {
    **{boolean: _any_of(lists) for boolean, lists in _WORD_LISTS.items()},
    _REFERENCES: re.compile(r"\b(?:lines?|ticket|issue|pr|commit) #?\d", re.IGNORECASE),
}
"""What is looked for where neither a phrase nor a reference speaks for a boolean."""


def evidence_spans(
    looked: PromptText, phrases: Mapping[str, str], reference: tuple[int, int] | None
) -> tuple[Span | None, ...]:
    """For each boolean the clause that holds its first cue, else its first word; None where there is neither."""
    found = [next((phrases[cue] for cue in cues if cue in phrases), None) for cues in _CUES]
    spans = [None if phrase is None else _clause(looked, _pattern(phrase)) for phrase in found]
    if reference is not None:
        spans[_REFERENCES] = looked.span(*reference)
        spans[_SCOPE] = spans[_SCOPE] or spans[_REFERENCES]
    for boolean, words in _ELSE.items():
        if spans[boolean] is None:
            spans[boolean] = _clause(looked, words)
    return tuple(spans)


@lru_cache(maxsize=512)
def _pattern(phrase: str) -> re.Pattern[str]:
    """A phrase of the lexicon as it stands in a text: apostrophes and punctuation between."""
    words = [r"['’]?".join(map(re.escape, word)) for word in phrase.replace(",", " ").replace("?", " ").split()]
    return re.compile(r"\b" + r"\W{1,4}".join(words), re.IGNORECASE)


def _clause(looked: PromptText, pattern: re.Pattern[str]) -> Span | None:
    own = looked.own
    match = pattern.search(own)
    if match is None:
        return None
    at, after = match.span()
    start = _clause_start(own, at)
    most = min(len(own), max(after, start + EVIDENCE_CHARS_MAX))
    end = cut_end(own, start, most, EVIDENCE_CHARS_MAX)
    stop = _SENTENCE_END.search(own, after, end)
    return looked.span(start, max(end if stop is None else stop.start(), after))


def _clause_start(own: str, at: int) -> int:
    low = max(at - EVIDENCE_CHARS_MAX // 2, 0)
    before = own[low:at]
    cut = max(before.rfind(". "), before.rfind("? "), before.rfind("! "), before.rfind("\n"))
    if cut < 0 and low > 0:
        cut = before.find(" ")
    start = low + cut + 1
    while start < at and own[start] in " \t-*#>":
        start += 1
    return start


def cut_end(source: str, start: int, end: int, most: int) -> int:
    """The end of a piece of at most `most` characters: at a sentence's end, else between words."""
    while end > start and source[end - 1].isspace():
        end -= 1
    if end - start <= most:
        return end
    piece = source[start : start + most + 1]
    sentence = max(piece.rfind(". "), piece.rfind("? "), piece.rfind("! "))
    if sentence >= most // 3:
        return start + sentence + 1
    space = piece.rfind(" ")
    return start + (space if space > most // 2 else most)
