"""Features of a text: which cues its own words show, by name, and where the cues stand.

Only own words give cues; pasted text gives the few features whose names start with `pasted`. A feature is there or
not. Every captured prompt is read once, so the loops over words are left to the interpreter's sets and counters.
"""

import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Sequence
from itertools import chain, islice
from typing import NamedTuple

from aggregates.reading import sentences as lexicon
from aggregates.reading.prompt_text import PromptText
from aggregates.reading.readings import NUMBER
from aggregates.reading.sentences import Cutter, Phrase, RawSentence, opening, traits

_OWN_HEAD_CHARS = 1600
_OWN_TAIL_CHARS = 600  # what is asked stands at a prompt's head or at its end; cues are looked for there
_SENTENCES_MAX = 40
_LIST_WORDS_MIN = 8
_SAYING_SHARE = 7  # of so many different words one may name something without saying anything
_LIST_SHARE = 12  # of so many words one at least holds a sentence together; else they are listed: keywords, or a log


class Features(NamedTuple):
    words: list[str]  # the own words, lower-cased, in order
    distinct: dict[str, None]
    pairs: set[Phrase]  # of `KNOWN_PAIRS`
    cues: set[str]  # the names of all other features
    phrases: dict[str, str]  # cue → the phrase that shows it
    findable: bool  # whether a reference is more than a word in capitals
    foreign: bool  # whether the text is in another language than the lexicon


def extract(looked: PromptText) -> Features:
    own = looked.own
    near = own
    if len(own) > _OWN_HEAD_CHARS + _OWN_TAIL_CHARS:
        near = own[:_OWN_HEAD_CHARS] + "\n" + own[-_OWN_TAIL_CHARS:]
    sentences = sentences_of(near)
    words = list(chain.from_iterable([words for _, words, _ in sentences]))
    distinct = dict.fromkeys(words)
    listed = [name for word in words if word in _LISTS_OF for name in _LISTS_OF[word]]
    english_min = -(-len(words) // _LIST_SHARE)
    english = list(islice(filter(_ENGLISH.__contains__, words), english_min))
    names = {name for name in listed if name in _CUES}
    names.update([_SEVERAL[cue] for cue in names if cue in _SEVERAL and listed.count(cue) >= 3])
    if english:
        names.add("cue:english")
    pairs = known_pairs(sentences)
    phrases = phrase_cues(sentences, distinct, pairs)
    names.update([f"phrase:{cue}" for cue in phrases])
    if len(sentences) > _SENTENCES_MAX:
        sentences = sentences[: _SENTENCES_MAX - 10] + sentences[-10:]
    names |= _openings(sentences)
    names |= traits(sentences, words, _heading(own), listed, pasted=looked.pasted_chars > 0)
    references = find_references(near, own, names)
    findable = "findable" in names
    names.discard("findable")  # it allows to be sure, and has no weight
    names |= _layout(looked, words)
    # Hardly a word names anything that could be wanted.
    saying = len(distinct) - len(lexicon.HOLLOW.intersection(distinct))
    if words and not references and "number" not in names and saying <= len(distinct) // _SAYING_SHARE:
        names.add("says nothing")
    if len(words) >= _LIST_WORDS_MIN and len(english) < english_min:
        names.add("word list")
    # Mostly a text holds no sign of another language, and then there is nothing to weigh.
    foreign = ("foreign" in listed or not own.isascii()) and is_foreign(own, words)
    return Features(words, distinct, pairs, names, phrases, findable, foreign)


WORD_NAMES = {word: f"word:{word}" for word in lexicon.VOCABULARY | lexicon.WORDS}
_MARK = "\x1f"  # stands before every sentence and line while a text is cut up. White space, so that no word can hold it
_OTHER_SPACE = "\x1e"
_BLANKS = '"`*_()[]{}<>|/\\~=+#@$%^&;-0123456789.!:“”…→←–—'
_TOKEN = re.compile(rf"[^\s{re.escape(_BLANKS)}]+")
_TOKENS = Cutter(_TOKEN, kept=_MARK)
_NO_WORDS = frozenset({",", "?"})


def sentences_of(own: str) -> list[RawSentence]:
    """The sentences and lines that hold a word, a comma or a question mark, lower-cased and without apostrophes."""
    text = own.replace(_MARK, _OTHER_SPACE).lower()
    text = text.replace("? ", f" ?{_MARK}").replace("?\n", f" ?{_MARK}").replace("\n", _MARK)
    text = text.replace(". ", _MARK).replace("! ", _MARK).replace(": ", _MARK)
    text = text.replace(",", " , ").replace("?", " ? ").replace("'", "").replace("’", "").replace("´", "")
    found: list[RawSentence] = []
    for tokens in filter(None, _TOKENS.cut(text, _MARK)):
        asks = "?" in tokens
        words = [token for token in tokens if token not in _NO_WORDS] if asks or "," in tokens else tokens
        found.append((tokens, words, asks))
    return found


_SEVERAL = {f"cue:{cue}": f"cues:{cue}" for cue in lexicon.LISTS["several"]}
_ENGLISH = lexicon.WORD_CUES["english"]
_LISTS = {
    **{f"cue:{cue}": words for cue, words in lexicon.WORD_CUES.items() if cue != "english"},
    **{f"prose:{about}": words for about, words in lexicon.FINDINGS.items()},
    "foreign": lexicon.LISTS["foreign"],
}
_LISTS_OF = {
    word: tuple(name for name, words in _LISTS.items() if word in words)
    for word in frozenset[str]().union(*_LISTS.values())
}
"""Word → the names of all lists that hold it; that of English words is long, and asked by itself."""
_CUES = frozenset(f"cue:{cue}" for cue in lexicon.WORD_CUES)


def _openings(sentences: Sequence[RawSentence]) -> set[str]:
    """How many sentences there are, how the first, the last and any of them opens, and what it asks to do."""
    count = len(sentences)
    names = {"one sentence"} if count <= 1 else {f"over {bound} sentences" for bound in (3, 8) if count > bound}
    if not count:
        return names
    opened = [opening(tokens) for tokens, _, _ in sentences]
    if opened[0][2] in lexicon.VOCABULARY:
        names.add(f"start:{opened[0][2]}")
    for place, some in (("first", opened[:1]), ("last", opened[-1:]), ("any", opened)):
        names.update([f"open {place}:{opener}" for opener, _, _ in some])
        names.update([f"ask {place}:{verb}" for _, verb, _ in some if verb])
    return names


_HEADING_WORD = re.compile(r"""[^\s"`*_()\[\]{}<>|/\\~=+#@$%^&;“”…→←–—0-9:-]+""")


def _heading(own: str) -> list[str]:
    at = 0 if own.startswith("#") else own.find("\n#") + 1
    line = own[at : at + 200].partition("\n")[0].lower() if at or own.startswith("#") else ""
    return _HEADING_WORD.findall(line.replace("'", "").replace("’", "").replace("´", ""))


_SIGNS = [(name, sign) for name, signs in lexicon.SIGNS.items() for sign in signs]
_SIGNS_OF_LINES = _SIGNS + [(name, sign) for name, signs in lexicon.SIGNS_OF_LINES.items() for sign in signs]


def _layout(looked: PromptText, words: Sequence[str]) -> set[str]:
    own, bare, pasted = looked.own, looked.own.strip(), looked.pasted_chars
    names = {name for name, sign in (_SIGNS_OF_LINES if "\n" in own else _SIGNS) if sign in own}
    names.update(_LENGTH_NAMES[: bisect_left(LENGTHS, len(words))])
    found = (
        ("ends in ?", bare.endswith("?")),
        ("ends in :", bare.endswith(":")),
        ("heading", own.startswith("#")),
        ("asks ? twice", "asks ?" in names and own.count("?") >= 2),
        ("colon first line", bare.partition("\n")[0].rstrip().endswith(":")),
        ("numbered", bare.startswith(("1.", "2.", "3."))),
        ("no own words", not words),
        ("filler first", bool(words) and words[0] in lexicon.FILLERS),
        ("pasted", pasted > 0),
        ("pasted over own", pasted > len(own)),
        ("pasted reference", pasted > 60),
    )
    names.update([name for name, holds in found if holds])
    return names


def is_foreign(own: str, words: Sequence[str]) -> bool:
    """Whether the own words are in another language: few English function words against other signs."""
    if len(words) < 3:
        return bool(words) and not own.isascii() and not any(word.isascii() for word in words)
    sample = words[:200]
    other = sum(map(lexicon.LISTS["foreign"].__contains__, sample))
    strange = len(sample) - sum(map(str.isascii, sample))
    if (other + strange) * 5 < len(sample):
        return False
    english = sum(map(_ENGLISH.__contains__, sample))
    # Fewer signs may be names ("de.json and es.json"), and must be twice as many as the English words.
    return other + strange > (2 * english if other + strange < 3 else english)


LENGTHS = (3, 6, 10, 16, 25, 40, 70, 130, 260)
_LENGTH_NAMES = [f"words over {bound}" for bound in LENGTHS]
_REFERENCES_MAX = 12
_FIRST_CHARS = 60
NUMBERED_WORDS = [(name.partition(":")[2], place) for name, place in NUMBER.items() if name.startswith("word:")]
_COUNTS = ((1, "reference"), (2, "references 2"), (4, "references 4"), (8, "references 8"))


REFERENCE = lexicon.patterns("references")["reference"]
NOT_REFERENCES = lexicon.LISTS["no_references"]
_NAMES = NOT_REFERENCES | lexicon.LISTS["products"]
AROUND = ".,;:!?()[]{}\"'*<>“”‘’…"  # what may stand around a chunk without being part of it


def names_nothing(bare: str) -> bool:
    """Whether it only looks like something findable: a product's name, a flag, or what stands for a secret."""
    return bare in _NAMES or bare.startswith(("-", "REDACTED"))


def find_references(looked_at: str, own: str, found: set[str]) -> bool:
    """Add the features that references in `looked_at`, a part of `own`, show; whether there are any."""
    # Most chunks are plain words; they are put aside before anything is called for them.
    odd = [chunk for chunk in looked_at.split() if not (chunk.isalpha() and chunk.islower())]
    count, first = 0, ""
    for chunk in odd:
        bare = chunk.strip(AROUND)
        if bare.isalpha() and (bare.islower() or bare.istitle()):
            continue
        if not REFERENCE.match(bare) and not ("`" in chunk and REFERENCE.match(chunk.strip("(,.;:"))):
            if bare.isdigit():
                found.add("number")
        elif bare and bare not in NOT_REFERENCES and not (bare.isupper() and bare.lower() in lexicon.HOLLOW):
            found.add(_kind(bare))
            command = bare[0] == "/" and own.lstrip().startswith(bare)
            if not (command or (bare.isalpha() and bare.isupper()) or names_nothing(bare)):
                found.add("findable")
            first = first or chunk
            count += 1
            if count == _REFERENCES_MAX:
                break
    if not count:
        return False
    found.update([name for least, name in _COUNTS if count >= least])
    if len(own[: own.find(first)].lstrip()) < _FIRST_CHARS:
        found.add("reference first")
    return True


def _kind(bare: str) -> str:
    if bare[0] in "@-" and "://" not in bare:
        return "mention" if bare[0] == "@" else "flagged"
    return (
        "url" if "://" in bare else "path" if "/" in bare or "." in bare else "code name" if "`" in bare else "symbol"
    )


_OBJECT_WORDS_MAX = 2  # a wish for something better may name so much of what is to be better; a path has two more
_BETTER = lexicon.LISTS["better"] | lexicon.LISTS["faster"]
_EMPTY = lexicon.HOLLOW | _BETTER | lexicon.LISTS["reworking"] | lexicon.LISTS["wide"] | {"and", "with"}
_ELSEWHERE = lexicon.LISTS["elsewhere"]
_ALL_OF_IT = lexicon.patterns("wishes")["all of it"]
_ASKING = frozenset({"how", "what", "which", "why"})


def empty_wishes(shown: Features, text: str) -> list[str]:
    """Whether a request is only for something better, only for what was said elsewhere, or for everything."""
    if not _ASKING.isdisjoint(shown.distinct):
        return []
    named = [word for word in shown.distinct if word not in _EMPTY]
    own = shown.findable or "number" in shown.cues
    elsewhere = ["points elsewhere"] if named and not own and _ELSEWHERE.issuperset(named) else []
    if "asks ?" in shown.cues:
        return elsewhere
    better, wide = (not words.isdisjoint(shown.distinct) for words in (_BETTER, lexicon.LISTS["wide"]))
    bounded = not shown.cues.isdisjoint({"reference", "phrase:scope_limit"})
    is_measured = not lexicon.LISTS["faster"].isdisjoint(shown.distinct) and any(map(str.isdigit, text))
    object_words = _OBJECT_WORDS_MAX + 2 * ("reference" in shown.cues)
    found = {
        "only better": better and len(named) <= object_words and not is_measured,
        "names everything": not bounded
        and (_ALL_OF_IT.search(" ".join(shown.words)) is not None or (wide and not named)),
    }
    return elsewhere + [name for name, holds in found.items() if holds]


class _Said(NamedTuple):
    cue: str
    text: str
    words: Phrase  # of the phrase to be found


_BY_OPENING: dict[Phrase, tuple[_Said, ...]] = {}
for _cue, _phrases in lexicon.PHRASE_CUES.items():
    for _phrase in _phrases:
        _said = _Said(_cue, " ".join(_phrase), _phrase)
        _BY_OPENING[_phrase[:2]] = (*_BY_OPENING.get(_phrase[:2], ()), _said)
_SINGLE = sorted((begun[0], phrases) for begun, phrases in _BY_OPENING.items() if len(begun) == 1)
PAIR_NAMES: dict[Phrase, str] = {pair: f"pair:{' '.join(pair)}" for pair in lexicon.PAIRS}
KNOWN_PAIRS = PAIR_NAMES.keys() | {begun for begun in _BY_OPENING if len(begun) == 2}
"""Those that are features, and those that begin phrases."""


def known_pairs(sentences: Sequence[RawSentence]) -> set[Phrase]:
    """Neighbours in a sentence; ^ stands for its beginning and $ for its end."""
    found = [zip(("^", *tokens), (*tokens, "$"), strict=True) for tokens, _, _ in sentences]
    return KNOWN_PAIRS.intersection(chain.from_iterable(found))


def phrase_cues(sentences: Sequence[RawSentence], words: Container[str], pairs: Iterable[Phrase]) -> dict[str, str]:
    """The phrase cues that the sentences show, each with its phrase: single words go first, then the alphabet."""
    found: dict[str, str] = {}
    said = ""
    single = [phrases for word, phrases in _SINGLE if word in words]
    begun = [_BY_OPENING[pair] for pair in sorted(_BY_OPENING.keys() & pairs)]
    for cue, text, phrase in chain.from_iterable(single + begun):
        if cue in found:
            continue
        if len(phrase) > 2:
            said = said or "\n".join([f" {' '.join(tokens)} " for tokens, _, _ in sentences])
        if len(phrase) < 3 or (phrase[-1] in words and f" {text} " in said):
            found[cue] = text
    return found
