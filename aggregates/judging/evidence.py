"""Why a prompt earned or missed each boolean, in its own words: made from the text itself, only where somebody asks."""

from collections.abc import Mapping
from pkgutil import get_data
from typing import Literal

import msgspec

from aggregates.event import Span
from aggregates.reading.features import extract
from aggregates.reading.pasted import split_pasted
from aggregates.reading.reading import evidence_spans, title_and_summary
from aggregates.reading.verdicts import BOOLEANS, BooleanName, Evidence, Intent, Rubric, applicable


class HabitWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a boolean was earned or missed, and how it is earned."""

    earned: str
    missed: str
    how: str
    nearest: str | None = None
    """What a missed one was looked for; whether the context is enough is weighed, and no words stand for it."""


HABIT_WORDS = msgspec.toml.decode(get_data(__name__, "habits.toml") or b"", type=dict[BooleanName, HabitWords])
_AS_A_WHOLE = "counted by the judge from the prompt as a whole; no words were found that show it by themselves"
_UNSEARCHED = "missed, as it was judged; words are searched in English only"


def rubric_evidence(text: str | None, rubric: Rubric, position: int) -> dict[BooleanName, Evidence]:
    """For each boolean that applies, what speaks for it, or what was missed. Empty unless the rubric is ok.

    `position`: of the fact whose words are `text`, None where they are gone. A span points into `text`: at what earned
    the boolean (the summary where no words stand out), or at what came nearest to a missed one.
    """
    if rubric.intent is None:
        return {}
    if text is None:
        told = {name: "earned" if name in rubric.earned else "missed" for name in applicable(rubric.intent)}
        gone = "as it was judged while its words were there"
        return {name: Evidence(f"{said}, {gone}", position) for name, said in told.items()}
    looked = split_pasted(text)
    shown = extract(looked)
    spans = dict(zip(BOOLEANS, evidence_spans(looked, shown.phrases, shown.reference), strict=True))
    _, summary = title_and_summary(looked)
    return {
        name: _earned(name, position, spans[name], summary)
        if name in rubric.earned
        else _missed(name, position, spans[name], searched=not shown.foreign)
        for name in applicable(rubric.intent)
    }


def _earned(name: BooleanName, position: int, span: Span | None, summary: Span) -> Evidence:
    if span is None:
        return Evidence(_AS_A_WHOLE, position, summary)
    return Evidence(HABIT_WORDS[name].earned, position, span)


def _missed(name: BooleanName, position: int, span: Span | None, *, searched: bool) -> Evidence:
    words = HABIT_WORDS[name]
    if words.nearest is None or (span is None and searched):
        return Evidence(words.missed)
    if span is None:
        return Evidence(_UNSEARCHED)
    return Evidence(f"it has words for {words.nearest}, but the judge finds them not enough to count", position, span)


# What a developer could do differently, in plain sentences: `advice.toml`, in two languages.

Language = Literal["en", "ko"]
GRADED_MIN = 3
"""From fewer prompts nothing is concluded about a habit."""
REWORKED = "it takes back or repeats earlier work"
NO_SIGN = "nothing shows that the goal was reached"
"""The two reasons that are no evidence of the outcome judge."""


class Habit(msgspec.Struct, frozen=True):
    """A habit by its short name, and as advice."""

    label: str
    advice: str


class Trouble(msgspec.Struct, frozen=True):
    """What went wrong, in few words, and what helps."""

    label: str
    mitigation: str


class _Advice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    not_enough: str
    nothing_missed: str
    habits: dict[BooleanName, Habit]
    troubles: dict[str, Trouble]
    reached: dict[Intent, str]


_ADVICE = msgspec.toml.decode(get_data(__name__, "advice.toml") or b"", type=dict[Language, _Advice])
HABITS = {language: advice.habits for language, advice in _ADVICE.items()}
NOT_ENOUGH = {language: advice.not_enough.format(least=GRADED_MIN) for language, advice in _ADVICE.items()}
NOTHING_MISSED = {language: advice.nothing_missed for language, advice in _ADVICE.items()}
TROUBLES = {language: advice.troubles for language, advice in _ADVICE.items()}
"""What to do about each kind of evidence against an outcome."""
REACHED = {language: advice.reached for language, advice in _ADVICE.items()}


def language_of(asked: str | None) -> Language:
    return "ko" if asked is not None and asked.lower().startswith("ko") else "en"


def weakest(shares: Mapping[BooleanName, float], counts: Mapping[BooleanName, int], most: int) -> list[BooleanName]:
    """The habits missed most often, the weakest first, of those called for often enough."""
    missed = [name for name in BOOLEANS if counts.get(name, 0) >= GRADED_MIN and shares[name] < 1]
    return sorted(missed, key=lambda name: shares[name])[:most]
