"""The archive's folder and its manifest: which files count, exchanged so that no crash loses or doubles a row.

New files are written as drafts beside their place and synced; then the manifest lists them, and no longer those they
replace; then the drafts get their names, and what was replaced goes. Whoever opens the folder after a crash finishes
that: a listed draft gets its name, everything that is not listed is removed.
"""

import hashlib
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import structlog

from aggregates.times import INSTANT_MAX_US, US_PER_DAY, Window
from svc.archive.manifest import ArchiveFile, Disk, Manifest, Mark

log = structlog.get_logger()
FOLDER = "archive"
MANIFEST = "archive.db"
DRAFT = ".draft"
WORK = "work"
"""What is put down while files are made; nothing in it outlives the work."""
_OURS = re.compile(r"requests-\d+\.parquet(\.draft)?")
Fingerprint = Callable[[int], bytes]
"""Tells the event at a position of the log from any other; empty where there is none."""


class Archive:
    """The files that count. For one thread; close and open it again after any failure."""

    def __init__(self, var: Path, fingerprint: Fingerprint, disk: Disk | None = None) -> None:
        self.root = (var / FOLDER).absolute()
        self.fingerprint = fingerprint
        self._disk = disk or Disk()
        self._unreadable: set[str] = set()
        deleted = not self.root.is_dir()
        self._disk.make_folder(self.root)
        self.manifest = _trusted(var / MANIFEST, fingerprint, self._disk)
        try:
            if deleted and self.manifest.mark.position:
                log.warning("the archive's folder was deleted; the archive is written anew")
                self.manifest.forget()
            self._recover()
        except BaseException:
            self.manifest.close()
            raise

    def close(self) -> None:
        self.manifest.close()

    def check_folder(self) -> None:
        """Raises `NotADirectoryError` where something else lies in its place."""
        if self.root.exists() and not self.root.is_dir():
            raise NotADirectoryError(f"{self.root.name} is no folder")

    def path(self, file: ArchiveFile) -> Path:
        return self.root / file.name

    def is_readable(self, file: ArchiveFile) -> bool:
        """Whether a file is, byte for byte, what was written. A damaged one is logged once."""
        flaw = self._flaw(file)
        if flaw is None:
            self._unreadable.discard(file.name)
        elif file.name not in self._unreadable:
            self.note_unreadable(file, flaw)
        return flaw is None

    def note_unreadable(self, file: ArchiveFile, reason: str) -> None:
        log.error("a file of the archive cannot be read and is left out", file=file.name, reason=reason)
        self._unreadable.add(file.name)

    def crowded(self) -> list[ArchiveFile]:
        """Readable small files of the day that has too many of them."""
        return [file for file in self.manifest.crowded(self._unreadable) if self.is_readable(file)]

    def _flaw(self, file: ArchiveFile) -> str | None:
        try:
            if self.path(file).stat().st_size != file.byte_count:
                return "its size is not what it was when it was written"
            return None if _digest(self.path(file)) == file.digest else "its bytes are not what was written"
        except OSError as error:
            return error.strerror or type(error).__name__

    @contextmanager
    def working(self) -> Iterator[Path]:
        """An empty folder for temporary files."""
        folder = self.root / WORK
        folder.mkdir(mode=0o700, exist_ok=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def draft(self, organization_id: str, day: str, number: int) -> Path:
        """Where to write a new file. Numbers go on from the manifest's `next_number`."""
        folder = self.root / f"org={organization_id}" / f"day={day}"
        self._disk.make_folder(folder)
        return folder / f"requests-{number:09}.parquet{DRAFT}"

    def sealed(self, draft: Path, organization_id: str, day: str, number: int, row_count: int) -> ArchiveFile:
        """Sync a complete draft; its entry for the manifest."""
        self._disk.sync(draft)
        return ArchiveFile(
            name=str(draft.relative_to(self.root)).removesuffix(DRAFT),
            organization_id=organization_id,
            day=day,
            number=number,
            row_count=row_count,
            byte_count=draft.stat().st_size,
            digest=_digest(draft),
        )

    def exchange(self, added: Sequence[ArchiveFile], removed: Sequence[ArchiveFile], mark: Mark | None) -> None:
        """List new files and no longer others, then rename and delete."""
        self.manifest.change(added, removed, mark)
        for file in added:
            self._disk.rename(_draft_of(self.path(file)), self.path(file))
        for file in removed:
            self._disk.remove(self.path(file))

    def _recover(self) -> None:
        listed = {self.path(file) for file in self.manifest.files()}
        for path in sorted(self.root.glob("org=*/day=*/requests-*")):
            if _OURS.fullmatch(path.name) is None:
                continue
            final = path.with_name(path.name.removesuffix(DRAFT))
            if final not in listed or (final != path and final.exists()):
                self._disk.remove(path)
            elif final != path:
                self._disk.rename(path, final)
        shutil.rmtree(self.root / WORK, ignore_errors=True)


def _trusted(path: Path, fingerprint: Fingerprint, disk: Disk) -> Manifest:
    """The manifest; an empty one where it is damaged, of another version, or of another log."""
    try:
        manifest = Manifest(path, disk)
    except sqlite3.OperationalError:
        raise  # the disk is full, or not ours to write: nothing is wrong with the manifest itself
    except sqlite3.DatabaseError as error:
        log.warning("the archive's manifest cannot be used; the archive is written anew", reason=str(error))
        for suffix in ("", "-wal", "-shm"):
            disk.remove(path.with_name(path.name + suffix))
        manifest = Manifest(path, disk)
    mark = manifest.mark
    if mark.position and fingerprint(mark.position) != mark.checksum:
        log.warning("the archive was made from another log; it is written anew", position=mark.position)
        manifest.forget()
    return manifest


def _draft_of(final: Path) -> Path:
    return final.with_name(final.name + DRAFT)


def _digest(path: Path) -> bytes:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").digest()


_FIRST_DAY = date(1970, 1, 1).toordinal()


def day_of(at_us: int) -> str:
    """YYYY-MM-DD in UTC. A time outside the calendar counts as the first or the last day."""
    return date.fromordinal(_FIRST_DAY + min(max(at_us, 0), INSTANT_MAX_US) // US_PER_DAY).isoformat()


def days_of(window: Window) -> tuple[str, str]:
    """The first and the last day of a window."""
    return day_of(window.start_us), day_of(window.end_us - 1)
