"""What an error of the tables' file means: its pages are damaged, it cannot be used now, or a query is wrong."""

import sqlite3

_DAMAGED = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))
_NOT_NOW = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PROTOCOL,
    )
)
_NO_TEXT = "Could not decode to UTF-8"
"""How Python begins where a text is none; it gives that no code."""


def is_damage(error: BaseException) -> bool:
    """Whether the file itself is broken, so that only another one helps. A locked one, or a full disk, is not."""
    if not isinstance(error, sqlite3.Error):
        return False
    return _code(error) in _DAMAGED or str(error).startswith(_NO_TEXT)


def is_passing(error: BaseException) -> bool:
    """Whether the file cannot be used at the moment, as somebody holds it or the disk is full or gone."""
    return isinstance(error, sqlite3.Error) and _code(error) in _NOT_NOW


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary code; that of a wrong query where it gave none."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF
