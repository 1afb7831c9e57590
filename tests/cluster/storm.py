"""Captures sprayed over three nodes while everything breaks; afterwards each acknowledged one is there, once."""

import json
import random
import signal
import threading
from collections.abc import Callable
from functools import partial
from itertools import count
from uuid import UUID

from aggregates.ids import prompt_stream
from svc.log.opening import LEASE_SECONDS
from tests.cluster.nodes import Cluster, Node
from tests.support.driver import BROKEN, Answer, once, together, until
from tests.support.household import tables_of
from tests.support.process import log_tail
from tests.support.results import Outcome
from tests.support.work import prompt

SENDERS, READERS = 6, 2
TRIES_MAX = 40
POSITION = "X-Svc-Position"
CALM_SECONDS, LOOK_SECONDS = 4.0, 120
READ = "/v1/score_v3/realtime/sub-sessions?limit=200"


class Storm:
    """Senders, readers and faults, each in threads of their own."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._random = random.Random(seed)
        self._key = cluster.key
        self._over = threading.Event()
        self._acknowledged: dict[int, str] = {}
        self._numbers = count(1)
        self._errors: list[BaseException] = []
        self.outcome = Outcome("three nodes over one PostgreSQL", "each acknowledged capture there, once; tables alike")

    def blow(self, seconds: float) -> Outcome:
        work = [self._send] * SENDERS + [self._read_own] * READERS
        guarded = [partial(self._guarded, each) for each in (*work, self._break)]
        together(*guarded, partial(self._end_after, seconds))
        self._cluster.heal()
        if self._errors:
            raise self._errors[0]
        self._look()
        return self.outcome

    def _end_after(self, seconds: float) -> None:
        self._over.wait(seconds)
        self._over.set()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self._errors.append(error)
            self._over.set()

    # --- what people do -----------------------------------------------------------------------------------------

    def _capture(self, port: int, number: int, session: str) -> Answer | None:
        """Over a connection of its own, so that the balancer chooses anew; None without an answer, or if refused."""
        body = prompt(f"Fix parser {number}, it loses the last line", session, UUID(int=number))
        try:
            answer = once(port, "POST", "/v1/prompts", body, self._key)
        except BROKEN:
            return None
        if answer.status in (200, 201):
            return answer
        assert answer.status in (429, 503), (answer.status, answer.body)
        return None

    def _send(self) -> None:
        """Through the balancer, each until it is acknowledged, some once more although they are."""
        while not self._over.is_set():
            number = next(self._numbers)
            for again in range(TRIES_MAX):
                answer = self._capture(self._cluster.balancer.port, number, f"s{number % 23}")
                if answer is None:
                    self._over.wait(0.25)
                    continue
                known = self._acknowledged.setdefault(number, str(answer.json["id"]))
                assert known == answer.json["id"], f"capture {number} has two ids"
                self.outcome.count("sent again", again > 0)
                if number % 10:
                    break

    def _read_own(self) -> None:
        """Write to one node, read from another one: never less than was written."""
        while not self._over.is_set():
            here, there = random.sample(self._cluster.nodes, 2)
            number = next(self._numbers)
            wrote = self._capture(here.intake, number, f"own{number}")
            self._over.wait(0.3)
            if wrote is None or wrote.status != 201:
                continue
            self._acknowledged[number] = str(wrote.json["id"])
            try:
                read = once(there.api, "GET", READ, None, self._key, **{POSITION: wrote.headers[POSITION]})
            except BROKEN:
                continue
            if read.status == 200:
                self.outcome.count("reads of own")
                sessions = {row["agent_session_id"] for row in read.json}
                self.outcome.check(f"own{number}" in sessions, f"a stale read at node {there.number}")
            else:
                assert (read.status, bool(read.headers["Retry-After"])) == (503, True), (read.status, read.body)
                self.outcome.count("reads answered 503")

    # --- what breaks ----------------------------------------------------------------------------------------------

    def _break(self) -> None:
        faults: list[tuple[str, Callable[[Node], None]]] = [
            ("kill -9", self._kill),
            ("SIGSTOP beyond the leases", self._freeze),
            ("pg_terminate_backend", self._end_backends),
            ("restart of PostgreSQL", self._restart),
            ("crash of PostgreSQL", self._crash),
            ("cut between a node and the database", self._cut),
            ("SIGSTOP of PostgreSQL beyond the leases", self._freeze_database),
        ]
        while not self._over.is_set():
            self._order_report()
            name, fault = faults[self.outcome.tried % len(faults)]
            fault(self._random.choice(self._cluster.nodes))
            self.outcome.count(name)
            self.outcome.tried += 1
            self._over.wait(CALM_SECONDS)

    def _kill(self, node: Node) -> None:
        node.server.kill()
        self._over.wait(1)
        node.begin()
        node.wait()

    def _freeze(self, node: Node) -> None:
        node.freeze(True)
        self._over.wait(LEASE_SECONDS + 6)
        node.freeze(False)

    def _end_backends(self, _node: Node) -> None:
        for _ in range(5):
            ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'svc'"
            self._cluster.database.run(ended)
            self._over.wait(0.5)

    def _restart(self, _node: Node) -> None:
        self._cluster.database.stop()
        self._over.wait(3)
        self._cluster.database.start()

    def _crash(self, _node: Node) -> None:
        self._cluster.database.stop(signal.SIGQUIT)
        self._cluster.database.start()

    def _freeze_database(self, _node: Node) -> None:
        self._cluster.database.freeze(signal.SIGSTOP)
        try:
            self._over.wait(LEASE_SECONDS + 6)
        finally:
            self._cluster.database.freeze(signal.SIGCONT)

    def _cut(self, node: Node) -> None:
        node.line.cut(True)
        self._over.wait(8)
        node.line.cut(False)

    def _order_report(self) -> None:
        """A job that is done once, whoever leads: asked for at any node that answers."""
        asked = {"period": "monthly", "date": f"2025-{self.outcome.tried % 12 + 1:02}-15"}
        node = self._random.choice(self._cluster.nodes)
        try:
            once(node.api, "POST", "/v1/score_v3/report/generate", asked, self._key)
        except BROKEN:
            return

    # --- what is found --------------------------------------------------------------------------------------------

    def _look(self) -> None:
        outcome, run = self.outcome, self._cluster.database.run
        self._reports_made()
        self._cluster.level()
        rows = run("SELECT originator_id, count(*) FROM stored_events WHERE topic = 'prompt.captured' GROUP BY 1")
        there = {str(stream): int(times) for stream, times in rows}
        developer = UUID(str(run("SELECT owner FROM svc_keys WHERE owner <> %s LIMIT 1", UUID(int=0))[0][0]))
        for number, told in self._acknowledged.items():
            stream = str(prompt_stream(developer, UUID(int=number)))
            outcome.check(stream == told, f"capture {number} was told the id {told} and is {stream}")
            outcome.check(there.get(stream) == 1, f"capture {number} is there {there.get(stream, 0)} times")
        outcome.count("acknowledged", len(self._acknowledged))
        positions, last = run("SELECT count(*), max(notification_id) FROM stored_events")[0]
        outcome.check(positions == last, f"{last - positions} gaps among {positions} positions")
        for node in self._cluster.nodes:
            outcome.check(node.server.stop(30) == 0, f"node {node.number} stops: {log_tail(node.var)}")
        # The nodes have stopped at one position, so the tables may be compared, and each with two replays.
        tables = {json.dumps(tables_of(node.var), sort_keys=True) for node in self._cluster.nodes}
        outcome.check(len(tables) == 1, "the tables of the nodes differ")
        for node in self._cluster.nodes:
            checked = node.program.json("replay", "--check", "--var", node.var)
            outcome.check(checked["identical"], f"node {node.number}: a replay differs")
            verified = node.program.json("verify", "--var", node.var)
            outcome.check(verified["clean"], f"node {node.number}: {verified['findings'][:3]}")

    def _reports_made(self) -> None:
        """Each report that was asked for is made, and once: a second completion would be an event more."""
        query = (
            "SELECT count(*) FILTER (WHERE topic = 'report.requested'), "
            "count(*) FILTER (WHERE topic = 'report.completed'), "
            "count(DISTINCT originator_id) FILTER (WHERE topic = 'report.completed') FROM stored_events"
        )

        def found() -> tuple[int, int, int]:
            return self._cluster.database.run(query)[0]  # type: ignore[no-any-return]

        until(lambda: found()[1] >= found()[0], LOOK_SECONDS, 1)
        asked, made, distinct = found()
        self.outcome.count("reports", asked)
        self.outcome.check(asked == made == distinct > 0, f"{asked} reports were asked for, {made} made, of {distinct}")
