"""Whose words a text holds, and what is kept of one that was read: numbers and keyed digests, without its words.

Apart from those that read: their words, patterns and weights take as long to load as a web framework.
"""

import re
from pkgutil import get_data
from typing import Literal

import msgspec

from aggregates import REVIEW_MARK
from aggregates.event import Span, unpacked

READING_VERSION = 1
"""Counted up whenever a text may be read otherwise: readings of another version are not taken over by an upgrade."""

# Which part of a prompt a person wrote, and which prompts an agent wrote in a person's place: one rule for hooks,
# telemetry and transcripts, linear in the text's length.

BUTTON = "the text of a button"  # a person pressed it, so it may begin a session; the words are the agent's
CONTEXT = "context that an agent adds"
PRINTED = "what a command printed"
TITLE = "a request for a title"


class _Lists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    beginnings: dict[str, tuple[str, ...]]  # what an agent put there → how it begins
    blocks: str  # which ones an agent puts around a prompt
    openings: tuple[str, ...]
    crossed: tuple[str, ...]
    named: tuple[str, ...]


_LISTS = msgspec.json.decode(get_data(__name__, "readings.json") or b"", type=_Lists)
_MAKERS = {beginning: maker for maker, beginnings in _LISTS.beginnings.items() for beginning in beginnings}
_MAKERS[REVIEW_MARK] = "a question of svc review"
_ALL_BEGINNINGS = tuple(_MAKERS)
_OPENED = re.compile(rf"\s*<({_LISTS.blocks})(?:\s[^<>]*)?>")
_CLOSED = re.compile(rf"</({_LISTS.blocks})>$")
_FILES, _FILES_END = "--- Content from referenced files ---", "--- End of content ---"
"""What Gemini puts behind a prompt that names files by `@`."""
_BLOCKS_MAX = 64  # so many blocks before a person's words, and so many behind them
_TAG_CHARACTERS_MAX = 64


def own_span(text: str) -> Span:
    """What a person wrote, without the blocks that an agent puts before and behind it."""
    start, end = 0, len(text.rstrip())
    for _ in range(_BLOCKS_MAX):
        opened = _OPENED.match(text, start)
        closed = -1 if opened is None else text.find(f"</{opened[1]}>", opened.end())
        if opened is None or closed < 0:
            break
        start = closed + len(opened[1]) + 3
    files = text.find(f"\n{_FILES}", start) if text.endswith(_FILES_END, start, end) else -1
    end = end if files < 0 else start + len(text[start:files].rstrip())
    for _ in range(_BLOCKS_MAX):
        closing = _CLOSED.search(text, max(start, end - _TAG_CHARACTERS_MAX), end)
        begun = -1 if closing is None else text.rfind(f"<{closing[1]}", start, end)
        if begun < 0:
            break
        end = start + len(text[start:begun].rstrip())
    if (start, end) == (0, len(text.rstrip())):
        return Span(0, len(text))
    start += len(text[start:end]) - len(text[start:end].lstrip())
    return Span(start, max(start, end))


def own_words(text: str) -> str:
    own = own_span(text)
    return text[own.start : own.end]


def maker_of(text: str, own: str | None = None) -> str | None:
    """What an agent put in a person's place; None where a person wrote, if only a part. `own`: its `own_words`."""
    words = own_words(text) if own is None else own
    if not words.strip():
        return CONTEXT if text.strip() else None
    begun = words[:200].lstrip()
    said = _MAKERS.items() if begun.startswith(_ALL_BEGINNINGS) else ()
    return next((maker for beginning, maker in said if begun.startswith(beginning)), None)


def is_for_shell(words: str) -> bool:
    """Whether an agent takes them for a command of the shell, without asking a model."""
    return words.lstrip().startswith("!") and "\n" not in words.strip()


HEAD_CHARS = 24_576
TAIL_CHARS = 8_192  # of a longer text only so much is looked at, at both ends
TOKENS_MAX = 512
TOPIC_MAX = 48
SHORT_WEIGHT = 10
OPENINGS, CROSSED, NAMED = _LISTS.openings, _LISTS.crossed, _LISTS.named
"""Features and openings that rules ask for by name. A reading keeps their places here, and sealed readings stand in
logs: new ones go to the end."""
NUMBER: dict[str, int] = {name: place for place, name in enumerate(NAMED)}


class PromptReading(msgspec.Struct, frozen=True, array_like=True):
    weight: int  # characters, a CJK character counting as three; pasted text left out
    navigational: str | None  # `short`, `command`, `shell` or `acknowledgement`; None for a real prompt
    clears: bool
    token_digests: bytes  # keyed, of the distinct lower-cased word tokens, sorted, `packed`; at most `TOKENS_MAX`
    title: Span
    summary: Span
    characters: int = 0  # of the person's own words, pasted ones too
    pasted_characters: int = 0  # of pasted lines; the middle of a text over 32 KiB counts as pasted
    shown: tuple[int, ...] = ()  # the features and openings of `NAMED` that it shows, by their places
    logits: tuple[int, ...] = ()
    """What a rubric model weighs of its features (`RubricModel.logits`). Which known words it holds is kept nowhere
    else: a reading outlives its text, and must not spell it."""
    topic_digests: bytes = b""  # keyed, of the words that are not everyday words, sorted; at most `TOPIC_MAX`
    foreign: bool = False  # in a language that the lexicons do not know, or a picture alone: the rubric judge abstains
    maker: str | None = None  # `maker_of`
    start: int = 0  # where the person's own words begin in the text
    checks: tuple[int, ...] = ()  # keyed digests of the names of scripts that it calls the check

    def shows(self, *names: str) -> bool:
        return any(map(self.shown.__contains__, map(NUMBER.__getitem__, names)))

    @property
    def tokens(self) -> tuple[int, ...]:
        return unpacked(self.token_digests)

    @property
    def accepts(self) -> bool:
        """Thanks, praise or a bare acknowledgement, without a complaint."""
        accepting = self.navigational == "acknowledgement" or self.approves
        return accepting and not (self.corrects or self.reports_failure)

    @property
    def approves(self) -> bool:
        return self.shows("says that it works") or (
            self.shows("phrase:accepting") and not self.shows("only names success")
        )

    @property
    def corrects(self) -> bool:
        """Says that the work or the answer before is not what was wanted."""
        return self.shows("phrase:correcting") and not self.shows("only mentions a mistake")

    @property
    def reports_failure(self) -> bool:
        return self.shows("says that it fails") or (
            self.shows("phrase:failing") and not self.shows("says that it works")
        )

    @property
    def asks_to_revert(self) -> bool:
        return self.shows("phrase:undoing")


class ResponseReading(msgspec.Struct, frozen=True, array_like=True):
    topic_digests: bytes = b""  # the same of the words at its end
    characters: int = 0
    asks: bool = False  # ends by asking or offering: the next prompt may answer it
    reports_done: bool = False  # says that the work is done or that checks pass
    reports_failure: bool = False  # says that something still fails, or that it could not be done
    closes: bool = False  # says that the work is complete, ready, committed or merged
    invites: bool = False  # ends with a general offer of more help, or asks what is next
    breaks_off: bool = False  # ends by saying what comes next, as an answer does that was cut off
    tells_failure: Literal["gives up", "fails", "may fail", "is untried"] | None = None  # `StatedFailure.kind`
