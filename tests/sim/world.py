"""Lives of the service one after the other, with one disk and one wall clock; or three nodes that share a log."""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

import msgspec
import trio

from svc.log.codec import Codec
from svc.log.folder import keep_internal_secret
from svc.log.opening import LEASE_SECONDS, SharedKeys, internal_secret_of, make_master_key, read_master_key
from svc.log.postgres import open_recorder
from svc.log.sqlite import WRITER_PRAGMAS, SplitDatastore, SqliteRecorder
from svc.log.store import EventStore, LogRecorder, StoreUnavailable
from svc.log.vault import FileKeys, Vault
from tests.sim import fate as fates
from tests.sim.fate import Fate, Place
from tests.sim.life import Answer, Life, Lost, Side
from tests.support.basics import FixedClock, MemoryRecorder
from tests.support.postgres import quick_database, shared_store_in

StoreKind = Literal["memory", "sqlite", "nodes"]  # `nodes`: three over one PostgreSQL

ANSWER_SECONDS_MAX = 200.0  # in virtual time: nothing that the service bounds takes longer

ABANDONED = 500  # what is left of a request when the server has stopped before it was done with it

_PRAGMAS = (*(pragma for pragma in WRITER_PRAGMAS if "synchronous" not in pragma), "PRAGMA synchronous = OFF")
"""Deaths are copies of files, which see what was written; so nothing need be synced here."""


class Shared(NamedTuple):
    url: str
    master_key_file: Path


class Hung(Exception):
    """A request was not answered."""


class World:
    def __init__(
        self, folder: Path, kind: StoreKind, chance: Random, clock: FixedClock, shared: Shared | None = None
    ) -> None:
        self.clock = clock
        self.chance = chance
        self.folder = folder
        self.lives = self.deaths = 0
        self.next_fate: tuple[Place, int] | None = None  # what the next life dies of, from its start on
        self._kind = kind
        self._shared = shared
        self._recorder = MemoryRecorder()
        self.var = folder / "var-0"  # of the present life, or the next one
        self.var.mkdir(parents=True)
        self._over = False
        self.life: Life | None = None

    async def run(self) -> None:
        while not self._over:
            life = self.life = self._born()
            try:
                await life.run()
            except* (StoreUnavailable, sqlite3.Error, OSError) as errors:
                if not (life.fate.over or life.fate.refusal):
                    raise errors
            if self.var != life.var:
                shutil.rmtree(life.var)
            await trio.sleep(self.chance.uniform(0, 3))

    async def stop(self) -> None:
        self._over = True
        await self.restart()

    async def restart(self) -> None:
        if self.life is not None:
            self.life.scope.cancel()
        await trio.lowlevel.checkpoint()

    async def is_up(self) -> Life:
        with trio.fail_after(ANSWER_SECONDS_MAX):
            while self.life is None or not self.life.up or self.life.fate.over:  # noqa: ASYNC110, lives come and go
                await trio.sleep(0.05)
        return self.life

    async def ask(
        self, side: Side, method: str, path: str, headers: Mapping[str, str], value: object = None, *, patience: float
    ) -> Answer:
        """One request, given up after so long. Raises `Lost` where nobody knows what became of it, `Hung`."""
        life = self.life
        if life is None:
            raise Lost
        body = b"" if value is None else value if isinstance(value, bytes) else msgspec.json.encode(value)
        usual = {} if value is None else {"Content-Type": "application/json"}
        connection = life.connection(side, self.chance)
        answer: Answer | None = None
        with trio.move_on_after(min(patience, ANSWER_SECONDS_MAX)):
            try:
                await connection.send(method, path, {**usual, **headers}, body)
                answer = await connection.answer()
            except BaseException:
                connection.reusable = False
                with trio.CancelScope(shield=True):
                    await connection.close()
                raise
        if answer is None and patience >= ANSWER_SECONDS_MAX and not life.fate.over:
            raise Hung(f"{method} {path} was not answered within {ANSWER_SECONDS_MAX} s")
        if answer is None or life.fate.over:
            raise Lost
        if answer.status == ABANDONED and life.scope.cancel_called:
            raise Lost
        life.give_back(side, connection)
        return answer

    def recorder(self, var: Path) -> LogRecorder:
        if self._kind == "memory":
            return self._recorder
        recorder = SqliteRecorder(SplitDatastore(var / "events.db", _PRAGMAS))
        try:
            recorder.create_table()
        except BaseException:
            recorder.close()
            raise
        return recorder

    def _born(self) -> Life:
        self.lives += 1
        var = self.var
        fate = Fate(Random(self.chance.random()), lambda: self._died(var))
        if self.next_fate is not None:
            fate.light(*self.next_fate)
            self.next_fate = None
        if self._shared is not None:
            return Life(var, self._opened(var, fate, self._shared), self.clock, fate)
        vault = Vault(FileKeys(var / "keys"), self.chance.randbytes)
        store = EventStore(fates.mortal(self.recorder(var), fate), Codec(vault))
        return Life(var, store, self.clock, fate)

    def _opened(self, var: Path, fate: Fate, shared: Shared) -> EventStore:
        master = read_master_key(shared.master_key_file)
        opened = open_recorder(shared.url)
        try:
            SharedKeys(opened, master).prove()
            keep_internal_secret(var, internal_secret_of(master))
        except BaseException:
            opened.close()
            raise
        recorder = fates.mortal(opened, fate)
        vault = Vault(SharedKeys(recorder, master), self.chance.randbytes)
        return EventStore(recorder, Codec(vault))

    def _died(self, var: Path) -> None:
        """Its folder stays behind as it is; the next life has a copy."""
        self.deaths += 1
        self.var = self.folder / f"var-{self.deaths}"
        fates.image(var, self.var)
        if self.chance.random() < 0.5:
            fates.lose_power(self.var, self.chance)
        if self.life is not None:
            self.life.scope.cancel()


NODES = 3


class Nodes:
    """One or more of them; each request goes to any, and each read brings the newest position that was told."""

    def __init__(self, nodes: Sequence[World], folder: Path, chance: Random, clock: FixedClock) -> None:
        self.nodes = nodes
        self.folder = folder
        self.clock = clock
        self._chance = chance
        self._position = 0

    @property
    def lives(self) -> int:
        return sum(node.lives for node in self.nodes)

    @property
    def deaths(self) -> int:
        return sum(node.deaths for node in self.nodes)

    @property
    def var(self) -> Path:
        return self.nodes[0].var

    @property
    def calm_seconds(self) -> float:
        """After which the jobs of a node that died are done by another one."""
        return 0.0 if len(self.nodes) == 1 else 2 * LEASE_SECONDS

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            for node in self.nodes:
                nursery.start_soon(node.run)

    async def stop(self) -> None:
        for node in self.nodes:
            await node.stop()

    async def are_up(self) -> list[Life]:
        return [await node.is_up() for node in self.nodes]

    async def level(self) -> None:
        """Until every node has what was told: who gives a key away waits until it opens everywhere."""
        with trio.fail_after(ANSWER_SECONDS_MAX):
            for node in self.nodes if len(self.nodes) > 1 else ():
                while not await self._holds(node):  # noqa: ASYNC110, lives come and go
                    await trio.sleep(0.05)

    async def _holds(self, node: World) -> bool:
        service = (await node.is_up()).service
        return service is not None and service.journal.head >= self._position

    async def ask(
        self, side: Side, method: str, path: str, headers: Mapping[str, str], value: object = None, *, patience: float
    ) -> Answer:
        """One request to any node, given up after so long. Raises `Lost`, `Hung`."""
        if len(self.nodes) == 1:
            return await self.nodes[0].ask(side, method, path, headers, value, patience=patience)
        told = {**headers, "X-Svc-Position": str(self._position)}
        node = self._chance.choice(self.nodes)
        answer = await node.ask(side, method, path, told, value, patience=patience)
        self._position = max(self._position, answer.position)
        return answer


@contextmanager
def worlds(folder: Path, kind: StoreKind, chance: Random, now_us: int) -> Iterator[Nodes]:
    clock = FixedClock(now_us)
    if kind != "nodes":
        yield Nodes([World(folder, kind, chance, clock)], folder, chance, clock)
        return
    with shared_store_in(quick_database()) as url:
        shared = Shared(url, folder / "master.key")
        make_master_key(shared.master_key_file)
        places = [folder / f"node{number}" for number in range(NODES)]
        nodes = [World(place, kind, Random(chance.random()), clock, shared) for place in places]
        yield Nodes(nodes, folder, chance, clock)
