"""A log as the first programs wrote it: format 1 of every event, form 1 of the file."""

import sqlite3
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from uuid import UUID

import msgspec


def rewrite_as_first_form(var: Path) -> None:
    """Turn every event of a folder that nobody holds into what the first program would have written."""
    with closing(sqlite3.connect(var / "events.db")) as db:
        rows = db.execute("SELECT rowid, originator_id, originator_version, topic, state FROM stored_events").fetchall()
        db.executemany(
            "UPDATE stored_events SET state = ? WHERE rowid = ?", [(_first(*row[1:]), row[0]) for row in rows]
        )
        db.execute("PRAGMA user_version = 1")
        db.commit()


def _first(stream: str, version: int, topic: str, state: bytes) -> bytes:
    """`[event, sealed]`, under a checksum over stream, version, topic, the first two bytes and all of it."""
    end = 22 + int.from_bytes(state[18:22], "little")
    event, _ = msgspec.msgpack.decode(state[22:end])
    sealed = msgspec.msgpack.decode(state[end:]) if state[end:] else {}
    head, body = b"\x01" + state[1:2], msgspec.msgpack.encode((event, sealed))
    place = b"%b%d %b\n%b" % (UUID(stream).bytes, version, topic.encode(), head)
    return head + blake2b(place + body, digest_size=16).digest() + body
