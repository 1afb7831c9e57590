"""Features of a text: which cues its own words show, as small numbers, and where the cues stand.

Only own words give cues; pasted text gives the few features whose names start with `pasted`. A feature is there or
not. Every prompt that is captured is read once, so this is written to leave the loops over words to the interpreter:
each word is looked up a fixed number of times, in sets and tables made from the lexicons.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from itertools import chain, compress, filterfalse, pairwise
from struct import Struct
from typing import NamedTuple

from aggregates.reading.lexicon import (
    FILLERS,
    FOREIGN_ONLY,
    OPENERS,
    PAIRS,
    PHRASE_CUES,
    SENTENCE,
    VERBS,
    VOCABULARY,
    WORD_CUES,
    WORDS,
)
from aggregates.reading.pasted import Looked, look
from aggregates.reading.sentences import RawSentence, opening
from aggregates.reading.traits import FINDINGS, TRAITS, traits

# The names of all features of a text, and their numbers.
#
# A feature's number is its place in `FEATURES`. A few features are asked for by name after a text was read; each of
# these is also one bit of the reading's flags.

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


# References: paths, symbols, flags, tickets and whatever else in a text a reader could find.

_REFERENCES_MAX = 12
"""More are not counted."""


_FIRST_CHARS = 60


_COUNTS = ((1, SHAPE["reference"]), (2, SHAPE["references 2"]), (4, SHAPE["references 4"]), (8, SHAPE["references 8"]))


_BY_FIRST_SIGN = {"@": SHAPE["mention"], "-": SHAPE["flagged"]}


_URL, _PATH, _CODE, _SYMBOL = SHAPE["url"], SHAPE["path"], SHAPE["code name"], SHAPE["symbol"]


_NUMBER, _FIRST = SHAPE["number"], SHAPE["reference first"]


# Matched at a chunk's beginning and only asked whether it does, so each form is as short as it may be.
_REFERENCE = re.compile(
    r"""[\w-]+ (?: /[\w.-] | \.[a-zA-Z]{1,5}\b ) | \w*_\w | (?:~|\.{1,2})?/[\w.@~+-] | [a-z]+[A-Z] | [A-Z][a-z]+[A-Z]
    | \w+\( | --?[a-zA-Z][\w-] | `[^`\n]+` | https?://\S | @[\w./~-] | \#\d | [A-Z]{3} | [A-Z]{2,10}-\d
    | [0-9a-f]{7} | \d+-\d""",
    re.VERBOSE,
)


_MATCH = _REFERENCE.match


_NOT_REFERENCES = frozenset(
    {
        *("e.g", "i.e", "and/or", "etc.", "w/", "w/o", "URL", "API", "CLI", "JSON"),
        *("OK", "AND", "NOT", "THE", "FOR", "BUT", "ALL", "ANY", "YES", "NOW"),
    }
)


_ASCII_AROUND = ".,;:!?()[]{}\"'*<>"


_AROUND = _ASCII_AROUND + "“”‘’…"
"""What may stand around a chunk without being part of it."""


def find_references(looked_at: str, own: str, active: set[int]) -> tuple[int, int] | None:
    """Add what references `looked_at` shows to `active`; where the first of them stands in `own`."""
    around = _ASCII_AROUND if looked_at.isascii() else _AROUND
    # Most chunks are plain words; they are put aside before anything is called for them.
    odd = [chunk for chunk in looked_at.split() if not (chunk.isalpha() and chunk.islower())]
    count, first = 0, ""
    for chunk in odd:
        bare = chunk.strip(around)
        if bare.isalpha() and (bare.islower() or bare.istitle()):
            continue
        if _MATCH(bare) is None and ("`" not in chunk or _MATCH(chunk.strip("(,.;:")) is None):
            if bare.isdigit():
                active.add(_NUMBER)
        elif bare and bare not in _NOT_REFERENCES:
            active.add(_kind(bare))
            first = first or chunk
            count += 1
            if count == _REFERENCES_MAX:
                break
    if not count:
        return None
    active.update([number for least, number in _COUNTS if count >= least])
    return _place(first, own, active)


def _kind(bare: str) -> int:
    """The feature of a reference of this kind."""
    if "://" in bare:
        return _URL
    if bare[0] in _BY_FIRST_SIGN:
        return _BY_FIRST_SIGN[bare[0]]
    if "/" in bare or "." in bare:
        return _PATH
    return _CODE if "`" in bare else _SYMBOL


def _place(first: str, own: str, active: set[int]) -> tuple[int, int]:
    start = own.find(first)
    if len(own[:start].lstrip()) < _FIRST_CHARS:
        active.add(_FIRST)
    return start, start + len(first.rstrip(".,;:!?"))


# Finding the phrases of the lexicon in a text's tokens.

_Phrase = tuple[str, str, str]
"""A cue; a phrase that shows it, its words joined by spaces; its last word where it is of more than two, or nothing:
of the others it is enough that their first two stand side by side."""


def _by_opening() -> dict[tuple[str, ...], list[_Phrase]]:
    """Phrases by their first two words, or by the only one."""
    table: dict[tuple[str, ...], list[_Phrase]] = {}
    for cue, phrases in PHRASE_CUES.items():
        for phrase in phrases:
            last = phrase[-1] if len(phrase) > 2 else ""
            table.setdefault(phrase[:2], []).append((cue, " ".join(phrase), last))
    return table


_BY_OPENING = _by_opening()


_OPENINGS = sorted(_BY_OPENING, key=lambda opening: (len(opening), opening))
"""In the order in which phrases are looked at: single words first, then by the alphabet."""


_PHRASES = [_BY_OPENING[opening] for opening in _OPENINGS]


_PLACE_OF_PAIR = {opening: place for place, opening in enumerate(_OPENINGS) if len(opening) == 2}


_PLACE_OF_WORD = {opening[0]: place for place, opening in enumerate(_OPENINGS) if len(opening) == 1}


_PHRASE_PAIRS = frozenset(_PLACE_OF_PAIR)


def phrase_cues(
    sentences: Sequence[Sequence[str]], words: Container[str], pairs: Set[tuple[str, str]]
) -> dict[str, str]:
    """The phrase cues that the sentences show, each with the phrase that shows it; `words` are all their words, and
    `pairs` all that stand side by side in a sentence.

    Where several phrases show a cue, a single word goes before a longer phrase, and then the alphabet decides.
    """
    places = [place for word, place in _PLACE_OF_WORD.items() if word in words]
    # Two sets are compared inside the interpreter: a loop over the tokens takes three times as long.
    places += [_PLACE_OF_PAIR[pair] for pair in _PHRASE_PAIRS.intersection(pairs)]
    places.sort()
    found: dict[str, str] = {}
    for place in places:
        for cue, text, last in _PHRASES[place]:
            if cue not in found and (not last or (last in words and _stands(text, sentences))):
                found[cue] = text
    return found


def _stands(text: str, sentences: Sequence[Sequence[str]]) -> bool:
    return any(f" {text} " in f" {' '.join(sentence)} " for sentence in sentences)
