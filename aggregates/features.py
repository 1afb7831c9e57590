"""Features of a text: which cues its own words show, as small numbers, and where the cues stand.

Only own words give cues; pasted text gives the few features whose names start with `pasted`. A feature is there or
not. Every prompt that is captured is read once, so this is written to leave the loops over words to the interpreter:
each word is looked up a fixed number of times, in sets and tables made from the lexicons.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, compress, filterfalse, pairwise
from struct import Struct
from typing import NamedTuple

from aggregates.feature_names import (
    ASK,
    CUE,
    CUES,
    KNOWN_WORDS,
    LENGTH,
    LENGTHS,
    OPEN,
    PAIR,
    PHRASE,
    SHAPE,
    START,
    TRAIT,
    WORD,
)
from aggregates.lexicons import FILLERS, FOREIGN_ONLY, SENTENCE, WORD_CUES
from aggregates.pasted import Looked, look
from aggregates.phrases import phrase_cues
from aggregates.references import find_references
from aggregates.sentences import RawSentence, opening
from aggregates.traits import FINDINGS, traits

_OWN_HEAD_CHARS = 1600
_OWN_TAIL_CHARS = 600
"""What is asked stands at a prompt's head or at its end; cues are looked for there."""
_SENTENCES_MAX = 40


class Features(NamedTuple):
    """What a text shows."""

    words: list[str]
    """The own words, lower-cased, in order."""
    distinct: dict[str, None]
    """The same, each once."""
    vocabulary: frozenset[str]
    """Those of `KNOWN_WORDS` among them: each is a feature `word:…`."""
    others: set[int]
    """The numbers of all further features."""
    phrases: dict[str, str]
    """For each phrase cue shown, the phrase that shows it."""
    reference: tuple[int, int] | None
    """Where the first own reference stands in `Looked.own`."""
    foreign: bool
    """Whether the text is in another language than the lexicons."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """All of them as numbers into `FEATURES`, ascending."""
        return tuple(sorted(self.others.union([WORD[word] for word in self.vocabulary])))


def features_of(text: str) -> tuple[int, ...]:
    """The features of a text as numbers into `FEATURES`, ascending: what a model is trained on."""
    return extract(look(text)).numbers


def extract(looked: Looked) -> Features:
    """The features of a looked-at text."""
    own = looked.own
    near = _bounded(own)
    sentences = sentences_of(near)
    words = list(chain.from_iterable([words for _, words, _ in sentences]))
    distinct = dict.fromkeys(words)
    others: set[int] = set()
    counted = _counted(words)
    _word_cues(counted, distinct, others)
    pairs = frozenset(pairs_of(sentences))
    phrases = phrase_cues([tokens for tokens, _, _ in sentences], distinct, pairs)
    others.update([PHRASE[cue] for cue in phrases])
    others.update([PAIR[pair] for pair in _PAIRS.intersection(pairs)])
    if len(sentences) > _SENTENCES_MAX:
        sentences = sentences[: _SENTENCES_MAX - 10] + sentences[-10:]
    _openings(sentences, others)
    findings = counted[len(_COUNTED_CUES) : -1]
    pasted = looked.pasted_chars > 0
    others.update([TRAIT[name] for name in traits(sentences, words, _heading(own), findings, pasted=pasted)])
    reference = find_references(near, own, others)
    _shape(looked, words, others)
    # Mostly a text holds no sign of another language, and then there is nothing to weigh.
    foreign = (counted[-1] > 0 or not own.isascii()) and is_foreign(own, words)
    return Features(words, distinct, KNOWN_WORDS.intersection(distinct), others, phrases, reference, foreign)


def pairs_of(sentences: Sequence[RawSentence]) -> Iterator[tuple[str, str]]:
    """Neighbours in a sentence, commas and question marks among them; ^ stands for its beginning and $ for its end."""
    return pairwise(chain.from_iterable([("^", *tokens, "$") for tokens, _, _ in sentences]))


_PAIRS = frozenset(PAIR)


def _bounded(own: str) -> str:
    if len(own) <= _OWN_HEAD_CHARS + _OWN_TAIL_CHARS:
        return own
    return own[:_OWN_HEAD_CHARS] + "\n" + own[-_OWN_TAIL_CHARS:]


# Words

_MARK = "\x1f"
"""Stands before every sentence and line while a text is cut up. White space, so that no word can hold it."""
_OTHER_SPACE = "\x1e"
_BLANKS = '"`*_()[]{}<>|/\\~=+#@$%^&;-0123456789.!:'
_TO_SPACE = str.maketrans(dict.fromkeys(_BLANKS, " "))
_TYPOGRAPHY = (*((sign, " ") for sign in "“”…→←–—"), *((sign, "") for sign in "’´"))
_TOKEN = re.compile(rf"\?|{_MARK}|[^\s?{re.escape(_BLANKS)}]+")
_NO_WORDS = frozenset({",", "?"})


def sentences_of(own: str) -> list[RawSentence]:
    """The sentences and lines that hold a word, a comma or a question mark."""
    marked = _marked(own)
    if not marked.isascii():
        for sign, instead in _TYPOGRAPHY:
            marked = marked.replace(sign, instead)
    if marked.isascii():
        pieces = marked.translate(_TO_SPACE).replace("?", " ? ").split(_MARK)
        return [_sentence(tokens, "," in piece, "?" in piece) for piece in pieces if (tokens := piece.split())]
    # Translating is slow for other signs.
    tokens = _TOKEN.findall(marked)
    return [_sentence(each, "," in each, "?" in each) for each in _split(tokens)]


def _marked(own: str) -> str:
    """Lower-cased, without apostrophes, a mark at every beginning, commas apart."""
    text = own.replace(_MARK, _OTHER_SPACE).lower()
    # Looking for one sign is much quicker than looking for two, so it is done first.
    if "?" in text:
        text = text.replace("? ", f" ?{_MARK}").replace("?\n", f" ?{_MARK}")
    text = text.replace(". ", f"{_MARK} ")
    if "!" in text:
        text = text.replace("! ", f"{_MARK} ")
    text = text.replace("\n", _MARK)
    if ":" in text:
        text = text.replace(": ", f"{_MARK} ")
    return text.replace(",", " , ").replace("'", "")


def _sentence(tokens: list[str], commas: bool, asks: bool) -> RawSentence:
    words = list(filterfalse(_NO_WORDS.__contains__, tokens)) if commas or asks else tokens
    return tokens, words, asks


def _split(tokens: Sequence[str]) -> list[list[str]]:
    sentences: list[list[str]] = [[]]
    for token in tokens:
        if token in (_MARK, SENTENCE):
            sentences.append([])
        else:
            sentences[-1].append(token)
    return [sentence for sentence in sentences if sentence]


_COUNTED_CUES = tuple(name for name in WORD_CUES if name != "english")
_COUNTED = (*(WORD_CUES[name] for name in _COUNTED_CUES), *FINDINGS.values(), FOREIGN_ONLY)
_CUE_NUMBERS = tuple(CUE[name] for name in _COUNTED_CUES)
_SEVERAL = tuple(
    (_COUNTED_CUES.index(name), CUES[name])
    for name in (
        *("symptom", "test", "where", "vague", "negated"),
        *("want", "plan", "structure", "severity", "conditional"),
    )
)
_LANES = Struct(f"<{len(_COUNTED)}H")
"""At most some 2,200 words are counted, so a lane of 16 bits never runs over."""


def _lanes_by_word() -> dict[str, int]:
    """Word → a one in the lane of every list that holds it; the sum over words counts for all lists at once."""
    lanes: dict[str, int] = {}
    for place, members in enumerate(_COUNTED):
        for word in members:
            lanes[word] = lanes.get(word, 0) + (1 << (16 * place))
    return lanes


_LANES_OF = _lanes_by_word()


def _counted(words: Sequence[str]) -> tuple[int, ...]:
    """How many of the words each of `_COUNTED` holds."""
    total = sum(filter(None, map(_LANES_OF.get, words)))
    counts: tuple[int, ...] = _LANES.unpack(total.to_bytes(_LANES.size, "little"))
    return counts


def _word_cues(counted: Sequence[int], distinct: dict[str, None], active: set[int]) -> None:
    """Cues that a word of their list is there, and for some lists that three are."""
    active.update(compress(_CUE_NUMBERS, counted))
    if not WORD_CUES["english"].isdisjoint(distinct):
        active.add(CUE["english"])
    active.update([number for place, number in _SEVERAL if counted[place] >= 3])


# Sentences

_ONE_SENTENCE, _OVER_3, _OVER_8 = SHAPE["one sentence"], SHAPE["over 3 sentences"], SHAPE["over 8 sentences"]


def _openings(sentences: Sequence[RawSentence], active: set[int]) -> None:
    """How the first, the last and any sentence opens, and what it asks to do."""
    count = len(sentences)
    if count <= 1:
        active.add(_ONE_SENTENCE)
    if count > 3:
        active.add(_OVER_3)
    if count > 8:
        active.add(_OVER_8)
    if not count:
        return
    opened = [opening(tokens) for tokens, _, _ in sentences]
    active.update([OPEN["any"][opener] for opener in {opener for opener, _, _ in opened}])
    active.update([ASK["any"][verb] for verb in {verb for _, verb, _ in opened} if verb])
    for place, (opener, verb, _) in (("first", opened[0]), ("last", opened[-1])):
        active.add(OPEN[place][opener])
        if verb:
            active.add(ASK[place][verb])
    start = START.get(opened[0][2])
    if start is not None:
        active.add(start)


def _heading(own: str) -> list[str]:
    """The words of the first Markdown heading, lower-cased."""
    at = 0 if own.startswith("#") else own.find("\n#") + 1
    if not at and not own.startswith("#"):
        return []
    line = own[at : at + 200].partition("\n")[0].lower()
    return line.translate(_HEADING_TO_SPACE).split()


_HEADING_TO_SPACE = str.maketrans(
    {
        **dict.fromkeys('"`*_()[]{}<>|/\\~=+#@$%^&;-“”…→←–—0123456789:', " "),
        **dict.fromkeys("'’´"),
    }
)


# Length, layout and punctuation

_SIGNS = tuple(
    (sign, SHAPE[name])
    for name, signs in (
        ("asks ?", ("?",)),
        ("exclaims", ("!",)),
        ("code name", ("`",)),
        ("quotes", ('"', "“")),
        ("lines named", ("line ", "lines ", "Lines ")),
    )
    for sign in signs
)
_LINE_STARTS = tuple(
    (start, SHAPE[name])
    for name, starts in (
        ("heading", ("\n#",)),
        ("bullets", ("\n- ", "\n* ", "\n  - ")),
        ("numbered", ("\n1.", "\n 1.", "\n2.")),
    )
    for start in starts
)
_LAST_SIGNS = {"?": SHAPE["ends in ?"], ":": SHAPE["ends in :"]}
_ENUMERATED = ("1.", "2.", "3.")
_LENGTH_NUMBERS = tuple((bound, LENGTH[f"words over {bound}"]) for bound in LENGTHS)


def _shape(looked: Looked, words: Sequence[str], active: set[int]) -> None:
    own, count = looked.own, len(words)
    active.update([number for bound, number in _LENGTH_NUMBERS if count > bound])
    active.update([number for sign, number in _SIGNS if sign in own])
    if not count:
        active.add(SHAPE["no own words"])
    elif words[0] in FILLERS:
        active.add(SHAPE["filler first"])
    last = own.rstrip()[-1:]
    if last in _LAST_SIGNS:
        active.add(_LAST_SIGNS[last])
    if own.startswith("#"):
        active.add(SHAPE["heading"])
    if "?" in own and own.count("?") >= 2:
        active.add(SHAPE["asks ? twice"])
    if ":" in own and own.lstrip().partition("\n")[0].rstrip().endswith(":"):
        active.add(SHAPE["colon first line"])
    if own.lstrip()[:2] in _ENUMERATED:
        active.add(SHAPE["numbered"])
    if "\n" in own:
        active.update([number for start, number in _LINE_STARTS if start in own])
    if looked.pasted_chars:
        _pasted(looked, active)


def _pasted(looked: Looked, active: set[int]) -> None:
    active.add(SHAPE["pasted"])
    if looked.pasted_chars > len(looked.own):
        active.add(SHAPE["pasted over own"])
    if looked.pasted_chars > 60:
        active.add(SHAPE["pasted reference"])


def is_foreign(own: str, words: Sequence[str]) -> bool:
    """Whether the own words are in another language: few English function words against other signs."""
    if len(words) < 3:
        return bool(words) and not own.isascii() and not any(word.isascii() for word in words)
    sample = words[:200]
    other = sum(map(FOREIGN_ONLY.__contains__, sample))
    strange = len(sample) - sum(map(str.isascii, sample))
    if (other + strange) * 5 < len(sample):
        return False
    return other + strange > sum(map(WORD_CUES["english"].__contains__, sample))
