"""Every step that changes what is on disk for good, in one place, so that tests can break off between any two."""

import sqlite3
from pathlib import Path

from svc.syncing import sync


class Disk:
    """The real one. What a method has done when it returns survives a loss of power."""

    def make_folder(self, folder: Path) -> None:
        """Make a folder and those above it; nothing where it is there."""
        if not folder.is_dir():
            self.make_folder(folder.parent)
            folder.mkdir(mode=0o700, exist_ok=True)
            sync(folder.parent)

    def sync(self, path: Path) -> None:
        """Let what was written to a file reach the disk."""
        sync(path)

    def commit(self, manifest: sqlite3.Connection) -> None:
        """End the manifest's transaction."""
        manifest.execute("COMMIT")

    def rename(self, draft: Path, final: Path) -> None:
        """Give a file its name; both names are in the same folder."""
        draft.replace(final)
        sync(final.parent)

    def remove(self, path: Path) -> None:
        """Delete a file, where it is there."""
        path.unlink(missing_ok=True)
        sync(path.parent)
