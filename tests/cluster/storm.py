"""Captures sprayed over three nodes while everything breaks; afterwards each acknowledged one is there, once."""

import json
import random
import signal
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import msgspec

from aggregates.ids import prompt_stream
from svc.limits import LEASE_SECONDS
from svc.views.replay import digests
from svc.views.views import RULES_VERSION, current_file
from tests.cluster.nodes import Cluster, Node

SENDERS = 6
READERS = 2
POSITION = "X-Svc-Position"
CALM_SECONDS = 4.0


class Seen(msgspec.Struct, kw_only=True):
    """What a storm did, and what was found after it."""

    faults: dict[str, int] = {}
    acknowledged: int = 0
    sent_again: int = 0
    found: int = 0
    lost: int = 0
    twice: int = 0
    positions: int = 0
    gaps: int = 0
    reads_of_own: int = 0
    unavailable_reads: int = 0
    stale_reads: int = 0
    reports: int = 0
    reports_made_once: int = 0
    tables_alike: bool = False
    replays_identical: list[bool] = []
    verified: list[bool] = []

    @property
    def held(self) -> bool:
        """Whether every promise was kept."""
        nothing = self.lost + self.twice + self.gaps + self.stale_reads == 0
        made = self.reports == self.reports_made_once > 0
        return nothing and made and self.tables_alike and all(self.replays_identical) and all(self.verified)


class Storm:
    """Senders, readers and faults, each in threads of their own."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._random = random.Random(seed)
        self._headers = {"Authorization": f"Bearer {cluster.key}"}
        self._over = threading.Event()
        self._acknowledged: dict[int, str] = {}
        self._counter = iter(range(1, 10**9))
        self._lock = threading.Lock()
        self._errors: list[BaseException] = []
        self.seen = Seen()

    def blow(self, seconds: float) -> Seen:
        work = [self._send] * SENDERS + [self._read_own] * READERS
        threads = [threading.Thread(target=self._guarded, args=(each,)) for each in (*work, self._break)]
        for thread in threads:
            thread.start()
        self._over.wait(seconds)
        self._over.set()
        for thread in threads:
            thread.join()
        self._cluster.heal()
        if self._errors:
            raise self._errors[0]
        self._look()
        return self.seen

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self._errors.append(error)
            self._over.set()

    # --- what people do -----------------------------------------------------------------------------------------

    def _send(self) -> None:
        """Through the balancer, each until it is acknowledged, some once more although they are."""
        with httpx.Client(base_url=f"http://127.0.0.1:{self._cluster.balancer.port}", timeout=10) as client:
            while not self._over.is_set():
                with self._lock:
                    number = next(self._counter)
                body = {
                    "prompt_text": f"Fix parser {number}, it loses the last line",
                    "tool_session_id": f"s{number % 23}",
                    "client_event_id": str(UUID(int=number)),
                }
                for again in range(40):
                    told = self._posted(client, body)
                    if told is None:
                        self._over.wait(0.25)
                        continue
                    known = self._acknowledged.setdefault(number, told)
                    assert known == told, f"capture {number} has two ids"
                    self.seen.sent_again += again > 0
                    if number % 10:
                        break

    def _posted(self, client: httpx.Client, body: dict[str, str]) -> str | None:
        # A connection each, so that the balancer chooses anew.
        try:
            answer = client.post("/v1/prompts", json=body, headers={**self._headers, "Connection": "close"})
        except httpx.TransportError:
            return None
        if answer.status_code in (200, 201):
            return str(answer.json()["id"])
        assert answer.status_code in (429, 503), (answer.status_code, answer.text)
        return None

    def _read_own(self) -> None:
        """Write to one node, read from another one: never less than was written."""
        nodes = self._cluster.nodes
        while not self._over.is_set():
            here, there = random.sample(nodes, 2)
            with self._lock:
                number = next(self._counter)
            session = f"own{number}"
            body = {"prompt_text": "Add a test", "tool_session_id": session, "client_event_id": str(UUID(int=number))}
            try:
                wrote = httpx.post(
                    f"http://127.0.0.1:{here.intake}/v1/prompts", json=body, headers=self._headers, timeout=10
                )
                if wrote.status_code != 201:
                    continue
                self._acknowledged[number] = str(wrote.json()["id"])
                told = {POSITION: wrote.headers[POSITION]}
                path = f"http://127.0.0.1:{there.api}/v1/score_v3/realtime/sub-sessions"
                read = httpx.get(path, headers=self._headers | told, params={"limit": 200}, timeout=10)
            except httpx.TransportError:
                continue
            finally:
                self._over.wait(0.3)
            if read.status_code == 200:
                self.seen.reads_of_own += 1
                self.seen.stale_reads += session not in {row["agent_session_id"] for row in read.json()}
            else:
                assert read.status_code == 503, (read.status_code, read.text)
                assert read.headers["Retry-After"]
                self.seen.unavailable_reads += 1

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
        counted: Counter[str] = Counter()
        number = 0
        while not self._over.is_set():
            self._order_report()
            name, fault = faults[number % len(faults)]
            fault(self._random.choice(self._cluster.nodes))
            counted[name] += 1
            number += 1
            self._over.wait(CALM_SECONDS)
        self.seen.faults = dict(counted)

    def _kill(self, node: Node) -> None:
        node.kill()
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
        asked = {"period": "monthly", "date": f"2025-{self.seen.reports % 12 + 1:02}-15"}
        node = self._random.choice(self._cluster.nodes)
        try:
            path = f"http://127.0.0.1:{node.api}/v1/score_v3/report/generate"
            answer = httpx.post(path, json=asked, headers=self._headers, timeout=10)
        except httpx.TransportError:
            return
        self.seen.reports += answer.status_code in (200, 201, 202)

    # --- what is found --------------------------------------------------------------------------------------------

    def _look(self) -> None:
        seen, run = self.seen, self._cluster.database.run
        self._reports_made()
        self._cluster.level()
        seen.acknowledged = len(self._acknowledged)
        rows = run("SELECT originator_id, count(*) FROM stored_events WHERE topic = 'prompt.captured' GROUP BY 1")
        there = {str(stream): int(count) for stream, count in rows}
        developer = UUID(str(run("SELECT owner FROM svc_keys WHERE owner <> %s LIMIT 1", UUID(int=0))[0][0]))
        for number, told in self._acknowledged.items():
            stream = str(prompt_stream(developer, UUID(int=number)))
            assert stream == told, "the id that was told is that of the stream"
            seen.lost += stream not in there
            seen.found += there.get(stream, 0)
            seen.twice += there.get(stream, 0) > 1
        seen.positions, last = run("SELECT count(*), max(notification_id) FROM stored_events")[0]
        seen.gaps = last - seen.positions
        for node in self._cluster.nodes:
            assert node.stop() == 0, node.log.read_text()[-2_000:]
        tables = {json.dumps(_tables(node.var), sort_keys=True) for node in self._cluster.nodes}
        seen.tables_alike = len(tables) == 1
        # The nodes have stopped at one position, so the tables may be compared, and each with two replays.
        for node in self._cluster.nodes:
            seen.replays_identical.append(_said(node.run("replay", "--check"), "identical"))
            seen.verified.append(node.run("verify").returncode == 0)

    def _reports_made(self) -> None:
        """Each report that was asked for is made, and once: a second completion would be an event more."""
        until = time.monotonic() + 120
        query = (
            "SELECT count(*) FILTER (WHERE topic = 'report.requested'), "
            "count(*) FILTER (WHERE topic = 'report.completed'), "
            "count(DISTINCT originator_id) FILTER (WHERE topic = 'report.completed') FROM stored_events"
        )
        while True:
            asked, made, once = self._cluster.database.run(query)[0]
            if made >= asked or time.monotonic() > until:
                self.seen.reports, self.seen.reports_made_once = asked, once if made == once else 0
                return
            time.sleep(1)


def _tables(var: Path) -> dict[str, str]:
    path = current_file(var, RULES_VERSION)
    assert path is not None
    with closing(sqlite3.connect(path)) as db:
        return digests(db)


def _said(done: subprocess.CompletedProcess[Any], word: str) -> bool:
    return done.returncode == 0 and word in done.stdout
