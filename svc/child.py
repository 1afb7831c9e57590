"""The child process that writes the views for a server. It waits for its server alone, so it imports no trio."""

import signal
import sys
from pathlib import Path

from projections.apply import bookmark
from projections.changes import start_feed
from svc.event_log import open_log
from svc.limits import PROJECT_EVENTS_MAX
from svc.projecting import step
from svc.views import open_writer

DAMAGED, NOT_OPENED = 65, 69
"""With these codes it ends where the views cannot be read, and where it gets at nothing at all."""


def work(var: Path, path: Path) -> None:
    """A line with its views' position; then, for each line that comes in, a step and another line.

    It ends with its standard input, and so with its server, however that ended. Ctrl-C is meant for the server.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    store, vault = open_log(var)
    db = open_writer(path)
    try:
        start_feed(db, store.head())
        _tell(bookmark(db).position)
        for _ in sys.stdin.buffer:
            _tell(step(db, store, vault.known_digester, PROJECT_EVENTS_MAX))
    finally:
        db.close()
        store.close()


def _tell(position: int) -> None:
    sys.stdout.write(f"{position}\n")
    sys.stdout.flush()
