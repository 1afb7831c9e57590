"""Building views anew from the first event of the log, beside the ones that serve."""

import hashlib
import os
import sqlite3
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec
import trio

from projections.facts.facts import GiveWay
from projections.facts.rows import Digesters
from projections.schema import key_of, table_names
from svc.limits import CHILD_LINE_BYTES_MAX, REPLAY_EVENTS_MAX
from svc.log.sqlite import open_log
from svc.log.store import EventStore
from svc.process import program
from svc.views.projecting import step
from svc.views.views import open_writer, remove

Progress = Callable[[int, int], None]
"""Called with the events applied so far, and the events there are."""


class BuildStep(msgspec.Struct, frozen=True):
    """A line that a building process writes: events applied, and events there are."""

    done: int
    of: int


async def build_in_thread(
    var: Path, path: Path, progress: Progress, *, up_to: int | None = None, give_way: GiveWay | None = None
) -> None:
    """Build a views file in a thread; it stops between two batches when this is cancelled."""

    def report(done: int, of: int) -> None:
        trio.from_thread.check_cancelled()
        progress(done, of)

    await trio.to_thread.run_sync(partial(build_views, var, path, report, up_to=up_to, give_way=give_way))


async def build_in_child(
    var: Path,
    path: Path,
    progress: Progress,
    *,
    batch_events: int = REPLAY_EVENTS_MAX,
    up_to: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run `svc build-views` as a child process until it ends or this is cancelled. Raises `CalledProcessError`."""
    command = [*program(), "build-views", "--var", str(var), "--build", str(path), "--batch-events", str(batch_events)]
    if up_to is not None:
        command += ["--up-to", str(up_to)]
    process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, env=os.environ | (environment or {}))
    assert process.stdout is not None
    try:
        await _follow(process.stdout, progress)
        code = await process.wait()
    finally:
        with trio.CancelScope(shield=True):
            process.terminate()
            await process.wait()
    if code != 0:
        raise subprocess.CalledProcessError(code, "svc build-views")


async def _follow(lines: trio.abc.ReceiveStream, progress: Progress) -> None:
    rest = b""
    async for chunk in lines:
        *whole, rest = (rest + chunk)[-CHILD_LINE_BYTES_MAX:].split(b"\n")
        if whole:
            build_step = msgspec.json.decode(whole[-1], type=BuildStep)
            progress(build_step.done, build_step.of)


def build_views(
    var: Path,
    path: Path,
    progress: Progress,
    *,
    batch_events: int = REPLAY_EVENTS_MAX,
    up_to: int | None = None,
    give_way: GiveWay | None = None,
) -> None:
    """Build a views file from the log of a folder."""
    store, vault = open_log(var)
    try:
        digesters = vault.known_digester
        build(path, store, digesters, progress, batch_events=batch_events, up_to=up_to, give_way=give_way)
    finally:
        store.close()


def build(
    path: Path,
    store: EventStore,
    digesters: Digesters,
    progress: Progress,
    *,
    batch_events: int = REPLAY_EVENTS_MAX,
    up_to: int | None = None,
    give_way: GiveWay | None = None,
) -> int:
    """Make the views file at `path`, up to a position, by default the end of the log; the position reached."""
    end = store.head() if up_to is None else up_to
    remove(path)  # what is left of a build that was broken off may be torn
    db = open_writer(path)
    try:
        # Nobody reads this file before it is finished: a crash may leave it torn.
        for pragma in ("journal_mode=MEMORY", "locking_mode=EXCLUSIVE", "synchronous=OFF", "secure_delete=OFF"):
            db.execute(f"PRAGMA {pragma}")
        position = 0
        progress(position, end)
        while position < end:
            position = step(db, store, digesters, min(batch_events, end - position), give_way)
            progress(position, end)
        db.execute("PRAGMA journal_mode=WAL")
        return position
    finally:
        db.close()


def digests(db: sqlite3.Connection) -> dict[str, str]:
    """SHA-256 over every table in the order of its primary key: equal digests, equal tables."""
    return {table: _digest(db, table) for table in table_names()}


def _digest(db: sqlite3.Connection, table: str) -> str:
    digest = hashlib.sha256()
    for row in db.execute(f"SELECT * FROM {table} ORDER BY {', '.join(key_of(db, table))}"):
        digest.update(repr(row).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def copy_of(path: Path, target: Path) -> sqlite3.Connection:
    """A copy of a views file as it is at this moment, made while it may be written."""
    source = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    copy = sqlite3.connect(target, check_same_thread=False)
    with source:
        source.backup(copy)
    source.close()
    return copy
