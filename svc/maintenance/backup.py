"""Backing a folder up while a server writes it, into a new folder or one tar file; and putting that into an empty one.

What is copied, in this order: the keys there are; the log, as of one moment; the keys that came meanwhile; the
internal secret. So no word in the copy of the log is without its key. The views and the archive are left out: they are
made from the log. A backup counts once it has its name: until then it is a draft beside it.

A backup may come from anywhere, so nothing is written but the regular files that its manifest names. The headers of a
.tar file are read one by one: `tarfile` follows links, unpacks, believes sizes, and not every Python has its filters.
"""

import hashlib
import os
import re
import shutil
import sqlite3
import stat
import tarfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Annotated, BinaryIO, NamedTuple

import msgspec
import structlog
import trio

from aggregates.event import Mendable
from aggregates.times import US_PER_SECOND, iso
from svc import __version__
from svc.actors.actors import Clock
from svc.archive.folder import ARCHIVE, ARCHIVE_MANIFEST, digest_of
from svc.log.folder import LOCK, NAME as SECRET_FILE
from svc.log.sqlite import EVENTS_FILE, KEYS_FOLDER, not_opened
from svc.log.vault import sync
from svc.process import KIB_BYTES, MIB_BYTES
from svc.settings import Settings
from svc.views.replay import Progress
from svc.views.views import snapshot
from svc_http.ports import BackupsShown

BACKUP_PAGES = 4_096  # of 4 KiB, copied at a time: between any two a backup can be interrupted
BACKUP_LOOK_SECONDS = 60.0  # how often the server looks whether a backup is due; a look lists one folder
BACKUP_MANIFEST_BYTES_MAX = 64 * MIB_BYTES  # of the list of files in a backup: 250,000 of them
BACKUP_EXTRA_BYTES_MAX = 4 * KIB_BYTES  # of what a .tar file may say of a file; the time of its last change takes 30
BACKUP_RETRY_SECONDS = 900.0  # after a scheduled backup failed: a full disk is not written to again and again

log = structlog.get_logger()
MANIFEST = "manifest.json"
FORMAT = 1
DRAFT = ".draft"
WORK = "restoring"
_PARTS = (KEYS_FOLDER, SECRET_FILE, EVENTS_FILE)  # in the order in which they are put: a log comes last
_NAMES = re.compile(  # what a backup may hold; former ones held the archive, which is made anew
    rf"{KEYS_FOLDER}/[0-9a-f-]{{36}}\.key|{SECRET_FILE}|{re.escape(EVENTS_FILE)}|{re.escape(ARCHIVE_MANIFEST)}"
    rf"|{ARCHIVE}/org=[0-9a-f-]{{36}}/day=[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}/requests-[0-9]{{1,18}}\.parquet"
)
_FOREIGN = "SELECT 1 FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%' LIMIT 1"
"""Views, triggers and tables that a module makes."""
_NO_BACKUP = "is no backup: neither a folder nor a whole .tar file; use another one"


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


def back_up(var: Path, target: Path, heard: Progress) -> Manifest:
    """Copy a folder to `target`: a tar file if it ends in `.tar`, else a new folder. Raises `Mendable`."""
    if not (var / EVENTS_FILE).exists():
        raise Mendable(f"{var} holds no data; name the folder with --var")
    if target.exists():
        raise Mendable(f"{target} is there already; a backup never replaces anything, so choose another name")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft, tar = target.with_name(target.name + DRAFT), target.with_name(target.name + DRAFT + ".tar")
    remove(draft, tar)
    try:
        manifest = _copied(var, draft, heard)
        if target.suffix == ".tar":
            tar.touch(0o600, exist_ok=False)
            with tarfile.open(tar, "w") as packed:
                # The manifest first: whoever restores reads the file once, and knows what to expect.
                for path in sorted(_files(draft), key=lambda path: path.name != MANIFEST):
                    packed.add(path, str(path.relative_to(draft)), recursive=False)
            sync(tar)
            tar.rename(target)
        else:
            draft.rename(target)
        sync(target.parent)
    finally:
        remove(draft, tar)
    return manifest


def _copied(var: Path, draft: Path, heard: Progress) -> Manifest:
    draft.mkdir(mode=0o700)
    _copy_secrets(var, draft)
    try:  # as of one moment: one read transaction, for which no writer waits
        with snapshot(var / EVENTS_FILE) as db, closing(sqlite3.connect(draft / EVENTS_FILE)) as copy:
            db.backup(copy, pages=BACKUP_PAGES, progress=lambda _status, left, of: heard(of - left, of), sleep=0)
            copy.execute("PRAGMA journal_mode = DELETE")
        (draft / EVENTS_FILE).chmod(0o600)
    except sqlite3.DatabaseError as error:
        raise Mendable(f"nothing was backed up: {not_opened(var / EVENTS_FILE, error)}") from error
    _copy_secrets(var, draft)
    head, checksum = _head_of(draft / EVENTS_FILE)
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


def _copy_secrets(var: Path, draft: Path) -> None:
    """Each once, unless it is gone by now; the key of who is forgotten meanwhile stays, as their words do."""
    (draft / KEYS_FOLDER).mkdir(mode=0o700, exist_ok=True)
    for source in (*sorted((var / KEYS_FOLDER).glob("*.key")), var / SECRET_FILE):
        target = draft / source.relative_to(var)
        if not target.exists():
            target.touch(mode=0o600)  # before there is anything in it to read
            try:
                shutil.copyfile(source, target)
            except FileNotFoundError:
                target.unlink()


def _head_of(events: Path) -> tuple[int, str]:
    """The last position of a log, and the checksum of its event in hex; blank in an empty log."""
    with closing(sqlite3.connect(events)) as db:
        query = "SELECT rowid, lower(hex(substr(state, 3, 16))) FROM stored_events ORDER BY rowid DESC LIMIT 1"
        newest: tuple[int, str] | None = db.execute(query).fetchone()
    return newest or (0, "")


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def remove(*paths: Path) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def restore(source: Path, var: Path, heard: Progress) -> Manifest:
    """Put a backup into an empty folder that is held; may be begun again. Raises `Mendable`."""
    work = var / WORK
    if work.exists() and not (var / EVENTS_FILE).exists():  # a restore was broken off
        remove(*(var / name for name in (*_PARTS, WORK)))
    if there := sorted(path.name for path in var.iterdir() if path.name != LOCK):
        instead = "restore into a new folder, then start svc with --var on that one"
        raise Mendable(f"{var} is not empty ({', '.join(there[:3])}); {instead}")
    work.mkdir(mode=0o700)
    try:
        manifest = _unpacked(source, work, heard)
        _check(work, manifest)
    except BaseException:  # nothing has its place yet
        shutil.rmtree(work, ignore_errors=True)
        raise
    for part in _PARTS:
        if (work / part).exists():
            (work / part).rename(var / part)
    shutil.rmtree(work)
    return manifest


def _unpacked(source: Path, work: Path, heard: Progress) -> Manifest:
    members = _in_folder(source) if source.is_dir() else _in_tar(source)
    first = next(members, None)
    if first is None or first.name != MANIFEST:
        raise Mendable(f"{source} is no backup: it does not begin with {MANIFEST}; `svc backup` makes one")
    if first.size > BACKUP_MANIFEST_BYTES_MAX:
        raise Mendable(f"{source}: its {MANIFEST} is too long to be one; use another backup")
    manifest = _manifest(first.content.read(first.size), source, work)
    wanted = {kept.name: kept for kept in manifest.files}
    for member in members:
        kept = wanted.pop(member.name, None)
        if kept is None:
            if source.is_dir():  # a file manager leaves its own there
                continue
            foreign = f"{member.name!r}, which its {MANIFEST} does not name, or not twice"
            raise Mendable(f"{source} holds {foreign}; use another backup")
        if member.size != kept.bytes and kept.bytes <= HEADER_BYTES_MAX:
            raise _changed(kept.name)
        heard(len(manifest.files) - len(wanted) - 1, len(manifest.files))
        _put(member.content, work, kept)
    if wanted:
        raise _changed(next(iter(wanted)), "is missing in the backup")
    return manifest


class _Member(NamedTuple):
    name: str
    size: int
    content: BinaryIO  # at the first byte; whoever takes a member reads all that the manifest says


def _in_folder(source: Path) -> Iterator[_Member]:
    """The regular files of a folder, the manifest first; a link on the way to one hides it."""
    found = (Path(folder, name) for folder, _, names in os.walk(source) for name in names)
    for path in chain([source / MANIFEST], (path for path in found if path != source / MANIFEST)):
        if path.is_file() and not path.is_symlink():
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                yield _Member(str(path.relative_to(source)), path.stat().st_size, file)


HEADER_BYTES_MAX = 8**11 - 1  # a larger size does not fit into the headers of `svc backup`; the manifest has it


def _in_tar(source: Path) -> Iterator[_Member]:
    """The regular files of a tar file, by their headers; anything else in it is refused."""
    if not source.is_file():
        raise Mendable(f"{source} {_NO_BACKUP}")
    with source.open("rb") as tar:
        while (block := tar.read(tarfile.BLOCKSIZE)) != bytes(tarfile.BLOCKSIZE):  # which is the end
            try:
                header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            except tarfile.HeaderError as error:
                raise Mendable(f"{source} {_NO_BACKUP}") from error
            begin = tar.tell()
            if header.type == tarfile.XHDTYPE and 0 <= header.size <= BACKUP_EXTRA_BYTES_MAX:
                tar.seek(header.size, os.SEEK_CUR)  # times to the nanosecond
            elif header.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and header.size >= 0:
                yield _Member(header.name, header.size, tar)
            else:
                raise Mendable(f"{source} holds {header.name!r}, which is no regular file; use another backup")
            tar.seek((begin - tar.tell()) % tarfile.BLOCKSIZE, os.SEEK_CUR)


def _manifest(text: bytes, source: Path, work: Path) -> Manifest:
    try:
        manifest = msgspec.json.decode(text, type=Manifest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Mendable(f"{source}: its {MANIFEST} is damaged ({error}); use another backup") from error
    if manifest.format > FORMAT:
        newer = f"{source} was made by svc {manifest.program!r}, which is newer"
        raise Mendable(f"{newer}; restore it with that version")
    names: set[str] = set()
    for file in manifest.files:
        if _NAMES.fullmatch(file.name) is None or file.name in names:
            what = "twice" if file.name in names else "which is no part of a folder of svc"
            raise Mendable(f"the backup names {file.name!r}, {what}; use another backup")
        names.add(file.name)
    if EVENTS_FILE not in names:
        raise _changed(EVENTS_FILE, "is missing in the backup")
    needed, free = sum(file.bytes for file in manifest.files), shutil.disk_usage(work).free
    if needed > free:
        raise Mendable(f"the backup takes {needed} bytes, and {free} are free beside {work}; make room for it")
    return manifest


def _put(content: BinaryIO, work: Path, kept: KeptFile) -> None:
    """Write a file of the manifest, no byte more than it says. Raises `Mendable`."""
    path = work / kept.name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest, left = hashlib.sha256(), kept.bytes
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while left and (piece := content.read(min(left, MIB_BYTES))):
            digest.update(piece)
            file.write(piece)
            left -= len(piece)
    if left or digest.hexdigest() != kept.sha256:
        raise _changed(kept.name)


def _check(work: Path, manifest: Manifest) -> None:
    """The databases hold nothing that would run when they are read, and the log ends where the manifest says."""
    path = work / EVENTS_FILE
    try:
        for path in work.glob("*.db"):
            with closing(sqlite3.connect(path)) as db:
                if db.execute(_FOREIGN).fetchone() is not None:
                    what = "holds more than tables and indexes, so svc did not make it"
                    raise Mendable(f"{path.name} {what}; use another backup")
        head = _head_of(path := work / EVENTS_FILE)
    except sqlite3.Error as error:
        raise Mendable(f"{path.name} cannot be read ({str(error)!r}); use another backup") from error
    if head != (manifest.head, manifest.head_checksum):
        raise Mendable(f"the log ends at {head[0]}, not at {manifest.head} as the backup says; use another one")


def _changed(name: str, how: str = "is not what was backed up: its bytes changed since") -> Mendable:
    return Mendable(f"{name} {how}; use another backup")


_NAME = re.compile(r"svc-\d{8}T\d{6}Z\.tar")
_FORMAT = "svc-%Y%m%dT%H%M%SZ.tar"


class ScheduledBackups:
    """What is in the folder tells when the next one is due, so a restart changes nothing."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._var, self._folder = settings.var_path, settings.backup_path
        self._every_us, self._keep = settings.backup_every * 3_600 * US_PER_SECOND, settings.backup_keep
        self._clock = clock
        self.failures = 0  # since the start

    async def run(self) -> None:
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
        """The backup that was due; None where none was. Raises `Mendable`, `OSError`."""
        now_us, kept = self._clock.now_us(), self.kept()
        if kept and 0 <= now_us - _made_us(kept[0]) < self._every_us:
            return None
        target = self._folder / datetime.fromtimestamp(now_us / US_PER_SECOND, UTC).strftime(_FORMAT)
        await trio.to_thread.run_sync(self._make, target)
        log.info("a scheduled backup was made", file=str(target), bytes=target.stat().st_size)
        return target

    def _make(self, target: Path) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = self._folder.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise Mendable(f"backup_folder {self._folder} is a link: name the folder itself")
        if mode & (stat.S_IWGRP | stat.S_IWOTH):  # who may write there may put a link in the place of a backup
            why = f"others may write to backup_folder {self._folder}"
            raise Mendable(f"{why}: `chmod go-w {self._folder}`, or name a folder of your own")
        # A server that stops does not wait for a backup: half a one is removed, and made anew at the next start.
        back_up(self._var, target, lambda _done, _of: trio.from_thread.check_cancelled())
        for old in self.kept()[self._keep :]:
            remove(old)

    def kept(self) -> list[Path]:
        """Those that this made, the newest first; files of other names are left alone."""
        return sorted((path for path in self._folder.glob("svc-*.tar") if _NAME.fullmatch(path.name)), reverse=True)

    def age_seconds(self) -> float | None:
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
    return int(datetime.strptime(backup.name, _FORMAT).replace(tzinfo=UTC).timestamp()) * US_PER_SECOND
