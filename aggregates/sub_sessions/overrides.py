"""What people say against the judges: as commands, as facts, and what stands of it (wire.md, Overrides).

A correction names a capture, never a turn or a sub-session: those are conclusions, and may be drawn anew. The later
one in the log wins.
"""

from collections.abc import Iterable
from typing import ClassVar, Literal
from uuid import UUID

import msgspec

from aggregates.event import Command, DeveloperEvent, Words, origin
from aggregates.reading.verdicts import INTENTS, Intent

# Commands about a sub-session: its title, and overrides of what was judged.


class EditTitle(Command, frozen=True, kw_only=True, tag="edit-title"):
    """Name the sub-session that holds this turn; no automatic title replaces it again."""

    turn_id: UUID
    title: str
    summary: str | None = None


class OverrideCommand(Command, frozen=True, kw_only=True):
    """A person says how it was, against what was judged, of the sub-session that holds the turn of this capture."""

    agent_session_id: str
    capture_id: UUID


class OverrideGap(OverrideCommand, frozen=True, kw_only=True, tag="correct-gap"):
    """There is a boundary before this capture's turn, or there is none."""

    boundary: bool


class OverrideGoal(OverrideCommand, frozen=True, kw_only=True, tag="correct-goal"):
    """The goal was reached, or it was not."""

    complete: bool


class OverrideRework(OverrideCommand, frozen=True, kw_only=True, tag="correct-rework"):
    """It is rework of something earlier, or it is not."""

    rework: bool


class OverrideIntent(OverrideCommand, frozen=True, kw_only=True, tag="correct-intent"):
    """What was wanted is of this class."""

    intent_class: Intent


AnyOverride = OverrideGap | OverrideGoal | OverrideRework | OverrideIntent


# Events about a sub-session: its title, and overrides of what was judged.


class TitleEdited(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A person named the sub-session that holds this turn. None leaves a text as it was."""

    TOPIC: ClassVar[str] = "title.edited"
    turn_id: UUID
    title: Words
    summary: Words | None = None


class GapOverridden(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A person said that the turn of this capture opens a sub-session, or that it goes on with the one before."""

    TOPIC: ClassVar[str] = "gap.corrected"
    agent_session_id: str
    before_capture: UUID
    boundary: bool


class GoalOverridden(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A person said whether the sub-session that holds this capture reached its goal."""

    TOPIC: ClassVar[str] = "goal.corrected"
    agent_session_id: str
    capture_id: UUID
    complete: bool


class ReworkOverridden(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A person said whether the sub-session that holds this capture is rework."""

    TOPIC: ClassVar[str] = "rework.corrected"
    agent_session_id: str
    capture_id: UUID
    rework: bool


class IntentOverridden(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A person said what the sub-session that holds this capture was after."""

    TOPIC: ClassVar[str] = "intent.corrected"
    agent_session_id: str
    capture_id: UUID
    intent_class: Intent


OverrideField = Literal["boundary", "completion", "rollback", "label"]
OVERRIDE_FIELDS: tuple[OverrideField, ...] = ("boundary", "completion", "rollback", "label")
OverrideTopic = Literal["gap", "goal", "rework", "intent"]
"""What a correction is about. A title is none: it is kept as an edit."""
YES, NO = "yes", "no"
"""What was said of a gap, a goal or a rework: there is a boundary, it was reached, it is one; or not."""
OverrideEvent = GapOverridden | GoalOverridden | ReworkOverridden | IntentOverridden


class OverrideWord(msgspec.Struct, frozen=True):
    """One thing that somebody said, about the turn that a capture is part of now."""

    turn_id: UUID
    topic: OverrideTopic
    said: str
    """`YES` or `NO`; of an intent, the class."""
    position: int


class Overrides(msgspec.Struct, frozen=True):
    """What people said of one sub-session; None where nobody did."""

    boundary: bool = False
    """Whether anybody said that there is a boundary, or none, before one of its turns."""
    complete: bool | None = None
    rework: bool | None = None
    intent: Intent | None = None


def overridden(command: AnyOverride, now_us: int) -> OverrideEvent:
    """The fact that a correction becomes. Saying the same again is a fact again, and changes nothing."""
    by, session, capture = origin(command, now_us), command.agent_session_id, command.capture_id
    match command:
        case OverrideGap():
            return GapOverridden(**by, agent_session_id=session, before_capture=capture, boundary=command.boundary)
        case OverrideGoal():
            return GoalOverridden(**by, agent_session_id=session, capture_id=capture, complete=command.complete)
        case OverrideRework():
            return ReworkOverridden(**by, agent_session_id=session, capture_id=capture, rework=command.rework)
        case OverrideIntent():
            intent = command.intent_class
            return IntentOverridden(**by, agent_session_id=session, capture_id=capture, intent_class=intent)


def override_word_of(event: OverrideEvent) -> tuple[UUID, OverrideTopic, str]:
    """Which capture a correction is about, in which respect, and what it says."""
    match event:
        case GapOverridden():
            return event.before_capture, "gap", _yes(event.boundary)
        case GoalOverridden():
            return event.capture_id, "goal", _yes(event.complete)
        case ReworkOverridden():
            return event.capture_id, "rework", _yes(event.rework)
        case IntentOverridden():
            return event.capture_id, "intent", event.intent_class


def _yes(holds: bool) -> str:
    return YES if holds else NO


def gap_overrides(words: Iterable[OverrideWord]) -> dict[UUID, bool]:
    """Turn → whether there is a boundary before it, as the last person to speak of it said."""
    latest = sorted((word for word in words if word.topic == "gap"), key=lambda word: word.position)
    return {word.turn_id: word.said == YES for word in latest}


def overrides_of(words: Iterable[OverrideWord]) -> Overrides:
    """What stands, of all that was said about the turns of one sub-session."""
    latest = {word.topic: word.said for word in sorted(words, key=lambda word: word.position)}
    return Overrides(
        boundary="gap" in latest,
        complete=_flag(latest.get("goal")),
        rework=_flag(latest.get("rework")),
        intent=next((intent for intent in INTENTS if intent == latest.get("intent")), None),
    )


def _flag(word: str | None) -> bool | None:
    return None if word is None else word == YES
