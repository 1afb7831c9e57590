"""Reading a text once: what the judges need of it, without keeping its words.

Readings are made when the fact is projected; everything later is decided on them. No text makes them raise.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from aggregates.event import Digester, Span, packed
from aggregates.reading import sentences as lexicon
from aggregates.reading.authors import maker_of_own, own_span, own_words
from aggregates.reading.features import NUMBERED_WORDS, Features, extract
from aggregates.reading.model import SHIPPED, RubricModel
from aggregates.reading.pasted import prompt_opening, split_pasted
from aggregates.reading.readings import NUMBER, SHORT_WEIGHT, TOKENS_MAX, TOPIC_MAX, PromptReading, ResponseReading
from aggregates.reading.sentences import Cutter, patterns
from aggregates.reading.titles import title_and_summary

_SUCCESS_CHARS_MAX = 400  # in longer words of a person, that something works is no more than a part of what is told
_WORD = re.compile(r"\w+")
_WORDS = Cutter(_WORD)
_COMMAND = re.compile(r"(?:/[A-Za-z][\w:-]*(?:\s+|$))+")
_ARGUMENT_WORDS_MIN = 3  # so many words after a command are a person's own prompt: "/heavy look into the failing job"
_UNSAID = re.compile(r"[?`/\\_]")
_CLEARS = re.compile(r"\s*(?:/clear(?: |\n|\s*$)|<command-name>/clear<)")
_COMMAND_TAGS = ("<command-name>", "<command-message>")
_IMAGE = re.compile(r"\s*(?:\[Image[^\]]{0,300}\]\s*)+$")
_COMMON = lexicon.VOCABULARY.union(*lexicon.WORD_CUES.values())


def read_prompt(text: str, digester: Digester, model: RubricModel = SHIPPED) -> PromptReading:
    """Read a prompt, to be judged by `model` alone. Spans point into `text`; a blank prompt has empty spans."""
    own = own_span(text)
    words = text[own.start : own.end]
    maker = maker_of_own(words, text)
    looked = split_pasted(words)
    shown = extract(looked)
    title, summary = title_and_summary(looked)
    tokens = list(dict.fromkeys(_words(looked.text)))
    said = [*shown.cues, *prompt_opening(words, looked.own, len(shown.words))]
    navigational = "command" if maker is not None else _navigational(words, shown)
    if _goes_ahead(shown.words, navigational):
        said.append("goes ahead")
    if len(looked.own) <= _SUCCESS_CHARS_MAX and lexicon.says_it_works(looked.own):
        said.append("says that it works")
    elif _only_names_success(shown):
        said.append("only names success")
    if _IMAGE.match(words[:2000]) is not None:
        said.append("image alone")
    numbers = [number for word, number in NUMBERED_WORDS if word in shown.distinct]
    return PromptReading(
        weight=_weight(looked.own),
        navigational=navigational,
        clears=_CLEARS.match(words[:80].lower()) is not None,
        token_digests=packed(sorted(digester.numbers(tokens[:TOKENS_MAX]))),
        title=Span(own.start + title.start, own.start + title.end),
        summary=Span(own.start + summary.start, own.start + summary.end),
        characters=len(words),
        pasted_characters=looked.pasted_chars,
        shown=tuple(sorted([*numbers, *(NUMBER[name] for name in said if name in NUMBER)])),
        logits=model.logits_of(shown),
        topic_digests=_topic(shown.distinct, digester),
        foreign=shown.foreign,
        maker=maker,
        start=own.start,
    )


def text_digest(text: str, digester: Digester) -> int:
    """Equal for two captures of one prompt, whatever white space or blocks the agent put around it."""
    return digester.number(" ".join(own_words(text).split()))


_TELLS = patterns("answers")
_END_CHARS = 400
_OFFER_CHARS = 200
_CLOSE_CHARS = 250


def read_response(text: str, digester: Digester) -> ResponseReading:
    """Read a response's end: what it reports in its last 400 characters, what it is about in its last 800."""
    end = text[-_END_CHARS:].lower().rstrip()
    words = [word for word in _words(text[-2 * _END_CHARS :]) if not word.isdigit()]
    return ResponseReading(
        topic_digests=_topic(dict.fromkeys(words), digester),
        characters=len(text),
        asks=_TELLS["offers"].search(end[-_OFFER_CHARS:]) is not None,
        reports_done=_TELLS["done"].search(end) is not None,
        reports_failure=_TELLS["failed"].search(end) is not None,
        closes=_TELLS["closes"].search(end[-_CLOSE_CHARS:]) is not None,
        invites=_TELLS["invites"].search(end[-_OFFER_CHARS:]) is not None,
        breaks_off=_TELLS["breaks off"].search(end[-_OFFER_CHARS:]) is not None,
    )


def _words(text: str) -> list[str]:
    return _WORDS.cut(text.lower())[0]


def _weight(own: str) -> int:
    stripped = own.strip()
    return len(stripped) if stripped.isascii() else len(stripped) + 2 * len(_cjk().findall(stripped))


@cache
def _cjk() -> re.Pattern[str]:
    """Compiled where it is needed: that takes as long as reading a hundred prompts."""
    return re.compile(
        "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
    )


def _navigational(text: str, shown: Features) -> str | None:
    start = text[:200].lstrip()
    command = _COMMAND.match(start)
    if start.startswith(_COMMAND_TAGS) or (command and len(start[command.end() :].split()) < _ARGUMENT_WORDS_MIN):
        return "command"
    if start.startswith(("!", "<bash-input>", "<bash-stdout>", "<bash-stderr>")):
        return "shell"
    words = shown.words[: lexicon.ACKNOWLEDGEMENT_WORDS_MAX + 1]
    acknowledges = 0 < len(words) <= lexicon.ACKNOWLEDGEMENT_WORDS_MAX and words[0] in lexicon.ACKNOWLEDGING_STARTS
    if acknowledges and lexicon.ACKNOWLEDGEMENTS.issuperset(words) and len(text) < 100 and not _UNSAID.search(text):
        return "acknowledgement"
    if len(text) < 2 * SHORT_WEIGHT + 60 and _weight(text) < SHORT_WEIGHT:
        return "short"
    return None


def _goes_ahead(words: Sequence[str], navigational: str | None) -> bool:
    """Whether a prompt only lets the work go on; it says nothing of what was done."""
    if not lexicon.GO_AHEADS.isdisjoint(words[:1]):
        return True
    if navigational != "acknowledgement" or (not lexicon.PRAISE.isdisjoint(words) and "would" not in words):
        return False
    return not (lexicon.GO_AHEADS | lexicon.AGREEING).isdisjoint(words)


def _only_names_success(shown: Features) -> bool:
    """Whether "it works" is the only approving phrase, where it is no statement: "make sure it works"."""
    if _WORKS not in shown.phrases.get("accepting", ""):
        return False
    line = " ".join(shown.words)
    others = [each for each in lexicon.PHRASE_CUES["accepting"] if not any(word.startswith(_WORKS) for word in each)]
    return not any(" ".join(each) in line for each in others)


_WORKS = "work"


def _topic(distinct: Iterable[str], digester: Digester) -> bytes:
    rare = [word for word in distinct if word not in _COMMON and len(word) > 2]
    return packed(sorted(digester.numbers(rare[:TOPIC_MAX])))
