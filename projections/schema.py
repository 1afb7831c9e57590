"""The tables of the views file: declared in `schema.toml`, made by sqlite-utils."""

import sqlite3
import tomllib
from functools import cache
from pkgutil import get_data

import msgspec

SCHEMA_VERSION = 48
"""Counted up whenever a table or a body changes shape; the views are then built anew from the log."""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is declared of a table. Names stand in one text, with commas between."""

    key: str
    columns: str  # each with its type
    indexes: list[str] = []
    named: dict[str, str] = {}  # indexes with too many columns to be called by them
    partial: dict[str, str] = {}  # indexes of some rows, in SQL: sqlite-utils has no word for them

    @property
    def types(self) -> dict[str, str]:
        return {name: kind for name, kind in map(str.split, self.columns.split(","))}


def create(connection: sqlite3.Connection) -> None:
    """Make tables, indexes and an empty bookmark, unless they are there."""
    if connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,):
        return
    from sqlite_utils import Database  # late: loading it takes a tenth of a second or more; only new views need it

    db = Database(connection, recursive_triggers=False, execute_plugins=False)
    with db.atomic():
        for name, table in _declared().items():
            made = db.create_table(name, table.types, pk=_names(table.key), if_not_exists=True, strict=True)
            for columns in table.indexes:
                made.create_index(_names(columns), if_not_exists=True)
            for index, columns in table.named.items():
                made.create_index(_names(columns), index, if_not_exists=True)
            for index, rest in table.partial.items():
                db.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {name} {rest}")
        db.execute("INSERT OR IGNORE INTO bookmark (id, position, log_time_us, checksum) VALUES (1, 0, 0, x'')")
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def table_names() -> tuple[str, ...]:
    """Every table, in a fixed order, for digests over all of them."""
    return tuple(sorted(_declared()))


def types_of(table: str) -> dict[str, str]:
    """Its columns in their order, each with its type."""
    return _declared()[table].types


def key_of(table: str) -> tuple[str, ...]:
    """The columns of its primary key, in their order."""
    return _names(_declared()[table].key)


@cache
def _declared() -> dict[str, Table]:
    return msgspec.convert(tomllib.loads((get_data(__name__, "schema.toml") or b"").decode()), dict[str, Table])


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))
