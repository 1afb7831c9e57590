"""Deletes texts that outlived their retention, which each organization sets in days since they were received.

`retention_days_telemetry`: exports as they were received. `retention_days_text`: what people and agents wrote, and
with it the exports, which quote it. What was read from a text is kept as a fact before the text goes.
"""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple
from uuid import UUID

import msgspec
import structlog
import trio

from aggregates.event import DeveloperEvent
from aggregates.ids import retention_stream
from aggregates.people.directory import Directory, Organization
from aggregates.retained import ReadingsRetained, WordsExpired
from svc.limits import RETENTION_MARK_EVENTS, RETENTION_SECONDS, RETENTION_YOUNG_EVENTS
from svc.log.codec import RecordedEvent
from svc.maintenance.forget import TextDeleter, aside

log = structlog.get_logger()
_DAY_US = 86_400_000_000
TEXTS = ("prompt", "cwd", "metadata", "response", "words", "title", "summary", "sections", "narrative")


class Term(NamedTuple):
    """How long an organization keeps texts of a kind, `telemetry` or `text`."""

    organization_id: UUID
    kind: str
    days: int


class _Young(NamedTuple):
    """A stretch of the log whose texts were too young, and when the oldest of them was received."""

    after: int
    up_to: int
    earliest_us: int


class _Progress(msgspec.Struct):
    up_to: int
    noted: int
    young: list[_Young] = []
    unnoted: int = 0
    """Events that lost a text since the last note."""

    @property
    def done(self) -> int:
        """Up to here nothing is left."""
        return min((stretch.after for stretch in self.young), default=self.up_to)


class Retention:
    """Applies every retention.

    A fact is old when its own time of receipt is, whatever lies before it: a clock that ran ahead for a while must
    not keep what came later. So every fact is looked at once, and stretches with young texts are remembered until
    they are due. A new process looks again from where all was done.
    """

    def __init__(self, texts: TextDeleter, directory: Directory) -> None:
        self._texts = texts
        self._directory = directory
        self._progress: dict[tuple[UUID, str], _Progress] = {}

    async def run(self) -> None:
        """Delete what is too old at once, and then every hour."""
        while True:
            try:
                await self.apply(RETENTION_YOUNG_EVENTS)
            except Exception:
                log.exception("what has outlived its retention could not be taken away; it is tried again")
            await trio.sleep(RETENTION_SECONDS)

    async def apply(self, young_max: float = inf) -> int:
        """Delete all that is too old, until about so many young facts in a row; how many facts lost a text."""
        terms = [
            Term(each.id, kind, days)
            for each in self._directory.all(Organization)
            for kind, days in (("telemetry", each.retention_days_telemetry), ("text", each.retention_days_text))
            if days
        ]
        deleted = [await self._apply(term, young_max) for term in terms]
        if deleted:
            await self._texts.sweep()
        return sum(deleted)

    async def _apply(self, term: Term, young_max: float) -> int:
        end_us = self._texts.clock.now_us() - term.days * _DAY_US
        key = term.organization_id, term.kind
        # Popped while it changes: where this is broken off, the next time begins where the log says.
        progress = self._progress.pop(key, None)
        if progress is None:
            progress = await aside(lambda: self._noted(term))
        due = [stretch for stretch in progress.young if stretch.earliest_us <= end_us]
        progress.young = [stretch for stretch in progress.young if stretch.earliest_us > end_us]
        deleted = young = 0
        for stretch in due:
            position = stretch.after
            while (piece := await self._texts.next_piece(position, stretch.up_to)) is not None:
                events, _, reached = piece
                deleted += await self._sift(term, progress, (position, reached), events, end_us)
                position = reached
        await self._note(term, progress)
        while young < young_max and (piece := await self._texts.next_piece(progress.up_to)) is not None:
            events, _, reached = piece
            young = 0 if any(_is_old(each, end_us) for each in events) else young + len(events)
            deleted += await self._sift(term, progress, (progress.up_to, reached), events, end_us)
            progress.up_to = reached
            if progress.done - progress.noted >= RETENTION_MARK_EVENTS:
                await self._note(term, progress, always=True)
        await self._note(term, progress)
        self._progress[key] = progress
        return deleted

    async def _sift(
        self, term: Term, progress: _Progress, place: tuple[int, int], events: Sequence[RecordedEvent], end_us: int
    ) -> int:
        theirs = [
            each
            for each in events
            if isinstance(each.event, DeveloperEvent)
            and each.event.organization_id == term.organization_id
            and not isinstance(each.event, ReadingsRetained)
        ]
        old = [each.position for each in theirs if _is_old(each, end_us)]
        if term.kind == "text":
            await self._texts.seal_readings(old)
        deleted = await self._texts.delete(old, keep=TEXTS if term.kind == "telemetry" else ())
        times_us = [each.event.received_at_us for each in theirs if not _is_old(each, end_us)]
        if times_us:
            progress.young.append(_Young(*place, min(times_us)))
        progress.unnoted += deleted
        return deleted

    async def _note(self, term: Term, progress: _Progress, *, always: bool = False) -> None:
        if not (progress.unnoted or always):
            return
        expired = WordsExpired(
            received_at_us=self._texts.clock.now_us(),
            organization_id=term.organization_id,
            kind=term.kind,
            up_to=progress.done,
            events=progress.unnoted,
        )
        await self._texts.append(retention_stream(term.organization_id, term.kind), expired)
        progress.noted, progress.unnoted = expired.up_to, 0
        told = {"kind": term.kind, "events": expired.events, "up_to": expired.up_to}
        log.info("texts that outlived their retention were taken away", **told)

    def _noted(self, term: Term) -> _Progress:
        newest = self._texts.store.read_newest(retention_stream(term.organization_id, term.kind))
        up_to = newest.event.up_to if newest is not None and isinstance(newest.event, WordsExpired) else 0
        return _Progress(up_to, noted=up_to)


def _is_old(recorded: RecordedEvent, end_us: int) -> bool:
    return recorded.event.received_at_us <= end_us
