"""Deciding about backfills: who asks for one, and how far it has come, in; events and a reply, out.

A backfill has an organization's sub-sessions of a range judged again, by the rules and the judges that there are now.
One runs for an organization at a time, and the log says how far it is, so that a restart goes on where it stopped.
"""

from collections.abc import Iterable, Mapping
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.command import Reason, Refused
from aggregates.reports.events import BackfillAdvanced, BackfillCompleted, BackfillEvent, BackfillRequested
from aggregates.times import INSTANT_MAX_US, INSTANT_MIN_US, US_PER_DAY, iso

RANGE_DAYS_MAX = 3_660
"""The longest range: ten years."""

BackfillStatus = Literal["running", "completed"]


class StartBackfill(msgspec.Struct, frozen=True, kw_only=True):
    """Have the sub-sessions of a range judged again, under an id made by the caller."""

    backfill_id: UUID
    organization_id: UUID
    developer_id: UUID | None
    """None: every developer of the organization."""
    from_us: int
    to_us: int
    sub_sessions: int
    """How many there are."""

    @property
    def wanted(self) -> tuple[UUID | None, int, int]:
        """Whose, and of when."""
        return self.developer_id, self.from_us, self.to_us


class Backfill(msgspec.Struct, frozen=True, kw_only=True):
    """A backfill as far as it has come."""

    backfill_id: UUID
    organization_id: UUID
    developer_id: UUID | None
    from_us: int
    to_us: int
    sub_sessions: int
    reached_us: int
    """Sub-sessions that started before are done."""
    requested_us: int
    done: int = 0
    completed: bool = False
    version: int = 1
    """How many events its stream has."""

    @property
    def wanted(self) -> tuple[UUID | None, int, int]:
        """Whose, and of when."""
        return self.developer_id, self.from_us, self.to_us


class BackfillRecord(msgspec.Struct, frozen=True, kw_only=True, rename={"from_time": "from"}):
    """A backfill as it is shown."""

    backfill_id: str
    status: BackfillStatus
    organization_id: str
    developer_id: str | None
    from_time: str
    to: str
    sub_sessions: int
    """How many there were when it was asked for."""
    done: int
    """How many were judged again so far; more than there were, where captures came meanwhile."""
    requested_at: str


BackfillReply = Backfill | Refused
Backfills = Mapping[UUID, Backfill]


def decide_backfill(
    command: StartBackfill, known: Backfills, now_us: int
) -> tuple[BackfillRequested | None, BackfillReply]:
    """What follows from a wish: it begins, it is running already, or why it cannot be."""
    fault = _fault(command)
    if fault is not None:
        return None, Refused(Reason.INVALID, fault)
    running = next((each for each in known.values() if _runs_for(each, command.organization_id)), None)
    if running is not None:
        if running.wanted == command.wanted:
            return None, running
        message = f"backfill {running.backfill_id} of this organization still runs; wait until it is completed"
        return None, Refused(Reason.CONFLICT, message)
    event = BackfillRequested(
        received_at_us=now_us,
        backfill_id=command.backfill_id,
        organization_id=command.organization_id,
        developer_id=command.developer_id,
        from_us=command.from_us,
        to_us=command.to_us,
        sub_sessions=command.sub_sessions,
    )
    return event, evolve_backfill(None, event)


def _fault(command: StartBackfill) -> str | None:
    if not INSTANT_MIN_US <= command.from_us < command.to_us <= INSTANT_MAX_US:
        return "the range is empty, or lies before 1970 or after 9998: from must come before to"
    if command.to_us - command.from_us > RANGE_DAYS_MAX * US_PER_DAY:
        return f"the range is longer than {RANGE_DAYS_MAX} days; ask for parts of it"
    return None


def _runs_for(each: Backfill, organization_id: UUID) -> bool:
    return each.organization_id == organization_id and not each.completed


def advanced(backfill: Backfill, to_us: int, sub_sessions: int, now_us: int) -> tuple[BackfillEvent, ...]:
    """The next piece, from where it stands up to a time; after the last one it is completed."""
    piece = BackfillAdvanced(
        received_at_us=now_us,
        backfill_id=backfill.backfill_id,
        organization_id=backfill.organization_id,
        developer_id=backfill.developer_id,
        from_us=backfill.reached_us,
        to_us=to_us,
        sub_sessions=sub_sessions,
    )
    if to_us < backfill.to_us:
        return (piece,)
    completed = BackfillCompleted(
        received_at_us=now_us, backfill_id=backfill.backfill_id, organization_id=backfill.organization_id
    )
    return piece, completed


def evolve_backfill(known: Backfill | None, event: BackfillEvent) -> Backfill:
    """The backfill after one more event."""
    match event:
        case BackfillRequested():
            return Backfill(
                backfill_id=event.backfill_id,
                organization_id=event.organization_id,
                developer_id=event.developer_id,
                from_us=event.from_us,
                to_us=event.to_us,
                sub_sessions=event.sub_sessions,
                reached_us=event.from_us,
                requested_us=event.received_at_us,
            )
        case BackfillAdvanced() if known is not None:
            return msgspec.structs.replace(
                known, reached_us=event.to_us, done=known.done + event.sub_sessions, version=known.version + 1
            )
        case BackfillCompleted() if known is not None:
            return msgspec.structs.replace(known, completed=True, version=known.version + 1)
        case _:
            raise AssertionError(f"{type(event).__name__} stands where no backfill was asked for")


def backfills_of(events: Iterable[BackfillEvent]) -> dict[UUID, Backfill]:
    """Every backfill, in the order in which they were asked for."""
    known: dict[UUID, Backfill] = {}
    for event in events:
        known[event.backfill_id] = evolve_backfill(known.get(event.backfill_id), event)
    return known


def show_backfill(backfill: Backfill) -> BackfillRecord:
    """Text for ids and times."""
    return BackfillRecord(
        backfill_id=str(backfill.backfill_id),
        status="completed" if backfill.completed else "running",
        organization_id=str(backfill.organization_id),
        developer_id=None if backfill.developer_id is None else str(backfill.developer_id),
        from_time=iso(backfill.from_us),
        to=iso(backfill.to_us),
        sub_sessions=backfill.sub_sessions,
        done=backfill.done,
        requested_at=iso(backfill.requested_us),
    )
