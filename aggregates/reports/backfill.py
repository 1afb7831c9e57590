"""Backfills: an organization asks that what started in a range be judged again. The views are then built anew."""

from typing import Literal

import msgspec

from aggregates.command import Reason, Refused
from aggregates.reports.events import BackfillRequested
from aggregates.times import INSTANT_MAX_US, INSTANT_MIN_US, US_PER_DAY, iso

RANGE_DAYS_MAX = 3_660

BackfillStatus = Literal["running", "completed", "failed", "unknown"]
"""Unknown: the server was started again since, and no longer knows."""


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
    """That many times the share of the log that is derived again."""
    requested_at: str


BackfillReply = BackfillRecord | Refused


def decide_backfill(asked: BackfillRequested, running: BackfillRequested | None) -> BackfillRequested | Refused:
    """The backfill to carry out: this one, or the same that runs already for the organization."""
    if not INSTANT_MIN_US <= asked.from_us < asked.to_us <= INSTANT_MAX_US:
        message = "the range is empty, or lies before 1970 or after 9998: from must come before to"
        return Refused(Reason.INVALID, message)
    if asked.to_us - asked.from_us > RANGE_DAYS_MAX * US_PER_DAY:
        return Refused(Reason.INVALID, f"the range is longer than {RANGE_DAYS_MAX} days; ask for parts of it")
    if running is not None and _wanted(running) != _wanted(asked):
        message = f"backfill {running.backfill_id} of this organization still runs; wait until it is completed"
        return Refused(Reason.CONFLICT, message)
    return running or asked


def _wanted(asked: BackfillRequested) -> tuple[object, ...]:
    return asked.developer_id, asked.from_us, asked.to_us


def show_backfill(asked: BackfillRequested, status: BackfillStatus, share: float = 0.0) -> BackfillRecord:
    """`share`: how much of the log a running one has derived again."""
    return BackfillRecord(
        backfill_id=str(asked.backfill_id),
        status=status,
        organization_id=str(asked.organization_id),
        developer_id=None if asked.developer_id is None else str(asked.developer_id),
        from_time=iso(asked.from_us),
        to=iso(asked.to_us),
        sub_sessions=asked.sub_sessions,
        done=asked.sub_sessions if status == "completed" else int(asked.sub_sessions * share),
        requested_at=iso(asked.received_at_us),
    )
