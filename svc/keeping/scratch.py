"""A folder inside the data folder for what a command compares, and what a killed command left of one.

A command's folder is locked for as long as the command lives, however it ends; one that nobody locks is left over.
"""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NAME = re.compile(r"(verify|check)-[a-z0-9_]{8}")


@contextmanager
def scratch(var: Path, name: str) -> Iterator[Path]:
    """A new folder, gone after the block; `name` is `verify` or `check`. Left over ones go before."""
    remove_left_over(var)
    with _alone(var):
        folder = Path(tempfile.mkdtemp(dir=var, prefix=f"{name}-"))
        lock = _locked(folder)
    assert _NAME.fullmatch(folder.name), "it would be left behind for ever"
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_left_over(var: Path) -> None:
    """Delete the folders of commands that were killed."""
    if not var.exists():
        return
    with _alone(var):
        for folder in [path for path in var.iterdir() if _NAME.fullmatch(path.name) and path.is_dir()]:
            lock = _locked(folder)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


@contextmanager
def _alone(var: Path) -> Iterator[None]:
    """While no other command makes or removes one."""
    handle = os.open(var, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _locked(folder: Path) -> int | None:
    """A handle that holds the folder until it is closed; None where somebody else holds it, or owns it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
