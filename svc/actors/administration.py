"""The one place that decides about people, teams and keys, and the directory that every request reads.

The directory changes only after an append has returned, so a revoked key fails at once. Before each decision the log is
read on: a failed append may have committed. Where another node decides meanwhile, a fence has the decision made again.
"""

from functools import partial
from uuid import UUID

import structlog
import trio

from aggregates.event import RecordedEvent, events_of
from aggregates.people import acts as people_acts
from aggregates.people.acts import PeopleAct
from aggregates.people.decide import PeopleReply, decide_people
from aggregates.people.directory import Directory
from svc.actors.actors import MAILBOX_COMMANDS_MAX, Clock, Turns
from svc.log.journal import Journal
from svc.log.store import EVENTS_END, NO_STREAM, READS, EventStore, Piece, TopicsFence, fenced

log = structlog.get_logger()
TOPICS = tuple(event.TOPIC for event in events_of(people_acts))


def load_directory(store: EventStore) -> Directory:
    directory = Directory()
    for piece in store.pieces(0, topics=TOPICS, most=EVENTS_END):
        take_in(directory, piece)
    return directory


def take_in(directory: Directory, people: Piece) -> None:
    """Apply what is new. Raises `CorruptEvent` where not even whom an event is about can be read."""
    for each in people.all:
        if each.position <= directory.position:
            continue
        known = directory.version(each.stream_id)
        if isinstance(each, RecordedEvent):
            if each.version > known + 1:
                log.error(
                    "events about people are missing; what they may have ended counts as ended", before=each.position
                )
                directory.lose(each.stream_id, each.event.TOPIC.partition(".")[0], each.version - 1)
            directory.apply(each.stream_id, each.event)
        elif each.topic in TOPICS and each.stream_id != NO_STREAM and each.version == known + 1:
            log.error("an event about people is corrupt; what it may have ended counts as ended", reason=str(each))
            directory.lose(each.stream_id, each.topic)
        else:
            raise each
        directory.position = each.position


class Administration:
    def __init__(self, store: EventStore, journal: Journal, clock: Clock) -> None:
        self._store, self._journal, self._clock = store, journal, clock
        self.directory = load_directory(store)
        self._turns = Turns(store, MAILBOX_COMMANDS_MAX, "too many changes to people and keys wait already")

    async def send(self, command: PeopleAct, by: UUID | None = None) -> PeopleReply:
        """Carry out what a member, or the operator, wants; returns once it is on disk. Raises what the journal does."""
        return await self._turns.take(partial(self._carry_out, command, by))

    async def _carry_out(self, command: PeopleAct, by: UUID | None) -> PeopleReply:
        await self.follow()
        events, reply = decide_people(command, self.directory, self._clock.now_us(), by)
        if not events:
            return reply
        fences = () if self._store.shared is None else (TopicsFence(TOPICS, self.directory.position),)
        with fenced(*fences):
            positions = await self._journal.append(events)
        for position, new in zip(positions, events, strict=True):
            if position > self.directory.position:  # who follows the log may have been here
                self.directory.apply(new.stream_id, new.event)
                self.directory.position = position
        return reply

    async def follow(self) -> None:
        """Take in what a failed append may have written, and other nodes. Raises `StoreUnavailable`."""
        pieces = self._store.pieces(self.directory.position, topics=TOPICS)
        while piece := await trio.to_thread.run_sync(next, pieces, None, limiter=READS):
            take_in(self.directory, piece)
