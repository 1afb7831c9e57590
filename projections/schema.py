"""The tables of the views file, made from `schema.sql`."""

import sqlite3
from contextlib import closing
from functools import cache
from pkgutil import get_data

SCHEMA_VERSION = 47
"""Counted up whenever a table or a body changes shape; the views are then built anew from the log."""
_SQL = (get_data(__name__, "schema.sql") or b"").decode()


def create(connection: sqlite3.Connection) -> None:
    """Make tables, indexes and an empty bookmark, unless they are there."""
    if connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,):
        return
    connection.executescript(
        f"""
        BEGIN IMMEDIATE;
        {_SQL}
        INSERT OR IGNORE INTO bookmark (id, position, log_time_us, checksum) VALUES (1, 0, 0, x'');
        PRAGMA user_version = {SCHEMA_VERSION};
        COMMIT;
        """
    )


def table_names() -> tuple[str, ...]:
    """Every table, in a fixed order, for digests over all of them."""
    return tuple(sorted(_columns()))


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
