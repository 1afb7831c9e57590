"""The answers that judge: their schemas, and what of them is believed.

A model that was talked into something gives itself away where it must quote: a habit counts only with words of the
prompt's own, and an answer with a quote that is not there, or one quote for nearly everything, is refused as a whole.
The embedded verdict stands then.
"""

from collections import Counter
from typing import Annotated, Literal

import msgspec

from aggregates.verdicts import BOOLEANS, BooleanName, Intent, applicable

HABITS_PER_QUOTE_MAX = 3
QUOTE_CHARACTERS_MAX = 400
Confidence = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Disbelieved(Exception):
    """The answer fits its schema, and not the data it is about."""


class Quoted(msgspec.Struct, forbid_unknown_fields=True):
    """A habit, and the words that show it."""

    habit: BooleanName
    quote: Annotated[str, msgspec.Meta(min_length=2, max_length=QUOTE_CHARACTERS_MAX)]


class RubricAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """What one prompt wants, and which habits it shows."""

    intent: Intent | Literal["unclassified"]
    confidence: Confidence
    quotes: Annotated[list[Quoted], msgspec.Meta(max_length=len(BOOLEANS))]


class OutcomeAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """Whether a sub-session reached its goal."""

    complete: bool
    confidence: Confidence


class BoundaryAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """Whether a prompt opens another topic."""

    new_topic: bool
    confidence: Confidence
    quote: Annotated[str, msgspec.Meta(min_length=2, max_length=QUOTE_CHARACTERS_MAX)]


def believed_boundary(answer: BoundaryAnswer, prompt: str) -> bool:
    """Whether it opens another topic. `prompt`: as it was sent. Raises `Disbelieved`."""
    quote = _plain(answer.quote)
    if not quote or quote not in _plain(prompt):
        raise Disbelieved("it quotes words that are not there")
    return answer.new_topic


def believed_rubric(answer: RubricAnswer, prompt: str) -> tuple[Intent | None, tuple[BooleanName, ...]]:
    """The intent, and the habits that apply to it and are shown. `prompt`: as it was sent. Raises `Disbelieved`."""
    said = _plain(prompt)
    quotes = [_plain(each.quote) for each in answer.quotes]
    if any(quote not in said or not quote for quote in quotes):
        raise Disbelieved("it quotes words that are not there")
    if max(Counter(quotes).values(), default=0) > HABITS_PER_QUOTE_MAX:
        raise Disbelieved("it rests nearly everything on one quote")
    if answer.intent == "unclassified":
        return None, ()
    shown = {each.habit for each in answer.quotes}
    return answer.intent, tuple(name for name in applicable(answer.intent) if name in shown)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
