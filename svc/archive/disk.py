"""Every step that changes what is on disk for good, in one place, so that tests can break off between any two."""

import os
import sqlite3
from pathlib import Path


class Disk:
    """The real one. What a method has done when it returns survives a loss of power."""

    def make_folder(self, folder: Path) -> None:
        """Make a folder and those above it; nothing where it is there."""
        if not folder.is_dir():
            self.make_folder(folder.parent)
            folder.mkdir(mode=0o700, exist_ok=True)
            _sync(folder.parent)

    def sync(self, path: Path) -> None:
        """Let what was written to a file reach the disk."""
        _sync(path)

    def commit(self, manifest: sqlite3.Connection) -> None:
        """End the manifest's transaction."""
        manifest.execute("COMMIT")

    def rename(self, draft: Path, final: Path) -> None:
        """Give a file its name; both names are in the same folder."""
        draft.replace(final)
        _sync(final.parent)

    def remove(self, path: Path) -> None:
        """Delete a file, where it is there."""
        path.unlink(missing_ok=True)
        _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
