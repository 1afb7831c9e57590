"""What `svc build-views` does, a child process like `svc project`: a replay into a new file, told line by line.

It is started for every check, replay and rebuild, so this imports no more than it needs.
"""

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import msgspec

from projections.batches import Batch
from svc.event_log import open_log
from svc.limits import READ_AHEAD_EVENTS_MIN
from svc.reading_ahead import batches_ahead
from svc.replay import build


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
