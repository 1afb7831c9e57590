"""Backups, upgrades and what `svc verify` finds, looked at closely."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from svc.log.opening import open_log
from svc.log.sqlite import FORM
from svc.log.store import StoreUnavailable
from svc.maintenance.backup import KeptFile, back_up, restore
from svc.maintenance.verify import Finding, verify
from svc.process import Place
from tests.support.household import Worked, household, no_progress, tables_of


async def findings(var: Path) -> list[Finding]:
    return (await verify(Place(var), no_progress)).findings


def flipped(value: bytes, place: int) -> bytes:
    """With one byte changed, as a disk would."""
    return value[:place] + bytes([value[place] ^ 1]) + value[place:][1:]


def in_an_event(place: int, var: Path) -> list[str]:
    with closing(sqlite3.connect(var / "events.db")) as db, db:
        query = "SELECT max(rowid), state FROM stored_events WHERE topic = 'prompt.captured'"
        position, state = db.execute(query).fetchone()
        db.execute("UPDATE stored_events SET state = ? WHERE rowid = ?", (flipped(state, place), position))
    return [f"position {position}"]


def deleted_events(var: Path) -> list[str]:
    """One in the middle and the last."""
    with closing(sqlite3.connect(var / "events.db")) as db, db:
        db.execute("DELETE FROM stored_events WHERE rowid IN (3, (SELECT max(rowid) FROM stored_events))")
    return ["events.db", "position 3"]


def in_a_row(var: Path) -> list[str]:
    (views,) = var.glob("views-*.db")
    with closing(sqlite3.connect(views)) as db, db:
        key, body = db.execute("SELECT capture_id, body FROM captures LIMIT 1").fetchone()
        db.execute("UPDATE captures SET body = ? WHERE capture_id = ?", (flipped(body, len(body) - 2), key))
    return [f"{views.name}, table captures, row capture_id {key}"]


def in_a_page(var: Path) -> list[str]:
    """Of Parquet."""
    (file, *_) = sorted((var / "archive").rglob("*.parquet"))
    file.write_bytes(flipped(file.read_bytes(), file.stat().st_size // 2))
    return [str(file.relative_to(var))]


@pytest.mark.parametrize(
    ("part", "damage"),
    [
        ("log", partial(in_an_event, 30)),
        ("log", partial(in_an_event, -3)),
        ("log", deleted_events),
        ("views", in_a_row),
        ("archive", in_a_page),
    ],
    ids=["a byte of a fact", "a byte of its words", "events deleted", "a byte of a row", "a byte of a page"],
)
async def test_damage_is_named_by_its_place(worked: Worked, part: str, damage: Callable[[Path], list[str]]) -> None:
    assert await findings(worked.var) == []
    places = damage(worked.var)
    found = await findings(worked.var)
    assert [each.where for each in found if each.part == part] == places
    assert {each.part for each in found} <= {part, "views"}, "the tables hold what the log does not any more"


async def test_a_start_passes_a_damaged_event_over_and_says_which(worked: Worked) -> None:
    (place,) = in_an_event(30, worked.var)
    for views in worked.var.glob("views*"):
        views.unlink()
    with capture_logs() as logs:
        async with household(worked.var) as house:
            await house.level()
            with house.service.projector.readers.reading() as db:
                assert db.execute("SELECT count(*) FROM prompts").fetchone()[0] > 0
    assert int(place.split()[1]) in [line.get("position") for line in logs]


async def test_a_backup_leaves_out_what_is_made_from_the_log(worked: Worked, tmp_path: Path) -> None:
    other = tmp_path / "other"
    manifest = back_up(worked.var, tmp_path / "b", no_progress)
    assert {Path(file.name).parts[0] for file in manifest.files} == {"events.db", "internal-secret", "keys"}
    other.mkdir()
    restore(tmp_path / "b", other, no_progress)
    async with household(other) as house:
        await house.level()
        await house.service.archive.catch_up()
    assert tables_of(other) == tables_of(worked.var)
    files = [len([*(var / "archive").rglob("*.parquet")]) for var in (other, worked.var)]
    assert files[0] == files[1] > 0


def test_the_archive_in_a_former_backup_is_read_and_left_out(worked: Worked, tmp_path: Path) -> None:
    var, other = worked.var, tmp_path / "other"
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


def test_a_backup_that_is_broken_off_leaves_nothing(worked: Worked, tmp_path: Path) -> None:
    """Ctrl-C in the middle: no backup, no draft."""

    def interrupt(_done: int, _of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        back_up(worked.var, tmp_path / "out" / "b.tar", interrupt)
    assert list((tmp_path / "out").iterdir()) == []


async def test_a_restore_that_is_broken_off_is_begun_again(worked: Worked, tmp_path: Path) -> None:
    """Wherever it stopped: the log comes last."""
    back_up(worked.var, tmp_path / "b", no_progress)
    new = tmp_path / "new"
    for name in ("restoring", "keys"):
        (new / name).mkdir(parents=True)
    restore(tmp_path / "b", new, no_progress)
    assert not (new / "restoring").exists()
    assert await findings(new) == []


@pytest.mark.parametrize(("form", "whose"), [(FORM + 1, "a newer svc"), (FORM - 1, "an older svc")])
async def test_a_log_of_another_form_is_refused_and_left_alone(form: int, whose: str, worked: Worked) -> None:
    """In a sentence that says what to do, by the server and by what only reads."""
    with closing(sqlite3.connect(worked.var / "events.db")) as db:
        db.execute(f"PRAGMA user_version = {form}")
        with pytest.raises(StoreUnavailable, match=whose):
            async with household(worked.var):
                pass
        with pytest.raises(StoreUnavailable, match=whose):
            open_log(worked.var)
        assert db.execute("PRAGMA user_version").fetchone() == (form,)
