"""Backfills: each is recorded, and has the views built anew; its progress is that of the build."""

from uuid import UUID

import trio

from aggregates.event import Refused
from aggregates.reports.decide import BackfillRecord, BackfillReply, BackfillStatus, decide_backfill, show_backfill
from aggregates.reports.events import BackfillCompleted, BackfillRequested
from svc.actors.mailbox import Mailbox
from svc.log.codec import NewEvent
from svc.log.journal import Journal
from svc.log.store import READS, EventStore
from svc.views.replay import Rebuilding

BACKFILL_COMMANDS_MAX = 16  # backfills that may be asked for at once: each is asked for by a person


class Backfills:
    def __init__(self, store: EventStore, journal: Journal, rebuilding: Rebuilding) -> None:
        self._store = store
        self._journal = journal
        self._rebuilding = rebuilding
        self._ended: dict[UUID, BackfillStatus] = {}
        self._building: dict[UUID, BackfillRequested] = {}  # those that the newest build is for
        full = "too many backfills are asked for at once"
        self._mailbox = Mailbox[BackfillRequested, BackfillReply](BACKFILL_COMMANDS_MAX, full)

    async def send(self, asked: BackfillRequested) -> BackfillReply:
        """Begin one, or join the one that runs. Raises what the journal raises."""
        return await self._mailbox.send(asked)

    async def run(self) -> None:
        await self._mailbox.work_through(self._carry_out)

    async def newest_first(self) -> list[BackfillRecord]:
        """Every backfill there was."""
        topics = (BackfillRequested.TOPIC, BackfillCompleted.TOPIC)
        found = await trio.to_thread.run_sync(lambda: list(self._store.read_topics(topics)), limiter=READS)
        events = [each.event for each in found]
        # Versions before this one recorded that a backfill was completed.
        completed = {event.backfill_id for event in events if isinstance(event, BackfillCompleted)}
        requested = [event for event in reversed(events) if isinstance(event, BackfillRequested)]
        return [self._shown(each, completed=each.backfill_id in completed) for each in requested]

    async def _carry_out(self, asked: BackfillRequested) -> BackfillReply:
        building = self._building.values() if self._rebuilding.status.state == "running" else ()
        running = next((each for each in building if each.organization_id == asked.organization_id), None)
        chosen = decide_backfill(asked, running)
        if isinstance(chosen, Refused):
            return chosen
        if chosen is asked:
            await self._journal.append([NewEvent(asked.backfill_id, 1, asked)])
            state = self._rebuilding.status.state
            if state == "completed" or state == "failed":
                self._ended |= dict.fromkeys(self._building, state)
                self._building.clear()
            self._building[asked.backfill_id] = asked
            self._rebuilding.start(None)
        return self._shown(chosen)

    def _shown(self, asked: BackfillRequested, *, completed: bool = False) -> BackfillRecord:
        if completed:
            return show_backfill(asked, "completed")
        build = self._rebuilding.status
        if asked.backfill_id not in self._building or build.state == "none":
            return show_backfill(asked, self._ended.get(asked.backfill_id, "unknown"))
        return show_backfill(asked, build.state, build.done / build.of if build.of else 0.0)
