"""Inject the faults that the seed chooses while the service is used."""

from collections import Counter
from random import Random

import trio

import svc.actors.actors
import svc.archive.lane
import svc.log.journal
import svc.views.projector
import svc_http.routes.otlp
from svc.views.replay import build
from svc.views.views import new_file
from tests.sim.clients import Clients
from tests.sim.fate import FATE, PLACES, Patches, Place
from tests.sim.world import World

STEPS_TO_DEATH: dict[Place, int] = {"thread": 80, "insert": 25, "read": 60, "views": 500}
"""How many of each kind a step of a history makes, about."""


def narrow_bounds(chance: Random) -> Patches:
    """Bounds so narrow, in every second history, that everything that is full or evicted is met with."""
    if chance.random() < 0.5:
        return []
    return [
        (svc.actors.actors, "MAILBOX_COMMANDS_MAX", chance.randint(1, 4)),
        (svc.actors.actors, "ACTOR_BATCH_COMMANDS_MAX", chance.randint(1, 4)),
        (svc.actors.actors, "ACTOR_STREAMS_MAX", chance.randint(6, 12)),
        (svc.actors.actors, "ACTOR_IDLE_SECONDS", chance.uniform(0.01, 5)),
        (svc.log.journal, "COMMIT_APPENDS_MAX", chance.randint(1, 4)),
        (svc.log.journal, "JOURNAL_APPENDS_MAX", chance.randint(2, 6)),
        (svc.views.projector, "PROJECT_EVENTS_MAX", chance.choice((1, 2, 7, 1_000))),
        (svc.archive.lane, "ARCHIVE_INTERVAL_SECONDS", chance.choice((2.0, 30.0, 300.0))),
        (svc_http.routes.otlp, "INLINE_BYTES_MAX", chance.choice((500, 4_000, 256 * 1024))),
    ]


class Faults:
    def __init__(self, world: World, clients: Clients, chance: Random, done: Counter[str]) -> None:
        self._world = world
        self._clients = clients
        self._chance = chance
        self._done = done

    def draw(self, nursery: trio.Nursery) -> None:
        chance, life = self._chance, self._world.life
        if life is None:
            return
        if chance.random() < 0.5:
            place = chance.choice(PLACES)
            life.fate.light(place, chance.randint(1, STEPS_TO_DEATH[place]))
            self._done[f"fuse: {place}"] += 1
        if chance.random() < 0.2:
            place = chance.choice(PLACES)
            self._world.next_fate = place, chance.randint(1, STEPS_TO_DEATH[place])
        if chance.random() < 0.3:
            life.fate.slowest_seconds = chance.choice((0.01, 0.3, 3.0))
        if chance.random() < 0.25:
            nursery.start_soon(self._disk_full)
        if chance.random() < 0.15:
            nursery.start_soon(self._restart)
        if chance.random() < 0.15:
            nursery.start_soon(self._exchange)
        self._clients.hang_up = 0.3 if chance.random() < 0.3 else 0.0

    async def _disk_full(self) -> None:
        await trio.sleep(self._chance.uniform(0, 2))
        life = self._world.life
        if life is not None:
            life.fate.refusal = self._chance.choice(("refused", "unknown"))
            self._done[f"disk: {life.fate.refusal}"] += 1
            await trio.sleep(self._chance.uniform(0.5, 30))
            life.fate.refusal = None

    async def _restart(self) -> None:
        await trio.sleep(self._chance.uniform(0, 3))
        await self._world.restart()
        self._done["restarts"] += 1

    async def _exchange(self) -> None:
        await trio.sleep(self._chance.uniform(0, 2))
        life = self._world.life
        if life is None or life.service is None or not life.up or life.fate.over:
            return
        FATE.set(life.fate)
        path = new_file(life.var)
        try:
            build(path, life.store, life.vault.known_digester, lambda _done, _of: None)
            await life.service.projector.exchange(path)
        except Exception:
            # In a server it is a part of the life, and is cancelled before the log is closed.
            if not (life.fate.over or life.scope.cancel_called):
                raise
            return
        self._done["exchanges of views"] += 1
