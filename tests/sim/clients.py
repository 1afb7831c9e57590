"""Agents, plugins and administrators that send, and retry until they know the outcome; and the faults meanwhile."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import trio

import svc.actors.actors
import svc.archive.lane
import svc.log.journal
import svc.views.projector
import svc_http.routes.otlp
from svc.views.replay import build
from svc.views.views import new_file
from tests.sim import stories
from tests.sim.fate import FATE, PLACES, Patches, Place
from tests.sim.life import Answer, Lost, Side
from tests.sim.model import Divergence, Person, same, trusted
from tests.sim.stories import Record, Turn
from tests.sim.world import ANSWER_SECONDS_MAX, Nodes, World

TRIES_SECONDS_MAX = 900.0  # in virtual time: faults last for a minute at most, so nothing stays refused for so long

UNAVAILABLE, UNAUTHORIZED = 503, 401


class Clients:
    def __init__(self, world: Nodes, chance: Random, tally: Counter[str]) -> None:
        self.world = world
        self.chance = chance
        self.tally = tally
        self.hang_up = 0.0  # how often a client hangs up before it is answered

    # --- one request, again and again -------------------------------------------------------------------------

    async def once(self, side: Side, method: str, path: str, headers: dict[str, str], value: object) -> Answer | None:
        """One try; None where nobody knows what became of it, or it is to be sent again."""
        self.tally["requests sent"] += 1
        hurried = self.chance.random() < self.hang_up
        patience = self.chance.uniform(0, 0.02) if hurried else ANSWER_SECONDS_MAX
        try:
            answer = await self.world.ask(side, method, path, headers, value, patience=patience)
        except Lost:
            self.tally["answers lost, and asked for again"] += 1
            return None
        if answer.status == UNAVAILABLE:
            self.tally["refused with 503, and sent again"] += 1
            return None
        if answer.status >= 500:
            raise Divergence(f"{method} {path}: {answer.status} {answer.body!r}")
        return answer

    async def insist(
        self, person: Person, side: Side, method: str, path: str, value: object = None
    ) -> tuple[Answer, bool]:
        """A developer's request, until it is answered; and whether an earlier try may have been carried out."""
        doubtful = False
        with trio.move_on_after(TRIES_SECONDS_MAX):
            while True:
                key = self.chance.choice(person.keys)
                answer = await self.once(side, method, path, self._bearer(key), value)
                if answer is not None and answer.status != UNAUTHORIZED:
                    return answer, doubtful
                if answer is not None:
                    self.tally["refused with 401"] += 1
                    if key in person.keys and key not in person.ending:
                        raise Divergence(f"{method} {path}: a key that nobody revoked is refused: {answer.body!r}")
                doubtful = doubtful or answer is None
                await trio.sleep(self.chance.uniform(0.1, 4))
        raise Divergence(f"{method} {path}: nothing but refusals for {TRIES_SECONDS_MAX} s")

    async def administer(self, method: str, path: str, value: object = None) -> Answer:
        with trio.move_on_after(TRIES_SECONDS_MAX):
            while True:
                await self.world.are_up()
                headers = {"X-Internal-Secret": (self.world.var / "internal-secret").read_text().strip()}
                if answer := await self.once("api", method, f"/v1/admin/{path}", headers, value):
                    return answer
                await trio.sleep(self.chance.uniform(0.1, 2))
        raise Divergence(f"{method} {path}: nothing but refusals for {TRIES_SECONDS_MAX} s")

    def _bearer(self, key: str) -> dict[str, str]:
        return {"X-API-Key": key} if self.chance.random() < 0.2 else {"Authorization": f"Bearer {key}"}

    # --- what agents and plugins send ---------------------------------------------------------------------------

    async def prompt(self, person: Person, turn: Turn) -> None:
        known, heard = turn.name in person.sure.plugin, turn.name in person.sent.plugin
        now_us = self.world.clock.now_us()
        person.mark(person.sent, turn, now_us)
        answer, doubtful = await self.insist(person, "intake", "POST", "/v1/prompts", stories.prompt(turn))
        possible = {200} if known else {200, 201} if heard or doubtful else {201}
        self._one_of(f"prompt {turn.name}", answer, possible)
        person.mark(person.sure, turn, now_us)

    async def conflicts(self, person: Person, value: object, end: str = "") -> None:
        """Other words for what is known, or a prompt in a session that belongs to somebody else."""
        answer, _ = await self.insist(person, "intake", "POST", f"/v1/prompts{end}", value)
        self._one_of(f"{value}, which is known otherwise", answer, {409})

    async def response(self, person: Person, turn: Turn) -> None:
        """A capture of a response; where its prompt has not come yet, that is said."""
        known, heard = turn.name in person.sure.plugin, turn.name in person.sent.plugin
        now_us = self.world.clock.now_us()
        answer, _ = await self.insist(person, "intake", "POST", "/v1/prompts/response", stories.response(turn))
        possible = {204} if known else {204, 404} if heard or turn.name in person.sent.plugin else {404}
        self._one_of(f"response to {turn.name}", answer, possible)
        if answer.status == 204:
            if trusted(turn.answer.at_us, now_us) != turn.answer.at_us:
                person.skewed.add(turn.session)
            person.sent.answers.setdefault(turn.name, now_us)
            person.sure.answers.setdefault(turn.name, now_us)

    async def logs(self, person: Person, records: Sequence[Record]) -> None:
        now_us = self.world.clock.now_us()
        cut = tuple(record.nonce for record in records)
        if not (cut in person.cuts or person.agrees(records, now_us)):
            return  # with two times that count it would be listed twice (docs/simulation.md, Left out)
        person.cuts.add(cut)
        for record in records:
            person.mark(person.sent, record, now_us)
        answer, _ = await self.insist(person, "intake", "POST", "/v1/logs", stories.logs(records))
        same("an export", (answer.status, answer.json), (200, {}))
        for record in records:
            person.mark(person.sure, record, now_us)
        self.tally["writes acknowledged"] += 1

    async def foreign_logs(self, person: Person, records: Sequence[Record]) -> None:
        """Records of a session that belongs to somebody else: none is kept."""
        answer, _ = await self.insist(person, "intake", "POST", "/v1/logs", stories.logs(records))
        self._one_of("foreign records", answer, {200})
        rejected = answer.json.get("partialSuccess", {}).get("rejectedLogRecords")
        same("foreign records, rejected", rejected, str(len(records)))

    # --- keys -------------------------------------------------------------------------------------------------

    async def issue(self, person: Person) -> None:
        """One more key; one of whose issue nobody heard stays unused."""
        value = {"developer_id": person.developer_id, "organization_id": person.organization_id}
        answer = await self.administer("POST", "keys", value)
        self._one_of("a new key", answer, {201})
        await self.world.level()
        person.keys.append(answer.json["key"])

    async def revoke(self, person: Person) -> None:
        """A key goes; from the answer on it opens nothing, not even the very next request."""
        key = self.chance.choice(person.keys)
        listed = await self.administer("GET", f"keys?developer_id={person.developer_id}&limit=500")
        (key_id,) = [each["key_id"] for each in listed.json if each["key_start"] == key[:12]]
        person.ending.add(key)
        self._one_of("revoking", await self.administer("DELETE", f"keys/{key_id}"), {204})
        person.keys.remove(key)
        await self.dead_key(key)

    async def dead_key(self, key: str) -> None:
        """A revoked key is refused, on whatever route of either listener."""
        side, path = self.chance.choice((("intake", "/v1/plugin/config"), ("api", "/v1/score_v3/score")))
        answer = await self.once(side, "GET", path, self._bearer(key), None)  # type: ignore[arg-type]
        if answer is not None:
            self._one_of("a revoked key", answer, {UNAUTHORIZED})

    def _one_of(self, what: str, answer: Answer, possible: set[int]) -> None:
        if answer.status not in possible:
            raise Divergence(f"{what}: answered {answer.status} {answer.body!r}, expected one of {sorted(possible)}")
        self.tally["writes acknowledged"] += answer.status < 300


# --- the faults that the seed chooses while the service is used -----------------------------------------------


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
            build(path, life.store, lambda _done, _of: None)
            await life.service.projector.exchange(path)
        except Exception:
            # In a server it is a part of the life, and is cancelled before the log is closed.
            if not (life.fate.over or life.scope.cancel_called):
                raise
            return
        self._done["exchanges of views"] += 1
