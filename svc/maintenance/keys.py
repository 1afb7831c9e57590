"""Keys that were made once and whose files are gone: damage that no part of the log shows by itself.

Whose key was made is listed beside the keys (`svc/log/vault.py`). A folder without such a list (an older one, a
restored one, one whose keys all went) gets it from the log: who claimed a session had a key, unless forgotten since.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import structlog

from aggregates.capture.events import SessionClaimed
from aggregates.event import DeveloperEvent
from aggregates.people.directory import Developer
from aggregates.retained import DeveloperForgotten, ForgetOrdered
from svc.actors.administration import load_directory
from svc.log.codec import CorruptEvent, RecordedEvent
from svc.log.store import EventStore
from svc.log.vault import FileKeys, Keys

LOST_KEYS_NAMED_MAX = 20  # how many developers without their key file a start names one by one
KEEP_EVENTS = 500
"""Events that a retention, a forgetting, an export or a verification takes at a time: half a second's work at most."""

log = structlog.get_logger()
ADVICE = (
    "put the file back from a backup (`svc restore BACKUP --var NEW` unpacks one), and run no `svc replay` before: "
    "without it the scores of this developer are lost; where no backup has it, `svc forget` accepts that"
)


class LostKey(NamedTuple):
    developer_id: UUID
    name: str  # as shown; blank where the log cannot tell
    path: Path

    @property
    def who(self) -> str:
        return f"{self.name} ({self.developer_id})" if self.name else str(self.developer_id)


def lost_keys(keys: Keys, store: EventStore) -> list[LostKey]:
    """Developers whose key was made and is gone; changes nothing."""
    made = keys.listed()
    missing = (_made_by(store) if made is None else made) - keys.there()
    if missing:  # that of somebody who is being forgotten goes rightly, before the list says so
        missing -= forgotten(store)
    return keys_of(keys, store, missing)


def keys_of(keys: Keys, store: EventStore, developer_ids: Collection[UUID]) -> list[LostKey]:
    """Where keys belong, with the names of their developers; blank where the log is damaged there."""
    try:
        developers = load_directory(store).all(Developer) if developer_ids else ()
    except CorruptEvent:
        developers = ()
    names = {each.id: each.display_name for each in developers}
    return [LostKey(each, names.get(each, ""), keys.path_of(each)) for each in sorted(developer_ids)]


def settle(keys: Keys, store: EventStore) -> None:
    """Bring the list of key files up to them, or make it from the log."""
    if not isinstance(keys, FileKeys):
        return
    listed, there = keys.listed(), keys.there()
    if listed is None:
        keys.list_made(_made_by(store) | there)
    elif not there <= listed:
        keys.list_made(listed | there)


def tell(lost: Iterable[LostKey]) -> None:
    lost = list(lost)
    for each in lost[:LOST_KEYS_NAMED_MAX]:
        log.error("a developer's key file is missing", developer=each.who, file=str(each.path), do=ADVICE)
    if len(lost) > LOST_KEYS_NAMED_MAX:
        log.error("more key files are missing; `svc verify` names them", more=len(lost) - LOST_KEYS_NAMED_MAX)


def forgotten(store: EventStore) -> frozenset[UUID]:
    """Developers who were forgotten, or are to be."""
    return _developers(store, ForgetOrdered, DeveloperForgotten)


def _made_by(store: EventStore) -> frozenset[UUID]:
    return _developers(store, SessionClaimed) - forgotten(store)


def _developers(store: EventStore, *kinds: type[DeveloperEvent]) -> frozenset[UUID]:
    """Whom such events tell of, by the index of topics; where one is corrupt, by reading the whole log."""
    try:
        found = store.read_topics([kind.TOPIC for kind in kinds], open_words=False)
    except CorruptEvent:
        found = [each for piece in pieces(store, 0, store.head()) for each in piece[0]]
    return frozenset(each.event.developer_id for each in found if isinstance(each.event, kinds))


Piece = tuple[list[RecordedEvent], list[CorruptEvent], int]
"""Events in the order of the log, those that cannot be read, and the position that is reached with them."""
OnProgress = Callable[[int, int], None]  # called with how much is done, and how much there is


def piece_after(store: EventStore, position: int, up_to: float, *, open_words: bool = False) -> Piece | None:
    """The next events after a position, up to another; None at the end. A corrupt event is named and skipped."""
    if position >= up_to:
        return None
    for limit_events in (KEEP_EVENTS, 1):
        try:
            events = store.read_after(position, limit_events, open_words=open_words)
        except CorruptEvent as error:
            corrupt = error
        else:
            within = [event for event in events if event.position <= up_to]
            return (within, [], int(min(events[-1].position, up_to))) if events else None
    return [], [corrupt], corrupt.position or position + 1


def pieces(store: EventStore, after: int, up_to: int, *, open_words: bool = False) -> Iterator[Piece]:
    while (piece := piece_after(store, after, up_to, open_words=open_words)) is not None:
        yield piece
        after = piece[2]
