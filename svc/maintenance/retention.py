"""Deletes texts that outlived their retention, which each organization sets in days since they were received.

`retention_days_telemetry`: exports as they were received. `retention_days_text`: what people and agents wrote, and
with it the exports, which quote it. What was read from a text is kept as a fact before the text goes.
"""

from collections.abc import Sequence
from functools import partial
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
from svc.log.codec import RecordedEvent
from svc.maintenance.forget import TextDeleter, aside

RETENTION_SECONDS = 3_600.0  # how often a server takes away what has outlived its retention, which is given in days
RETENTION_MARK_EVENTS = 20_000
"""After so many events a retention notes how far it has come: so much is looked at again after a crash."""
RETENTION_YOUNG_EVENTS = 20_000
"""After so many events in a row that are too young, a server's retention looks on an hour later: usually there is
nothing old behind them, and it takes a second to see."""

log = structlog.get_logger()
_DAY_US = 86_400_000_000
TEXTS = ("prompt", "cwd", "metadata", "response", "words", "title", "summary", "sections", "narrative")


class _Young(NamedTuple):
    """A stretch of the log whose texts were too young, and when the oldest of them was received."""

    after: int
    up_to: int
    earliest_us: int


class _Term(msgspec.Struct):
    """How far an organization's retention of texts of a kind, `telemetry` or `text`, was applied to the log."""

    organization_id: UUID
    kind: str
    up_to: int
    noted: int
    young: list[_Young] = []
    unnoted: int = 0  # events that lost a text since the last note

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
        self._terms: dict[tuple[UUID, str], _Term] = {}

    async def run(self) -> None:
        while True:
            try:
                await self.apply(RETENTION_YOUNG_EVENTS)
            except Exception:
                log.exception("what has outlived its retention could not be taken away; it is tried again")
            await trio.sleep(RETENTION_SECONDS)

    async def apply(self, young_max: float = inf) -> int:
        """Delete all that is too old, until about so many young facts in a row; how many facts lost a text."""
        terms = [
            (each.id, kind, days)
            for each in self._directory.all(Organization)
            for kind, days in (("telemetry", each.retention_days_telemetry), ("text", each.retention_days_text))
            if days
        ]
        deleted = [await self._apply(*term, young_max) for term in terms]
        if deleted:
            await self._texts.sweep()
        return sum(deleted)

    async def _apply(self, organization_id: UUID, kind: str, days: int, young_max: float) -> int:
        end_us = self._texts.clock.now_us() - days * _DAY_US
        # Popped while it changes: where this is broken off, the next time begins where the log says.
        term = self._terms.pop((organization_id, kind), None)
        if term is None:
            newest = await aside(partial(self._texts.store.read_newest, retention_stream(organization_id, kind)))
            up_to = newest.event.up_to if newest is not None and isinstance(newest.event, WordsExpired) else 0
            term = _Term(organization_id, kind, up_to, noted=up_to)
        due = [stretch for stretch in term.young if stretch.earliest_us <= end_us]
        term.young = [stretch for stretch in term.young if stretch.earliest_us > end_us]
        deleted = young = 0
        for stretch in due:
            position = stretch.after
            while (piece := await self._texts.next_piece(position, stretch.up_to)) is not None:
                events, _, reached = piece
                deleted += await self._sift(term, (position, reached), events, end_us)
                position = reached
        await self._note(term)
        while young < young_max and (piece := await self._texts.next_piece(term.up_to)) is not None:
            events, _, reached = piece
            young = 0 if any(_is_old(each, end_us) for each in events) else young + len(events)
            deleted += await self._sift(term, (term.up_to, reached), events, end_us)
            term.up_to = reached
            if term.done - term.noted >= RETENTION_MARK_EVENTS:
                await self._note(term, always=True)
        await self._note(term)
        self._terms[organization_id, kind] = term
        return deleted

    async def _sift(self, term: _Term, place: tuple[int, int], events: Sequence[RecordedEvent], end_us: int) -> int:
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
            term.young.append(_Young(*place, min(times_us)))
        term.unnoted += deleted
        return deleted

    async def _note(self, term: _Term, *, always: bool = False) -> None:
        if not (term.unnoted or always):
            return
        expired = WordsExpired(
            received_at_us=self._texts.clock.now_us(),
            organization_id=term.organization_id,
            kind=term.kind,
            up_to=term.done,
            events=term.unnoted,
        )
        await self._texts.append(retention_stream(term.organization_id, term.kind), expired)
        term.noted, term.unnoted = expired.up_to, 0
        told = {"kind": term.kind, "events": expired.events, "up_to": expired.up_to}
        log.info("texts that outlived their retention were taken away", **told)


def _is_old(recorded: RecordedEvent, end_us: int) -> bool:
    return recorded.event.received_at_us <= end_us
