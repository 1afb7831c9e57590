"""Writing down what stands of texts before they go: the readings, and which neighbours were alike."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from aggregates.events import DeveloperEvent, Event, PromptAnswered, PromptCaptured, RecordsCaptured, StandingSealed
from aggregates.ids import standing_stream
from aggregates.scope import Scope
from aggregates.standing import FORM, Standing, of_prompt, of_records, of_response, packed_rows
from projections.signs import texts_alike
from svc.codec import NewEvent, Recorded
from svc.limits import STANDING_BYTES
from svc.recollection import recollection_of
from svc.store import EventStore
from svc.vault import Vault

Alike = Mapping[int, Sequence[tuple[int, int, int]]]
"""By position: where a text begins in the fact there, and the position and beginning of the text it is alike with."""

READ_FROM = (PromptCaptured, PromptAnswered, RecordsCaptured)
"""Facts from whose words something is concluded."""


def standing_events(
    store: EventStore, vault: Vault, views: sqlite3.Connection, positions: Iterable[int], now_us: int
) -> list[NewEvent]:
    """What is to be appended before the words at these positions may go; nothing where it was appended before.

    `views`: such that hold these positions. Texts of one developer in one organization are told of together.
    """
    facts = [fact for fact in store.read_positions(positions).values() if isinstance(fact.event, READ_FROM)]
    alike = _alike(views, facts)
    by_scope: dict[Scope, list[Standing]] = defaultdict(list)
    for fact in sorted(facts, key=lambda fact: fact.position):
        event = fact.event
        assert isinstance(event, DeveloperEvent)
        standing = _standing(store, vault, fact.position, event, alike)
        if standing is not None:
            by_scope[Scope(event.organization_id, event.developer_id)].append(standing)
    return [_told(scope, rows, now_us) for scope, all_rows in by_scope.items() for rows in _stretches(all_rows)]


def _standing(store: EventStore, vault: Vault, position: int, event: DeveloperEvent, alike: Alike) -> Standing | None:
    """What stands of a fact's words, as long as they can be read and nobody has told yet."""
    if recollection_of(store).standing(event.organization_id, event.developer_id, position) is not None:
        return None
    shown = _shown(vault, position, event)
    if shown is None and position in alike:
        shown = Standing(position)
    if shown is None:
        return None
    return msgspec.structs.replace(shown, alike=tuple(alike.get(position, ())))


def _shown(vault: Vault, position: int, event: Event) -> Standing | None:
    match event:
        case PromptCaptured():
            return of_prompt(position, event.prompt, vault.known_digester(event.developer_id))
        case PromptAnswered():
            return of_response(position, event.response, vault.known_digester(event.developer_id))
        case RecordsCaptured():
            return of_records(position, event.records, event.words, vault.known_digester(event.developer_id))
        case _:
            return None


def _alike(views: sqlite3.Connection, facts: Iterable[Recorded]) -> Alike:
    sessions = {fact.event.agent_session_id for fact in facts if isinstance(fact.event, READ_FROM)}
    found: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for session in sorted(name for name in sessions if name is not None):
        for one, other in texts_alike(views, session):
            found[one.position].append((one.start, other.position, other.start))
            found[other.position].append((other.start, one.position, one.start))
    return found


def _stretches(rows: Sequence[Standing]) -> Iterator[list[Standing]]:
    """The rows in parts that are small enough for one fact each."""
    sizes = 0
    parts = []
    for row in rows:
        sizes += len(packed_rows([row]))
        parts.append((sizes // STANDING_BYTES, row))
    for _, part in groupby(parts, key=lambda each: each[0]):
        yield [row for _, row in part]


def _told(scope: Scope, rows: Sequence[Standing], now_us: int) -> NewEvent:
    told = StandingSealed(
        received_at_us=now_us,
        organization_id=scope.organization_id,
        developer_id=scope.developer_id,
        first=rows[0].position,
        last=rows[-1].position,
        form=FORM,
        rows=packed_rows(rows),
    )
    return NewEvent(standing_stream(scope.organization_id, scope.developer_id, rows[0].position), 1, told)
