"""The one place that decides about people, teams and keys, and the directory that every request reads.

The directory is folded from the log at the start and changed only after an append has returned, so a revoked key
fails on the very next request. Before each decision the log is read on: a failed append may have committed, and other
nodes may have decided. Where one does meanwhile, the decision is refused, and made again.
"""

from collections.abc import Iterable
from functools import partial
from uuid import UUID

import trio

from aggregates.event import RecordedEvent, events_of
from aggregates.people import acts as people_acts
from aggregates.people.acts import PeopleAct
from aggregates.people.decide import PeopleReply, decide_people
from aggregates.people.directory import Directory
from svc.actors.actors import MAILBOX_COMMANDS_MAX, Clock, Turns
from svc.log.journal import Journal
from svc.log.store import READS, EventStore, TopicsFence, fenced

FOLLOW_EVENTS = 500  # events about people that a node takes in at a time
TOPICS = tuple(event.TOPIC for event in events_of(people_acts))


def load_directory(store: EventStore) -> Directory:
    directory = Directory()
    take_in(directory, store.read_topics(TOPICS), 0)
    return directory


def take_in(directory: Directory, people: Iterable[RecordedEvent], after: int) -> int:
    """Apply the events after a position; the position of the last one."""
    for recorded in people:
        if recorded.position > after:
            directory.apply(recorded.stream_id, recorded.event)
            after = recorded.position
    return after


class Administration:
    def __init__(self, store: EventStore, journal: Journal, clock: Clock) -> None:
        self._store, self._journal, self._clock = store, journal, clock
        self.directory = Directory()
        self._position = take_in(self.directory, store.read_topics(TOPICS), 0)
        self._turns = Turns(store, MAILBOX_COMMANDS_MAX, "too many changes to people and keys wait already")

    async def send(self, command: PeopleAct, by: UUID | None = None) -> PeopleReply:
        """Carry out what a member, or the operator, wants; returns once it is on disk. Raises what the journal does."""
        return await self._turns.take(partial(self._carry_out, command, by))

    async def _carry_out(self, command: PeopleAct, by: UUID | None) -> PeopleReply:
        await self.follow()
        events, reply = decide_people(command, self.directory, self._clock.now_us(), by)
        if not events:
            return reply
        fences = () if self._store.shared is None else (TopicsFence(TOPICS, self._position),)
        with fenced(*fences):
            positions = await self._journal.append(events)
        for position, new in zip(positions, events, strict=True):
            if position > self._position:  # who follows the log may have been here
                self.directory.apply(new.stream_id, new.event)
                self._position = position
        return reply

    async def follow(self) -> None:
        """Take in what a failed append may have written, and other nodes. Raises `StoreUnavailable`."""
        people = None
        while people is None or len(people) == FOLLOW_EVENTS:
            read = partial(self._store.read_topics, TOPICS, self._position, FOLLOW_EVENTS)
            people = await trio.to_thread.run_sync(read, limiter=READS)
            self._position = take_in(self.directory, people, self._position)
