"""A folder inside the data folder for what a command compares, and what a killed command left of one.

A command's folder is locked for as long as the command lives, however it ends; one that nobody locks is left over.
Locked are files, as folders cannot be on every file system.
"""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

log = structlog.get_logger()

LOCK = "scratch.lock"
"""Held while somebody makes or removes such a folder; in each of them, while its command lives."""
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
        _remove(folder, lock)


def remove_left_over(var: Path) -> None:
    """Delete the folders of commands that were killed; where nothing can be locked, say so and delete none."""
    if not var.exists():
        return
    with _alone(var) as can_lock:
        folders = [path for path in var.iterdir() if _NAME.fullmatch(path.name) and path.is_dir()]
        if folders and not can_lock:
            log.warning(
                "files cannot be locked here, so nobody knows whether these are in use; delete those that are not",
                folders=[str(folder) for folder in folders],
            )
            return
        for folder in folders:
            lock = _locked(folder)
            if lock is not None:
                _remove(folder, lock)


@contextmanager
def _alone(var: Path) -> Iterator[bool]:
    """While no other command makes or removes one; whether anything can be locked."""
    handle = _opened(var)
    try:
        yield _lock(handle, fcntl.LOCK_EX)
    finally:
        os.close(handle)


def _locked(folder: Path) -> int | None:
    """A handle that holds the folder until it is closed; None where somebody else holds it, or owns it."""
    try:
        handle = _opened(folder)
    except OSError:
        return None
    if not _lock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB):
        os.close(handle)
        return None
    return handle


def _opened(folder: Path) -> int:
    """Its lock file, to be written: some network file systems lock no other."""
    return os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _lock(handle: int, how: int) -> bool:
    try:
        fcntl.flock(handle, how)
    except OSError:  # somebody holds it, or the file system cannot
        return False
    return True


def _remove(folder: Path, lock: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)  # a network file system keeps an open file until it is closed
