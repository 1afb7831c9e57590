"""A narrative of a day: what it is wanted of, what of an answer is shown, and when it is too old."""

import unicodedata
from typing import Literal

import msgspec

from aggregates.habits import Language
from aggregates.scope import Scope
from aggregates.work_labels import Labelled

NARRATIVE_CHARACTERS_MAX = 1_200
STALE_US = 4 * 3_600 * 1_000_000
"""So long a narrative may stand after what it is of has changed."""

_MARKUP = str.maketrans("", "", "*`#_")
_ENDS = (". ", "! ", "? ", "。", "다. ", "요. ")


class Narration(msgspec.Struct, frozen=True):
    """A narrative that somebody wants to see."""

    kind: Literal["team", "today"]
    scope: Scope
    """Who asks; the organization decides whether anything leaves."""
    about: str
    """The team, or the developer."""
    date: str
    timezone: str
    language: Language
    work: Labelled

    @property
    def name(self) -> tuple[str, ...]:
        """By this it is kept."""
        return (self.kind, str(self.scope.organization_id), self.about, self.date, self.timezone, self.language)


class Narrative(msgspec.Struct, frozen=True):
    """One that a model wrote."""

    text: str
    generated_at_us: int
    clipped: bool
    """Whether it covers only the busiest members or tasks."""
    work: Labelled
    """What it was written from."""

    def stands(self, wanted: Labelled, now_us: int) -> bool:
        """Whether it may be shown: it is of the same facts, or not too old."""
        return self.work == wanted or now_us - self.generated_at_us < STALE_US


def normalized(text: str) -> str:
    """One plain paragraph within the cap; empty where nothing is left to show."""
    plain = unicodedata.normalize("NFC", text).translate(_MARKUP)
    shown = "".join(
        char if unicodedata.category(char)[0] not in "CZ" else " " if char.isspace() else "" for char in plain
    )
    shown = " ".join(shown.split())
    if len(shown) <= NARRATIVE_CHARACTERS_MAX:
        return shown
    cut = shown[:NARRATIVE_CHARACTERS_MAX]
    end = max(cut.rfind(mark) + len(mark.rstrip()) for mark in _ENDS)
    return cut[:end].rstrip() if end > NARRATIVE_CHARACTERS_MAX // 2 else cut[:-1].rstrip() + "…"
