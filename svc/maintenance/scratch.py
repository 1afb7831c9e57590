"""Temporary folders of commands, within the data folder: gone with their command, or, if it was killed, with the next.

Who has one holds a lock shared; whoever gets the lock alone knows that nobody has one.
"""

import fcntl
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import structlog

log = structlog.get_logger()
LOCK = "scratch.lock"
_NAME = re.compile(r"(verify|check)-[a-z0-9_]{8}")


@contextmanager
def scratch(var: Path, name: str) -> Iterator[Path]:
    """A temporary folder; `name` is `verify` or `check`."""
    remove_left_over(var)
    with _opened(var) as lock:
        with suppress(OSError):  # some file systems lock nothing
            fcntl.flock(lock.fileno(), fcntl.LOCK_SH)
        with TemporaryDirectory(dir=var, prefix=f"{name}-", ignore_cleanup_errors=True) as folder:
            assert _NAME.fullmatch(Path(folder).name), "it would be left behind for ever"
            yield Path(folder)


def remove_left_over(var: Path) -> None:
    """Delete the folders of killed commands, unless a command has one; where files cannot be locked, say so."""
    folders = [path for path in var.glob("*-*") if _NAME.fullmatch(path.name) and path.is_dir()]
    if not folders:
        return
    with _opened(var) as lock:
        try:
            fcntl.flock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        except OSError:
            log.warning(
                "files cannot be locked here, so nobody knows whether these are in use; delete those that are not",
                folders=[str(folder) for folder in folders],
            )
            return
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def _opened(var: Path) -> IO[bytes]:
    """Some network file systems lock only files that are open for writing."""
    (var / LOCK).touch(0o600)
    return (var / LOCK).open("ab")
