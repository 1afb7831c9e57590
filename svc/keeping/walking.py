"""Going through the log in pieces: what can be read, and what cannot, one event at a time."""

from collections.abc import Callable, Iterator

from svc.codec import CorruptEvent, Recorded
from svc.limits import KEEP_EVENTS
from svc.store import EventStore

Piece = tuple[list[Recorded], list[CorruptEvent], int]
"""Events in the order of the log, those that cannot be read, and the position that is reached with them."""

Heard = Callable[[int, int], None]
"""Called with how much is done, and how much there is."""


def unheard(_done: int, _of: int) -> None:
    """For who does not want to know."""


def piece_after(store: EventStore, position: int, *, open_words: bool = False) -> Piece | None:
    """The next events after a position; None at the end of the log. A corrupt one is named, and passed over."""
    try:
        events = store.read_after(position, KEEP_EVENTS, open_words=open_words)
    except CorruptEvent:
        return _one_after(store, position, open_words=open_words)
    return (events, [], events[-1].position) if events else None


def _one_after(store: EventStore, position: int, *, open_words: bool) -> Piece | None:
    try:
        events = store.read_after(position, 1, open_words=open_words)
    except CorruptEvent as error:
        return [], [error], error.position or position + 1
    return (events, [], events[-1].position) if events else None


def pieces(store: EventStore, after: int, up_to: int, *, open_words: bool = False) -> Iterator[Piece]:
    """The log from one position to another, piece by piece."""
    while after < up_to and (piece := piece_after(store, after, open_words=open_words)) is not None:
        events, corrupt, after = piece
        yield [event for event in events if event.position <= up_to], corrupt, after
