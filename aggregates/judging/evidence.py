"""Why a prompt earned or missed each boolean, in its own words: made from the text itself, only where somebody asks."""

import tomllib
from collections.abc import Mapping
from pkgutil import get_data
from typing import Literal

import msgspec

from aggregates.event import Span
from aggregates.reading.features import extract
from aggregates.reading.pasted import split_pasted
from aggregates.reading.reading import evidence_spans, title_and_summary
from aggregates.reading.verdicts import BOOLEANS, BooleanName, Evidence, Intent, Rubric, applicable

_EARNED: dict[BooleanName, str] = {
    "goal_explicit": "says what should hold afterwards",
    "scope_bounded": "says where, or what to leave alone",
    "references_concrete": "points at something findable",
    "context_sufficient": "enough to start without asking back",
    "verification_requested": "asks for a check",
    "root_cause_oriented": "asks for the cause",
    "plan_first": "asks for, gives or follows a plan",
}

_AS_A_WHOLE = "counted by the judge from the prompt as a whole; no words were found that show it by themselves"

_MISSED: dict[BooleanName, str] = {
    "goal_explicit": "no words of its own were found by which a reader could tell that it is reached",
    "scope_bounded": "no words of its own were found for a file, function or surface, or for what to leave alone",
    "references_concrete": "no path, URL, symbol, line number or ticket was found in its own words",
    "context_sufficient": "the agent would have to ask back or guess",
    "verification_requested": "no words of its own were found for a test, expected output or check",
    "root_cause_oriented": "no words of its own were found that ask for the cause",
    "plan_first": "no words of its own were found for a plan, steps or exploration before the change",
}

_NEAREST: dict[BooleanName, str] = {
    "goal_explicit": "an outcome",
    "scope_bounded": "a place or a limit",
    "references_concrete": "something findable",
    "verification_requested": "a test or a check",
    "root_cause_oriented": "the cause",
    "plan_first": "a plan or steps",
}
"""What a missed boolean was looked for; whether the context is enough is weighed, and no words stand for it."""

_UNSEARCHED = "missed, as it was judged; words are searched in English only"
_GONE = {
    True: "earned, as it was judged while its words were there",
    False: "missed, as it was judged while its words were there",
}


def rubric_evidence(text: str | None, rubric: Rubric, position: int) -> dict[BooleanName, Evidence]:
    """For each boolean that applies, what speaks for it, or what was missed. Empty unless the rubric is ok.

    `position`: of the fact whose words are `text`, None where they are gone. A span points into `text`: at what earned
    the boolean (the summary where no words stand out), or at what came nearest to a missed one.
    """
    if rubric.intent is None:
        return {}
    if text is None:
        return {name: Evidence(_GONE[name in rubric.earned], position) for name in applicable(rubric.intent)}
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
    return Evidence(_AS_A_WHOLE, position, summary) if span is None else Evidence(_EARNED[name], position, span)


def _missed(name: BooleanName, position: int, span: Span | None, *, searched: bool) -> Evidence:
    if span is not None and name in _NEAREST:
        return Evidence(
            f"it has words for {_NEAREST[name]}, but the judge finds them not enough to count", position, span
        )
    return Evidence(_MISSED[name] if searched or name not in _NEAREST else _UNSEARCHED)


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


_ADVICE = msgspec.convert(tomllib.loads((get_data(__name__, "advice.toml") or b"").decode()), dict[Language, _Advice])
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
