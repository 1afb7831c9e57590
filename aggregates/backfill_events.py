"""What happens to a backfill: an organization's sub-sessions of a range are judged again, piece by piece."""

from typing import ClassVar
from uuid import UUID

from aggregates.event import Event


class BackfillEvent(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A fact about one backfill."""

    backfill_id: UUID
    organization_id: UUID


class BackfillRequested(BackfillEvent, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody asked for it."""

    TOPIC: ClassVar[str] = "backfill.requested"
    developer_id: UUID | None = None
    """None: every developer of the organization."""
    from_us: int
    to_us: int
    """Half-open: sub-sessions that started from the one up to the other."""
    sub_sessions: int
    """How many there were."""


class BackfillAdvanced(BackfillEvent, frozen=True, kw_only=True, omit_defaults=True):
    """One piece of the range is judged again from here on in the log; pieces follow each other without a gap."""

    TOPIC: ClassVar[str] = "backfill.advanced"
    developer_id: UUID | None = None
    from_us: int
    to_us: int
    sub_sessions: int
    """How many started in this piece."""


class BackfillCompleted(BackfillEvent, frozen=True, kw_only=True, omit_defaults=True):
    """The whole range is done."""

    TOPIC: ClassVar[str] = "backfill.completed"


BACKFILLS = (BackfillRequested, BackfillAdvanced, BackfillCompleted)
