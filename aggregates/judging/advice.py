"""What a developer could do differently, in plain sentences: `advice.toml`, in two languages."""

import tomllib
from collections.abc import Mapping
from pkgutil import get_data
from typing import Literal

import msgspec

from aggregates.reading.verdicts import BOOLEANS, BooleanName, Intent

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
