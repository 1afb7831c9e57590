"""Carrying out backfills: one piece after the other, each a fact, never faster than the views follow.

Nobody else writes these streams. What a piece asks for is done where facts become rows; here only the pace is kept: the
next piece is told when the views hold the last one. After an append of which nobody knows whether it happened, the
streams are read again.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar, cast
from uuid import UUID

import structlog
import trio

from aggregates.reports.backfill import (
    Backfill,
    BackfillReply,
    StartBackfill,
    advanced,
    backfills_of,
    decide_backfill,
    evolve_backfill,
)
from aggregates.reports.events import BACKFILLS, BackfillEvent
from projections.facts.repricing import next_piece
from projections.reader import Reader
from svc.actors.mailbox import Mailbox
from svc.limits import (
    BACKFILL_COMMANDS_MAX,
    BACKFILL_PAUSE_SECONDS,
    BACKFILL_PIECE_SUB_SESSIONS,
    RESTART_SECONDS_MAX,
    RESTART_SECONDS_MIN,
)
from svc.log.codec import NewEvent
from svc.log.folder import Clock
from svc.log.journal import Journal
from svc.log.store import EventStore, StoreUnavailable

log = structlog.get_logger()

T = TypeVar("T")


class Views(Protocol):
    """What is asked of the tables."""

    async def read_all(self, query: Callable[[Reader], T]) -> T: ...

    async def hold(self, position: int) -> None:
        """Return once the tables hold this position of the log."""


class Backfilling:
    """Takes wishes, and works through what is unfinished."""

    def __init__(self, store: EventStore, journal: Journal, clock: Clock) -> None:
        self._store = store
        self._journal = journal
        self._clock = clock
        self._known = self._read()
        self._doubtful = False
        """Whether the log may hold more of them."""
        self._writing = trio.Lock()
        full = "too many backfills are asked for at once"
        self._mailbox = Mailbox[StartBackfill, BackfillReply](BACKFILL_COMMANDS_MAX, full)
        self._wanted = trio.Event()

    @property
    def newest_first(self) -> list[Backfill]:
        """Every backfill there was."""
        return list(reversed(self._known.values()))

    async def send(self, command: StartBackfill) -> BackfillReply:
        """Begin one, or join the one that runs. Raises what the journal raises, or `Busy`."""
        return await self._mailbox.send(command)

    async def take(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Work through the mailbox until cancelled."""
        task_status.started()
        await self._mailbox.work_through(self._decide)

    async def work(self, views: Views) -> None:
        """Go on with what is unfinished until cancelled; after a failure, a little later each time."""
        pause_seconds = RESTART_SECONDS_MIN
        while True:
            try:
                await self._look()
                unfinished = next((each for each in self._known.values() if not each.completed), None)
                if unfinished is None:
                    self._wanted = trio.Event()
                    await self._wanted.wait()
                    continue
                await self._advance(unfinished, views)
                pause_seconds = RESTART_SECONDS_MIN
                await trio.sleep(BACKFILL_PAUSE_SECONDS)
            except Exception as error:
                log.warning("a backfill waits", reason=str(error))
                await trio.sleep(pause_seconds)
                pause_seconds = min(2 * pause_seconds, RESTART_SECONDS_MAX)

    async def _decide(self, command: StartBackfill) -> BackfillReply:
        await self._look()
        event, reply = decide_backfill(command, self._known, self._clock.now_us())
        if event is not None:
            await self._append(None, event)
            self._wanted.set()
        return reply

    async def _advance(self, backfill: Backfill, views: Views) -> None:
        """One piece: as many sub-sessions as one batch of the views can take without holding up what is live."""
        piece = await views.read_all(
            lambda reader: next_piece(
                reader,
                backfill.organization_id,
                backfill.developer_id,
                backfill.reached_us,
                backfill.to_us,
                BACKFILL_PIECE_SUB_SESSIONS,
            )
        )
        position = await self._append(
            backfill, *advanced(backfill, piece.to_us, piece.sub_sessions, self._clock.now_us())
        )
        await views.hold(position)

    async def _append(self, backfill: Backfill | None, *events: BackfillEvent) -> int:
        """Adopt only what stands in the log; the position of the last."""
        version = 0 if backfill is None else backfill.version
        staged = [NewEvent(event.backfill_id, version + 1 + nth, event) for nth, event in enumerate(events)]
        async with self._writing:
            try:
                positions = await self._journal.append(staged)
            except StoreUnavailable:
                self._doubtful = True
                self._wanted.set()
                raise
            for event in events:
                self._known[event.backfill_id] = evolve_backfill(self._known.get(event.backfill_id), event)
        return positions[-1]

    async def _look(self) -> None:
        """Take in what was written although it was said that it failed. Raises `StoreUnavailable`."""
        async with self._writing:
            if self._doubtful:
                self._known = await trio.to_thread.run_sync(self._read)
                self._doubtful = False

    def _read(self) -> dict[UUID, Backfill]:
        events = self._store.read_topics(event.TOPIC for event in BACKFILLS)
        return backfills_of(cast(BackfillEvent, recorded.event) for recorded in events)
