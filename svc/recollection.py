"""Finding what stands of texts that are gone: the facts that tell of it are read when the first of them is missed."""

from bisect import bisect_right
from collections import OrderedDict
from itertools import accumulate
from uuid import UUID
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from aggregates.events import Event, PromptAnswered, PromptCaptured, RecordsCaptured, StandingSealed, TracesCaptured
from aggregates.scope import Scope
from aggregates.standing import Standing, Stood, rows_of
from svc.limits import RECALL_CHUNKS_MAX, RECALL_EVENTS
from svc.store import EventStore

_Stretch = tuple[int, int, int]
"""First and last position, and that of the fact which tells of them; it need not tell of all between."""


_FIELDS = {
    PromptCaptured.TOPIC: "prompt",
    PromptAnswered.TOPIC: "response",
    RecordsCaptured.TOPIC: "words",
    TracesCaptured.TOPIC: "words",
}
"""The words of each kind of fact that something is concluded from."""


class Recollection:
    """What stands, by position, of one log. For one thread at a time; StoreUnavailable, CorruptEvent as the log."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._read_up_to = 0
        self._stretches: dict[Scope, list[_Stretch]] = {}
        self._furthest: dict[Scope, list[int]] = {}
        """How far the stretches of a scope reach, up to each of them."""
        self._chunks: OrderedDict[int, dict[int, Standing]] = OrderedDict()

    def recalled(self, event: Event, position: int) -> Event:
        """The event, its words saying what stands of them where they are gone and something does."""
        if not isinstance(event, PromptCaptured | PromptAnswered | RecordsCaptured):
            return event
        name = _FIELDS[event.TOPIC]
        words = getattr(event, name)
        if words is None or words.text is not None:
            return event
        standing = self.standing(event.organization_id, event.developer_id, position)
        return event if standing is None else replace(event, **{name: Stood(None, standing)})

    def standing(self, organization_id: UUID, developer_id: UUID, position: int) -> Standing | None:
        """What stands of the texts of a fact; None where nothing does."""
        found = self._find(Scope(organization_id, developer_id), position)
        if found is None and self._read_more():
            found = self._find(Scope(organization_id, developer_id), position)
        return found

    def _find(self, scope: Scope, position: int) -> Standing | None:
        """Stretches seldom overlap: what is old goes before what is new, unless a clock ran ahead."""
        stretches, furthest = self._stretches.get(scope, []), self._furthest.get(scope, [])
        place = bisect_right(stretches, position, key=lambda stretch: stretch[0]) - 1
        while place >= 0 and furthest[place] >= position:
            _, last, told_at = stretches[place]
            if last >= position and (found := self._chunk(told_at).get(position)) is not None:
                return found
            place -= 1
        return None

    def _chunk(self, told_at: int) -> dict[int, Standing]:
        chunk = self._chunks.get(told_at)
        if chunk is None:
            event = self._store.read_positions([told_at])[told_at].event
            assert isinstance(event, StandingSealed)
            chunk = self._chunks[told_at] = {row.position: row for row in rows_of(event)}
            while len(self._chunks) > RECALL_CHUNKS_MAX:
                self._chunks.popitem(last=False)
        self._chunks.move_to_end(told_at)
        return chunk

    def _read_more(self) -> bool:
        """Take in what was told since; whether there was anything."""
        begun_at = self._read_up_to
        while told := self._store.read_topics_after([StandingSealed.TOPIC], self._read_up_to, RECALL_EVENTS):
            for recorded in told:
                event = recorded.event
                if isinstance(event, StandingSealed):
                    scope = Scope(event.organization_id, event.developer_id)
                    self._stretches.setdefault(scope, []).append((event.first, event.last, recorded.position))
            self._read_up_to = told[-1].position
        if self._read_up_to > begun_at:
            for scope, stretches in self._stretches.items():
                stretches.sort()
                self._furthest[scope] = list(accumulate((last for _, last, _ in stretches), max))
        return self._read_up_to > begun_at


_OF_STORES: WeakKeyDictionary[EventStore, Recollection] = WeakKeyDictionary()


def recollection_of(store: EventStore) -> Recollection:
    """The one of a log, which remembers what it read."""
    found = _OF_STORES.get(store)
    if found is None:
        found = _OF_STORES[store] = Recollection(store)
    return found
