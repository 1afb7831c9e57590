"""The tables of the views file, made with sqlite-utils from `schema.sql`."""

import sqlite3
from contextlib import closing
from functools import cache
from pkgutil import get_data
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

SCHEMA_VERSION = 33
"""Counted up whenever a table or a body changes shape; the views are then built anew from the log."""
_SQL = (get_data(__name__, "schema.sql") or b"").decode()
_FEED = ("change_feed", "changes")
"""Tables that hold no conclusions."""


def create(connection: sqlite3.Connection) -> None:
    """Make tables, indexes, an empty bookmark and a feed of changes that has not begun, unless they are there."""
    if connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,):
        return
    database = _tool(connection)
    with database.atomic():
        database.executescript(_SQL)
        database.table("bookmark").insert({"id": 1, "position": 0, "log_time_us": 0, "checksum": b""}, ignore=True)
        database.table("change_feed").insert({"id": 1, "from_position": None}, ignore=True)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def table_names() -> tuple[str, ...]:
    """Every table of conclusions, in a fixed order, for digests over all of them."""
    return tuple(sorted(_columns().keys() - set(_FEED)))


def key_of(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    return tuple(_tool(connection).table(table).pks)


def columns_of(table: str) -> tuple[str, ...]:
    return _columns()[table]


def _tool(connection: sqlite3.Connection) -> "Database":
    # Takes a tenth of a second to import: only what makes a file or compares two waits for it.
    from sqlite_utils import Database

    return Database(connection, recursive_triggers=False, execute_plugins=False)


@cache
def _columns() -> dict[str, tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_SQL)
        columns: dict[str, tuple[str, ...]] = {}
        for table, name in db.execute(
            "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'"
        ):
            columns[table] = (*columns.get(table, ()), name)
        return columns
