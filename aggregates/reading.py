"""Reading a text once: what the judges need of it, without keeping its words.

`read_prompt` and `read_response` are made when the fact is projected; everything later is decided on readings. The
budget is 50 microseconds per kilobyte: tokenise once, then look up sets. They never raise, whatever the string.
"""

import re
from functools import lru_cache

import msgspec

from aggregates.digests import Digester
from aggregates.features import FEATURES, Features, extract
from aggregates.lexicons import (
    ACKNOWLEDGEMENT_WORDS_MAX,
    ACKNOWLEDGEMENTS,
    ACKNOWLEDGING_STARTS,
    PHRASE_CUES,
    VOCABULARY,
    WORD_CUES,
)
from aggregates.pasted import HEAD_CHARS, TAIL_CHARS, Looked, look
from aggregates.words import Span

TOKENS_MAX = 512
TOPIC_MAX = 48
TITLE_CHARS_MAX = 60
SUMMARY_CHARS_MAX = 240
SHORT_WEIGHT = 10
EVIDENCE_CHARS_MAX = 160

_WORD = re.compile(r"\w+")
_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
_COMMAND = re.compile(r"/[A-Za-z][\w:-]*(?:\s|$)")
_NOT_TYPED = (
    "<command-name>",
    "<command-message>",
    "<local-command",
    "This session is being continued from a previous conversation",
    "Base directory for this skill:",
)
"""How texts begin that an agent puts in the user's place."""
_IMAGE = re.compile(r"\s*(?:\[Image[^\]]{0,300}\]\s*)+$")
_COMMON = VOCABULARY.union(*WORD_CUES.values())
_NUMBER_OF = {name: number for number, name in enumerate(FEATURES)}

_EVIDENCE_CUES: tuple[tuple[str, ...], ...] = (
    ("goal_given", "feature_asked", "small_asked", "refactor_asked"),
    ("scope_limit",),
    (),
    ("cause_asked", "goal_given"),
    ("check_asked",),
    ("cause_asked",),
    ("plan_given", "plan_asked"),
)
"""For each boolean in rubric order, the phrases whose place is kept as its evidence."""


class PromptReading(msgspec.Struct, frozen=True, array_like=True):
    """What one prompt's text shows, by itself."""

    weight: int
    """Characters, a CJK character counting as three; pasted text left out."""
    navigational: str | None
    """Why this prompt only navigates: `short`, `command`, `shell`, `acknowledgement`; None for a real prompt."""
    clears: bool
    """True for a `/clear` prompt."""
    tokens: tuple[int, ...]
    """Keyed digests of the distinct lower-cased word tokens, sorted; at most `TOKENS_MAX`."""
    title: Span
    """A heuristic title within the prompt, at most 60 characters."""
    summary: Span
    """At most 240 characters."""
    characters: int = 0
    """Of the whole text."""
    pasted_characters: int = 0
    """Of pasted lines; the middle of a text over 32 KiB counts as pasted."""
    features: tuple[int, ...] = ()
    """Numbers into `features.FEATURES`, ascending."""
    topic: tuple[int, ...] = ()
    """Keyed digests of the words that are not everyday words, sorted; at most `TOPIC_MAX`."""
    foreign: bool = False
    """In a language that the lexicons do not know, or a picture alone: the rubric judge abstains."""
    spans: tuple[Span | None, ...] = (None,) * 7
    """For each boolean in rubric order, the words that speak for it; None where none do."""

    @property
    def wordless(self) -> bool:
        """Holds no word of its own and nothing pasted to judge by: an image, a lone mark."""
        return self.shows("no own words") and not self.pasted_characters

    def shows(self, name: str) -> bool:
        """Whether the named feature is there; the name is one of `features.FEATURES`."""
        return _NUMBER_OF[name] in self.features

    @property
    def accepts(self) -> bool:
        """Thanks, praise or a bare acknowledgement, without a complaint."""
        if self.corrects or self.reports_failure:
            return False
        return self.navigational == "acknowledgement" or self.shows("phrase:accepting")

    @property
    def corrects(self) -> bool:
        """Says that the work or the answer before is not what was wanted."""
        return self.shows("phrase:correcting")

    @property
    def reports_failure(self) -> bool:
        """Says that what was done does not work."""
        return self.shows("phrase:failing")

    @property
    def asks_to_revert(self) -> bool:
        """Asks to take earlier work back."""
        return self.shows("phrase:undoing")


class ResponseReading(msgspec.Struct, frozen=True, array_like=True):
    """What one response's text shows."""

    tokens: tuple[int, ...]
    """Keyed digests of the distinct lower-cased word tokens, sorted; at most `TOKENS_MAX`."""
    topic: tuple[int, ...] = ()
    """Keyed digests of the words that are not everyday words, sorted; at most `TOPIC_MAX`."""
    characters: int = 0
    asks: bool = False
    """Ends by asking or offering: the next prompt may answer it."""
    reports_done: bool = False
    """Says that the work is done or that checks pass."""
    reports_failure: bool = False
    """Says that something still fails, or that it could not be done."""


def read_prompt(text: str, digester: Digester) -> PromptReading:
    """Read a prompt. Spans point into `text`; a blank prompt has empty spans."""
    looked = look(text)
    shown = extract(looked)
    title, summary = _title(looked), _summary(looked)
    return PromptReading(
        weight=_weight(looked.own),
        navigational=_navigational(text, shown),
        clears=_is_clear(text),
        tokens=_digests(looked.text, digester),
        title=title,
        summary=summary,
        characters=len(text),
        pasted_characters=looked.pasted_chars,
        features=shown.active,
        topic=_topic(shown.words, digester),
        foreign=shown.foreign or _IMAGE.match(text[:2000]) is not None,
        spans=_evidence(looked, shown),
    )


_DONE = re.compile(
    r"tests? (?:now )?pass|all (?:\w+ )?(?:tests|checks|\d+)\b.{0,20}pass|\bdone\b|\bcompleted?\b|\bfixed\b"
    r"|successfully|✅|✓|has been|have been|is now|are now|created|updated|implemented|no issues",
    re.IGNORECASE,
)  # fmt: skip
_FAILED = re.compile(
    r"still fail|failed to|could ?n[o']t|unable to|API Error|cannot |not yet|did not|didn't work|error occurred"
    r"|still need|timed out",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"\?\s*$|would you like|shall I|should I|want me to|do you want|let me know|which (?:option|approach|one)"
    r"|your (?:call|choice|preference)",
    re.IGNORECASE,
)
_END_CHARS = 400


def read_response(text: str, digester: Digester) -> ResponseReading:
    """Read a response; what it reports is looked for in its last 400 characters."""
    looked = text if len(text) <= HEAD_CHARS + TAIL_CHARS else text[:HEAD_CHARS] + "\n" + text[-TAIL_CHARS:]
    end = text[-_END_CHARS:]
    words = [word for word in _WORD.findall(looked[-2 * _END_CHARS :].lower()) if not word.isdigit()]
    return ResponseReading(
        tokens=_digests(looked, digester),
        topic=_topic(words, digester),
        characters=len(text),
        asks=_OFFER.search(end[-200:]) is not None,
        reports_done=_DONE.search(end) is not None,
        reports_failure=_FAILED.search(end) is not None,
    )


def _weight(own: str) -> int:
    """Characters that are no white space around, a CJK character counting as three."""
    stripped = own.strip()
    return len(stripped) if stripped.isascii() else len(stripped) + 2 * len(_CJK.findall(stripped))


def _is_clear(text: str) -> bool:
    start = text[:80].strip().lower()
    return start == "/clear" or start.startswith(("/clear ", "/clear\n", "<command-name>/clear<"))


def _navigational(text: str, shown: Features) -> str | None:
    """Why a prompt only navigates, if it does."""
    start = text[:200].lstrip()
    if start.startswith(_NOT_TYPED) or _COMMAND.match(start):
        return "command"
    if start.startswith(("!", "<bash-input>", "<bash-stdout>", "<bash-stderr>")):
        return "shell"
    if _acknowledges(shown.words) and len(text) < 100 and not any(c in text for c in "?`/\\_"):
        return "acknowledgement"
    if len(text) < 2 * SHORT_WEIGHT + 60 and _weight(text) < SHORT_WEIGHT:
        return "short"
    return None


def _acknowledges(words: tuple[str, ...]) -> bool:
    return (
        0 < len(words) <= ACKNOWLEDGEMENT_WORDS_MAX
        and words[0] in ACKNOWLEDGING_STARTS
        and all(word in ACKNOWLEDGEMENTS for word in words)
    )


def _digests(text: str, digester: Digester) -> tuple[int, ...]:
    """Digests of the first distinct words, sorted."""
    distinct = list(dict.fromkeys(_WORD.findall(text.lower())))[:TOKENS_MAX]
    return tuple(sorted(map(digester.number, distinct)))


def _topic(words: tuple[str, ...] | list[str], digester: Digester) -> tuple[int, ...]:
    rare = [word for word in dict.fromkeys(words) if word not in _COMMON and len(word) > 2]
    return tuple(sorted(digester.number(word) for word in rare[:TOPIC_MAX]))


def _first_line(looked: Looked) -> tuple[str, int, int]:
    """The text, start and end of the line that says what a prompt is about; own lines first."""
    for source in (looked.own, looked.text):
        start = len(source) - len(source.lstrip())
        if start < len(source):
            end = source.find("\n", start)
            return source, start, len(source) if end < 0 else end
    return "", 0, 0


def _title(looked: Looked) -> Span:
    source, start, end = _first_line(looked)
    line = source[start:end].rstrip()
    if line.endswith(":") and len(line) < TITLE_CHARS_MAX:
        start, end = _heading_after(source, start, end)
    while start < end and source[start] in "#*->•– \t":
        start += 1
    return _placed(looked, source, start, _cut(source, start, end, TITLE_CHARS_MAX))


def _heading_after(source: str, start: int, end: int) -> tuple[int, int]:
    """After "Implement the following plan:" the heading that follows says more."""
    rest = source[end : end + 400]
    after = end + len(rest) - len(rest.lstrip())
    if source[after : after + 1] != "#":
        return start, end
    stop = source.find("\n", after)
    return after, len(source) if stop < 0 else stop


def _summary(looked: Looked) -> Span:
    source, start, end = _first_line(looked)
    return _placed(looked, source, start, _cut(source, start, min(end, len(source)), SUMMARY_CHARS_MAX))


def _cut(source: str, start: int, end: int, most: int) -> int:
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


def _placed(looked: Looked, source: str, start: int, end: int) -> Span:
    if source is looked.own:
        return looked.span(start, end)
    return Span(start, end)


def _evidence(looked: Looked, shown: Features) -> tuple[Span | None, ...]:
    """For each boolean the clause that holds its first cue."""
    if not shown.words:
        return (None,) * 7
    found = dict(shown.cue_words)
    spans: list[Span | None] = []
    for cues in _EVIDENCE_CUES:
        phrase = next((found[n] for cue in cues if (n := _NUMBER_OF[f"phrase:{cue}"]) in found), None)
        spans.append(_clause(looked, phrase) if phrase else None)
    spans[2] = looked.span(*shown.reference) if shown.reference else None
    return tuple(spans)


@lru_cache(maxsize=512)
def _pattern(phrase: str) -> re.Pattern[str]:
    """A phrase of the lexicon as it stands in a text: apostrophes and punctuation between."""
    words = [r"['’]?".join(map(re.escape, word)) for word in phrase.replace(",", " ").replace("?", " ").split()]
    return re.compile(r"(?<!\w)" + r"\W{1,4}".join(words), re.IGNORECASE)


def _clause(looked: Looked, phrase: str) -> Span | None:
    match = _pattern(phrase).search(looked.own)
    if match is None:
        return None
    own = looked.own
    low = max(match.start() - EVIDENCE_CHARS_MAX // 2, 0)
    before = own[low : match.start()]
    cut = max(before.rfind(mark) for mark in (". ", "? ", "! ", "\n"))
    start = low + cut + 1 if cut >= 0 else (low if low == 0 else low + before.find(" ") + 1)
    while start < match.start() and own[start] in " \t-*#>":
        start += 1
    end = _cut(own, start, min(len(own), max(match.end(), start + EVIDENCE_CHARS_MAX)), EVIDENCE_CHARS_MAX)
    stop = min(
        (at for mark in (". ", "? ", "! ", "\n") if (at := own.find(mark, match.end(), end)) >= 0),
        default=end,
    )
    return looked.span(start, max(stop, match.end()))


assert all(f"phrase:{name}" in _NUMBER_OF for name in PHRASE_CUES)
