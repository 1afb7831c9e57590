"""Backups, upgrades and the archive, looked at closely."""

import shutil
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from svc.log.opening import open_log
from svc.log.sqlite import FORM
from svc.log.store import StoreUnavailable
from svc.maintenance.backup import KeptFile, back_up, restore
from svc.maintenance.verify import verify
from svc.process import Place
from tests.support.household import household, no_progress, tables_of


async def a_folder(var: Path) -> None:
    async with household(var) as house:
        await house.work()
        await house.work(house.other, "s2")
        await house.level()
        await house.service.archive.catch_up()


async def test_one_byte_of_a_parquet_page_is_named(tmp_path: Path) -> None:
    var = tmp_path / "var"
    await a_folder(var)
    assert (await verify(Place(var), no_progress)).findings == []
    (file, *_) = sorted((var / "archive").rglob("*.parquet"))
    changed = bytearray(file.read_bytes())
    changed[len(changed) // 2] ^= 1
    file.write_bytes(changed)
    (found,) = (await verify(Place(var), no_progress)).findings
    assert (found.part, found.where) == ("archive", str(file.relative_to(var)))
    assert "bytes are not what was written" in found.what


async def test_a_backup_leaves_out_what_is_made_from_the_log(tmp_path: Path) -> None:
    var, other = tmp_path / "var", tmp_path / "other"
    await a_folder(var)
    manifest = back_up(var, tmp_path / "b", no_progress)
    assert {Path(file.name).parts[0] for file in manifest.files} == {"events.db", "internal-secret", "keys"}
    other.mkdir()
    restore(tmp_path / "b", other, no_progress)
    async with household(other) as house:
        await house.level()
        await house.service.archive.catch_up()
    assert tables_of(other) == tables_of(var)
    assert len([*(other / "archive").rglob("*.parquet")]) == len([*(var / "archive").rglob("*.parquet")]) > 0


async def test_the_archive_in_a_former_backup_is_read_and_left_out(tmp_path: Path) -> None:
    var, other = tmp_path / "var", tmp_path / "other"
    await a_folder(var)
    manifest = back_up(var, tmp_path / "b", no_progress)
    shutil.copy(var / "archive.db", tmp_path / "b")
    shutil.copytree(var / "archive", tmp_path / "b" / "archive")
    former = [var / "archive.db", *(var / "archive").rglob("*.parquet")]
    listed = [KeptFile(str(p.relative_to(var)), p.stat().st_size, sha256(p.read_bytes()).hexdigest()) for p in former]
    whole = msgspec.structs.replace(manifest, files=[*manifest.files, *listed])
    (tmp_path / "b" / "manifest.json").write_bytes(msgspec.json.encode(whole))
    other.mkdir()
    restore(tmp_path / "b", other, no_progress)
    assert {path.name for path in other.iterdir()} == {"events.db", "internal-secret", "keys"}


async def test_a_backup_that_is_broken_off_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C in the middle: no backup, no draft."""
    await a_folder(tmp_path / "var")

    def interrupt(_done: int, _of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        back_up(tmp_path / "var", tmp_path / "out" / "b.tar", interrupt)
    assert list((tmp_path / "out").iterdir()) == []


async def test_a_restore_that_is_broken_off_is_begun_again(tmp_path: Path) -> None:
    """Wherever it stopped: the log comes last."""
    await a_folder(tmp_path / "var")
    back_up(tmp_path / "var", tmp_path / "b", no_progress)
    new = tmp_path / "new"
    (new / "restoring").mkdir(parents=True)
    (new / "keys").mkdir()
    restore(tmp_path / "b", new, no_progress)
    assert not (new / "restoring").exists()
    assert (await verify(Place(new), no_progress)).findings == []


# --- upgrades -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "whose"), [(FORM + 1, "a newer svc"), (FORM - 1, "an older svc")])
async def test_a_log_of_another_form_is_refused_and_left_alone(form: int, whose: str, tmp_path: Path) -> None:
    """In a sentence that says what to do, by the server and by what only reads."""
    var = tmp_path / "var"
    await a_folder(var)
    with closing(sqlite3.connect(var / "events.db")) as db:
        db.execute(f"PRAGMA user_version = {form}")
    with pytest.raises(StoreUnavailable, match=whose):
        async with household(var):
            pass
    with pytest.raises(StoreUnavailable, match=whose):
        open_log(var)
    with closing(sqlite3.connect(var / "events.db")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (form,)
