"""The log of each store beside bare inserts with the same commits, and captures a second with one, two, three nodes."""

import http.client
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from uuid import uuid4

import msgspec
import psycopg
from eventsourcing.persistence import StoredEvent

from svc.log.codec import Codec
from svc.log.postgres import open_recorder
from svc.log.sqlite import open_sqlite_store
from svc.log.store import EventStore
from svc.log.vault import FileKeys, Vault
from tests.bench.servers import NO_BUDGETS, fresh_service
from tests.cluster.nodes import DISK, cluster
from tests.support.postgres import Postgres, shared_store_in

STATE = bytes(400)
SENDERS = 12
Append = Callable[[int], None]
"""Makes a commit of so many events."""


class Appended(msgspec.Struct, frozen=True):
    """Events a second, by the size of a commit; medians of rounds that take turns."""

    events_per_append: int
    sqlite: float
    postgres: float
    bare: float

    @property
    def of_bare(self) -> float:
        return self.postgres / self.bare


def appends(database: Postgres, rounds: int, seconds: float) -> list[Appended]:
    with tempfile.TemporaryDirectory() as name, shared_store_in(database) as url:
        vault = Vault(FileKeys(Path(name) / "keys"))
        sqlite = open_sqlite_store(Path(name) / "events.db", Codec(vault))
        recorder = open_recorder(url)
        shared = EventStore(recorder, Codec(vault), recorder)
        with closing(sqlite), closing(shared), _bare(url) as bare:
            found = []
            for size in (1, 100):
                ways: list[Append] = [_into(sqlite), _into(shared), bare]
                rates: list[list[float]] = [[], [], []]
                for _ in range(rounds):
                    for way, rate in zip(ways, rates, strict=True):
                        rate.append(_rate(way, size, seconds))
                found.append(Appended(size, *(statistics.median(rate) for rate in rates)))
            return found


def _into(store: EventStore) -> Append:
    return lambda size: _ignored(store.insert([_events(size)]))


def _ignored(_value: object) -> None:
    """The positions are of no interest."""


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

        def append(size: int) -> None:
            events = _events(size)
            values = [
                [event.originator_id for event in events],
                [event.originator_version for event in events],
                [event.topic for event in events],
                [event.state for event in events],
            ]
            connection.execute(insert, values).fetchall()

        yield append


def _rate(append: Append, size: int, seconds: float) -> float:
    began, events = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        append(size)
        events += size
    return events / (time.perf_counter() - began)


class Captured(msgspec.Struct, frozen=True):
    nodes: int
    per_second: float
    p50_ms: float
    p99_ms: float


def captures_alone(seconds: float) -> Captured:
    """One process with SQLite, under the same senders."""
    with fresh_service(more=NO_BUDGETS) as service:
        return _captured(0, [service.port], service.headers["Authorization"], seconds)


def captures(number: int, seconds: float) -> Captured:
    """Over that many nodes, each sender bound to one of them."""
    with (
        tempfile.TemporaryDirectory() as name,
        Postgres.started(DISK) as database,
        cluster(database, Path(name), number) as found,
    ):
        return _captured(number, [node.intake for node in found.nodes], f"Bearer {found.key}", seconds)


def _captured(number: int, ports: list[int], authorization: str, seconds: float) -> Captured:
    took, numbers, until = list[float](), count(1), time.perf_counter() + seconds

    def send(port: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        headers = {"Authorization": authorization, "Content-Type": "application/json"}
        while time.perf_counter() < until:
            own = next(numbers)
            body = {"prompt_text": f"Fix parser {own}", "tool_session_id": f"p{port}-{own % 50}"}
            began = time.perf_counter()
            connection.request("POST", "/v1/prompts", json.dumps(body), headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status == 201:
                took.append(time.perf_counter() - began)
        connection.close()

    senders = [threading.Thread(target=send, args=(ports[each % len(ports)],)) for each in range(SENDERS)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    cuts = statistics.quantiles(took, n=100)
    return Captured(number, len(took) / seconds, 1_000 * cuts[49], 1_000 * cuts[98])
