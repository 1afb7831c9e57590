"""Where the service lives: one world, or three nodes that share a log, and what those who send see of them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

import trio

from svc.log.opening import LEASE_SECONDS, make_master_key
from tests.cluster.sprayed import database
from tests.sim.life import Life, Side
from tests.sim.wire import Answer
from tests.sim.world import ANSWER_SECONDS_MAX, Shared, StoreKind, World
from tests.support.memory import FixedClock
from tests.support.postgres import shared_store_in

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
        """Of one that has begun; they have the same secret."""
        return self.nodes[0].var

    @property
    def calm_seconds(self) -> float:
        """After which the jobs of a node that died are done by another one."""
        return 0.0 if len(self.nodes) == 1 else 2 * LEASE_SECONDS

    async def run(self) -> None:
        """All of them, until `stop`."""
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
    """Over an empty log of this kind."""
    clock = FixedClock(now_us)
    if kind != "nodes":
        yield Nodes([World(folder, kind, chance, clock)], folder, chance, clock)
        return
    with shared_store_in(database()) as url:
        shared = Shared(url, folder / "master.key")
        make_master_key(shared.master_key_file)
        places = [folder / f"node{number}" for number in range(NODES)]
        nodes = [World(place, kind, Random(chance.random()), clock, shared) for place in places]
        yield Nodes(nodes, folder, chance, clock)
