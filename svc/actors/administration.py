"""The one task that decides about people, teams and keys, and the directory that every request reads.

The directory is folded from the log at the start and changed only after an append has returned, so a revoked key
fails on the very next request. A failed append may have committed: the log is read on before the next decision.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

import structlog
import trio

from aggregates.event import Event, events_of
from aggregates.people import events as people_events
from aggregates.people.commands import PeopleCommand
from aggregates.people.decide import PeopleReply, decide_people
from aggregates.people.directory import Directory, Organization
from svc.actors.actors import Clock
from svc.actors.mailbox import Mailbox
from svc.limits import MAILBOX_COMMANDS_MAX
from svc.log.codec import NewEvent, RecordedEvent
from svc.log.journal import Journal
from svc.log.store import EventStore, StoreUnavailable

log = structlog.get_logger()

TOPICS = tuple(event.TOPIC for event in events_of(people_events))


def load_directory(store: EventStore) -> Directory:
    """People and keys, as the log has them now."""
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
    """Decides about people one command after the other."""

    def __init__(self, store: EventStore, journal: Journal, clock: Clock) -> None:
        self._store = store
        self._journal = journal
        self._clock = clock
        self.directory = Directory()
        self._position = take_in(self.directory, store.read_topics(TOPICS), 0)
        self._doubtful = False
        """Whether the log may hold more than the directory."""
        full = "too many changes to people and keys wait already"
        self._mailbox = Mailbox[PeopleCommand, PeopleReply](MAILBOX_COMMANDS_MAX, full)

    def organization_ids(self) -> set[UUID]:
        """Every organization there is."""
        return {each.id for each in self.directory.all(Organization)}

    async def send(self, command: PeopleCommand) -> PeopleReply:
        """Carry a command out; returns once it is on disk. Raises what the journal raises, or `Busy`."""
        return await self._mailbox.send(command)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Work through the mailbox until cancelled."""
        task_status.started()
        await self._mailbox.work_through(self._carry_out)

    async def _carry_out(self, command: PeopleCommand) -> PeopleReply:
        if self._doubtful:
            await self._read_on()
        events, reply = decide_people(command, self.directory, self._clock.now_us())
        if events:
            await self._append(events)
            for stream_id, event in events:
                self.directory.apply(stream_id, event)
        return reply

    async def _append(self, events: Sequence[tuple[UUID, Event]]) -> None:
        versions: dict[UUID, int] = {}
        staged = []
        for stream_id, event in events:
            versions[stream_id] = versions.get(stream_id, self.directory.version(stream_id)) + 1
            staged.append(NewEvent(stream_id, versions[stream_id], event))
        try:
            self._position = (await self._journal.append(staged))[-1]
        except StoreUnavailable:
            self._doubtful = True
            raise

    async def _read_on(self) -> None:
        """Take in what a failed append may have written. Raises `StoreUnavailable`."""
        people = await trio.to_thread.run_sync(self._store.read_topics, TOPICS)
        self._position = take_in(self.directory, people, self._position)
        self._doubtful = False
