"""A backup may come from anybody: whatever is in it, a restore writes what its manifest names, or nothing at all."""

import gzip
import hashlib
import os
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from svc.cli.serving import restore_
from svc.maintenance.backup import BACKUP_EXTRA_BYTES_MAX, KeptFile, Manifest

KEY = "keys/11111111-1111-4111-8111-111111111111.key"
SECRET = b"what lies outside"
HUGE_BYTES = 1 << 50
Pack = Callable[[Path, Path], object]
"""Writes a backup, which may reach for a file that lies outside."""


def a_log(statement: str) -> bytes:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(statement)
        return db.serialize()


LOG = a_log("CREATE TABLE stored_events (state BLOB)")


def kept(name: str, content: bytes, size: int | None = None) -> KeptFile:
    return KeptFile(name, len(content) if size is None else size, hashlib.sha256(content).hexdigest())


def manifest(*files: KeptFile) -> bytes:
    listed = [kept("events.db", LOG), *files] if "events.db" not in {each.name for each in files} else list(files)
    made = Manifest(format=1, program="1", made_at="2026-01-01", head=0, head_checksum="", files=listed)
    return msgspec.json.encode(made)


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0, **pax: str) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size, made.pax_headers = kind, link, size, dict(pax)
    return made


def packed(target: Path, listed: bytes, *more: tuple[tarfile.TarInfo, bytes] | bytes, log: bytes = LOG) -> None:
    """A tar file: the manifest, then the log, then this; bytes as they are."""
    with target.open("wb") as file:
        for name, content in (("manifest.json", listed), ("events.db", log)):
            file.write(member(name, size=len(content)).tobuf() + content + bytes(-len(content) % 512))
        for each in more:
            if isinstance(each, bytes):
                file.write(each)
                continue
            info, content = each
            file.write(info.tobuf(tarfile.PAX_FORMAT) + content + bytes(-len(content) % 512))
        file.write(bytes(1024))


def holds(listed: bytes, *more: tuple[tarfile.TarInfo, bytes] | bytes) -> Pack:
    return lambda target, _outside: packed(target, listed, *more)


def links_out(kind: bytes, target: Path, outside: Path) -> None:
    packed(target, manifest(kept(KEY, SECRET)), (member(KEY, kind, str(outside)), b""))


def goes_through_a_link(target: Path, outside: Path) -> None:
    way = member("keys", tarfile.SYMTYPE, str(outside.parent))
    packed(target, manifest(kept(KEY, b"x")), (way, b""), (member(KEY, size=1), b"x"))


def names_a_place_outside(up: bool, target: Path, outside: Path) -> None:
    name = f"keys/../../../{outside.name}" if up else str(outside)
    packed(target, manifest(kept(name, b"x")), (member(name, size=1), b"x"))


def is_packed_zeros(target: Path, outside: Path) -> None:
    packed(target, manifest(kept(KEY, b"", HUGE_BYTES)), (member(KEY, size=1 << 24), bytes(1 << 24)))
    target.write_bytes(gzip.compress(target.read_bytes(), 1))


def has_a_log_that_never_ends(target: Path, outside: Path) -> None:
    forever = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n AS state FROM c"
    log = a_log(f"CREATE VIEW stored_events AS {forever}")
    packed(target, manifest(kept("events.db", log)), log=log)


def has_a_link_in_its_folder(whole: bool, target: Path, outside: Path) -> None:
    target.mkdir()
    (target / "manifest.json").write_bytes(manifest(kept(KEY, SECRET)))
    (target / "events.db").write_bytes(LOG)
    if whole:
        real = outside.parent / "real"
        real.mkdir()
        (real / Path(KEY).name).write_bytes(SECRET)
        (target / "keys").symlink_to(real)
    else:
        (target / "keys").mkdir()
        (target / KEY).symlink_to(outside)


def has_a_pipe_in_its_folder(target: Path, outside: Path) -> None:
    has_a_link_in_its_folder(False, target, outside)
    (target / KEY).unlink()
    os.mkfifo(target / KEY)


A_KEY = (member(KEY, size=1), b"x")
NAMES_A_KEY = manifest(kept(KEY, b"x"))
SPARSE = member(KEY, tarfile.GNUTYPE_SPARSE, size=1).tobuf()
LONG_NAME = member("long", tarfile.GNUTYPE_LONGNAME, size=HUGE_BYTES).tobuf(tarfile.GNU_FORMAT)
LONG_EXTRA = member("extra", tarfile.XHDTYPE, size=BACKUP_EXTRA_BYTES_MAX + 1).tobuf()
HOSTILE: dict[str, tuple[Pack, str]] = {
    "a symbolic link": (partial(links_out, tarfile.SYMTYPE), "no regular file"),
    "a hard link": (partial(links_out, tarfile.LNKTYPE), "no regular file"),
    "a device": (partial(links_out, tarfile.CHRTYPE), "no regular file"),
    "a pipe": (partial(links_out, tarfile.FIFOTYPE), "no regular file"),
    "a folder that is a link": (goes_through_a_link, "no regular file"),
    "an absolute path": (partial(names_a_place_outside, False), "no part of a folder of svc"),
    "a parent path": (partial(names_a_place_outside, True), "no part of a folder of svc"),
    "a file twice": (holds(NAMES_A_KEY, A_KEY, A_KEY), "not twice"),
    "a file that the manifest does not name": (holds(manifest(), A_KEY), "does not name"),
    "a file longer than the manifest says": (
        holds(NAMES_A_KEY, (member(KEY, size=1 << 20), bytes(1 << 20))),
        "its bytes changed",
    ),
    "a file that goes on": (holds(NAMES_A_KEY, (member(KEY, size=2), b"xy")), "its bytes changed"),
    "other bytes": (holds(manifest(kept(KEY, b"y")), A_KEY), "its bytes changed"),
    "a file with holes": (holds(NAMES_A_KEY, SPARSE, b"x" + bytes(511)), "no regular file"),
    "more than the disk holds": (holds(manifest(kept(KEY, b"", HUGE_BYTES))), "are free"),
    "a page of text": (
        lambda target, _outside: target.write_text("# no backup\n" * 100),
        "neither a folder nor a whole .tar file",
    ),
    "packed zeros": (is_packed_zeros, "neither a folder nor a whole .tar file"),
    "an endless header": (holds(NAMES_A_KEY, LONG_EXTRA), "no regular file"),
    "a name in a header of its own": (holds(NAMES_A_KEY, LONG_NAME), "no regular file"),
    "a torn end": (holds(NAMES_A_KEY, member(KEY, size=2_000).tobuf()), "its bytes changed"),
    "a manifest that names a file twice": (holds(manifest(*[kept(KEY, b"x")] * 2)), "twice"),
    "a manifest with a size below nothing": (holds(manifest(kept("events.db", b"", -1))), "damaged"),
    "a log that never ends": (has_a_log_that_never_ends, "more than tables and indexes"),
    "a link in a folder": (partial(has_a_link_in_its_folder, False), "is missing"),
    "a linked folder in a folder": (partial(has_a_link_in_its_folder, True), "is missing"),
    "a pipe in a folder": (has_a_pipe_in_its_folder, "is missing"),
}
"""What is in a backup → who packs it, and what its refusal says."""


def everything(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    return {
        str(path): (
            path.lstat().st_mode,
            os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b"",
        )
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_backup_is_refused_and_nothing_is_left(what: str, tmp_path: Path) -> None:
    """In one sentence; the target is as before, and so is everything beside it."""
    outside, backup, var = tmp_path / "outside", tmp_path / "backup", tmp_path / "var"
    outside.write_bytes(SECRET)
    pack, said = HOSTILE[what]
    pack(backup, outside)
    before = everything(tmp_path)
    done = CliRunner().invoke(restore_, [str(backup), "--var", str(var)])
    assert (done.exit_code, said in done.output) == (1, True), done.output
    assert len(done.output.splitlines()) == 1
    assert everything(tmp_path) == before


def test_a_size_that_fits_into_no_header_is_the_manifests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 8 GiB on a header says 0, and one before it says more; shown with a key of one byte."""
    monkeypatch.setattr("svc.maintenance.backup.HEADER_BYTES_MAX", 0)
    extra = member("extra", tarfile.XHDTYPE, size=10).tobuf() + b"10 size=1\n".ljust(512, b"\0")
    packed(tmp_path / "b.tar", NAMES_A_KEY, extra, (member(KEY), b"x"))
    done = CliRunner().invoke(restore_, [str(tmp_path / "b.tar"), "--var", str(tmp_path / "var")])
    assert (done.exit_code, (tmp_path / "var" / KEY).read_bytes()) == (0, b"x"), done.output
