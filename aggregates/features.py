"""Features of a text: which cues its own words show, as small numbers, and where the cues stand.

Only own words give cues; pasted text gives the few features whose names start with `pasted`. A feature is there or not.
Everything is a look-up; the text is gone through a fixed number of times.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from aggregates.lexicons import (
    ASKING,
    FILLERS,
    FOREIGN_ONLY,
    OPENERS,
    PHRASE_CUES,
    SENTENCE,
    VERBS,
    VOCABULARY,
    WORD_CUES,
)
from aggregates.pasted import Looked
from aggregates.traits import TRAITS, traits

_OWN_HEAD_CHARS = 1600
_OWN_TAIL_CHARS = 600
"""What is asked stands at a prompt's head or at its end; cues are looked for there."""
_SENTENCES_MAX = 40
_REFERENCES_MAX = 12
_LENGTHS = (3, 6, 10, 16, 25, 40, 70, 130, 260)
_OPENER_NAMES = tuple(sorted(set(OPENERS.values()) | {"other", "empty"} | {f"do_{verb}" for verb in VERBS}))
_PLACES = ("first", "last", "any")

REFERENCE = re.compile(
    r"""`[^`\n]+` | https?://\S+ | @[\w./~-]+ | \#\d+ | (?:~|\.{1,2})?/[\w.@~+-]+(?:/[\w.@~+-]*)* | --?[a-zA-Z][\w-]+
    | [\w-]+(?:/[\w.-]+)+ | [\w-]+\.[a-zA-Z]{1,5}(?::\d+)?\b | \w+\(\)? | [A-Z]{2,10}-\d+ | \w*_\w+
    | [a-z]+[A-Z]\w* | [A-Z][a-z]+[A-Z]\w* | [0-9a-f]{7,40} | \d+-\d+ | [A-Z]{3,}""",
    re.VERBOSE,
)
_NOT_REFERENCES = frozenset(
    {
        *("e.g", "i.e", "and/or", "etc.", "w/", "w/o", "URL", "API", "CLI", "JSON"),
        *("OK", "AND", "NOT", "THE", "FOR", "BUT", "ALL", "ANY", "YES", "NOW"),
    }
)
_STRIP = ".,;:!?()[]{}\"'*<>“”‘’…"
_TO_SPACE = str.maketrans(
    {c: " " for c in '"`*_()[]{}<>|/\\~=+#@$%^&;-“”…→←–—0123456789'} | {"'": None, "’": None, "´": None}
)

_names: list[str] = []


def _register(names: Iterable[str]) -> dict[str, int]:
    start = len(_names)
    fresh = list(names)
    _names.extend(fresh)
    return {name: start + index for index, name in enumerate(fresh)}


_WORD = _register(f"word:{word}" for word in sorted(VOCABULARY))
_CUE = _register(f"cue:{name}" for name in WORD_CUES)
_CUES = _register(f"cues:{name}" for name in WORD_CUES)
_PHRASE = _register(f"phrase:{name}" for name in PHRASE_CUES)
_OPEN = _register(f"open {place}:{name}" for place in _PLACES for name in _OPENER_NAMES)
_ASK = _register(f"ask {place}:{name}" for place in _PLACES for name in VERBS)
_START = _register(f"start:{word}" for word in sorted(VOCABULARY))
_LENGTH = _register(f"words over {bound}" for bound in _LENGTHS)
_SHAPE = _register(
    (
        *("ends in ?", "asks ?", "asks ? twice", "ends in :", "exclaims", "quotes", "colon first line", "filler first"),
        *("one sentence", "over 3 sentences", "over 8 sentences", "heading", "bullets", "numbered", "number"),
        *("reference", "references 2", "references 4", "references 8", "reference first", "lines named"),
        *("path", "symbol", "code name", "mention", "url", "flagged"),
        *("no own words", "pasted", "pasted over own", "pasted reference"),
    )
)
_TRAIT = _register(TRAITS)
FEATURES: tuple[str, ...] = tuple(_names)
"""Every feature's name; a feature's number is its place."""

_SHAPE_PASTED = frozenset(number for name, number in _SHAPE.items() if name.startswith("pasted"))
PASTED_FEATURES: frozenset[int] = _SHAPE_PASTED
"""What pasted text shows; only references and context may rest on it."""


def _word_table() -> dict[str, tuple[int, ...]]:
    table: dict[str, list[int]] = {word: [number] for word, number in _named(_WORD)}
    for name, words in WORD_CUES.items():
        for word in words:
            table.setdefault(word, []).append(_CUE[f"cue:{name}"])
    return {word: tuple(numbers) for word, numbers in table.items()}


def _named(table: dict[str, int]) -> list[tuple[str, int]]:
    return [(name.partition(":")[2], number) for name, number in table.items()]


def _phrase_tables() -> tuple[dict[str, list[int]], dict[tuple[str, str], list[tuple[tuple[str, ...], int]]]]:
    """Phrases of one word by that word; longer ones by their first two words."""
    single: dict[str, list[int]] = {}
    longer: dict[tuple[str, str], list[tuple[tuple[str, ...], int]]] = {}
    for name, phrases in PHRASE_CUES.items():
        number = _PHRASE[f"phrase:{name}"]
        for phrase in phrases:
            if len(phrase) == 1:
                single.setdefault(phrase[0], []).append(number)
            else:
                longer.setdefault((phrase[0], phrase[1]), []).append((phrase, number))
    return single, longer


_WORDS = _word_table()
_KNOWN = frozenset(_WORDS)
_SINGLE, _LONGER = _phrase_tables()
_SINGLE_KEYS, _LONGER_KEYS = frozenset(_SINGLE), frozenset(_LONGER)
_STARTS = dict(_named(_START))
_VERB_OF = {word: name for name, words in reversed(VERBS.items()) for word in words}
_ENGLISH = WORD_CUES["english"]


class Features(NamedTuple):
    """What a text shows."""

    active: tuple[int, ...]
    """Numbers into `FEATURES`, ascending."""
    words: tuple[str, ...]
    """The own words, lower-cased, without sentence marks."""
    cue_words: tuple[tuple[int, str], ...]
    """For each phrase cue, the words that first showed it, as they stand in the token list."""
    reference: tuple[int, int] | None
    """Where the first own reference stands in `Looked.own`."""
    foreign: bool
    """Whether the text is in another language than the lexicons."""


def tokens_of(own: str) -> list[str]:
    """Lower-cased words; a mark stands before every sentence and line, `?` after a question."""
    text = (
        own.lower()
        .replace("? ", " ? ¶ ")
        .replace("?\n", " ? ¶ ")
        .replace(". ", " ¶ ")
        .replace("! ", " ¶ ")
        .replace("\n", " ¶ ")
    )
    text = text.replace(": ", " ¶ ").replace(",", " , ")
    if text.endswith("?"):
        text = text[:-1] + " ?"
    return text.translate(_TO_SPACE).replace(".", " ").replace("!", " ").replace("?", " ? ").replace(":", " ").split()


def extract(looked: Looked) -> Features:
    """The features of a looked-at text."""
    tokens = tokens_of(_bounded(looked.own))
    plain = [token for token in tokens if token not in "¶?,"]
    active: set[int] = set()
    distinct = set(plain)
    for word in distinct & _KNOWN:
        active.update(_WORDS[word])
    _several(plain, active)
    cue_words = _phrases(tokens, active)
    sentences = _split(tokens)
    if len(sentences) > _SENTENCES_MAX:
        sentences = sentences[: _SENTENCES_MAX - 10] + sentences[-10:]
    _openings(sentences, active)
    active.update(_TRAIT[name] for name in traits(sentences, plain, _heading(looked.own), looked.pasted_chars > 0))
    reference = _references(looked.own, active)
    _shape(looked, plain, active)
    return Features(tuple(sorted(active)), tuple(plain), cue_words, reference, is_foreign(looked.own, plain))


def _several(plain: list[str], active: set[int]) -> None:
    """`cues:` features: three words or more of one kind."""
    for name in (
        "symptom",
        "test",
        "where",
        "vague",
        "negated",
        "want",
        "plan",
        "structure",
        "severity",
        "conditional",
    ):
        members = WORD_CUES[name]
        if _CUE[f"cue:{name}"] in active and sum(map(members.__contains__, plain)) >= 3:
            active.add(_CUES[f"cues:{name}"])


def _phrases(tokens: list[str], active: set[int]) -> tuple[tuple[int, str], ...]:
    """The phrase cues shown, each with the alphabetically first phrase that shows it."""
    found: dict[int, str] = {}
    for word in sorted(_SINGLE_KEYS.intersection(tokens)):
        for number in _SINGLE[word]:
            found.setdefault(number, word)
    for pair in sorted(_LONGER_KEYS.intersection(pairwise(tokens))):
        for phrase, number in _LONGER[pair]:
            if number not in found and (len(phrase) == 2 or _stands(phrase, tokens)):
                found[number] = " ".join(phrase)
    active.update(found)
    return tuple(sorted(found.items()))


def _stands(phrase: tuple[str, ...], tokens: list[str]) -> bool:
    size = len(phrase)
    return any(
        token == phrase[0] and tuple(tokens[index : index + size]) == phrase for index, token in enumerate(tokens)
    )


def _bounded(own: str) -> str:
    if len(own) <= _OWN_HEAD_CHARS + _OWN_TAIL_CHARS:
        return own
    return own[:_OWN_HEAD_CHARS] + "\n" + own[-_OWN_TAIL_CHARS:]


def _heading(own: str) -> list[str]:
    """The words of the first Markdown heading, lower-cased."""
    at = 0 if own.startswith("#") else own.find("\n#") + 1
    if not at and not own.startswith("#"):
        return []
    return own[at : at + 200].partition("\n")[0].lower().translate(_TO_SPACE).replace(":", " ").split()


def _openings(sentences: Sequence[Sequence[str]], active: set[int]) -> None:
    """How the first, the last and any sentence opens, and what it asks to do."""
    if len(sentences) <= 1:
        active.add(_SHAPE["one sentence"])
    if len(sentences) > 3:
        active.add(_SHAPE["over 3 sentences"])
    if len(sentences) > 8:
        active.add(_SHAPE["over 8 sentences"])
    last = len(sentences) - 1
    for index, sentence in enumerate(sentences):
        opener, verb, start = opening(sentence)
        for place in _places(index, last):
            active.add(_OPEN[f"open {place}:{opener}"])
            if verb:
                active.add(_ASK[f"ask {place}:{verb}"])
        if index == 0 and start in _STARTS:
            active.add(_STARTS[start])


def _places(index: int, last: int) -> tuple[str, ...]:
    if index == 0:
        return ("first", "last", "any") if last == 0 else ("first", "any")
    return ("last", "any") if index == last else ("any",)


def _split(tokens: Sequence[str]) -> list[list[str]]:
    """The sentences that hold a word."""
    sentences: list[list[str]] = [[]]
    for token in tokens:
        if token == SENTENCE:
            if sentences[-1]:
                sentences.append([])
        else:
            sentences[-1].append(token)
    return [sentence for sentence in sentences if sentence]


def opening(sentence: Sequence[str]) -> tuple[str, str | None, str]:
    """How a sentence opens, the kind of verb it asks with, and its first word that is no filler."""
    start = 0
    while start < len(sentence) and (sentence[start] in FILLERS or sentence[start] in ",?"):
        start += 1
    rest = [token for token in sentence[start : start + 8] if token != ","]
    if not rest:
        return "empty", None, ""
    pair = OPENERS.get((rest[0], rest[1])) if len(rest) > 1 else None
    opener = pair or OPENERS.get((rest[0],))
    if opener is None:
        verb = _VERB_OF.get(rest[0])
        return (f"do_{verb}" if verb else "other"), verb, rest[0]
    verb = next((_VERB_OF[word] for word in rest[1:6] if word in _VERB_OF), None) if opener in ASKING else None
    return opener, verb, rest[0]


def _references(own: str, active: set[int]) -> tuple[int, int] | None:
    """Things a reader could find: paths, symbols, flags, tickets. Only words that are not plain are looked at."""
    chunks = [c for c in _bounded(own).split() if not _is_plain(c)]
    found: list[str] = []
    for chunk in chunks:
        bare = _reference(chunk)
        if bare is not None:
            found.append(chunk)
            _kind_of_reference(bare, active)
            if len(found) >= _REFERENCES_MAX:
                break
        elif chunk.strip(_STRIP).isdigit():
            active.add(_SHAPE["number"])
    for bound, name in ((1, "reference"), (2, "references 2"), (4, "references 4"), (8, "references 8")):
        if len(found) >= bound:
            active.add(_SHAPE[name])
    if not found:
        return None
    start = own.find(found[0])
    if start < 60:
        active.add(_SHAPE["reference first"])
    return start, start + len(found[0].rstrip(".,;:!?"))


def _is_plain(chunk: str) -> bool:
    return chunk.isalpha() and (chunk.islower() or chunk.istitle())


def _reference(chunk: str) -> str | None:
    """What a chunk between spaces points at, without punctuation around; None where it is a word."""
    bare = chunk.strip(_STRIP)
    if not bare or _is_plain(bare) or bare in _NOT_REFERENCES:
        return None
    if REFERENCE.match(bare) or ("`" in chunk and REFERENCE.match(chunk.strip("(,.;:"))):
        return bare
    return None


def _kind_of_reference(bare: str, active: set[int]) -> None:
    if "://" in bare:
        active.add(_SHAPE["url"])
    elif bare[0] == "@":
        active.add(_SHAPE["mention"])
    elif bare[0] == "-":
        active.add(_SHAPE["flagged"])
    elif "/" in bare or "." in bare:
        active.add(_SHAPE["path"])
    elif "`" in bare:
        active.add(_SHAPE["code name"])
    else:
        active.add(_SHAPE["symbol"])


def _shape(looked: Looked, plain: list[str], active: set[int]) -> None:
    """Length, layout and punctuation."""
    own = looked.own
    count = len(plain)
    flags = {
        "no own words": not count,
        "pasted": looked.pasted_chars > 0,
        "pasted over own": looked.pasted_chars > len(own),
        "pasted reference": looked.pasted_chars > 60,
        "heading": "\n#" in own or own.startswith("#"),
        "bullets": "\n- " in own or "\n* " in own or "\n  - " in own,
        "numbered": "\n1." in own or "\n 1." in own or "\n2." in own or own.lstrip()[:2] in ("1.", "2.", "3."),
        "ends in ?": own.rstrip().endswith("?"),
        "asks ?": "?" in own,
        "asks ? twice": own.count("?") >= 2,
        "exclaims": "!" in own,
        "ends in :": own.rstrip().endswith(":"),
        "quotes": '"' in own or "“" in own,
        "code name": "`" in own,
        "lines named": "line " in own or "lines " in own or "Lines " in own,
        "filler first": bool(plain) and plain[0] in FILLERS,
        "colon first line": own.lstrip().partition("\n")[0].rstrip().endswith(":"),
    }
    active.update(_SHAPE[name] for name, holds in flags.items() if holds)
    active.update(_LENGTH[f"words over {bound}"] for bound in _LENGTHS if count > bound)


def is_foreign(own: str, plain: Sequence[str]) -> bool:
    """Whether the own words are in another language: few English function words against other signs."""
    if len(plain) < 3:
        return bool(plain) and not own.isascii() and not any(word.isascii() for word in plain)
    sample = plain[:200]
    english = sum(map(_ENGLISH.__contains__, sample))
    other = sum(map(FOREIGN_ONLY.__contains__, sample))
    strange = sum(not word.isascii() for word in sample)
    return other + strange > english and (other + strange) * 5 >= len(sample)
