"""Putting a backup into an empty folder.

A backup may come from anywhere, so the manifest is read first, and nothing is written but the regular files that it
names, each with its bytes and its SHA-256. The headers of a .tar file are read one by one, and only for names, kinds
and sizes: `tarfile` follows links, unpacks compressed files and believes sizes, and its filters are not in every
Python.
"""

import hashlib
import os
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from svc.archive.folder import FOLDER as ARCHIVE
from svc.archive.folder import MANIFEST as ARCHIVE_MANIFEST
from svc.log.folder import LOCK
from svc.log.folder import NAME as SECRET_FILE
from svc.log.sqlite import EVENTS_FILE, KEYS_FOLDER
from svc.maintenance.backup import FORMAT, MANIFEST, KeptFile, MaintenanceError, Manifest, head_of, remove
from svc.maintenance.keys import OnProgress
from svc.process import KIB_BYTES, MIB_BYTES

BACKUP_MANIFEST_BYTES_MAX = 64 * MIB_BYTES
"""Of the list of files in a backup: 250,000 of them, where a file of the archive holds a day."""
BACKUP_EXTRA_BYTES_MAX = 4 * KIB_BYTES
"""Of what a .tar file may say of a file besides its name and size; the time of its last change takes 30 bytes."""

WORK = "restoring"
_PARTS = (KEYS_FOLDER, SECRET_FILE, EVENTS_FILE)
"""In the order in which they get their places: a folder with a log is complete."""
_NAMES = re.compile(
    rf"{KEYS_FOLDER}/[0-9a-f-]{{36}}\.key|{SECRET_FILE}|{re.escape(EVENTS_FILE)}|{re.escape(ARCHIVE_MANIFEST)}"
    rf"|{ARCHIVE}/org=[0-9a-f-]{{36}}/day=[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}/requests-[0-9]{{1,18}}\.parquet"
)
"""What a backup may hold; former ones held the archive, which is made anew."""
_FOREIGN = "SELECT 1 FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%' LIMIT 1"
"""Views, triggers and tables that a module makes."""
_NO_BACKUP = "is no backup: neither a folder nor a whole .tar file; use another one"


def restore(source: Path, var: Path, heard: OnProgress) -> Manifest:
    """Put a backup into an empty folder that is held; may be begun again. Raises `MaintenanceError`."""
    work = var / WORK
    if work.exists() and not (var / EVENTS_FILE).exists():  # a restore was broken off
        remove(*(var / name for name in (*_PARTS, WORK)))
    there = sorted(path.name for path in var.iterdir() if path.name != LOCK)
    if there:
        shown = ", ".join(there[:3])
        raise MaintenanceError(
            f"{var} is not empty ({shown}); restore into a new folder, then start svc with --var on that one"
        )
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


def _unpacked(source: Path, work: Path, heard: OnProgress) -> Manifest:
    members = _in_folder(source) if source.is_dir() else _in_tar(source)
    first = next(members, None)
    if first is None or first.name != MANIFEST:
        raise MaintenanceError(f"{source} is no backup: it does not begin with {MANIFEST}; `svc backup` makes one")
    if first.size > BACKUP_MANIFEST_BYTES_MAX:
        raise MaintenanceError(f"{source}: its {MANIFEST} is too long to be one; use another backup")
    manifest = _manifest(first.content.read(first.size), source, work)
    wanted = {kept.name: kept for kept in manifest.files}
    for member in members:
        kept = wanted.pop(member.name, None)
        if kept is None:
            if source.is_dir():  # a file manager leaves its own there
                continue
            raise MaintenanceError(
                f"{source} holds {member.name!r}, which its {MANIFEST} does not name, or not twice; use another backup"
            )
        if member.size != kept.bytes and kept.bytes <= HEADER_BYTES_MAX:
            raise _changed(kept.name)
        heard(len(manifest.files) - len(wanted) - 1, len(manifest.files))
        _put(member.content, work, kept)
    if wanted:
        raise _missing(next(iter(wanted)))
    return manifest


class _Member(NamedTuple):
    name: str
    size: int
    content: BinaryIO  # at the first byte; whoever takes a member reads all that the manifest says


def _in_folder(source: Path) -> Iterator[_Member]:
    """The regular files of a folder, the manifest first; a link on the way to one hides it."""
    found = (Path(folder, name) for folder, _, names in os.walk(source) for name in names)
    for path in chain([source / MANIFEST], (path for path in found if path != source / MANIFEST)):
        if path.is_symlink() or not path.is_file():
            continue
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            yield _Member(str(path.relative_to(source)), path.stat().st_size, file)


HEADER_BYTES_MAX = 8**11 - 1
"""A larger size does not fit into a header of the form that `svc backup` writes; the manifest has it."""


def _in_tar(source: Path) -> Iterator[_Member]:
    """The regular files of a tar file, by their headers; anything else in it is refused."""
    if not source.is_file():
        raise MaintenanceError(f"{source} {_NO_BACKUP}")
    with source.open("rb") as tar:
        while (block := tar.read(tarfile.BLOCKSIZE)) != bytes(tarfile.BLOCKSIZE):  # which is the end
            try:
                header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            except tarfile.HeaderError as error:
                raise MaintenanceError(f"{source} {_NO_BACKUP}") from error
            begin = tar.tell()
            if header.type == tarfile.XHDTYPE and 0 <= header.size <= BACKUP_EXTRA_BYTES_MAX:
                tar.seek(header.size, os.SEEK_CUR)  # times to the nanosecond
            elif header.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and header.size >= 0:
                yield _Member(header.name, header.size, tar)
            else:
                raise MaintenanceError(f"{source} holds {header.name!r}, which is no regular file; use another backup")
            tar.seek((begin - tar.tell()) % tarfile.BLOCKSIZE, os.SEEK_CUR)


def _manifest(text: bytes, source: Path, work: Path) -> Manifest:
    try:
        manifest = msgspec.json.decode(text, type=Manifest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MaintenanceError(f"{source}: its {MANIFEST} is damaged ({error}); use another backup") from error
    if manifest.format > FORMAT:
        raise MaintenanceError(
            f"{source} was made by svc {manifest.program!r}, which is newer; restore it with that version"
        )
    names: set[str] = set()
    for file in manifest.files:
        if _NAMES.fullmatch(file.name) is None or file.name in names:
            what = "twice" if file.name in names else "which is no part of a folder of svc"
            raise MaintenanceError(f"the backup names {file.name!r}, {what}; use another backup")
        names.add(file.name)
    if EVENTS_FILE not in names:
        raise _missing(EVENTS_FILE)
    needed, free = sum(file.bytes for file in manifest.files), shutil.disk_usage(work).free
    if needed > free:
        raise MaintenanceError(f"the backup takes {needed} bytes, and {free} are free beside {work}; make room for it")
    return manifest


def _put(content: BinaryIO, work: Path, kept: KeptFile) -> None:
    """Write a file of the manifest, no byte more than it says. Raises `MaintenanceError`."""
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
    for path in work.glob("*.db"):
        try:
            with closing(sqlite3.connect(path)) as db:
                foreign = db.execute(_FOREIGN).fetchone()
        except sqlite3.Error as error:
            raise MaintenanceError(f"{path.name} cannot be read ({str(error)!r}); use another backup") from error
        if foreign is not None:
            raise MaintenanceError(
                f"{path.name} holds more than tables and indexes, so svc did not make it; use another backup"
            )
    try:
        head = head_of(work / EVENTS_FILE)
    except sqlite3.Error as error:
        raise MaintenanceError(f"the log of the backup cannot be read ({str(error)!r}); use another one") from error
    if head != (manifest.head, manifest.head_checksum):
        raise MaintenanceError(f"the log ends at {head[0]}, not at {manifest.head} as the backup says; use another one")


def _missing(name: str) -> MaintenanceError:
    return MaintenanceError(f"{name} is missing in the backup; use another one")


def _changed(name: str) -> MaintenanceError:
    return MaintenanceError(f"{name} is not what was backed up: its bytes changed since; use another backup")
