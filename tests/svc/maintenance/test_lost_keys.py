"""A key file that went is damage: it is named, nothing is built or made in its place, and putting it back mends all."""

import shutil
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
import structlog
import trio
from click.testing import CliRunner

from aggregates.decide import ForgetDeveloper
from aggregates.event import Unavailable
from svc.cli import main
from svc.log.opening import open_log
from svc.log.sqlite import KEYS_FOLDER
from svc.log.vault import MADE_FILE, FileKeys, KeyMissing
from svc.maintenance.backup import back_up, restore
from svc.maintenance.verify import Finding, LostKey, lost_keys, settle, tell, verify
from svc.process import Place
from svc.service import open_service
from svc.settings import Settings
from tests.support.basics import FixedClock
from tests.support.household import Household, Worked, household, no_progress, tables_of

ANEW = "build the tables anew"


class Folder:
    """A stopped folder with the work of two, of whom the owner's key went."""

    def __init__(self, worked: Worked) -> None:
        self.var, self.owner, _ = worked
        self.key = self.var / KEYS_FOLDER / f"{self.owner.developer_id}.key"
        self.aside = self.var.parent / "aside.key"
        shutil.move(self.key, self.aside)

    def lost(self) -> list[LostKey]:
        store, vault = open_log(self.var)
        with closing(store):
            return lost_keys(vault.keys, store)

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
        order = ForgetDeveloper(organization_id=house.owner.organization_id, developer_id=house.owner.developer_id)
        await house.service.send(order)
        (order_fact,) = [each.event for each in house.service.store.read_topics(["forget.ordered"])]
        house.service.vault.destroy(order_fact.developer_id)  # type: ignore[attr-defined]
    store, vault = open_log(var)
    with closing(store):
        assert lost_keys(vault.keys, store) == []
        (var / KEYS_FOLDER / MADE_FILE).unlink()
        settle(vault.keys, store)
        assert lost_keys(vault.keys, store) == []


async def test_a_restored_folder_knows_again_whose_keys_there_are(folder: Folder, tmp_path: Path) -> None:
    """A backup brings keys and no list: one that is missing in it is missed at once."""
    back_up(folder.var, tmp_path / "b", no_progress)
    (tmp_path / "new").mkdir()
    restore(tmp_path / "b", tmp_path / "new", no_progress)
    store, vault = open_log(tmp_path / "new")
    with closing(store):
        assert [each.developer_id for each in lost_keys(vault.keys, store)] == [folder.owner.developer_id]


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
