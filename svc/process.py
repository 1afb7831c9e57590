"""How this very program is started again, as a child of itself, and where both find the data."""

import gc
import shlex
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

GC_ALLOCATIONS = 50_000
"""Allocations between two looks of the garbage collector; at its usual 700 it takes a twentieth of the time."""


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


def look_seldom() -> None:
    """Freeze what a started process holds, and let Python collect garbage seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_ALLOCATIONS, *gc.get_threshold()[1:])


def single(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
