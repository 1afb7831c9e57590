"""Restoring a backup into an empty folder: every byte is checked before anything gets its place, the log comes last."""

import shutil
import tarfile
from pathlib import Path, PurePosixPath

import msgspec

from svc.archive.folder import FOLDER as ARCHIVE
from svc.archive.folder import MANIFEST as ARCHIVE_MANIFEST
from svc.log.folder import LOCK
from svc.log.folder import NAME as SECRET_FILE
from svc.log.sqlite import EVENTS_FILE, KEYS_FOLDER
from svc.maintenance.backup import FORMAT, MANIFEST, MaintenanceError, Manifest, digest_of, head_of
from svc.maintenance.keys import OnProgress

WORK = "restoring"
_PARTS = (KEYS_FOLDER, ARCHIVE, ARCHIVE_MANIFEST, SECRET_FILE, EVENTS_FILE)
"""In the order in which they get their places: a folder with a log is complete."""


def restore(source: Path, var: Path, heard: OnProgress) -> Manifest:
    """Put a backup into an empty folder that this process holds. Raises `MaintenanceError`.

    A restore that was broken off can simply be run again.
    """
    _check_empty(var)
    work = var / WORK
    work.mkdir(mode=0o700)
    try:
        manifest = _unpacked(source, work)
        _check(work, manifest, heard)
    except BaseException:  # nothing has its place yet
        shutil.rmtree(work, ignore_errors=True)
        raise
    for part in _PARTS:
        if (work / part).exists():
            (work / part).rename(var / part)
    shutil.rmtree(work)
    return manifest


def _check_empty(var: Path) -> None:
    """Remove what a broken-off restore left; refuse a folder that holds anything else."""
    broken_off = (var / WORK).exists() and not (var / EVENTS_FILE).exists()
    for name in (*_PARTS, WORK) if broken_off else ():
        path = var / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    held = sorted(path.name for path in var.iterdir() if path.name != LOCK)
    if held:
        shown = ", ".join(held[:3])
        raise MaintenanceError(
            f"{var} is not empty ({shown}); restore into a new folder, then start svc with --var on that one"
        )


def _unpacked(source: Path, work: Path) -> Manifest:
    if source.is_dir():
        manifest = _manifest(source / MANIFEST, source)
        for file in manifest.files:
            target = work / _safe(file.name)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if (source / file.name).is_file():
                shutil.copyfile(source / file.name, target)
        return manifest
    try:
        with tarfile.open(source) as packed:
            packed.extractall(work, filter="data")
    except FileNotFoundError:
        raise MaintenanceError(f"{source} is not there") from None
    except tarfile.ReadError as error:
        raise MaintenanceError(
            f"{source} is no backup: neither a folder nor a whole .tar file; use another one"
        ) from error
    except tarfile.TarError as error:
        raise MaintenanceError(f"{source} is no backup that can be read: {error}; use another one") from error
    return _manifest(work / MANIFEST, source)


def _manifest(path: Path, source: Path) -> Manifest:
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise MaintenanceError(f"{source} is no backup: it has no {MANIFEST}; `svc backup` makes one") from None
    except msgspec.DecodeError as error:
        raise MaintenanceError(f"{source}: its {MANIFEST} is damaged ({error}); use another backup") from error
    if manifest.format > FORMAT:
        raise MaintenanceError(
            f"{source} was made by svc {manifest.program}, which is newer; restore it with that version"
        )
    return manifest


def _safe(name: str) -> str:
    parts = PurePosixPath(name).parts
    if not parts or parts[0] not in _PARTS or ".." in parts:
        raise MaintenanceError(f"the backup names {name!r}, which is no part of a folder of svc; use another backup")
    return name


def _check(work: Path, manifest: Manifest, heard: OnProgress) -> None:
    for number, file in enumerate(manifest.files):
        path = work / _safe(file.name)
        heard(number, len(manifest.files))
        if not path.is_file():
            raise MaintenanceError(f"{file.name} is missing in the backup; use another one")
        if digest_of(path) != file.sha256:
            raise MaintenanceError(
                f"{file.name} is not what was backed up: its bytes changed since; use another backup"
            )
        path.chmod(0o600)
    head = head_of(work / EVENTS_FILE)
    if head != (manifest.head, manifest.head_checksum):
        raise MaintenanceError(f"the log ends at {head[0]}, not at {manifest.head} as the backup says; use another one")
