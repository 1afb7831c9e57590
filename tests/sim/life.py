"""The service from a start to its end: what `svc.service` runs, over a mortal disk, behind connections."""

import math
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Literal

import trio
import trio.testing
from quart_trio import QuartTrio

from svc.jobs.nodes import Job
from svc.log.store import EventStore
from svc.log.vault import Vault
from svc.process import Clock
from svc.service import RunningService, lanes_of, tasks_of
from svc.settings import Settings
from svc_http.app import build_api, build_intake
from tests.sim.fate import FATE, Fate
from tests.sim.wire import Connection, Lost, Stream, serve

Side = Literal["intake", "api"]


class Life:
    """One start of the service."""

    def __init__(self, var: Path, store: EventStore, vault: Vault, clock: Clock, fate: Fate) -> None:
        self.var = var
        self.store = store
        self.vault = vault
        self.fate = fate
        self.scope = trio.CancelScope()
        self.up = False  # whether connections are taken
        self.service: RunningService | None = None
        self._clock = clock
        self._listeners: dict[Side, QuartTrio] = {}
        self._nursery: trio.Nursery | None = None
        self._idle: dict[Side, list[Connection]] = {"intake": [], "api": []}

    async def run(self) -> None:
        """From the start until it is stopped, dies, or cannot start. Its fate is that of every task it starts."""
        FATE.set(self.fate)
        with closing(self.store), self.scope:
            settings = Settings(var=str(self.var), catalog_refresh=False, ingest_url="http://svc")
            service = RunningService(settings, self.store, self.vault, self._clock, lasting=False)
            self.service = service
            with closing(service):
                try:
                    await self._serve(service, lanes_of(service, settings, lasting=False, reporting=False))
                finally:
                    self.up = False

    async def _serve(self, service: RunningService, lanes: Sequence[Job]) -> None:
        """As `svc.service.open_service` and `svc.serving.listening` do."""
        async with trio.open_nursery() as nursery:
            for task in tasks_of(service):
                await nursery.start(task)
            for lane in lanes:
                nursery.start_soon(lane)
            self._listeners = {"intake": build_intake(service), "api": build_api(service)}
            async with trio.open_nursery() as connections:
                self._nursery = connections
                self.up = True
                await trio.sleep(math.inf)

    def connection(self, side: Side, chance: Random) -> Connection:
        """One that is idle, or a new one. Raises `Lost` where nobody listens."""
        if not self.up or self.fate.over or self.scope.cancel_called or self._nursery is None:
            raise Lost
        idle = self._idle[side]
        if idle and chance.random() < 0.7:
            return idle.pop(chance.randrange(len(idle)))
        here, there = trio.testing.memory_stream_pair()
        self._nursery.start_soon(self._answer, side, there)
        return Connection(here)

    async def _answer(self, side: Side, stream: Stream) -> None:
        FATE.set(self.fate)  # whoever connects has none
        await serve(self._listeners[side], stream)

    def give_back(self, side: Side, connection: Connection) -> None:
        if connection.reusable:
            self._idle[side].append(connection)
