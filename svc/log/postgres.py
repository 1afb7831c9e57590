"""The log in PostgreSQL, on the library's recorder and table, for several nodes at once.

Positions follow commits, without the library's lock on the whole table: docs/decisions/many-nodes.md says how, and why.
Every connection says itself that commits are synced, how long it waits for a lock, a statement and an answer.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from threading import Lock
from typing import Any, TypeVar

import psycopg
import structlog
from eventsourcing.domain import EventSourcingError
from eventsourcing.persistence import IntegrityError, StoredEvent
from eventsourcing.postgres import ConnectionPool, PostgresApplicationRecorder, PostgresDatastore
from psycopg import Connection, Cursor
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg.sql import SQL, Composed, Identifier, Literal

from svc.log.store import STORE_READERS_MAX, Fence, LeaseFence, LogRecorder, StoreUnavailable, current_fences

SHARED_WRITERS_MAX = 3  # connections: the journal's, one for keys and leases, one that looks a lost commit up
SHARED_CONNECT_SECONDS = 5.0  # how long a connection is waited for, in the pool and on the network
SHARED_LOCK_MS = 5_000  # how long an append waits for another node's, which takes milliseconds unless that node hangs
SHARED_STATEMENT_MS = 15_000  # how long a statement may take: the largest commit, or the largest read, on a busy server
SHARED_IDLE_TRANSACTION_MS = 10_000  # how long a node that froze within a transaction may hold the others up
SHARED_ANSWER_SECONDS = 20.0  # how long an answer is waited for where the server itself is frozen
SHARED_KEEPALIVE_SECONDS = 5.0  # so soon, three times, a connection that says nothing is asked whether it still stands
assert SHARED_STATEMENT_MS < SHARED_ANSWER_SECONDS * 1_000, "the server gives up first, and says why"

log = structlog.get_logger()
RV = TypeVar("RV")
WAIT_SECONDS = 0.1  # between two looks whether a wait was interrupted; psycopg's own default
FORM = 1  # of the tables, in `svc_log`
_OUTCOME_UNKNOWN = ("08", "57P")  # after such errors a commit may have happened: no connection, or a server that ends
_CONNECTING: dict[str, str | int] = {
    "application_name": "svc",
    "connect_timeout": int(SHARED_CONNECT_SECONDS),
    "keepalives_idle": int(SHARED_KEEPALIVE_SECONDS),
    "keepalives_interval": int(SHARED_KEEPALIVE_SECONDS),
    "keepalives_count": 2,
    "tcp_user_timeout": int(2_000 * SHARED_KEEPALIVE_SECONDS),
}
"""Unless the address says otherwise; everything else, TLS among it, is libpq's."""
_SESSION = (
    "SELECT set_config('statement_timeout', %s, false), set_config('lock_timeout', %s, false), "
    "set_config('idle_in_transaction_session_timeout', %s, false), "
    "set_config('default_transaction_isolation', 'read committed', false), "
    "CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END"
)
_TABLES = """
CREATE TABLE {schema}.svc_log (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    head bigint NOT NULL, form integer NOT NULL, probed bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
CREATE TABLE {schema}.svc_keys (owner uuid PRIMARY KEY, wrapped bytea NOT NULL);
CREATE TABLE {schema}.svc_leases (
    name text PRIMARY KEY, holder text NOT NULL, epoch bigint NOT NULL, expires_at timestamptz NOT NULL
);
CREATE INDEX stored_events_topic ON {schema}.stored_events (topic, notification_id);
INSERT INTO {schema}.svc_log (head, form) SELECT coalesce(max(notification_id), 0), {form} FROM {schema}.stored_events;
"""
_RAISE_HEAD = (
    "WITH place AS (UPDATE {schema}.svc_log SET head = head + %(count)s "
    "RETURNING head - %(count)s AS before, pg_notify(%(channel)s, '')) "
)
_INSERT = (
    "INSERT INTO {schema}.stored_events (originator_id, originator_version, topic, state, notification_id) "
    "SELECT e.id, e.version, e.topic, e.state, place.before + e.number FROM place, "
    "unnest(%(ids)b::uuid[], %(versions)b::bigint[], %(topics)b::text[], %(states)b::bytea[]) "
    "WITH ORDINALITY AS e (id, version, topic, state, number) RETURNING notification_id"
)


class BoundedConnection(Connection[DictRow]):
    """A connection that gives an answer up which does not come: the socket of a frozen server stays open for ever."""

    def wait(self, gen: PQGen[RV], interval: float = WAIT_SECONDS, timeout: float | None = None) -> RV:
        return super().wait(gen, interval, SHARED_ANSWER_SECONDS if timeout is None else timeout)


class SharedDatastore(PostgresDatastore):
    def __init__(self, conninfo: str, schema: str, connections_max: int) -> None:
        super().__init__(dbname="", host="", port="", user="", password="", schema=schema)
        self.pool = ConnectionPool(
            conninfo,
            connection_class=BoundedConnection,
            kwargs={"row_factory": dict_row},
            min_size=1,
            max_size=connections_max,
            open=False,
            configure=_configure,
            timeout=SHARED_CONNECT_SECONDS,
            reconnect_timeout=SHARED_CONNECT_SECONDS,
        )


def _configure(connection: Connection[Any]) -> None:
    connection.autocommit = True
    bounds = (SHARED_STATEMENT_MS, SHARED_LOCK_MS, SHARED_IDLE_TRANSACTION_MS)
    connection.execute(_SESSION, [str(bound) for bound in bounds])


class PostgresRecorder(PostgresApplicationRecorder, LogRecorder):
    """Events in the library's table; keys, leases and the last position beside it."""

    is_shared = True

    def __init__(self, conninfo: str, schema: str) -> None:
        super().__init__(SharedDatastore(conninfo, schema, STORE_READERS_MAX))
        del self.sql_create_statements[self.create_insert_function_statement_index]
        self._writing = SharedDatastore(conninfo, schema, SHARED_WRITERS_MAX)
        self._listening: Connection[DictRow] | None = None
        self._news, self._closed = Lock(), False
        self._conninfo = conninfo
        self.channel_name = f"svc_{_number(schema)}"
        self._insert_now = self._named(_RAISE_HEAD + _INSERT)

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> Sequence[int] | None:
        fences: Sequence[Fence] = kwargs.get("fences", ())
        # Without fences one statement is one transaction.
        connected = self._fenced_transaction(fences) if fences else self._writing.cursor()
        try:
            with connected as cursor:
                return self._inserted(cursor, stored_events)
        except EventSourcingError as error:
            if not _outcome_is_unknown(error):
                raise
            log.warning("the answer to a commit was lost, and it is looked up", reason=str(error))
            self._writing.pool.check()
            return self._settled(stored_events, fences)

    def max_notification_id(self) -> int | None:
        (row,) = self.rows("SELECT head FROM {schema}.svc_log")
        return row["head"] or None

    def sweep(self) -> bool:
        """Free what overwritten rows took; copies stay in the server's own write-ahead log until it recycles that."""
        with self._writing.get_connection() as connection:
            connection.execute(self._named("VACUUM (INDEX_CLEANUP OFF, TRUNCATE OFF) {schema}.stored_events"))
        return True

    def check_writable(self) -> None:
        self.rows("UPDATE {schema}.svc_log SET probed = probed + 1", writing=True)

    def close(self) -> None:
        self._closed = True
        with self._news:  # whoever waited is gone, but the thread may still read from the connection, or make one
            self._stop_listening()
        self._writing.close()
        self.datastore.close()

    def _stop_listening(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            listening.close()

    def rows(self, statement: str, values: Sequence[Any] = (), *, writing: bool = False) -> list[DictRow]:
        """A statement may be done twice; `{schema}` in it is the schema."""
        datastore = self._writing if writing else self.datastore
        try:
            return self._rows(datastore, statement, values)
        except EventSourcingError as error:
            if not _outcome_is_unknown(error):
                raise
            datastore.pool.check()  # after a restart of the server all of them are broken
            return self._rows(datastore, statement, values)

    def _rows(self, datastore: PostgresDatastore, statement: str, values: Sequence[Any]) -> list[DictRow]:
        with datastore.cursor() as cursor:
            cursor.execute(self._named(statement), values)
            return cursor.fetchall() if cursor.description is not None else []

    def wait_for_news(self, seconds: float) -> None:
        with self._news:
            if self._closed:
                return
            try:
                if self._listening is None:
                    self._listening = BoundedConnection.connect(self._conninfo, row_factory=dict_row, autocommit=True)
                    self._listening.execute(SQL("LISTEN {}").format(Identifier(self.channel_name)))
                for _ in self._listening.notifies(timeout=seconds, stop_after=1):
                    pass
            except (psycopg.Error, OSError):
                self._stop_listening()
                time.sleep(seconds)  # polling finds everything; this connection only wakes

    def write(self, statement: str, values: Sequence[Sequence[Any]]) -> None:
        with self._fenced_transaction(current_fences()) as cursor:
            cursor.executemany(self._named(statement), values)

    @contextmanager
    def _fenced_transaction(self, fences: Sequence[Fence]) -> Iterator[Cursor[DictRow]]:
        """Nobody appends, and no lease of these is taken over, during the block. IntegrityError: one does not hold."""
        with self._writing.transaction(commit=True) as cursor:
            if fences:
                cursor.execute(self._named("SELECT head FROM {schema}.svc_log FOR UPDATE"))
            for fence in fences:
                self._check(cursor, fence)
            yield cursor

    def _check(self, cursor: Cursor[DictRow], fence: Fence) -> None:
        if isinstance(fence, LeaseFence):
            held = "SELECT 1 FROM {schema}.svc_leases WHERE name = %s AND epoch = %s FOR SHARE"
            if not cursor.execute(self._named(held), fence).fetchall():
                raise IntegrityError(f"another node has taken over {fence.name}")
        else:
            newer = "SELECT 1 FROM {schema}.stored_events WHERE topic = ANY(%s) AND notification_id > %s LIMIT 1"
            if cursor.execute(self._named(newer), [list(fence.topics), fence.after]).fetchall():
                raise IntegrityError("another node has decided meanwhile")

    def _inserted(self, cursor: Cursor[DictRow], events: Sequence[StoredEvent]) -> list[int]:
        values = {
            "count": len(events),
            "channel": self.channel_name,
            "ids": [event.originator_id for event in events],
            "versions": [event.originator_version for event in events],
            "topics": [event.topic for event in events],
            "states": [event.state for event in events],
        }
        cursor.execute(self._insert_now, values)
        return sorted(row["notification_id"] for row in cursor.fetchall())

    def _settled(self, events: Sequence[StoredEvent], fences: Sequence[Fence]) -> list[int]:
        """The positions of events whose commit was not answered; where it has not happened, it is made now."""
        first = events[0]
        find = "SELECT notification_id, state FROM {events} WHERE originator_id = %s AND originator_version = %s"
        with self._writing.transaction(commit=True) as cursor:
            # One that is still under way holds this row: then its end is waited for.
            cursor.execute(self._named("SELECT head FROM {schema}.svc_log FOR UPDATE"))
            cursor.execute(self._named(find), [first.originator_id, first.originator_version])
            found = cursor.fetchone()
            if found is not None and found["state"] == first.state:
                return [found["notification_id"] + number for number in range(len(events))]
            for fence in fences:
                self._check(cursor, fence)
            return self._inserted(cursor, events)

    def _named(self, statement: str) -> Composed:
        schema = self.datastore.schema
        places = {"events": Identifier(schema, "stored_events"), "position": SQL("notification_id")}
        return SQL(statement).format(**places, schema=Identifier(schema), by_topic=SQL(""))


def _outcome_is_unknown(error: EventSourcingError) -> bool:
    cause = error.__cause__
    return isinstance(cause, psycopg.Error) and (cause.sqlstate or _OUTCOME_UNKNOWN[0]).startswith(_OUTCOME_UNKNOWN)


def _number(name: str) -> int:
    """The same number for the same name, below 2^63."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) >> 1


def open_recorder(store: str) -> PostgresRecorder:
    """Open the log at this address, and make its tables where there are none. Raises `StoreUnavailable`."""
    try:
        given = conninfo_to_dict(store)
        conninfo = make_conninfo(store, **{name: value for name, value in _CONNECTING.items() if name not in given})
        with BoundedConnection.connect(conninfo, row_factory=dict_row, autocommit=True) as connection:
            schema = _one(connection, "SELECT current_schema()::text")
            if schema is None:
                raise StoreUnavailable(
                    f"{shown(store)}: no schema of its search path exists; make one, or name another"
                )
            if _one(connection, "SHOW fsync") == "off":
                log.warning("this PostgreSQL runs with fsync = off: a power cut may lose what was acknowledged")
            recorder = PostgresRecorder(conninfo, schema)
            try:
                _make_tables(connection, recorder, schema)
                form = recorder.rows("SELECT form FROM {schema}.svc_log")[0]["form"]
            except BaseException:
                recorder.close()
                raise
    except (psycopg.Error, EventSourcingError) as error:
        raise StoreUnavailable(f"{shown(store)}: {error}; see that it runs and lets this user in") from error
    if form != FORM:
        recorder.close()
        raise StoreUnavailable(
            f"{shown(store)}: its tables are of form {form}, and this program knows form {FORM} only"
        )
    return recorder


def _make_tables(connection: Connection[DictRow], recorder: PostgresRecorder, schema: str) -> None:
    """One node makes them, the others wait. Who may not make tables never tries where they are."""
    there = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'svc_log'"
    if _one(connection, there) is not None:
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_number(f"tables of {schema}")])
        if _one(connection, there) is None:
            recorder.create_table()
            connection.execute(SQL(_TABLES).format(schema=Identifier(schema), form=Literal(FORM)))


def _one(connection: Connection[DictRow], query: str) -> Any:
    row = connection.execute(query).fetchone()
    return None if row is None else next(iter(row.values()))


def shown(store: str) -> str:
    """An address without its password."""
    try:
        parts = conninfo_to_dict(store)
    except psycopg.Error:
        return "the store"
    host, port, name = (parts.get(key) for key in ("host", "port", "dbname"))
    return f"postgresql://{host or ''}{f':{port}' if port else ''}/{name or ''}"
