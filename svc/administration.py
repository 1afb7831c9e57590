"""The one task that decides about people, teams and keys, and the directory that everybody reads.

The directory is folded from the log at the start and changed only after an append has returned, so a key that was
revoked fails on the very next request.
"""

from uuid import UUID

import structlog
import trio

from aggregates.events import PEOPLE
from aggregates.people import Directory, PeopleCommand, PeopleReply, decide_people
from svc.clock import Clock
from svc.codec import NewEvent
from svc.journal import Journal
from svc.letters import Mailbox
from svc.limits import MAILBOX_COMMANDS_MAX
from svc.store import EventStore

log = structlog.get_logger()


def load_directory(store: EventStore) -> Directory:
    """Everybody and every key, as the log has them now."""
    directory = Directory()
    for recorded in store.read_topics(event.TOPIC for event in PEOPLE):
        directory.apply(recorded.stream_id, recorded.event)
    return directory


class Administration:
    """Decides about people one command after the other."""

    def __init__(self, store: EventStore, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self.directory = load_directory(store)
        full = "too many changes to people and keys wait already"
        self._mailbox = Mailbox[PeopleCommand, PeopleReply](MAILBOX_COMMANDS_MAX, full)

    def organization_ids(self) -> set[UUID]:
        """Every organization there is."""
        return {UUID(each.organization_id) for each in self.directory.organizations()}

    async def send(self, command: PeopleCommand) -> PeopleReply:
        """Carry a command out; returns once it is on disk. Raises what the journal raises, or `Busy`."""
        return await self._mailbox.send(command)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Work through the mailbox until cancelled."""
        task_status.started()
        await self._mailbox.work_through(self._carry_out)

    async def _carry_out(self, command: PeopleCommand) -> PeopleReply:
        events, reply = decide_people(command, self.directory, self._clock.now_us())
        if events:
            versions: dict[UUID, int] = {}
            staged = []
            for stream_id, event in events:
                versions[stream_id] = versions.get(stream_id, self.directory.version(stream_id)) + 1
                staged.append(NewEvent(stream_id, versions[stream_id], event))
            await self._journal.append(staged)
            for stream_id, event in events:
                self.directory.apply(stream_id, event)
        return reply
