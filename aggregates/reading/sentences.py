"""The words that the embedded judges know, and what sentences do: by themselves, how they open, and taken together.

The words stand in `lexicon.toml`, and in `words.txt`, which training writes.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from pkgutil import get_data
from typing import NamedTuple

Words = frozenset[str]
Phrase = tuple[str, ...]


def _table(name: str) -> dict[str, Words]:
    return {about: frozenset(words.split()) for about, words in _LEXICON[name].items()}


def _ordered(name: str) -> dict[str, tuple[str, ...]]:
    return {about: tuple(names.split()) for about, names in _LEXICON[name].items()}


def table(name: str) -> dict[str, Words]:
    """Names of features by boolean."""
    return {about: frozenset(names.split(", ")) for about, names in _LEXICON[name].items()}


def _text(name: str) -> str:
    return (get_data(__name__, name) or b"").decode()


_PATTERNS, _LEXICON = tomllib.loads(_text("patterns.toml")), tomllib.loads(_text("lexicon.toml"))


def patterns(group: str) -> dict[str, re.Pattern[str]]:
    """Of what people and agents say, each in pieces, with the parts that several share."""
    found = {name: "".join(pieces) for name, pieces in _PATTERNS[group].items()}
    for part, shared in _PATTERNS["parts"].items():
        found = {name: whole.replace(f"<{part}>", shared) for name, whole in found.items()}
    return {name: re.compile(whole) for name, whole in found.items()}


def held(text: str, name: str) -> list[str]:
    """What a text holds of the words without which a pattern finds nothing."""
    return [word for word in HELD[name] if word in text]


HELD = {name: tuple(words.split("|")) for name, words in _PATTERNS["held"].items()}
LISTS = {name: frozenset(words.split()) for name, words in _LEXICON.items() if isinstance(words, str)}
FILLERS, VOCABULARY = LISTS["fillers"], LISTS["vocabulary"]
HOLLOW = LISTS["hollow"] | FILLERS
VERBS = _table("verbs")
OBJECTS = _table("objects")
FINDINGS = _table("findings")
QUESTION_HEADS = _table("question_heads")
SENTENCE_WORDS = _table("sentence")
WORD_CUES = _table("word_cues")
CHECK_KINDS = _table("check_kinds")
TYPED = {word: meant for meant, words in _table("typed").items() for word in words}
SIGNS: dict[str, list[str]] = _LEXICON["signs"]
SIGNS_OF_LINES: dict[str, list[str]] = _LEXICON["signs_of_lines"]
PHRASE_CUES: dict[str, tuple[Phrase, ...]] = {
    cue: tuple(tuple(phrase.split()) for phrase in phrases) for cue, phrases in _LEXICON["phrase_cues"].items()
}
OPENERS: dict[Phrase, str] = {
    tuple(start.split()): opener for opener, starts in _LEXICON["openers"].items() for start in starts
}
ASKING = frozenset({"ask_you", "ask_we", "lets", "want", "ask_i"})
_LINES = [tuple(line.split()) for line in _text("words.txt").splitlines()]
WORDS = frozenset(line[0] for line in _LINES if len(line) == 1)  # words of the prompts that were written for training
PAIRS = tuple((line[0], line[1]) for line in _LINES if len(line) == 2)  # neighbours; ^ begins a sentence, $ ends it
_QUESTION_OF = {word: asked for asked, words in QUESTION_HEADS.items() for word in words}
_VERB_OF = {word: name for name, words in reversed(VERBS.items()) for word in words}
_OBJECT_OF = {word: name for name, words in reversed(OBJECTS.items()) for word in words}
_OBJECT_WORDS = frozenset(_OBJECT_OF)
_MODALS, _WISHES = SENTENCE_WORDS["modals"], SENTENCE_WORDS["wishes"]
_BEFORE_A_WISH, _AFTER_A_NOUN = SENTENCE_WORDS["before_a_wish"], SENTENCE_WORDS["after_a_noun"]
_SYMPTOM_STRONG, _NEGATIONS = SENTENCE_WORDS["symptom_strong"], SENTENCE_WORDS["negations"]
_TAGS, _SUBJECTS = SENTENCE_WORDS["tags"], SENTENCE_WORDS["subjects"]
_ASK_MARKS = _MODALS | _WISHES | SENTENCE_WORDS["ask_marks"]
_INNER_HEADS = frozenset({"what", "where", "which", "who", "how", "when"})
_NEAR_WORDS = 40  # a sentence's first words, in which its things and symptoms are looked for
_SKIPPED = FILLERS | {",", "?"}
_OPENERS: dict[str, dict[str, str]] = {}
"""First word → second word, or "" for the first alone → how such a sentence opens."""
for _words_of, _opener in OPENERS.items():
    _OPENERS.setdefault(_words_of[0], {})["".join(_words_of[1:2])] = _opener
RawSentence = tuple[Sequence[str], Sequence[str], bool]
"""Lower-cased words with commas and question marks; the same without them; whether there is a question mark."""


_ASCII = bytes(range(128))
_REPLACED_MAX = 24  # so many different characters are replaced one after the other, more of them in one slow pass


class Cutter:
    """Cuts a text into the runs of characters that a pattern matches. What it does not match becomes spaces first,
    at which Python splits in a quarter of the time; it is asked only about characters that are not ASCII."""

    def __init__(self, pattern: re.Pattern[str], kept: str = "") -> None:
        self._pattern = pattern
        self._spaces = bytes(
            byte if byte > 127 or chr(byte) in kept or pattern.match(chr(byte)) else 32 for byte in range(256)
        )

    def cut(self, text: str, mark: str | None = None) -> list[list[str]]:
        """The pieces of each part between two marks, which are `kept`; without a mark, of the whole text."""
        encoded = text.encode("utf-8", "surrogatepass")
        spaced = encoded.translate(self._spaces).decode("utf-8", "surrogatepass")
        if not text.isascii():
            others = {*self._pattern.sub("", encoded.translate(None, _ASCII).decode("utf-8", "surrogatepass"))}
            for other in others if len(others) <= _REPLACED_MAX else ():
                spaced = spaced.replace(other, " ")
            if len(others) > _REPLACED_MAX:
                spaced = spaced.translate(dict.fromkeys(map(ord, others), " "))
        return [part.split() for part in (spaced.split(mark) if mark else (spaced,))]


class Sentence(NamedTuple):
    kind: str  # request, question, report or statement
    how: str
    """request: plain, you, we, want, lets, please, should …; question: wh, how, why, yesno, tag, other;
    report: strong, weak."""
    verb: str | None = None
    words: Sequence[str] = ()  # of a request, without the fillers before them


_REPORTS_STRONG, _REPORTS_WEAK = Sentence("report", "strong"), Sentence("report", "weak")
_STATES_SUBJECT, _STATES_OTHER = Sentence("statement", "subject"), Sentence("statement", "other")


def opening(tokens: Sequence[str]) -> tuple[str, str | None, str]:
    """How a sentence opens, the kind of verb it asks with, and its first word that is no filler."""
    start = 0
    while start < len(tokens) and tokens[start] in _SKIPPED:
        start += 1
    if start == len(tokens):
        return "empty", None, ""
    first = tokens[start]
    openers = _OPENERS.get(first)
    if openers is not None:
        rest = [token for token in tokens[start : start + 8] if token != ","]
        opener = (openers.get(rest[1]) if len(rest) > 1 else None) or openers.get("")
        if opener is not None:
            return opener, _verb(rest[1:6]) if opener in ASKING else None, first
    verb = _VERB_OF.get(first)
    return (f"do_{verb}" if verb else "other"), verb, first


def analyse(sentence: RawSentence) -> Sentence | None:
    """What a sentence does; None for one without words."""
    _, words, asks = sentence
    start = 0
    while start < len(words) and words[start] in FILLERS and start < 6:
        start += 1
    rest = words[start:] if 0 < start < len(words) else words
    if not rest:
        return None
    request = _request(rest)
    if request is not None:
        return Sentence("request", *request, rest)
    first = rest[0]
    if asks or (first in _QUESTION_OF and first not in ("when", "which")):
        return Sentence("question", _question(rest, words))
    near = rest[:_NEAR_WORDS]
    if not _SYMPTOM_STRONG.isdisjoint(near):
        return _REPORTS_STRONG
    if not _NEGATIONS.isdisjoint(near):
        return _REPORTS_WEAK
    return _STATES_SUBJECT if first in _SUBJECTS else _STATES_OTHER


def _question(rest: Sequence[str], words: Sequence[str]) -> str:
    if "why" in rest[:6]:
        return "why"
    if rest[0] in _QUESTION_OF:
        return _QUESTION_OF[rest[0]]
    inner = (_QUESTION_OF[word] for word in rest[1:12] if word in _INNER_HEADS)
    return next(inner, "tag" if words[-1] in _TAGS else "other")


def _request(rest: Sequence[str]) -> tuple[str, str | None] | None:
    """How something is asked for and the kind of the verb; None where nothing is."""
    first, second = rest[0], rest[1] if len(rest) > 1 else ""
    if first in _VERB_OF and second not in _AFTER_A_NOUN:
        return "plain", _VERB_OF[first]
    if first in ("dont", "never", "do") and second and second not in _SUBJECTS and second != "the":
        return "forbid", _verb(rest[1:4]) or "change"
    if _ASK_MARKS.isdisjoint(rest):
        return None
    asked = (_asked(rest, index) for index, word in enumerate(rest[:30]) if word in _ASK_MARKS)
    return next(filter(None, asked), None)


def _asked(rest: Sequence[str], index: int) -> tuple[str, str | None] | None:
    """The request that the mark at `index` makes, if it makes one."""
    word, before = rest[index], rest[index - 1] if index else ""
    following = rest[index + 1] if index + 1 < len(rest) else ""
    after = rest[index + 1 : index + 7]
    if word in _MODALS and following in ("you", "we", "i"):
        verb = _verb(after[1:6])
        return None if verb is None or (word, following) == ("would", "i") else (following, verb)
    if word in _WISHES:
        return ("unwanted" if before == "dont" else "want", _verb(after)) if before in _BEFORE_A_WISH else None
    if word == "id" and following in ("like", "love", "prefer", "rather", "say", "suggest"):
        return "want", _verb(after[1:])
    if word == "make":
        return ("sure", "change") if following == "sure" else None
    if word in ("consider", "suggest", "propose"):
        stem = following.removesuffix("ing")  # `adding` → add, `removing` → remove
        stems = (stem, f"{stem}e", stem[:-1]) if stem != following else ()
        return ("suggest", _verb((*after[:3], *stems))) if index else None
    if word in ("should", "must", "shouldnt"):
        return ("should", _verb(after[:4])) if index else None
    if word == "lets":
        return "lets", _verb(after[:4]) or "do"
    return ("please", _verb(after[:4])) if word in ("please", "pls") else None


def _verb(words: Iterable[str]) -> str | None:
    return next((_VERB_OF[word] for word in words if word in _VERB_OF), None)


# Traits of a prompt: named features for what single words cannot say. That nothing but a question is asked, that a fix
# is asked for and the thing is a test, that a long text only describes what is wrong.

ABOUT, EVIDENCE = _ordered("about"), _ordered("evidence")
_PROSE_WORDS_MIN = 18
_REMARKS = ("suggest", "should")
_PLAN_OPENINGS = frozenset({"plan", "plans", "spec", "design"})


def traits(
    sentences: Sequence[RawSentence],
    plain: Sequence[str],
    heading: Sequence[str],
    listed: Sequence[str],
    *,
    pasted: bool,
) -> set[str]:
    """The traits that hold. `plain`: the words of all sentences; `listed`: the lists that hold one, for each."""
    if len(plain) <= 2:
        return {"bare paste" if pasted else "bare"}
    if heading and not _PLAN_OPENINGS.isdisjoint(plain[:8]):
        titled = {**VERBS, "tests": OBJECTS["tests"]}
        return {"plan handed over", *(f"plan title:{kind}" for kind in titled if not titled[kind].isdisjoint(heading))}
    said = [sentence for raw in sentences if (sentence := analyse(raw)) is not None]
    if not said:
        return {"bare"}
    requests = [each for each in said if each.kind == "request"]
    questions = [each.how for each in said if each.kind == "question"]
    reports = [each.how for each in said if each.kind == "report"]
    found = {f"begins:{said[0].kind}", f"ends:{said[-1].kind}"}
    if requests:
        found |= _requested(requests)
    elif questions:
        found |= {"only question", f"only question:{questions[-1]}"}
    elif reports:
        found.add("only strong report" if "strong" in reports else "only weak report")
    else:
        found.add("only statement")
    found.update([f"question:{how}" for how in questions])
    found.update(["has report"] if reports else [], ["has strong report"] if "strong" in reports else [])
    if len(plain) >= _PROSE_WORDS_MIN and not questions and all(each.how in _REMARKS for each in requests):
        findings = [(about, listed.count(f"prose:{about}")) for about in FINDINGS]
        found.update(["prose"], [f"prose:{about}" for about, count in findings if count])
        found.update([f"prose twice:{about}" for about, count in findings if count >= 2])
    return found


def _requested(requests: Sequence[Sentence]) -> set[str]:
    first, last = requests[0], requests[-1]
    found = {f"first does:{first.verb or 'none'}", f"last does:{last.verb or 'none'}"}
    found.update([f"last how:{last.how}", *(f"how:{each.how}" for each in requests)])
    found.update([f"does:{_done(each)}" for each in requests if each.how not in ("forbid", "unwanted")])
    return found


def _done(request: Sentence) -> str:
    verb = request.verb or "none"
    if verb not in ABOUT:
        return verb
    named = {_OBJECT_OF[word] for word in _OBJECT_WORDS.intersection(request.words[:_NEAR_WORDS])}
    return next((f"{verb} {about}" for about in ABOUT[verb] if about in named), verb)
