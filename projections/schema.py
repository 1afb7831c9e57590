"""The tables of the views file, made from `schema.sql`."""

import sqlite3
from contextlib import closing
from functools import cache
from pkgutil import get_data

SCHEMA_VERSION = 46
"""Counted up whenever a table or a body changes shape; the views are then built anew from the log."""
_SQL = (get_data(__name__, "schema.sql") or b"").decode()
_FEED = ("change_feed", "changes")
"""Tables that hold no conclusions."""


def create(connection: sqlite3.Connection) -> None:
    """Make tables, indexes, an empty bookmark and a feed of changes that has not begun, unless they are there."""
    if connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,):
        return
    connection.executescript(
        f"""
        BEGIN IMMEDIATE;
        {_SQL}
        INSERT OR IGNORE INTO bookmark (id, position, log_time_us, checksum) VALUES (1, 0, 0, x'');
        INSERT OR IGNORE INTO change_feed (id, from_position) VALUES (1, NULL);
        PRAGMA user_version = {SCHEMA_VERSION};
        COMMIT;
        """
    )


def table_names() -> tuple[str, ...]:
    """Every table of conclusions, in a fixed order, for digests over all of them."""
    return tuple(sorted(_columns().keys() - set(_FEED)))


def key_of(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    """The columns of its primary key, in their order; its row's number where it has none."""
    found = connection.execute("SELECT name FROM pragma_table_info(?) WHERE pk ORDER BY pk", (table,)).fetchall()
    return tuple(name for (name,) in found) or ("rowid",)


def columns_of(table: str) -> tuple[str, ...]:
    return _columns()[table]


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
