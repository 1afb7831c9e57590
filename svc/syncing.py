"""Making what was written survive a loss of power."""

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Let a file's content, or the names in a folder, reach the disk. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
