"""Taking away what has outlived its retention, which is a setting of each organization, in days since it was received.

`retention_days_telemetry`: exports as they were received. `retention_days_text`: whatever people and agents wrote, and
with it the exports, which quote it. What was concluded stands: it is told as a fact before a text goes.
"""

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

import structlog

from aggregates.events import DeveloperEvent, StandingSealed, WordsExpired
from aggregates.ids import retention_stream
from aggregates.people import Directory
from svc.codec import NewEvent, Recorded
from svc.keeping.taking import House, append_to, aside, next_piece, positions_of, sweep, take, tell_what_stands
from svc.keeping.walking import Piece
from svc.limits import RETENTION_MARK_EVENTS

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


async def keep_terms(house: House, directory: Directory) -> int:
    """Take away all that is too old by now; how many facts lost a text. May be broken off anywhere."""
    taken = [await _keep(house, term) for term in list(terms(directory))]
    if taken:
        await sweep(house)
    return sum(taken)


async def _keep(house: House, term: Term) -> int:
    """From where the last time ended, up to the first event that is young enough.

    There always is one: a retention that took something notes it in the log.
    """
    end_us = house.clock.now_us() - term.days * _DAY_US
    marked = position = await aside(lambda: _mark(house, term))
    total = taken = 0
    ended = False
    while not ended and (piece := await next_piece(house, position)) is not None:
        old, position, ended = _old(piece, end_us, position)
        taken += await _take(house, term, old)
        if position - marked >= RETENTION_MARK_EVENTS or (ended and taken):
            await _note(house, term, position, taken)
            total, taken, marked = total + taken, 0, position
    return total + taken


def _old(piece: Piece, end_us: int, before: int) -> tuple[list[Recorded], int, bool]:
    """The events that are too old, the position reached with them, and whether younger ones follow."""
    events, _, reached = piece
    for place, recorded in enumerate(events):
        if recorded.event.received_at_us > end_us:
            return events[:place], events[place - 1].position if place else before, True
    return events, reached, False


async def _take(house: House, term: Term, old: list[Recorded]) -> int:
    def theirs(recorded: Recorded) -> bool:
        event = recorded.event
        return (
            isinstance(event, DeveloperEvent)
            and event.organization_id == term.organization_id
            and not isinstance(event, StandingSealed)
        )

    positions = positions_of(old, theirs)
    if term.kind == "telemetry":
        return await take(house, positions, keep=TEXTS)
    await tell_what_stands(house, positions)
    return await take(house, positions)


def _mark(house: House, term: Term) -> int:
    newest = house.store.read_newest(retention_stream(term.organization_id, term.kind))
    return newest.event.up_to if newest is not None and isinstance(newest.event, WordsExpired) else 0


async def _note(house: House, term: Term, position: int, taken: int) -> None:
    expired = WordsExpired(
        received_at_us=house.clock.now_us(),
        organization_id=term.organization_id,
        kind=term.kind,
        up_to=position,
        events=taken,
    )
    await append_to(house, NewEvent(retention_stream(term.organization_id, term.kind), 1, expired))
    log.info("texts that outlived their retention were taken away", kind=term.kind, events=taken, up_to=position)
