"""What a text model writes: which figures of a report it is told, and what of an answer is shown.

It may say nothing that it was not told: each number is one of the figures it was written from, nobody is named, and
nothing leads elsewhere, or none of it is shown. That a number stands beside the right words nobody checks.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from pkgutil import get_data
from typing import Any, Literal

import msgspec

from aggregates.event import Scope
from aggregates.judging.prompt import Language
from aggregates.reading.verdicts import BooleanName
from aggregates.scores.insights import WorkLabels

PROSE_CHARACTERS_MAX = 700


class Narrator(msgspec.Struct, frozen=True):
    """Which text model wrote it, to which prompt text, and what that took."""

    model: str
    prompt_version: int
    input_tokens: int  # as the endpoint counted; 0 where it did not
    output_tokens: int


class Prose(msgspec.Struct, frozen=True):
    text: str
    narrator: Narrator


class ReportFigures(msgspec.Struct, frozen=True):
    """All that a model is told of a report: numbers, and names of habits."""

    figures: dict[str, float | int]  # by names that say what they are and in which unit
    weakest_habits: tuple[BooleanName, ...]


def report_figures(sections: str) -> ReportFigures | None:
    """What is told of a report's sections; None where nothing was scored, and there is nothing to tell."""
    said: dict[str, Any] = msgspec.json.decode(sections)
    score, speed = said["score"], said["speed"]
    if not score["total_count"]:
        return None
    tokens, spent = said["tokens"], said["cost"]["total"]
    throttled = said["throttle"]["summary"] if said["throttle"] is not None else {}
    found: dict[str, float | None] = {  # A median of nothing is shown as 0, and is no figure to tell
        "pieces_of_work_that_count": score["total_count"],
        "pieces_of_work_that_reached_their_goal": score["crushed_count"],
        "completion_rate_percent": score["svc_score"],
        "change_in_goals_reached_against_the_period_before": speed["delta_cspw"],
        "median_minutes_to_reach_a_goal": speed["ttc_median_seconds"] / 60 if score["crushed_count"] > 0 else None,
        "pieces_of_work_that_could_not_be_classified": score["unclassified_count"] or None,
        "habit_index_of_100": said["skill"]["skill_index"],
        "prompts_graded": said["skill"]["sample_count"] or None,
        "active_hours": said["taskTime"]["totalActiveSeconds"] / 3_600,
        "median_tokens_to_reach_a_goal": tokens["crush_weight"] if tokens.get("crush_weight_count") else None,
        "median_cost_of_a_goal_usd": tokens["cpcs_estimate"] if tokens.get("cpcs_count") else None,
        "cost_usd": spent["cost_usd"],
        "model_requests": spent["requests"],
        "throttle_events": throttled.get("totalEvents"),
        "hours_lost_to_throttling": throttled.get("estimatedHoursLost"),
        "integrity_flags": sum(each["count"] for each in said["integrity"]["by_kind"]),
    }
    figures = {name: _rounded(value) for name, value in found.items() if value is not None}
    return ReportFigures(figures, tuple(habit["boolean"] for habit in said["coaching"]["items"]))


def _rounded(value: float) -> float | int:
    """As people say it: whole from 100 on, else with one digit; small ones with two."""
    shown = round(value, 0 if abs(value) >= 100 else 1 if abs(value) >= 1 else 2)
    return int(shown) if shown == int(shown) else shown


_NUMBER = re.compile(r"\d[\d.,]*")
_NUMBER_WORDS = re.compile((get_data(__name__, "number_words.txt") or b"").decode(), re.VERBOSE | re.IGNORECASE)
_LINK = re.compile(r"://|@|\bwww\.|\w\.[^\W\d_]{2}", re.IGNORECASE)
"""An address, with or without its scheme. A file's name looks the same, and nobody told the model one."""
_NAME_CHARACTERS_MIN = 2


def believed_prose(text: str, figures: Mapping[str, float | int], people: Iterable[str]) -> str | None:
    """A report's prose as it is shown; None as with `believed`, or where it is too long."""
    shown = believed(text, figures, people)
    return None if shown is None or len(shown) > PROSE_CHARACTERS_MAX else shown


def believed(text: str, figures: Mapping[str, float | int], people: Iterable[str]) -> str | None:
    """The text as it is shown; None where it is empty, names one of the people, or says a number that is no figure."""
    shown = normalized(text)
    plain = unicodedata.normalize("NFKC", shown)
    if not shown or _NUMBER_WORDS.search(shown) or _LINK.search(plain) or _names_one(plain, people):
        return None
    if any(char.isnumeric() and not char.isascii() for char in shown):
        return None
    known = {abs(Decimal(str(value))) for value in figures.values()}
    return shown if all(_value(said) in known for said in _NUMBER.findall(shown)) else None


def _names_one(shown: str, people: Iterable[str]) -> bool:
    """Whether a name, or a part of one that is written like a name, stands in the text."""
    folded = shown.casefold()
    for name in (unicodedata.normalize("NFKC", each) for each in people):
        if _stands(" ".join(name.split()).casefold(), folded):
            return True
        parts = (part for part in re.split(r"[\W_]+", name) if part[:1] != part[:1].lower() or not part.isascii())
        if any(_stands(part, shown) for part in parts):
            return True
    return False


def _stands(name: str, text: str) -> bool:
    """A Korean name may be followed by a particle."""
    end = r"\b" if name.isascii() else ""
    return len(name) >= _NAME_CHARACTERS_MIN and re.search(rf"\b{re.escape(name)}{end}", text) is not None


def _value(said: str) -> Decimal | None:
    """A number as it was written; commas part thousands, and what ends a sentence is no part of it."""
    said = said.rstrip(".,")
    whole, _, rest = said.partition(".")
    if "," in said and not re.fullmatch(r"\d{1,3}(,\d{3})+", whole):
        return None
    try:
        return Decimal(f"{whole.replace(',', '')}.{rest or '0'}")
    except InvalidOperation:
        return None


NARRATIVE_CHARACTERS_MAX = 1_200
STALE_US = 4 * 3_600 * 1_000_000  # so long a narrative may stand after what it is of has changed
_MARKUP = str.maketrans("", "", "*`#_")
_ENDS = (". ", "! ", "? ", "。", "다. ", "요. ")


class NarrativeRequest(msgspec.Struct, frozen=True):
    kind: Literal["team", "today"]
    scope: Scope
    about: str
    date: str
    timezone: str
    language: Language
    work: WorkLabels

    @property
    def name(self) -> tuple[str, ...]:
        """By this it is kept."""
        return (self.kind, str(self.scope.organization_id), self.about, self.date, self.timezone, self.language)


class Narrative(msgspec.Struct, frozen=True):
    text: str
    generated_at_us: int
    clipped: bool  # whether it covers only the busiest members or tasks
    work: WorkLabels

    def stands(self, wanted: WorkLabels, now_us: int) -> bool:
        """Whether it may be shown: it is of the same facts, or not too old."""
        return self.work == wanted or now_us - self.generated_at_us < STALE_US


NarrativeStatus = Literal["written", "off", "withheld", "no_work", "pending", "resting", "none"]
"""Why there is a narrative or none. `off`: no text model, or the organization lets no text leave. `withheld`: too few
were active. `pending`: it is being written. `resting`: the model failed, and is asked again after a while. `none`: it
gave none, or none that may be shown."""


class Narration(msgspec.Struct, frozen=True):
    status: NarrativeStatus
    narrative: Narrative | None = None


def normalized(text: str) -> str:
    """One plain paragraph within the cap; empty where nothing is left to show."""
    plain = unicodedata.normalize("NFC", text).translate(_MARKUP)
    kept = (char for char in plain if char.isspace() or unicodedata.category(char)[0] not in "CZ")
    shown = " ".join("".join(kept).split())
    if len(shown) <= NARRATIVE_CHARACTERS_MAX:
        return shown
    cut = shown[:NARRATIVE_CHARACTERS_MAX]
    end = max(cut.rfind(mark) + len(mark.rstrip()) for mark in _ENDS)
    return cut[:end].rstrip() if end > NARRATIVE_CHARACTERS_MAX // 2 else cut[:-1].rstrip() + "…"
