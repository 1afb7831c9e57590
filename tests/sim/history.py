"""Play one history step by step, from an empty disk to the replay at its end."""

import tempfile
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
import structlog
import trio
from structlog.typing import Processor

import svc.actors.actors
import svc.archive.lane
import svc.jobs.nodes
import svc.log.journal
import svc.views.projector
from svc.views.replay import build, digests
from svc.views.views import snapshot
from tests.sim import fate, stories
from tests.sim.clients import Clients, Faults, narrow_bounds
from tests.sim.fate import FATE, in_virtual_time, patched, seeded
from tests.sim.life import Life
from tests.sim.model import Divergence, Person, same
from tests.sim.reads import Reads
from tests.sim.stories import DAY_US, HOUR_US, MINUTE_US, Session
from tests.sim.world import Nodes, StoreKind, worlds
from tests.support.postgres import quick_database

START_US = 1_780_272_000 * 1_000_000  # A midnight of UTC

BROKEN = ("a command could not be decided", "a request broke", "a stored event is corrupt and is passed over")
"""What the service says of faults of its own."""

Deed = Callable[[], Awaitable[object]]


class Size(msgspec.Struct, frozen=True):
    steps: int = 10
    people: int = 3  # in each of the two organizations
    deeds: int = 30  # in each step, at most
    sessions: int = 2  # new ones in each step, at most


class Told(NamedTuple):
    counts: Counter[str]
    reads: Counter[str]
    deeds: Counter[str]


class Failed(Exception):
    """A history in which something did not hold; it says how to see it again."""

    def __init__(self, seed: int, kind: StoreKind, step: str, cause: BaseException) -> None:
        super().__init__(f"seed {seed}, {kind} store, {step}: {type(cause).__name__}: {cause}")


def history(seed: int, kind: StoreKind, size: Size = Size()) -> Told:  # noqa: B008
    if kind == "nodes":
        quick_database()  # before chance is the seed's
    with seeded(seed) as chance, tempfile.TemporaryDirectory(prefix="svc-sim-") as folder, ExitStack() as stack:
        held = worlds(Path(folder), kind, Random(chance.random()), START_US)
        made = History(stack.enter_context(held), chance, size)
        patches = [*fate.PATCHES, (svc.views.projector, "open_writer", fate.open_writer), *narrow_bounds(chance)]
        patches.append((svc.jobs.nodes, "FOLLOW_PAUSE_SECONDS", 0.2))
        patches.append((svc.views.projector, "REST_SECONDS", 0.0))  # time is virtual, and there is one thread
        with patched(patches), logging_to(made.heard):
            try:
                in_virtual_time(made.run)
            except BaseException as error:
                cause = _first(error)
                if isinstance(cause, KeyboardInterrupt):
                    raise cause from error
                raise Failed(seed, kind, made.step, made.confession() or cause) from error
        return made.told()


@contextmanager
def logging_to(heard: Processor) -> Iterator[None]:
    before = structlog.get_config()
    structlog.configure(processors=[heard], cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)


class History:
    def __init__(self, world: Nodes, chance: Random, size: Size) -> None:
        self.world = world
        self.chance = chance
        self.size = size
        self.tally: Counter[str] = Counter()
        self.clients = Clients(world, chance, self.tally)
        self.reads = Reads(self.clients, chance)
        self.deeds: list[tuple[str, Deed]] = []  # what is still to be sent, in no order
        self.done: Counter[str] = Counter()
        self.faults = [Faults(node, self.clients, chance, self.done) for node in world.nodes]
        self.step = "setting up"
        self.true_us = START_US  # what o'clock it is for agents, whatever the server's clock shows
        self.teams: list[tuple[str, list[Person]]] = []
        self.dead_keys: list[str] = []
        self.confessed: list[tuple[str, object]] = []  # what the service said of faults of its own, and the exceptions
        self.events = 0

    @property
    def people(self) -> list[Person]:
        return [person for _, people in self.teams for person in people]

    def told(self) -> Told:
        more = {"starts of the service": self.world.lives, "of which after a death": self.world.deaths}
        counts = Counter(more) + self.tally + Counter({"events replayed twice": self.events})
        return Told(counts, self.reads.checked, self.done)

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.world.run)
            await self._set_up()
            for number in range(1, self.size.steps + 1):
                self.step = f"step {number}"
                await self._happen()
            self.step = "the end"
            await self._end()
            self.step = "the replay"
            await self._replay()
            await self.world.stop()
            nursery.cancel_scope.cancel()

    def confession(self) -> Divergence | None:
        if not self.confessed:
            return None
        said, error = self.confessed[0]
        told = traceback.format_exception(error) if isinstance(error, BaseException) else []
        return Divergence(f"the service says: {said}: {''.join(told)}")

    def heard(self, _logger: Any, _name: str, line: Any) -> Any:
        """What the service writes to its log is not shown; what it says of faults of its own is one here."""
        if line.get("event") in BROKEN:
            self.confessed.append((str(line.get("event")), line.get("exc_info")))
        raise structlog.DropEvent

    # --- people -------------------------------------------------------------------------------------------------

    async def _set_up(self) -> None:
        for letter in ("A", "B"):
            organization = await self._made("organizations", {"name": f"Organization {letter}"}, "organization_id")
            team = await self._made("teams", {"organization_id": organization, "name": "Team"}, "team_id")
            people = [await self._person(organization, team, number) for number in range(self.size.people)]
            self.teams.append((team, people))
        answer = await self.clients.administer(
            "POST", "control/catalog", {"document": stories.catalog(), "source": "sim"}
        )
        same("the catalog", answer.status, 201)
        self.true_us += 2 * DAY_US
        self._set_clock(0)

    async def _person(self, organization: str, team: str, number: int) -> Person:
        developer = await self._made("developers", {"display_name": f"Developer {number}"}, "developer_id")
        both = {"organization_id": organization, "developer_id": developer}
        await self._made("memberships", {**both, "role": "member" if number else "owner"}, "membership_id")
        await self._made("team-memberships", {"team_id": team, "developer_id": developer}, "team_membership_id")
        person = Person(organization, developer)
        await self.clients.issue(person)
        return person

    async def _made(self, what: str, value: object, name: str) -> str:
        answer = await self.clients.administer("POST", what, value)
        same(f"a new one of {what}", answer.status, 201)
        found: str = answer.json[name]
        return found

    # --- one step -----------------------------------------------------------------------------------------------

    async def _happen(self) -> None:
        """Time passes, things are sent while faults befall the service, then it is calm and everything is looked at."""
        self._time_passes()
        for _ in range(self.chance.randint(0, self.size.sessions)):
            self._begin_session(self.chance.choice(self.people))
        self.chance.shuffle(self.deeds)
        count = self.chance.randint(1, self.size.deeds)
        now, self.deeds = self.deeds[:count], self.deeds[count:]
        async with trio.open_nursery() as faults:
            for each in self.faults:
                each.draw(faults)
            async with trio.open_nursery() as nursery:
                for name, deed in now:
                    nursery.start_soon(self._do, name, deed)
                for _ in range(self.chance.randint(0, 3)):
                    nursery.start_soon(self._do, "read meanwhile", self._read_meanwhile)
            faults.cancel_scope.cancel()
        await self._calm()
        await self._look()
        same("faults that the service names", self.confessed, [])

    async def _do(self, name: str, deed: Deed) -> None:
        await trio.sleep(self.chance.uniform(0, 2))
        await deed()
        self.done[name] += 1

    def _time_passes(self) -> None:
        """Usually some hours; the server's clock may be wrong, and jump."""
        self.true_us += self.chance.choice((MINUTE_US, 40 * MINUTE_US, 5 * HOUR_US, 20 * HOUR_US))
        skew_us = 0
        if self.chance.random() < 0.25:
            skew_us = round(self.chance.uniform(-12, 12) * HOUR_US)
        self._set_clock(skew_us)

    def _set_clock(self, skew_us: int) -> None:
        self.world.clock.advance(self.true_us + skew_us - self.world.clock.now_us())

    async def _calm(self) -> None:
        """Nothing befalls the service any more, and what is due to settle settles."""
        self.clients.hang_up = 0.0
        for node in self.world.nodes:
            node.next_fate = None
        for _ in range(2):  # a start that is under way has its fate already
            for life in await self.world.are_up():
                life.fate.spare()
        await trio.sleep(self.world.calm_seconds + self.chance.uniform(11, 13))

    # --- what is sent -------------------------------------------------------------------------------------------

    def _begin_session(self, person: Person) -> None:
        """It all happened already; it is told of in pieces, twice, late and in any order."""
        chance = self.chance
        number = sum(len(each.sessions) for each in self.people)
        start_us = self.true_us - round(chance.uniform(2, 30) * HOUR_US)
        session = stories.session(chance, f"s{number}", max(start_us, START_US + DAY_US))
        person.tell(session)
        if session.seen != "telemetry":
            for turn in session.turns:
                self._later("prompt", partial(self.clients.prompt, person, turn))
                self._later("response", partial(self._respond, person, turn))
        for export in stories.cuts(chance, session.records):
            self._later("logs", partial(self.clients.logs, person, export))
        if session.records and chance.random() < 0.5:
            again = chance.sample(session.records, chance.randint(1, len(session.records)))
            self._later("logs cut otherwise", partial(self.clients.logs, person, again))
        if chance.random() < 0.7:
            self._later("strange requests", partial(self._stray, person, session))
        if chance.random() < 0.2:
            self._later("keys", partial(self._keys, person))

    def _later(self, name: str, deed: Deed) -> None:
        self.deeds.append((name, deed))
        if self.chance.random() < 0.25:
            self.deeds.append((f"{name} again", deed))

    async def _respond(self, person: Person, turn: stories.Turn) -> None:
        await self.clients.response(person, turn)
        if turn.name not in person.sure.answers:
            self.deeds.append(("response", partial(self._respond, person, turn)))

    async def _stray(self, person: Person, session: Session) -> None:
        known = [turn for turn in session.turns if turn.name in person.sure.plugin]
        if known:
            await self.clients.conflicts(person, stories.prompt(self.chance.choice(known), text="something else"))
        answered = [turn for turn in known if turn.name in person.sure.answers]
        if answered:
            other_answer = stories.response(self.chance.choice(answered), text="quite another answer")
            await self.clients.conflicts(person, other_answer, "/response")
        claimed = [r for r in session.records if r.nonce in person.sure.records]
        other = self.chance.choice([each for each in self.people if each is not person])
        if claimed:
            await self.clients.foreign_logs(other, claimed[:3])
        if claimed or known:
            await self.clients.conflicts(other, stories.prompt(self.chance.choice(session.turns)))

    async def _keys(self, person: Person) -> None:
        if len(person.keys) - len(person.ending & set(person.keys)) < 2:
            await self.clients.issue(person)
        before = set(person.keys)
        await self.clients.revoke(person)
        self.dead_keys += before - set(person.keys)

    # --- what is looked at --------------------------------------------------------------------------------------

    async def _read_meanwhile(self) -> None:
        person = self.chance.choice(self.people)
        await self.reads.anything(person)
        if person.sessions:
            await self.reads.meanwhile(person, self.chance.choice(list(person.sessions.values())))

    async def _look(self) -> None:
        for person in self.people:
            same("what is on its way", person.sent, person.sure)
        whole = self.chance.choice(self.people)
        for session in whole.sessions.values():
            await self.reads.session(whole, session)
        for person in self.chance.sample(self.people, 2):
            await self.reads.anything(person)
            await self.reads.titles(person)  # a title by hand is the one that is shown from then on
            if person.sessions:
                session = self.chance.choice(list(person.sessions.values()))
                await self.reads.session(person, session)
                await self.reads.rename(person, session)
        await self.reads.not_mine(*self.chance.sample(self.people, 2))
        team, people = self.chance.choice(self.teams)
        await self.reads.team_cost(team, people, self.chance.choice(("daily", "weekly")))
        for key in self.dead_keys[-3:]:
            await self.clients.dead_key(key)

    async def _end(self) -> None:
        """Whatever was not sent yet is, and two days later everybody looks at everything."""
        while self.deeds:
            now, self.deeds = self.deeds[:20], self.deeds[20:]
            async with trio.open_nursery() as nursery:
                for name, deed in now:
                    nursery.start_soon(self._do, name, deed)
        self.true_us += 2 * DAY_US
        self._set_clock(0)
        await self._calm()
        for person in self.people:
            same("what is on its way", person.sent, person.sure)
        for person in self.people:
            for session in person.sessions.values():
                await self.reads.session(person, session)
            await self.reads.titles(person)
        for team, people in self.teams:
            for window in ("daily", "weekly"):
                await self.reads.team_cost(team, people, window)
        for key in self.dead_keys:
            await self.clients.dead_key(key)

    async def _replay(self) -> None:
        """The tables that serve are those of a replay, whatever happened on the way, and of any other replay."""
        lives = await self.world.are_up()
        life = lives[0]
        self.events = life.store.head()
        expected, *others = [await self._tables(each) for each in lives]
        for other in others:
            same("tables of two nodes", other, expected)
        FATE.set(life.fate)
        for number, batch_events in enumerate((1_000, self.chance.randint(1, 40))):
            path = self.world.folder / f"replay-{number}.db"
            build(path, life.store, lambda _d, _o: None, batch_events=batch_events)
            with snapshot(path) as built:
                same(f"tables of a replay by {batch_events}", digests(built), expected)

    async def _tables(self, life: Life) -> dict[str, str]:
        FATE.set(life.fate)
        assert life.service is not None
        projector = life.service.projector
        with trio.fail_after(60):
            await projector.wait_for(self.events)
        with projector.readers.reading() as live:
            same("facts that could not be derived", live.execute("SELECT * FROM failed").fetchall(), [])
            return digests(live)


def _first(error: BaseException) -> BaseException:
    """What went wrong first, out of what else that made of it: somebody's Ctrl-C, else a divergence, else anything."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    found = [_first(each) for each in error.exceptions]
    return min(found, key=lambda each: (not isinstance(each, KeyboardInterrupt), not isinstance(each, Divergence)))
