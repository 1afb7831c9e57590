"""The process: where its data are, how it starts itself again, and bounds that several modules share."""

import gc
import shlex
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

KIB_BYTES = 1024
MIB_BYTES = 1024 * KIB_BYTES
FRAME_BYTES_MAX = 4 * MIB_BYTES  # The largest request body; the contract's figure. A text inside it cannot be longer.
STORE_BUSY_TIMEOUT_MS = 5_000  # how long a write waits for another process's lock (a backup, a shell)
READ_BYTES_MAX = 16 * MIB_BYTES  # in one read of the log: a thousand events of 4 MiB would not fit in memory
RESTART_SECONDS_MIN = 0.1
RESTART_SECONDS_MAX = 10.0  # what broke is started again after a pause that doubles each time, up to this
READ_WAIT_SECONDS = 2.0  # how long a read waits for its caller's own writes to be projected before it answers 503
READERS_MAX = 4  # reads that run at the same time, each with its own connection to the views
POLL_SECONDS = 0.25  # how often a command asks the running server how far a replay is
REPORT_RETRY_SECONDS = 1.0  # after a look, or an outcome to be stored, that failed because something is unavailable
FIRST_LINK_SECONDS = 600  # how long the link of a first start waits: its reader may read other lines first

_MALLOC_ARENA_MAX, _ARENAS_MAX = -8, 2  # `M_ARENA_MAX` of glibc's malloc.h
GC_ALLOCATIONS = 50_000  # between two looks of the garbage collector; at its usual 700 it takes a twentieth of the time


class Place(NamedTuple):
    """Where the data are: a folder, and the store that holds the log instead of it."""

    var: Path
    store: str | None = None
    master_key_file: Path | None = None


def program() -> list[str]:
    """The command that runs svc: the one-file binary, or the package under Python."""
    return [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-m", "svc"]


def typed(*arguments: str) -> str:
    """A command line that runs it in the shell from which it was started, wherever it lies."""
    began = Path(sys.argv[0])
    on_path = shutil.which("svc")
    if began.name == "__main__.py":
        command = [sys.executable, "-m", "svc"]
    elif on_path is not None and began.exists() and Path(on_path).samefile(began):
        command = ["svc"]
    else:
        command = [sys.argv[0]]
    return shlex.join([*command, *arguments])


def share_heaps() -> None:
    """Before threads begin: each with a heap of its own would keep all that it once held."""
    import ctypes  # a server alone needs it

    with suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).mallopt(_MALLOC_ARENA_MAX, _ARENAS_MAX)


def look_seldom() -> None:
    """Freeze what a started process holds, and let Python collect garbage seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_ALLOCATIONS, *gc.get_threshold()[1:])


def single(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
