"""The log of each store beside bare inserts with the same commits, and captures a second with one, two, three nodes."""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from uuid import uuid4

import psycopg
from eventsourcing.persistence import StoredEvent

from svc.log.codec import Codec
from svc.log.postgres import open_recorder
from svc.log.sqlite import open_sqlite_store
from svc.log.store import EventStore
from svc.log.vault import FileKeys, Vault
from tests.bench.world import MIDDLE, fresh_service
from tests.cluster.nodes import DISK, cluster
from tests.support.driver import Driver, at, together
from tests.support.postgres import Postgres, shared_store_in
from tests.support.process import NO_BUDGETS
from tests.support.results import Result
from tests.support.work import prompt

STATE = bytes(400)
SENDERS = 12
APPEND_SECONDS, CAPTURE_SECONDS = 3.0, 10.0
OF_BARE_MIN = 0.5
Append = Callable[[int], object]  # makes a commit of so many events


def speed(rounds: int) -> list[Result]:
    with Postgres.started(DISK) as database:
        found = _appends(database, rounds)
    with fresh_service(NO_BUDGETS) as service:
        found.append(_captured("one process on SQLite", [service.server.intake_port], service.key))
    for number in (1, 2, 3):
        with (
            tempfile.TemporaryDirectory() as name,
            Postgres.started(DISK) as database,
            cluster(database, Path(name), number) as nodes,
        ):
            ports = [node.intake for node in nodes.nodes]
            found.append(_captured(f"{number} nodes on PostgreSQL", ports, nodes.key))
    return found


def _appends(database: Postgres, rounds: int) -> list[Result]:
    """Events a second, by the size of a commit; medians of rounds that take turns."""
    with tempfile.TemporaryDirectory() as name, shared_store_in(database) as url:
        vault = Vault(FileKeys(Path(name) / "keys"))
        with (
            closing(open_sqlite_store(Path(name) / "events.db", Codec(vault))) as sqlite,
            closing(open_recorder(url)) as recorder,
            _bare(url) as bare,
        ):
            shared = EventStore(recorder, Codec(vault), recorder)
            ways = [lambda size: sqlite.insert([_events(size)]), lambda size: shared.insert([_events(size)]), bare]
            return [_append_result(ways, size, rounds) for size in (1, 100)]


def _append_result(ways: list[Append], size: int, rounds: int) -> Result:
    rates: list[list[float]] = [[_rate(way, size) for way in ways] for _ in range(rounds)]
    sqlite, shared, bare = (statistics.median(each) for each in zip(*rates, strict=True))
    beside = f"SQLite {sqlite:,.0f}/s, PostgreSQL {shared:,.0f}/s, bare psycopg {bare:,.0f}/s"
    what = f"PostgreSQL, {size} events an append, of bare inserts"
    return Result(what, shared / bare, "", OF_BARE_MIN, False, beside)


def _events(size: int) -> list[StoredEvent]:
    return [StoredEvent(uuid4(), 1, "time.passed", STATE) for _ in range(size)]


@contextmanager
def _bare(url: str) -> Iterator[Append]:
    """One statement a commit into a table with the same columns and indexes, and no promise about their order."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE bare (id uuid, version bigint, topic text, state bytea, "
            "position bigserial UNIQUE, PRIMARY KEY (id, version))"
        )
        connection.execute("CREATE INDEX ON bare (topic, position)")
        insert = (
            "INSERT INTO bare (id, version, topic, state) "
            "SELECT * FROM unnest(%b::uuid[], %b::bigint[], %b::text[], %b::bytea[]) RETURNING position"
        )

        def append(size: int) -> object:
            rows = [(each.originator_id, each.originator_version, each.topic, each.state) for each in _events(size)]
            return connection.execute(insert, [list(column) for column in zip(*rows, strict=True)]).fetchall()

        yield append


def _rate(append: Append, size: int) -> float:
    began, events = time.perf_counter(), 0
    while time.perf_counter() - began < APPEND_SECONDS:
        append(size)
        events += size
    return events / (time.perf_counter() - began)


def _captured(who: str, ports: list[int], key: str) -> Result:
    """Captures a second; each sender is bound to one port."""
    took, numbers, end = list[float](), count(1), time.perf_counter() + CAPTURE_SECONDS

    def send(port: int) -> None:
        with Driver(port, key) as driver:
            while time.perf_counter() < end:
                own = next(numbers)
                answer = driver.call("POST", "/v1/prompts", prompt(f"Fix parser {own}", f"p{port}-{own % 50}"))
                if answer.status == 201:
                    took.append(answer.ms)

    together(*(partial(send, ports[each % len(ports)]) for each in range(SENDERS)))
    beside = f"p50 {at(took, MIDDLE):.0f} ms, p99 {at(took, 0.99):.0f} ms"
    return Result(f"captures, {who}", len(took) / CAPTURE_SECONDS, "/s", baseline=beside)
