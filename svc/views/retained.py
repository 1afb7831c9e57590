"""What is kept of deleted texts, by the position of the fact that held them.

The facts that hold it come later in the log than the texts; they are read when the first such text is missed.
"""

from collections import OrderedDict, defaultdict
from threading import Lock
from weakref import WeakKeyDictionary, proxy

from msgspec.structs import replace

from aggregates.capture.events import PromptAnswered, PromptCaptured, RecordsCaptured, TracesCaptured
from aggregates.event import Event, Scope
from aggregates.retained import ReadingsRetained, RetainedReading, RetainedWords, retained_readings
from svc.log.store import EventStore

RECALL_EVENTS = 50  # facts about forgotten texts in one read: each holds up to `STANDING_BYTES` of readings
RECALL_CHUNKS_MAX = 64  # how many of them a replay keeps at hand, since developers alternate in the log: some 20 MiB
PLACES = 4_096  # positions that are looked up together: a developer has few facts about them

_FIELDS = {
    PromptCaptured.TOPIC: "prompt",
    PromptAnswered.TOPIC: "response",
    RecordsCaptured.TOPIC: "words",
    TracesCaptured.TOPIC: "words",
}


class RetainedReadings:
    """Of one log; for any thread. Raises as the log."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._lock = Lock()
        self._read_up_to = 0
        self._facts: defaultdict[tuple[Scope, int], list[int]] = defaultdict(list)
        """Where facts stand that may tell of a developer's texts, by these texts' positions in steps of `PLACES`."""
        self._chunks: OrderedDict[int, dict[int, RetainedReading]] = OrderedDict()

    def recalled(self, event: Event, position: int) -> Event:
        """The event, with what is retained of its words where they are gone."""
        if not isinstance(event, PromptCaptured | PromptAnswered | RecordsCaptured):
            return event
        name = _FIELDS[event.TOPIC]
        words = getattr(event, name)
        if words is None or words.text is not None:
            return event
        standing = self.standing(event.scope, position)
        return event if standing is None else replace(event, **{name: RetainedWords(None, standing)})

    def standing(self, scope: Scope, position: int) -> RetainedReading | None:
        """What is retained of the texts of a fact."""
        with self._lock:
            found = self._find(scope, position)
            return self._find(scope, position) if found is None and self._read_more() else found

    def _find(self, scope: Scope, position: int) -> RetainedReading | None:
        chunks = map(self._chunk, self._facts.get((scope, position // PLACES), ()))
        return next((chunk[position] for chunk in chunks if position in chunk), None)

    def _chunk(self, sealed_at: int) -> dict[int, RetainedReading]:
        chunk = self._chunks.get(sealed_at)
        if chunk is None:
            event = self._store.read_positions([sealed_at])[sealed_at].event
            assert isinstance(event, ReadingsRetained)
            chunk = self._chunks[sealed_at] = {row.position: row for row in retained_readings(event)}
            while len(self._chunks) > RECALL_CHUNKS_MAX:
                self._chunks.popitem(last=False)
        self._chunks.move_to_end(sealed_at)
        return chunk

    def _read_more(self) -> bool:
        """Take in what was retained since; whether there was anything."""
        began_at = self._read_up_to
        while sealed := self._store.read_topics([ReadingsRetained.TOPIC], self._read_up_to, RECALL_EVENTS):
            for recorded in sealed:
                event = recorded.event
                if isinstance(event, ReadingsRetained):
                    for place in range(event.first // PLACES, event.last // PLACES + 1):
                        self._facts[event.scope, place].append(recorded.position)
            self._read_up_to = sealed[-1].position
        return self._read_up_to > began_at


_OF_LOGS: WeakKeyDictionary[EventStore, RetainedReadings] = WeakKeyDictionary()


def readings_of_log(store: EventStore) -> RetainedReadings:
    """The readings of a log, which remember what they read."""
    found = _OF_LOGS.get(store)
    if found is None:
        found = _OF_LOGS[store] = RetainedReadings(proxy(store))
    return found
