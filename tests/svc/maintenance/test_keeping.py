"""Backups, upgrades, what `svc verify` finds, work that is killed; and a key file that went: it is named, nothing is
made in its place, and putting it back mends all."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest
import structlog
import trio
from click.testing import CliRunner
from structlog.testing import capture_logs

from aggregates.event import Unavailable
from aggregates.people.acts import ChangeOrganization
from aggregates.retained import ForgetOrdered
from svc.cli import main
from svc.log.opening import open_log
from svc.log.sqlite import FORM, KEYS_FOLDER
from svc.log.store import StoreUnavailable
from svc.log.vault import MADE_FILE, FileKeys, KeyMissing
from svc.maintenance.backup import KeptFile, back_up, restore
from svc.maintenance.texts import open_orders
from svc.maintenance.verify import Finding, LostKey, lost_keys, settle, tell, verify
from svc.process import Place
from svc.service import open_service
from svc.settings import Settings
from tests.support.basics import FixedClock
from tests.support.household import PLANTED, Household, Worked, holding, household, no_progress, rebuilt, tables_of
from tests.support.killed import DAY_US
from tests.support.process import ROOT, environment


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


SECONDS = 60


def events(var: Path) -> str:
    """The digest of all that stands in a log."""
    with closing(sqlite3.connect(var / "events.db")) as db:
        return sha256(
            repr(list(db.execute("SELECT topic, state FROM stored_events ORDER BY rowid"))).encode()
        ).hexdigest()


def killed(var: Path, work: str) -> list[Path]:
    """What is left of the folder where the work dies before its first step, its second, and so on."""
    command = [sys.executable, "-m", "tests.support.killed", str(var), work]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return sorted((path for path in var.parent.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))


@pytest.mark.process
async def test_forgetting_that_is_killed_anywhere_is_finished_at_the_next_start(worked: Worked, tmp_path: Path) -> None:
    before, developer_id = tables_of(worked.var), worked.owner.developer_id
    key = (worked.var / "keys" / f"{developer_id}.key").read_bytes()
    copies, seen = killed(worked.var, str(developer_id)), set[str]()
    assert len(copies) > 7
    for number, copy in enumerate(copies, 1):
        async with household(copy) as house:
            with trio.fail_after(SECONDS):
                while open_orders(house.service.store):
                    await house.service.journal.wait_beyond(house.service.journal.head)
            await house.level()
            assert house.tables() == before, number
        if events(copy) not in seen:  # most end with the same log
            assert rebuilt(copy, tmp_path / f"again-{number}.db") == before, number
        seen.add(events(copy))
        # Before the order stood in the log, nothing was to be done.
        assert (holding(copy, PLANTED.encode(), key) == []) == (number > 1), number


@pytest.mark.process
async def test_a_retention_that_is_killed_anywhere_goes_on_the_next_time(worked: Worked, tmp_path: Path) -> None:
    async with household(worked.var) as house:
        organization_id = house.owner.organization_id
        await house.service.administer(ChangeOrganization(organization_id=organization_id, retention_days_text=1))
        before = house.tables()
    copies, seen = killed(worked.var, "retention"), set[str]()
    assert len(copies) > 1
    for number, copy in enumerate(copies, 1):
        async with household(copy) as house:
            house.clock.advance(2 * DAY_US)
            await house.service.retention.apply()
            await house.level()
            assert house.tables() == before, number
            told = house.service.store.read_topics(["standing.sealed"])
            assert len(told) == 2, number
        if events(copy) not in seen:
            assert rebuilt(copy, tmp_path / f"again-{number}.db") == before, number
        seen.add(events(copy))


ANEW = "build the tables anew"


class Folder:
    """A stopped folder with the work of two, of whom the owner's key went."""

    def __init__(self, worked: Worked) -> None:
        self.var, self.owner, _ = worked
        self.key = self.var / KEYS_FOLDER / f"{self.owner.developer_id}.key"
        self.aside = self.var.parent / "aside.key"
        shutil.move(self.key, self.aside)

    def lost(self) -> list[LostKey]:
        with closing(open_log(self.var)) as store:
            return lost_keys(store)

    async def findings(self) -> list[Finding]:
        return (await verify(Place(self.var), no_progress)).findings


async def said(folder: Folder, command: str) -> tuple[int, str]:
    """The exit code and the words of a command, which runs an event loop of its own."""
    typed = [*command.split(), "--var", str(folder.var)]
    done = await trio.to_thread.run_sync(CliRunner().invoke, main, typed)
    return done.exit_code, done.output


@pytest.fixture
def folder(worked: Worked) -> Folder:
    return Folder(worked)


async def test_verify_and_status_name_whose_key_is_missing_and_warn_of_a_replay(folder: Folder) -> None:
    found = await folder.findings()
    (of_key,) = [each for each in found if each.part == "keys"]
    _, shown = await said(folder, "status")
    assert f"missing keys: Owner ({folder.owner.developer_id})" in shown
    assert "svc verify" in shown
    assert of_key.where == f"{KEYS_FOLDER}/{folder.owner.developer_id}.key"
    assert of_key.what.startswith(f"the key of Owner ({folder.owner.developer_id}) is missing; ")
    assert "restore" in of_key.do
    assert "no `svc replay` before" in of_key.do
    assert [each for each in found if ANEW in each.do] == []
    assert len([each for each in found if each.part == "views"]) > 0
    code, output = await said(folder, "replay --without-keys")
    assert code == 0, output
    assert [each.part for each in await folder.findings()] == ["keys"], "also of tables that were built without it"


async def test_another_key_under_the_same_name_is_found(folder: Folder) -> None:
    folder.key.write_bytes(bytes(32))
    (of_key,) = [each for each in await folder.findings() if each.part == "keys"]
    assert "not the one that sealed their texts" in of_key.what


async def test_a_replay_is_refused_and_the_file_put_back_mends_all(folder: Folder) -> None:
    """Nothing was built: the tables are those there were."""
    before = tables_of(folder.var)
    code, output = await said(folder, "replay")
    assert code == 1
    assert all(part in output for part in ("nothing was built", "Owner", str(folder.key), "--without-keys"))
    assert tables_of(folder.var) == before
    shutil.move(folder.aside, folder.key)
    assert await folder.findings() == []


@pytest.mark.parametrize("listed", [True, False])
async def test_a_start_says_so_and_no_other_key_is_made(folder: Folder, listed: bool) -> None:
    """Also in a folder of an older svc, or a restored one, which has no list; others are captured as ever."""
    if not listed:
        (folder.var / KEYS_FOLDER / MADE_FILE).unlink()
    settings = Settings(var=str(folder.var), catalog_refresh=False)
    async with open_service(settings) as service:
        house = Household(folder.var, service, folder.owner, folder.owner, FixedClock(service.now_us()))
        with structlog.testing.capture_logs() as logs:
            tell(folder.lost())
            with pytest.raises(Unavailable, match="key cannot be used"):
                await house.prompt("Please fix it in src/a.py")
            with pytest.raises(Unavailable):
                service.digester(folder.owner)
        assert [str(folder.key) in str(line) and line["log_level"] == "error" for line in logs] == [True] * 3
        assert not folder.key.exists()
        shutil.move(folder.aside, folder.key)
        await house.prompt("Please fix it in src/a.py")


async def test_where_no_backup_has_the_key_forgetting_is_the_way_out(folder: Folder) -> None:
    code, output = await said(folder, "forget Owner --yes")
    assert code == 0, output
    assert folder.lost() == []
    assert await folder.findings() == []


async def test_who_was_forgotten_is_not_missed(worked: Worked) -> None:
    """With the list, and with one that is made from the log."""
    var = worked.var
    async with household(var) as house:
        order = ForgetOrdered(organization_id=house.owner.organization_id, developer_id=house.owner.developer_id)
        await house.service.send(order)
        house.service.store.vault.destroy(house.owner.developer_id)
    with closing(open_log(var)) as store:
        assert lost_keys(store) == []
        (var / KEYS_FOLDER / MADE_FILE).unlink()
        settle(store)
        assert lost_keys(store) == []


async def test_a_restored_folder_knows_again_whose_keys_there_are(folder: Folder, tmp_path: Path) -> None:
    """A backup brings keys and no list: one that is missing in it is missed at once."""
    back_up(folder.var, tmp_path / "b", no_progress)
    (tmp_path / "new").mkdir()
    restore(tmp_path / "b", tmp_path / "new", no_progress)
    with closing(open_log(tmp_path / "new")) as store:
        assert [each.developer_id for each in lost_keys(store)] == [folder.owner.developer_id]


def test_a_listed_key_is_not_made_again_unless_it_was_destroyed(tmp_path: Path) -> None:
    keys, who = FileKeys(tmp_path), uuid4()
    assert keys.listed() is None
    keys.list_made([])
    keys.keep(who, bytes(32))
    assert keys.listed() == frozenset({who})
    keys.path_of(who).unlink()
    with pytest.raises(KeyMissing, match=str(who)):
        keys.keep(who, bytes(32))
    keys.destroy(who)
    assert keys.keep(who, bytes(32)) == bytes(32)
