"""Taking away what has outlived its retention, which is a setting of each organization, in days since it was received.

`retention_days_telemetry`: exports as they were received. `retention_days_text`: whatever people and agents wrote, and
with it the exports, which quote it. What was concluded stands: it is told as a fact before a text goes.
"""

from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple
from uuid import UUID

import structlog

from aggregates.event import DeveloperEvent
from aggregates.ids import retention_stream
from aggregates.people.directory import Directory
from aggregates.retained import StandingSealed, WordsExpired
from svc.limits import RETENTION_MARK_EVENTS
from svc.log.codec import NewEvent, Recorded
from svc.maintenance.delete_texts import House, append_to, aside, next_piece, sweep, take, tell_what_stands

log = structlog.get_logger()
_DAY_US = 86_400_000_000
EXPORT = "raw"
TEXTS = ("prompt", "cwd", "metadata", "response", "words", "title", "summary", "sections", "narrative")


class Term(NamedTuple):
    """How long an organization keeps texts of a kind."""

    organization_id: UUID
    kind: str
    """`telemetry` or `text`."""
    days: int


def terms(directory: Directory) -> Iterator[Term]:
    """Every retention that is set."""
    for organization in directory.organizations():
        organization_id = UUID(organization.organization_id)
        if organization.retention_days_telemetry:
            yield Term(organization_id, "telemetry", organization.retention_days_telemetry)
        if organization.retention_days_text:
            yield Term(organization_id, "text", organization.retention_days_text)


class _Young(NamedTuple):
    after: int
    up_to: int
    earliest_us: int
    """When the oldest of them was received."""


class _Looked:
    def __init__(self, up_to: int) -> None:
        self.up_to = up_to
        self.noted = up_to
        self.young: list[_Young] = []

    @property
    def done(self) -> int:
        """Up to here nothing is left."""
        return min((stretch.after for stretch in self.young), default=self.up_to)


class Retention:
    """What one process does about every retention.

    A fact is old when its own time of receipt is, whatever lies before it: a clock that ran ahead for a while must
    not keep what came later. So every fact is looked at once, and what is too young is remembered, a stretch of
    the log at a time, until it is due. A process that begins anew looks again from where all was done.
    """

    def __init__(self, house: House) -> None:
        self._house = house
        self._looked: dict[tuple[UUID, str], _Looked] = {}

    async def keep_terms(self, directory: Directory, young_max: float = inf) -> int:
        """Take away all that is too old by now; how many facts lost a text. May be broken off anywhere.

        `young_max`: after about so many facts in a row that are too young it looks no further until the next time.
        """
        taken = [await self._keep(term, young_max) for term in list(terms(directory))]
        if taken:
            await sweep(self._house)
        return sum(taken)

    async def _keep(self, term: Term, young_max: float) -> int:
        end_us = self._house.clock.now_us() - term.days * _DAY_US
        which = term.organization_id, term.kind
        # Out of the table while it changes: where this is broken off, the next time begins where the log says.
        looked = self._looked.pop(which, None) or _Looked(await aside(lambda: _mark(self._house, term)))
        taken = await self._look_again(term, looked, end_us)
        taken += await self._look_on(term, looked, end_us, young_max)
        self._looked[which] = looked
        return taken

    async def _look_again(self, term: Term, looked: _Looked, end_us: int) -> int:
        due = [stretch for stretch in looked.young if stretch.earliest_us <= end_us]
        looked.young = [stretch for stretch in looked.young if stretch.earliest_us > end_us]
        taken = 0
        for stretch in due:
            position = stretch.after
            while (piece := await next_piece(self._house, position, stretch.up_to)) is not None:
                events, _, reached = piece
                within = [each for each in events if each.position <= stretch.up_to]
                taken += await self._sift(term, looked, (position, min(reached, stretch.up_to)), within, end_us)
                position = reached
        if taken:
            await self._note(term, looked, taken)
        return taken

    async def _look_on(self, term: Term, looked: _Looked, end_us: int, young_max: float) -> int:
        total = taken = young = 0
        while young < young_max and (piece := await next_piece(self._house, looked.up_to)) is not None:
            events, _, reached = piece
            young = 0 if any(_is_old(each, end_us) for each in events) else young + len(events)
            taken += await self._sift(term, looked, (looked.up_to, reached), events, end_us)
            looked.up_to = reached
            if looked.done - looked.noted >= RETENTION_MARK_EVENTS:
                await self._note(term, looked, taken)
                total, taken = total + taken, 0
        if taken:
            await self._note(term, looked, taken)
        return total + taken

    async def _sift(
        self, term: Term, looked: _Looked, place: tuple[int, int], events: Sequence[Recorded], end_us: int
    ) -> int:
        theirs = [each for each in events if _is_theirs(each, term)]
        taken = await self._take(term, [each for each in theirs if _is_old(each, end_us)])
        times_us = [each.event.received_at_us for each in theirs if not _is_old(each, end_us)]
        if times_us:
            looked.young.append(_Young(*place, min(times_us)))
        return taken

    async def _take(self, term: Term, old: Sequence[Recorded]) -> int:
        positions = [each.position for each in old]
        if term.kind == "telemetry":
            return await take(self._house, positions, keep=TEXTS)
        await tell_what_stands(self._house, positions)
        return await take(self._house, positions)

    async def _note(self, term: Term, looked: _Looked, taken: int) -> None:
        expired = WordsExpired(
            received_at_us=self._house.clock.now_us(),
            organization_id=term.organization_id,
            kind=term.kind,
            up_to=looked.done,
            events=taken,
        )
        await append_to(self._house, NewEvent(retention_stream(term.organization_id, term.kind), 1, expired))
        looked.noted = expired.up_to
        log.info(
            "texts that outlived their retention were taken away", kind=term.kind, events=taken, up_to=expired.up_to
        )


def _is_old(recorded: Recorded, end_us: int) -> bool:
    return recorded.event.received_at_us <= end_us


def _is_theirs(recorded: Recorded, term: Term) -> bool:
    event = recorded.event
    return (
        isinstance(event, DeveloperEvent)
        and event.organization_id == term.organization_id
        and not isinstance(event, StandingSealed)
    )


def _mark(house: House, term: Term) -> int:
    newest = house.store.read_newest(retention_stream(term.organization_id, term.kind))
    return newest.event.up_to if newest is not None and isinstance(newest.event, WordsExpired) else 0
