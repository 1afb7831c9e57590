"""The words of a prompt that speak for each boolean of the rubric, as spans: found where somebody asks for them."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice

from aggregates.event import Span
from aggregates.reading import sentences as lexicon
from aggregates.reading.features import AROUND, NOT_REFERENCES, REFERENCE
from aggregates.reading.pasted import PromptText
from aggregates.reading.titles import cut_end
from aggregates.reading.verdicts import BooleanName

EVIDENCE_CHARS_MAX = 160
_CUES: dict[BooleanName, tuple[str, ...]] = {
    "goal_explicit": ("goal_given", "feature_asked", "small_asked", "refactor_asked"),
    "scope_bounded": ("scope_limit",),
    "references_concrete": (),
    "context_sufficient": ("cause_asked", "goal_given"),
    "verification_requested": ("check_asked",),
    "root_cause_oriented": ("cause_asked",),
    "plan_first": ("plan_given", "plan_asked"),
}
"""The phrases whose place is kept as evidence."""
_SENTENCE_END = re.compile(r"[.?!] |\n")

assert {cue for cues in _CUES.values() for cue in cues} <= lexicon.PHRASE_CUES.keys()


def _any_of(*lists: str, also: Iterable[lexicon.Words] = ()) -> re.Pattern[str]:
    words = frozenset[str]().union(*(lexicon.WORD_CUES[name] for name in lists), *also)
    return re.compile(rf"\b(?:{'|'.join(sorted(words))})\b")


_ELSE: dict[BooleanName, re.Pattern[str]] = {
    "goal_explicit": re.compile(rf"{_any_of('want', also=lexicon.VERBS.values()).pattern}|\w(?=\?)"),
    "scope_bounded": _any_of("scope", "where", "git", "review"),
    # What can be found by it, never a mere thing: "the table" and "12 files" name no place.
    "references_concrete": re.compile(r"\b(?:lines?|ticket|issue|pr|commit|option|step|phase|error|status) #?\d"),
    "verification_requested": _any_of("test", "check", "accept"),
    "root_cause_oriented": _any_of("cause"),
    "plan_first": _any_of("plan"),
}
"""What is looked for where neither a phrase nor a reference speaks for a boolean. All patterns here are for lower case:
to ignore case takes so many times as long, and nothing else of the program runs meanwhile."""


def evidence_spans(looked: PromptText, phrases: Mapping[str, str]) -> dict[BooleanName, Span | None]:
    """For each boolean the clause that holds one of its cues, else one of its words; None where there is neither."""
    found = {name: [phrases[cue] for cue in cues if cue in phrases] for name, cues in _CUES.items()}
    spans = {name: _clause(looked, [_pattern(each) for each in said]) for name, said in found.items()}
    reference = best_reference(looked.own)
    if reference is not None:
        spans["references_concrete"] = looked.span(*reference)
        spans["scope_bounded"] = spans["scope_bounded"] or spans["references_concrete"]
    for name, words in _ELSE.items():
        if spans[name] is None:
            spans[name] = _clause(looked, [words])
    return spans


@lru_cache(maxsize=512)
def _pattern(phrase: str) -> re.Pattern[str]:
    """A phrase of the lexicon as it stands in a text: apostrophes and punctuation between."""
    plain = phrase.lower().replace(",", " ").replace("?", " ")
    words = [r"['’]?".join(map(re.escape, word)) for word in plain.split()]
    return re.compile(r"\b" + r"\W{1,4}".join(words))


_CLAUSES_MAX = 8  # so many places of each phrase are compared


def _clause(looked: PromptText, patterns: Iterable[re.Pattern[str]]) -> Span | None:
    """The first clause with one of these, rather one that states something than a question, and no bare lead-in."""
    own = looked.own
    lowered = own.replace("\u0130", "i").lower()  # the one character whose lower case is longer
    places = [each.span() for pattern in patterns for each in islice(pattern.finditer(lowered), _CLAUSES_MAX)]
    clauses = [_around(own, *place) for place in places]
    if not clauses:
        return None
    start, end = min(clauses, key=lambda clause: _weakness(own, *clause))
    # The first point of what a clause leads up to.
    if _weakness(own, start, end) == _LEADS_UP and (point := _POINT.match(own, end)):
        start, end = point.start(1), cut_end(own, point.start(1), point.end(1), EVIDENCE_CHARS_MAX)
    return looked.span(start, end)


_POINT = re.compile(r"[: \t]*\n\s*(?:[-*•]|\d{1,2}[.)])?[ \t]*(\w[^\n]*)")
_LEADS_UP = 2


def _weakness(own: str, start: int, end: int) -> int:
    """`_LEADS_UP` of what only leads up to a list, 1 of a question."""
    said, after = own[start:end].rstrip(), own[end : end + 1]
    return _LEADS_UP if said.endswith(":") or after == ":" else int(said.endswith("?") or after == "?")


def _around(own: str, at: int, after: int) -> tuple[int, int]:
    start = _clause_start(own, at)
    most = min(len(own), max(after, start + EVIDENCE_CHARS_MAX))
    end = cut_end(own, start, most, EVIDENCE_CHARS_MAX)
    stop = _SENTENCE_END.search(own, after, end)
    end = max(end if stop is None else stop.start(), after)
    while end < len(own) and own[end - 1].isalnum() and own[end].isalnum():
        end += 1  # never within a word
    return start, end


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


_FILE = re.compile(r"\.\w{1,5}(?:[:#]\S*)?`?$")
_BARE_ENDING = re.compile(r"`?\.\w{0,5}`?|`+")
_LOOKED_CHUNKS_MAX = 400


def best_reference(own: str) -> tuple[int, int] | None:
    """Where the most telling reference of a text stands; no command that it begins with, and no word in capitals."""
    found = [
        (_telling(bare), -chunk.start(), chunk)
        for chunk in islice(_CHUNK.finditer(own), _LOOKED_CHUNKS_MAX)
        if (bare := _reference_in(chunk[0])) and not (chunk[0].startswith("/") and not own[: chunk.start()].strip())
    ]
    if not found:
        return None
    chunk = max(found)[-1]
    start = chunk.start() + len(chunk[0]) - len(chunk[0].lstrip(_BEFORE))
    return start, start + len(chunk[0].lstrip(_BEFORE).rstrip(AROUND))


def _telling(bare: str) -> int:
    """How much a reference says of where to look: links and files in folders most, names without a place least."""
    file, folder = _FILE.search(bare) is not None, "/" in bare
    return 3 if "://" in bare or (file and folder) else 2 if file or folder or bare[0] in "@#" else 1


_BEFORE = "([{\"'*<“‘…"  # what may stand before a reference; a dot may be a part of it
_CHUNK = re.compile(r"\S+")


def _reference_in(chunk: str) -> str:
    """The reference that a chunk is; empty where it is a common word, or no more than an ending."""
    bare = chunk.strip(AROUND)
    if not bare or bare.isdigit() or (bare.isalpha() and (bare.islower() or bare.istitle())):
        return ""
    if not REFERENCE.match(bare) or bare in NOT_REFERENCES or _BARE_ENDING.fullmatch(bare):
        return ""
    return "" if bare.isalpha() and bare.isupper() else bare
