"""What a sentence does (it requests, asks, reports a symptom or states), and how a prompt opens."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from aggregates.reading.lexicon import ASKING, FILLERS, OBJECTS, OPENERS, QUESTION_HEADS, SENTENCE_WORDS, VERBS

_QUESTION_OF = {word: asked for asked, words in QUESTION_HEADS.items() for word in words}
_VERB_OF = {word: name for name, words in reversed(VERBS.items()) for word in words}
_OBJECT_OF = {word: name for name, words in reversed(OBJECTS.items()) for word in words}
_OBJECT_WORDS = frozenset(_OBJECT_OF)
_MODALS, _WISHES = SENTENCE_WORDS["modals"], SENTENCE_WORDS["wishes"]
_BEFORE_A_WISH, _AFTER_A_NOUN = SENTENCE_WORDS["before_a_wish"], SENTENCE_WORDS["after_a_noun"]
_SYMPTOM_STRONG, _NEGATIONS = SENTENCE_WORDS["symptom_strong"], SENTENCE_WORDS["negations"]
_TAGS, _SUBJECTS = SENTENCE_WORDS["tags"], SENTENCE_WORDS["subjects"]
_ASK_MARKS = _MODALS | _WISHES | SENTENCE_WORDS["ask_marks"]
_NEAR_WORDS = 40
"""A sentence's first words, in which its things and symptoms are looked for."""
_SKIPPED = FILLERS | {",", "?"}
_ALONE = ""


def _openers_by_first_word() -> dict[str, dict[str, str]]:
    """First word → second word, or `_ALONE` → how such a sentence opens."""
    table: dict[str, dict[str, str]] = {}
    for words, opener in OPENERS.items():
        table.setdefault(words[0], {})[words[1] if len(words) > 1 else _ALONE] = opener
    return table


_OPENERS = _openers_by_first_word()
RawSentence = tuple[Sequence[str], Sequence[str], bool]
"""The lower-cased words of one sentence with its commas and question marks; the same without them; whether there is a
question mark."""


class Sentence(NamedTuple):
    """What one sentence does."""

    kind: str
    """request, question, report or statement."""
    how: str
    """request: plain, you, we, want, lets, please, should …; question: wh, how, why, yesno, tag, other;
    report: strong, weak."""
    verb: str | None = None
    words: Sequence[str] = ()
    """Of a request, without the fillers before them."""


_REPORTS_STRONG, _REPORTS_WEAK = Sentence("report", "strong"), Sentence("report", "weak")
_STATES_SUBJECT, _STATES_OTHER = Sentence("statement", "subject"), Sentence("statement", "other")


def things(sentence: Sentence) -> set[str]:
    return {_OBJECT_OF[word] for word in _OBJECT_WORDS.intersection(sentence.words[:_NEAR_WORDS])}


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
        opener = (openers.get(rest[1]) if len(rest) > 1 else None) or openers.get(_ALONE)
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
    near = rest if len(rest) <= _NEAR_WORDS else rest[:_NEAR_WORDS]
    if not _SYMPTOM_STRONG.isdisjoint(near):
        return _REPORTS_STRONG
    if not _NEGATIONS.isdisjoint(near):
        return _REPORTS_WEAK
    return _STATES_SUBJECT if first in _SUBJECTS else _STATES_OTHER


def _question(rest: Sequence[str], words: Sequence[str]) -> str:
    head = _QUESTION_OF.get(rest[0])
    if "why" in rest[:6]:
        return "why"
    if head is not None:
        return head
    inner = next(
        (_QUESTION_OF[word] for word in rest[1:12] if word in ("what", "where", "which", "who", "how", "when")), None
    )
    if inner:
        return inner
    return "tag" if words[-1] in _TAGS else "other"


def _request(rest: Sequence[str]) -> tuple[str, str | None] | None:
    """How something is asked for and the kind of the verb; None where nothing is."""
    first, second = rest[0], rest[1] if len(rest) > 1 else ""
    if first in _VERB_OF and second not in _AFTER_A_NOUN:
        return "plain", _VERB_OF[first]
    if first in ("dont", "never", "do") and second and second not in _SUBJECTS and second != "the":
        return "forbid", _verb(rest[1:4]) or "change"
    if _ASK_MARKS.isdisjoint(rest):
        return None
    for index, word in enumerate(rest[:30]):
        if word in _ASK_MARKS:
            asked = _asked(rest, index)
            if asked is not None:
                return asked
    return None


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
        return ("suggest", _verb(after[:3]) or _gerund(following)) if index else None
    if word in ("should", "must", "shouldnt"):
        return ("should", _verb(after[:4])) if index else None
    if word == "lets":
        return "lets", _verb(after[:4]) or "do"
    return ("please", _verb(after[:4])) if word in ("please", "pls") else None


def _verb(words: Iterable[str]) -> str | None:
    return next((_VERB_OF[word] for word in words if word in _VERB_OF), None)


def _gerund(word: str) -> str | None:
    """`adding` → add, `removing` → remove."""
    if not word.endswith("ing"):
        return None
    stem = word[:-3]
    return _VERB_OF.get(stem) or _VERB_OF.get(stem + "e") or _VERB_OF.get(stem[:-1])


# The boundary judge asks for it. Only the head of a person's own words is looked at.

HEAD_CHARS = 400
_NEAR_CHARS = 220
_OWN_WORDS_MIN = 18
_LONG_WORDS_MIN = 12
_ASK_WORDS_MIN = 8
_ADDS_WORDS_MAX = 25
_END_CHARS = 24
_ACCEPTS = r"(?:ok|okay|alright|great|perfect|nice|cool|good|awesome|excellent|k|m+k|thanks|thank you|works)\b"
_FIRST = r"\W*(?:(?:ok|okay|alright|great|perfect|good|now|so|also|next)\W+)*"

_NEW_TASK = re.compile(
    r"\b(?:unrelated|new (?:change|task|topic|feature request)"
    r"|(?:next|2nd|second|third|another|one more|different|separate) (?:problem|issue|bug|task|topic|subject)"
    r"|something (?:odd|weird|strange|else|different)|let'?s (?:now )?(?:talk about|move on|switch|return to)|as for"
    r"|(?:with|in|given) (?:all )?(?:this|that) (?:context|knowledge|in mind)|start(?:ing)? (?:from scratch|over)"
    r"|there'?s an? (?:issue|problem|bug)|moving on|on (?:to )?another|now (?:to|for) the"
    r"|while (?:we'?re|you'?re|i'?m) (?:at it|there|here)|we(?:'?re| are) missing|also want to"
    r"|i(?:'d|'ve)? also (?!meant|mean|got|get|see|saw|tried|tested|think)|next (?:thing|step|up|one)|on another note"
    r"|by the way|btw|separately|change of (?:topic|plan)|in the same spirit)\b"
    r"|\b(?:next|(?:other|different) (?:thing|topic|question)) ?:"
)

_GOES_BACK = re.compile(
    r"\b(?:(?:go|going|get|getting)? ?back to|ignore (?:this|that)|the (?:findings|changes|ones?) (?:before|above|from)"
    r"|(?:as|like) (?:i|we) said|again|still|same)\b"
)

_LEADS = r"(?:let'?s |now |also |then |please |can you |yes,? |ok,? |and )*"

_PICKS = re.compile(
    rf"\W*(?:{_LEADS}"
    r"(?:add?ress|fix|do|handle|implement|apply|start with|start w/|take|go with|update|knock out|tell me about"
    r"|finish|complete|look at)\W+"
    r"(?:(?:#|top|number|items?|option|step|point|phase|issue|improvements?|these|both|the first|the second)\W+)*\d+\b"
    rf"|\d+\b|{_LEADS}add?ress\b|let'?s (?:do|look at|start with) th(?:is|ese)\b)"
)

_GOES_ON_AFTER_YES = re.compile(rf"\W*{_ACCEPTS}\W+")
_NOW = re.compile(r"\W*(?:(?:ok|okay|alright|great|perfect|good|and|so)\W+)?(?:now|next)\b")

_ASKS_FIRST = re.compile(
    rf"{_FIRST}(?:i(?:'d| would) like|i want|i need|we need|we want|we should|let'?s|lets|please|can you|could you"
    r"|can we|could we|add|create|implement|write|make|build|change|update|remove|refactor|take a look|look at|review"
    r"|investigate|your task|when|while|given|in |for |if |there|the |i(?:'ve| have| just)|my )"
)

_LINKS_BACK = re.compile(
    r"\W*(?:and|but|also|so|then|yes|yeah|yep|yup|no|nope|hmm+|ah|oh|still|why|right|wait|sorry|that|this|it|these|those"
    r"|they|i meant|i mean|actually|maybe|uhh?|well|continue|keep going|carry on|what about|how about"
    r"|should we|do we|is it|is that|is this|does it"
    r"|does that|did you|are you|are we|wouldn'?t|isn'?t|shouldn'?t|didn'?t|go|proceed|do it|let'?s do|let'?s go"
    r"|let'?s try|same|instead|again|looks|perfect|great|good|nice|cool|thanks?|k|mm+k?|ok|okay|alright)\b"
)

_POINTS = re.compile(r"\b(?:it|this|that|these|those|they|them|there)\b")
_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|you|your|my|me)\b")
_FAILURE = re.compile(r"--- FAIL|=== (?:RUN|NAME)|Traceback|panic:")
_ADDS = re.compile(r"\b(?:too|as well|instead|either|then|now|again|there|here)\W*$")

_COMMENT = re.compile(
    r"\b(?:reviewers?|review(?:er'?s)? comments?|pr comment|got this (?:comment|feedback|review)"
    r"|(?:this|got|some) feedback|copilot|bugbot|coderabbit|the bot)\b"
)

_REMARKS = re.compile(
    r"\b(?:consider|should|instead of|could|would|may|might|can (?:lead|cause|panic|fail|result)|means|causes?"
    r"|leads? to|risks?|potential\w*|unused|unnecessar\w+|inconsisten\w+|duplicat\w+|lacks?|missing|omits?|never"
    r"|silently|incorrect\w*|inaccurate|outdated|misleading|brittle|ensure|without|prevents?)\b"
)

_SEVERITY = re.compile(r"^(?:low|medium|high|critical) severity", re.MULTILINE)

OPENINGS: tuple[str, ...] = (
    "names a new task",
    "goes back",
    "picks from a list",
    "goes on after a yes",
    "begins with now",
    "asks like a first prompt",
    "links back at once",
    "points back at once",
    "speaks of nobody",
    "rates a severity",
    "pastes a failure",
    "adds to what is there",
    "passes on a comment",
    "remarks like a reviewer",
)


def prompt_opening(text: str, own: str, words: int) -> set[str]:
    """The ways in which a prompt opens; `own` is what the person wrote of `text`, `words` how many."""
    said = own.strip()
    head = said[:HEAD_CHARS].lower()
    near = head[:_NEAR_CHARS]
    nobody = words > _OWN_WORDS_MIN and not _PERSON.search(head)
    found = (
        _NEW_TASK.search(near),
        _GOES_BACK.search(_first_words(near, 14)),
        _PICKS.match(head),
        words > _LONG_WORDS_MIN and _goes_on_after_yes(head),
        _NOW.match(head),
        words > _ASK_WORDS_MIN and _ASKS_FIRST.match(head),
        _LINKS_BACK.match(head),
        _POINTS.search(_first_words(near, 5)),
        nobody,
        "severity" in head and _SEVERITY.search(head),
        len(text) > len(own) and _FAILURE.search(text[:HEAD_CHARS]),
        words <= _ADDS_WORDS_MAX and _ADDS.search(said[-_END_CHARS:].lower()),
        words > _LONG_WORDS_MIN and _COMMENT.search(near),
        nobody and len(_REMARKS.findall(head)) > 1,
    )
    return {name for name, holds in zip(OPENINGS, found, strict=True) if holds}


def _goes_on_after_yes(head: str) -> bool:
    """Whether it says yes to what was done, and then turns from it."""
    yes = _GOES_ON_AFTER_YES.match(head)
    return yes is not None and not _LINKS_BACK.match(head, yes.end())


def _first_words(text: str, count: int) -> str:
    return " ".join(text.split(None, count)[:count])
