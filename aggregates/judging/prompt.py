"""The rubric judge: what kind of thing a prompt asks for, which habits it shows, and why (scoring.md, section 3).

A file of its own, for a prompt is also judged while a person waits for it, and turns take long to import.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from pkgutil import get_data
from typing import TYPE_CHECKING, Literal

import msgspec

from aggregates.event import Span
from aggregates.ids import plain
from aggregates.reading.readings import SHORT_WEIGHT, PromptReading, ResponseReading
from aggregates.reading.verdicts import BOOLEANS, BooleanName, BooleanVerdict, Evidence, Intent, Likely, Rubric

if TYPE_CHECKING:
    from aggregates.reading.model import Logits, RubricModel

LEANS = (
    *("phrase:accepting", "phrase:correcting", "phrase:answered", "links back at once", "picks from a list"),
    *("leans on what was said", "adds to what is there"),
)
"""What a prompt shows that rests on another one."""
Before = tuple[PromptReading | None, ResponseReading | None]  # prompt and answer of the turn before in its sub-session


def judge_prompt(
    prompt: PromptReading | None, before: Before | None, model: "RubricModel | None" = None, *, force: bool = False
) -> Rubric:
    """One prompt by itself, read for this `model`. `force`: in whatever language."""
    if prompt is None or prompt.navigational:
        return Rubric("skipped")
    # An image or a lone mark holds no word, and nothing pasted to judge by.
    wordless = prompt.shows("image alone") or (prompt.shows("no own words") and not prompt.pasted_characters)
    if (prompt.foreign or wordless) and not force:
        return Rubric("unclassified", reason=None if wordless else "language")
    from aggregates.reading.model import SHIPPED  # late: loaded with the first text

    own_words = prompt.weight >= SHORT_WEIGHT and not prompt.shows("bare paste")
    return _rubric(model or SHIPPED, prompt.logits, context_names(prompt, before), prompt.shown, own_words)


@lru_cache(maxsize=2_048)
def _rubric(
    model: "RubricModel", logits: "Logits", context: tuple[str, ...], shown: tuple[int, ...], own_words: bool
) -> Rubric:
    """An open sub-session is judged anew with every turn; what was found of its earlier prompts is kept here."""
    return model.verdict(logits, context, shown, own_words=own_words)


def context_names(prompt: PromptReading, before: Before | None) -> tuple[str, ...]:
    first, (asked, answer) = before is None, before or (None, None)
    short, named = not prompt.shows("words over 16"), prompt.shows("reference")
    bare = not named and not prompt.pasted_characters
    command = asked is not None and asked.navigational == "command"
    found = {
        "context:first": first,
        "context:first and short": first and short,
        "context:first and of few words": first and not prompt.shows("words over 6"),
        "context:first and nothing named": first and not named,
        "context:first and plain": first and short and not named,
        "context:first and pasted": first and prompt.pasted_characters > 0,
        "short and nothing named": short and not named,
        "nothing pasted: report": bare and prompt.shows("only strong report", "only weak report"),
        "nothing pasted: first and vague": first and bare and prompt.shows("cue:vague"),
        "nothing pasted: error": bare and prompt.shows("cue:symptom"),
        "context:after an offer": answer is not None and answer.asks,
        "context:after silence": not first and (answer is None or not answer.characters),
        "context:after a command": command,
        "context:after a review command": command and asked is not None and asked.shows("cue:review", "word:review"),
    }
    return tuple(name for name, holds in found.items() if holds)


# Why a prompt earned or missed each boolean: made from the text itself, only where somebody asks.


class HabitWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    earned: str
    missed: str
    how: str
    next: str  # the same for one who is to begin with it, as the end of a sentence
    rewrite: str  # how it is earned with a prompt's own sentence, `said`
    shown_by: re.Pattern[str] = re.compile("")  # what words that are quoted for it have to hold
    may_show: re.Pattern[str] | None = None
    """So much as one of these, wherever it stands, may show it where it is judged as missed."""


HABIT_WORDS = msgspec.toml.decode(
    get_data(__name__, "habits.toml") or b"",
    type=dict[BooleanName, HabitWords],
    dec_hook=lambda _, pieces: re.compile("".join(pieces)),
)
_TOLD = {True: "earned", False: "missed", None: "nobody could tell"}
AS_A_WHOLE = "counted by the judge from the prompt as a whole; no words were found that show it by themselves"
_FORBIDDEN = 0.1  # so likely is at most what the words of a prompt speak against
_BY_WORDS = {"scope_bounded", *(name for name, words in HABIT_WORDS.items() if words.may_show)}
UNSURE = "nobody can tell: what was found may be enough or not"  # also where words may show what is judged as missed


def rubric_evidence(text: str | None, rubric: Rubric, position: int) -> dict[BooleanName, Evidence]:
    """For each boolean that applies, what speaks for it, or what was missed. Empty unless the rubric is ok.

    `position`: of the fact whose words are `text`, None where they are gone. A span points at what earned the boolean.
    """
    if rubric.intent is None:
        return {}
    if text is None:
        gone = "as it was judged while its words were there"
        return {each.name: Evidence(f"{_TOLD[each.value]}, {gone}", position) for each in rubric.booleans}
    from aggregates.reading.features import extract  # late: loaded with the first text
    from aggregates.reading.prompt_text import split_pasted
    from aggregates.reading.reading import evidence_spans

    looked = split_pasted(text)
    shown = extract(looked)
    spans = evidence_spans(looked, shown.phrases, questioning=rubric.intent in ("question", "investigation"))
    found: dict[BooleanName, Evidence] = {}
    for each in rubric.booleans:
        name, span, words = each.name, spans[each.name], HABIT_WORDS[each.name]
        if each.value:
            quoted = span if span and words.shown_by.match(text[span.start : span.end]) else None
            found[name] = Evidence(AS_A_WHOLE if quoted is None else words.earned, position, quoted)
        elif each.value is None or shown.foreign or _may_be_shown(each, span, text):
            found[name] = Evidence(UNSURE)
        else:
            found[name] = Evidence(words.missed)
    return found


def _may_be_shown(verdict: BooleanVerdict, span: Span | None, text: str) -> bool:
    """Whether what is judged as missed may be there. That a goal or a place is missing is said of what forbids it."""
    words = HABIT_WORDS[verdict.name].may_show
    return verdict.chance > _FORBIDDEN if words is None else bool(span or words.search(text))


def in_these_words(verdict: BooleanVerdict, found: Evidence, *, asked_back: bool = False) -> Likely:
    """How likely it is, in words: surely only where words of the prompt bear it out."""
    if verdict.value is not True or found.span is not None:
        return verdict.likely
    return "as likely as not" if asked_back and not rests_on_words(verdict.name) else "likely"


def earned(verdict: BooleanVerdict, found: Evidence) -> bool:
    """Whether it is shown: a limit, and what is asked for by words of its own, only by these."""
    return verdict.value is True and (found.what != AS_A_WHOLE or verdict.name not in _BY_WORDS)


def missed(verdict: BooleanVerdict, found: Evidence) -> bool:
    """Whether it is surely missed: no words that may show it were found."""
    return verdict.value is False and found.what != UNSURE


def rests_on_words(name: BooleanName) -> bool:
    """Whether words of a prompt bear it out, and not the prompt as a whole."""
    return name != "context_sufficient"


SAID_CHARACTERS_MAX = 100
_SENTENCE_END = re.compile(r"[.?!] ")
_PRINTED = re.compile(r"(?m)^\s*(?:===|[✓✔✗⨯│├└]|(?:error|Error)[:=])")  # lines of a program
_PRINTED_CHARS = 600
_SENTENCE_MIN = 12  # a sentence that ends before so many characters is told with the next one
_ANSWERS = re.compile(r"(?i)\W*(?:y(?:es|eah|ep|up)|no(?:pe)?|ok(?:ay)?|sure|right)(?:[ ,.!]+[\w'-]+){0,5}[ ,.!]*")
_ITEM_MARK = re.compile(r"(?<=[.!?:])\s+(?:\d{1,2}[.)]?|[-*•–])\s*$")  # of a list's first item, where it was cut


def first_sentence(text: str) -> str:
    """Of a prompt's own words, on one line, cut where it is long; empty where it only leads up, or was printed."""
    from aggregates.reading.prompt_text import cut_end, split_pasted, title_and_summary  # late: loaded with the first

    title, summary = title_and_summary(split_pasted(text))
    if len(_PRINTED.findall(text, 0, summary.end + _PRINTED_CHARS)) > 1:
        return ""
    said = text[title.start : max(title.end, cut_end(text, title.start, summary.end, 2 * SAID_CHARACTERS_MAX))]
    line = plain(" ".join(said.split()))
    first = line[: cut_end(line, 0, len(line), SAID_CHARACTERS_MAX)]
    stop = _SENTENCE_END.search(first, _SENTENCE_MIN)
    ended = _ITEM_MARK.sub("", first if stop is None else first[: stop.start()]).rstrip()
    if ended.endswith(":"):
        return ""
    return f"{ended} …" if stop is None and len(first) < len(line) else ended.rstrip(" .!?;,")


def how_to_earn(name: BooleanName, text: str | None) -> str:
    """How this very prompt would earn it: its own first sentence, with what is missing."""
    said = "" if text is None or _ANSWERS.fullmatch(text) else first_sentence(text)
    return HABIT_WORDS[name].rewrite.format(said=said).replace("….", "…") if said else HABIT_WORDS[name].how


# What a developer could do differently, in plain sentences: `advice.toml`, in two languages.

Language = Literal["en", "ko"]
GRADED_MIN = 5  # from fewer prompts nothing is concluded about a habit
REWORKED = "it takes back or repeats earlier work"
NO_SIGN = "nothing shows that the goal was reached"  # the two reasons that are no evidence of the outcome judge


class Advised(msgspec.Struct, frozen=True):
    label: str
    advice: str


class Advice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    not_enough: str  # with the `least` that it takes
    nothing_missed: str
    habits: dict[BooleanName, Advised]
    troubles: dict[str, Advised]  # what to do about each kind of evidence against an outcome
    reached: dict[Intent, str]


ADVICE = msgspec.toml.decode(get_data(__name__, "advice.toml") or b"", type=dict[Language, Advice])


def language_of(asked: str | None) -> Language:
    return "ko" if asked is not None and asked.lower().startswith("ko") else "en"


def weakest(shares: Mapping[BooleanName, float], counts: Mapping[BooleanName, int], most: int) -> list[BooleanName]:
    """The habits missed in the most prompts first, of what could be told often enough."""
    missed = [name for name in BOOLEANS if counts.get(name, 0) >= GRADED_MIN and shares[name] < 1]
    return sorted(missed, key=lambda name: round(counts[name] * (shares[name] - 1), 6))[:most]


def next_habit(shares: Mapping[BooleanName, float], counts: Mapping[BooleanName, int]) -> BooleanName | None:
    """The one to train: the first of those that a report advises."""
    return next(iter(weakest(shares, counts, 1)), None)
