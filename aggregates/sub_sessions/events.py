"""Events about a sub-session: its title, and overrides of what was judged."""

from typing import ClassVar
from uuid import UUID

from aggregates.event import DeveloperEvent, Words
from aggregates.reading.verdicts import Intent


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
