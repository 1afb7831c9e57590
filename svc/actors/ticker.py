"""The passing of time as a fact: appended when the log is quiet and something is due to settle."""

import sqlite3
from collections.abc import Callable

import trio

from aggregates.ids import clock_stream
from aggregates.topics import TimePassed
from projections.apply import next_due_us
from svc.log.codec import NewEvent
from svc.log.journal import Journal, Saturated
from svc.log.store import Conflict, StoreUnavailable
from svc.views.projector import Projector

CLOCK_POLL_SECONDS = 5.0  # how often the clock looks whether something is due to settle while the log is quiet


class Ticker:
    """Appends that time has passed when a quiet sub-session is due to settle."""

    def __init__(self, journal: Journal, projector: Projector, now_us: Callable[[], int]) -> None:
        self._journal = journal
        self._projector = projector
        self._now_us = now_us

    async def run(self) -> None:
        while True:
            await trio.sleep(CLOCK_POLL_SECONDS)
            await self.poll()

    async def poll(self) -> bool:
        """Append if something is due; whether it did."""
        try:
            due_us = await trio.to_thread.run_sync(self._due_us)
        except sqlite3.Error:  # damaged ones are built anew, and what else keeps them from being read may pass
            return False
        now_us = self._now_us()
        if due_us is None or due_us > now_us or not self._projector.is_level:
            return False
        passed = NewEvent(clock_stream(due_us), 1, TimePassed(received_at_us=now_us))
        try:
            await self._journal.append([passed])
        except (Conflict, StoreUnavailable, Saturated):
            return False
        return True

    def _due_us(self) -> int | None:
        with self._projector.readers.reading() as db:
            return next_due_us(db)
