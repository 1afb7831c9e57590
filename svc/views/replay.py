"""Building views anew from the first event of the log, beside the ones that serve."""

import hashlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO

import msgspec

from aggregates.prices.prices import PriceBook
from projections.facts.facts import Batch, read_batch
from projections.facts.rows import Digesters
from projections.schema import key_of, table_names
from svc.limits import PROJECT_EVENTS_MAX, READ_AHEAD_EVENTS_MIN
from svc.log.codec import CorruptEvent
from svc.log.sqlite import open_log
from svc.log.store import EventStore
from svc.process import program
from svc.views.projecting import apply_read, read_facts, step
from svc.views.views import open_writer, remove

Progress = Callable[[int, int], None]
"""Called with the events applied so far, and the events there are."""


def build(
    path: Path,
    store: EventStore,
    digesters: Digesters,
    progress: Progress,
    *,
    batch_events: int = PROJECT_EVENTS_MAX,
    up_to: int | None = None,
    ahead: Iterable[Batch] = (),
) -> int:
    """Make the views file at `path`, up to a position, by default the end of the log; the position reached.

    `ahead`: the batches of the log from its first event, as far as another process has read them. What a build that was
    broken off left there is removed: it may be torn.
    """
    end = store.head() if up_to is None else up_to
    remove(path)
    db = open_writer(path)
    try:
        _write_freely(db)
        position = 0
        progress(position, end)
        for batch in ahead:
            position = apply_read(db, batch, store, digesters)
            progress(position, end)
        while position < end:
            position = step(db, store, digesters, min(batch_events, end - position))
            progress(position, end)
        db.execute("PRAGMA journal_mode=WAL")
        return position
    finally:
        db.close()


def _write_freely(db: sqlite3.Connection) -> None:
    """Nobody reads this file yet, and nobody will unless it is finished: a crash may leave it torn."""
    # Within a batch a fact can still be taken back; only a process that ends cannot.
    for pragma in ("journal_mode=MEMORY", "locking_mode=EXCLUSIVE", "synchronous=OFF", "secure_delete=OFF"):
        db.execute(f"PRAGMA {pragma}")


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


# Reading the log ahead of who builds views from it: a process of its own makes rows of facts while others are stored.
#
# It takes as long to read texts as to conclude from them, so a long replay takes two processors. Rows come over a
# pipe, a batch at a time: the reader waits while it is full, and ends with whoever hears it. What it cannot read it
# leaves to the builder, which comes to it, says what it is, and goes on by itself.

_LENGTH_BYTES = 4


_ENCODER = msgspec.msgpack.Encoder()


_DECODER = msgspec.msgpack.Decoder(Batch)


@contextmanager
def batches_ahead(var: Path, batch_events: int, up_to: int) -> Iterator[Iterator[Batch]]:
    """The batches of a log from its first event, as a child process reads them; they may end before `up_to`."""
    options = {"--var": var, "--batch-events": batch_events, "--up-to": up_to}
    command = [*program(), "read-batches", *(str(part) for option in options.items() for part in option)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield _heard(process.stdout)
        finally:
            process.terminate()


def _heard(stream: IO[bytes]) -> Iterator[Batch]:
    while len(head := stream.read(_LENGTH_BYTES)) == _LENGTH_BYTES:
        length = int.from_bytes(head, "little")
        if len(body := stream.read(length)) < length:
            return
        yield _DECODER.decode(body)


def read_batches(var: Path, batch_events: int, up_to: int) -> None:
    """What the child does: the batches of a log go to standard output, until one cannot be read."""
    store, vault = open_log(var)
    try:
        for batch in _batches(store, vault.known_digester, batch_events, up_to):
            body = _ENCODER.encode(batch)
            sys.stdout.buffer.write(len(body).to_bytes(_LENGTH_BYTES, "little"))
            sys.stdout.buffer.write(body)
            sys.stdout.buffer.flush()
    except CorruptEvent:
        pass  # the builder comes to it
    except BrokenPipeError:  # the builder has ended; Python would try again to tell it the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        store.close()


def _batches(store: EventStore, digesters: Digesters, batch_events: int, up_to: int) -> Iterator[Batch]:
    prices: PriceBook | None = None
    position = 0
    while position < up_to and (facts := read_facts(store, position, min(batch_events, up_to - position))):
        position = facts[-1].position
        batch, prices = read_batch(facts, store.fingerprint(position), digesters, prices)
        yield batch


# What `svc build-views` does, a child process like `svc project`: a replay into a new file, told line by line.
#
# It is started for every check, replay and rebuild, so this imports no more than it needs.


class BuildStep(msgspec.Struct, frozen=True):
    """A line that the building process writes: events applied, and events there are."""

    done: int
    of: int


def build_views(var: Path, path: Path, batch_events: int, up_to: int | None) -> None:
    """Build a views file from the log of a folder; one JSON line of progress a step goes to standard output."""
    store, vault = open_log(var)
    try:
        end = store.head() if up_to is None else up_to
        with _ahead(var, batch_events, end) as ahead:
            build(path, store, vault.known_digester, _tell, batch_events=batch_events, up_to=end, ahead=ahead)
    finally:
        store.close()


def _ahead(var: Path, batch_events: int, end: int) -> AbstractContextManager[Iterable[Batch]]:
    """A second process reads a long log; for a short one it would take longer to start."""
    return batches_ahead(var, batch_events, end) if end >= READ_AHEAD_EVENTS_MIN else nullcontext(())


def _tell(done: int, of: int) -> None:
    sys.stdout.write(msgspec.json.encode(BuildStep(done, of)).decode() + "\n")
    sys.stdout.flush()
