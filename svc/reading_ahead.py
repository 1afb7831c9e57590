"""Reading the log ahead of who builds views from it: a process of its own makes rows of facts while others are stored.

It takes as long to read texts as to conclude from them, so a long replay takes two processors. Rows come over a pipe, a
batch at a time: the reader waits while it is full, and ends with whoever hears it. What it cannot read it leaves to the
builder, which comes to it, says what it is, and goes on by itself.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from aggregates.prices import PriceBook
from projections.batches import Batch, read_batch
from projections.rows import Digesters
from svc.codec import CorruptEvent
from svc.event_log import open_log
from svc.program import program
from svc.projecting import read_facts
from svc.store import EventStore

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
