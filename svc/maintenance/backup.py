"""Backing a folder up while a server writes it, into a new folder or one tar file.

What is copied, in this order: the keys there are; the log, as of one moment; the keys that came meanwhile; the
internal secret. So no word in the copy of the log is without its key. The views and the archive are left out: they are
made from the log. A backup counts once it has its name: until then it is a draft beside it.
"""

import re
import shutil
import sqlite3
import stat
import tarfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import msgspec
import structlog
import trio

from aggregates.event import Mendable
from aggregates.times import US_PER_SECOND, iso
from svc import __version__
from svc.archive.folder import digest_of
from svc.log.folder import NAME as SECRET_FILE
from svc.log.sqlite import EVENTS_FILE, KEYS_FOLDER, not_opened
from svc.log.vault import sync
from svc.maintenance.keys import OnProgress
from svc.process import Clock
from svc.settings import Settings
from svc.views.views import snapshot
from svc_http.ports import BackupsShown

BACKUP_PAGES = 4_096
"""Pages of 4 KiB that a backup copies at a time: it shows how far it is, and can be interrupted, between any two."""

BACKUP_LOOK_SECONDS = 60.0  # how often the server looks whether a backup is due; a look lists one folder
BACKUP_RETRY_SECONDS = 900.0  # after a scheduled backup failed: a full disk is not written to again and again

log = structlog.get_logger()
MANIFEST = "manifest.json"
FORMAT = 1
DRAFT = ".draft"


class MaintenanceError(Mendable):
    """A backup or an export cannot be made or used; the message says why and what to do."""


class KeptFile(msgspec.Struct, frozen=True):
    name: str  # its path within the folder
    bytes: Annotated[int, msgspec.Meta(ge=0)]
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    program: str
    made_at: str
    head: int
    head_checksum: str  # the checksum of the event at that position, in hex; blank in an empty log
    files: list[KeptFile]


def back_up(var: Path, target: Path, heard: OnProgress) -> Manifest:
    """Copy a folder to `target`: a tar file if it ends in `.tar`, else a new folder. Raises `MaintenanceError`."""
    if not (var / EVENTS_FILE).exists():
        raise MaintenanceError(f"{var} holds no data; name the folder with --var")
    if target.exists():
        raise MaintenanceError(f"{target} is there already; a backup never replaces anything, so choose another name")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft, tar = target.with_name(target.name + DRAFT), target.with_name(target.name + DRAFT + ".tar")
    remove(draft, tar)
    try:
        manifest = _copied(var, draft, heard)
        if target.suffix == ".tar":
            _pack(draft, tar)
            tar.rename(target)
        else:
            draft.rename(target)
        sync(target.parent)
    finally:
        remove(draft, tar)
    return manifest


def _copied(var: Path, draft: Path, heard: OnProgress) -> Manifest:
    draft.mkdir(mode=0o700)
    _copy_keys(var, draft)
    try:
        copy_database(var / EVENTS_FILE, draft / EVENTS_FILE, heard)
    except sqlite3.DatabaseError as error:
        raise MaintenanceError(f"nothing was backed up: {not_opened(var / EVENTS_FILE, error)}") from error
    _copy_keys(var, draft)
    _copy(var / SECRET_FILE, draft / SECRET_FILE)
    head, checksum = head_of(draft / EVENTS_FILE)
    manifest = Manifest(
        format=FORMAT,
        program=__version__,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        head=head,
        head_checksum=checksum,
        files=[KeptFile(str(p.relative_to(draft)), p.stat().st_size, digest_of(p).hex()) for p in _files(draft)],
    )
    (draft / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
    for path in (*_files(draft), draft):
        sync(path)
    return manifest


def copy_database(source: Path, target: Path, heard: OnProgress) -> None:
    """Copy a database as of one moment: one read transaction, for which no writer waits."""
    with snapshot(source) as db, closing(sqlite3.connect(target)) as copy:
        db.backup(copy, pages=BACKUP_PAGES, progress=lambda _status, left, of: heard(of - left, of), sleep=0)
        copy.execute("PRAGMA journal_mode = DELETE")
    target.chmod(0o600)


def _copy_keys(var: Path, draft: Path) -> None:
    """The key of somebody who is forgotten meanwhile stays in the copy, as their words do."""
    (draft / KEYS_FOLDER).mkdir(mode=0o700, exist_ok=True)
    for key in sorted((var / KEYS_FOLDER).glob("*.key")):
        _copy(key, draft / KEYS_FOLDER / key.name)


def _copy(source: Path, target: Path) -> None:
    """Copy a file once, unless it is gone by now."""
    if target.exists():
        return
    target.touch(mode=0o600)  # before there is anything in it to read
    try:
        shutil.copyfile(source, target)
    except FileNotFoundError:
        target.unlink()


def head_of(events: Path) -> tuple[int, str]:
    """The last position of a log, and the checksum of its event in hex; blank in an empty log."""
    with closing(sqlite3.connect(events)) as db:
        query = "SELECT rowid, lower(hex(substr(state, 3, 16))) FROM stored_events ORDER BY rowid DESC LIMIT 1"
        newest: tuple[int, str] | None = db.execute(query).fetchone()
    return newest or (0, "")


def _pack(folder: Path, tar: Path) -> None:
    tar.touch(0o600, exist_ok=False)
    with tarfile.open(tar, "w") as packed:
        # The manifest first: whoever restores reads the file once, and knows what to expect.
        for path in sorted(_files(folder), key=lambda path: path.name != MANIFEST):
            packed.add(path, str(path.relative_to(folder)), recursive=False)
    sync(tar)


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def remove(*paths: Path) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


# Backups that the server makes by itself: one every so many hours into a folder, and the oldest of them removed.

_NAME = re.compile(r"svc-\d{8}T\d{6}Z\.tar")
_FORMAT = "svc-%Y%m%dT%H%M%SZ.tar"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US_PER_HOUR = 3_600 * US_PER_SECOND


class ScheduledBackups:
    """What is in the folder tells when the next one is due, so a restart changes nothing."""

    def __init__(self, var: Path, folder: Path, every_hours: int, keep: int, clock: Clock) -> None:
        self._var = var
        self._folder = folder
        self._every_us = every_hours * _US_PER_HOUR
        self._keep = keep
        self._clock = clock
        self.failures = 0  # since the start

    async def run(self) -> None:
        """Make what is due at once, and then look again and again."""
        while True:
            failed = False
            try:
                await self.step()
            except Exception:
                failed = True
                self.failures += 1
                log.exception("a scheduled backup could not be made; it is tried again", folder=str(self._folder))
            await trio.sleep(BACKUP_RETRY_SECONDS if failed else BACKUP_LOOK_SECONDS)

    async def step(self) -> Path | None:
        """The backup that was due; None where none was. Raises `MaintenanceError`, `OSError`."""
        now_us = self._clock.now_us()
        kept = self.kept()
        if kept and 0 <= now_us - _made_us(kept[0]) < self._every_us:
            return None
        target = self._folder / (_EPOCH + timedelta(microseconds=now_us)).strftime(_FORMAT)
        await trio.to_thread.run_sync(self._make, target)
        log.info("a scheduled backup was made", file=str(target), bytes=target.stat().st_size)
        return target

    def _make(self, target: Path) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = self._folder.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise MaintenanceError(f"backup_folder {self._folder} is a link: name the folder itself")
        if mode & (stat.S_IWGRP | stat.S_IWOTH):  # who may write there may put a link in the place of a backup
            why = f"others may write to backup_folder {self._folder}"
            raise MaintenanceError(f"{why}: `chmod go-w {self._folder}`, or name a folder of your own")
        # A server that stops does not wait for a backup: half a one is removed, and made anew at the next start.
        back_up(self._var, target, lambda _done, _of: trio.from_thread.check_cancelled())
        for old in self.kept()[self._keep :]:
            remove(old)

    def kept(self) -> list[Path]:
        """Those that this made, the newest first; files of other names are left alone."""
        found = (path for path in self._folder.glob("svc-*.tar") if _NAME.fullmatch(path.name))
        return sorted(found, reverse=True)

    def age_seconds(self) -> float | None:
        """Of the newest one; None where there is none."""
        newest = next(iter(self.kept()), None)
        return None if newest is None else max(self._clock.now_us() - _made_us(newest), 0) / US_PER_SECOND

    def shown(self) -> BackupsShown:
        kept, age = self.kept(), self.age_seconds()
        return BackupsShown(
            folder=str(self._folder),
            kept=len(kept),
            newest_at=iso(_made_us(kept[0])) if kept else None,
            age_seconds=None if age is None else round(age),
            overdue=age is None or age > 2 * self._every_us / US_PER_SECOND,
            failures=self.failures,
        )


def _made_us(backup: Path) -> int:
    """When it was begun, by its name: so a clock that was set back makes no backup look young."""
    made = datetime.strptime(backup.name, _FORMAT).replace(tzinfo=UTC)
    return (made - _EPOCH) // timedelta(microseconds=1)


def scheduled_backups(settings: Settings, clock: Clock) -> ScheduledBackups | None:
    """The backups that the settings want."""
    if not settings.backup_every:
        return None
    return ScheduledBackups(settings.var_path, settings.backup_path, settings.backup_every, settings.backup_keep, clock)
