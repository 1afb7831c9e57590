"""What `svc build-views` does, a child process like `svc project`: a replay into a new file, told line by line.

It is started for every check, replay and rebuild, so this imports no more than it needs.
"""

import sys
from pathlib import Path

import msgspec

from svc.event_log import open_log
from svc.replay import build


class BuildStep(msgspec.Struct, frozen=True):
    """A line that the building process writes: events applied, and events there are."""

    done: int
    of: int


def build_views(var: Path, path: Path, batch_events: int, up_to: int | None) -> None:
    """Build a views file from the log of a folder; one JSON line of progress a step goes to standard output."""
    store, vault = open_log(var)
    try:
        build(path, store, vault.known_digester, _tell, batch_events=batch_events, up_to=up_to)
    finally:
        store.close()


def _tell(done: int, of: int) -> None:
    sys.stdout.write(msgspec.json.encode(BuildStep(done, of)).decode() + "\n")
    sys.stdout.flush()
