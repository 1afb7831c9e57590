"""Commands about a sub-session: its title, and overrides of what was judged."""

from uuid import UUID

from aggregates.command import Command
from aggregates.reading.verdicts import Intent


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
