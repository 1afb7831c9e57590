"""The commands that keep data: what they say and do on the real program; and backups that the server makes."""

import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner

from aggregates.event import Mendable
from aggregates.reading.verdicts import BOOLEANS
from svc import __main__ as entry, cli
from svc.cli import main, sentences
from svc.cli.serving import forget_
from svc.log.sqlite import EVENTS_FILE
from svc.maintenance.backup import ScheduledBackups
from svc.settings import Settings, SettingsError, load_settings
from tests.support.basics import FixedClock
from tests.support.driver import until
from tests.support.household import Worked
from tests.support.process import Server, init, serving, svc


def test_forgetting_names_the_person_before_and_after(worked: Worked) -> None:
    developer_id = str(worked.other.developer_id)
    for arguments, typed, told in (
        (["Second"], "n\n", (1, f"Destroy all texts of Second ({developer_id}) for good? [y/N]")),
        ([developer_id, "--yes"], None, (0, f"the texts of Second ({developer_id}) are gone")),
    ):
        done = CliRunner().invoke(forget_, [*arguments, "--var", str(worked.var)], input=typed)
        assert (done.exit_code, told[1] in done.output) == (told[0], True), done.output


@pytest.mark.parametrize(
    ("command", "arguments", "place", "said"),
    [
        (main, ["backup", "B"], "svc.maintenance.backup.back_up", "nothing was backed up"),
        (main, ["verify"], "svc.maintenance.verify.verify", "nothing was changed"),
        (main, ["replay", "--without-keys"], "svc.cli.replaying._replay", "Under a running server the build goes on"),
        (main, ["import", "claude-code", "."], "svc.cli.importing.reach", "nothing counts twice"),
    ],
)
def test_whoever_interrupts_is_told_what_holds(
    command: click.Command, arguments: list[str], place: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / EVENTS_FILE).touch()
    monkeypatch.setattr(place, interrupted)
    done = CliRunner().invoke(command, [*arguments, "--var", "var"])
    assert (done.exit_code, said in done.output) == (1, True), done.output


def test_what_this_user_may_not_do_is_said_with_whose_it_is(tmp_path: Path) -> None:
    """A file that cannot be made has no owner: its folder has."""

    with pytest.raises(click.ClickException) as told, sentences():
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "ro" / "x.tar.draft"))
    assert told.value.message.endswith(
        f"Permission denied; {tmp_path} belongs to {tmp_path.owner()}: run this as that user, or name another place"
    )


COMMANDS = (
    "backup B.tar,forget Owner --yes,export Owner E,verify,status,serve,replay,replay --check,retention,"
    "catalog list,key list"
)


@pytest.mark.parametrize("command", COMMANDS.split(","))
def test_every_command_names_the_file_and_leads_to_a_backup(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback, nothing left, and no command that only names another one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "var").mkdir(0o700)
    log = Path("var") / EVENTS_FILE
    log.write_bytes(os.urandom(5_000))
    log.chmod(0o600)
    done = CliRunner().invoke(main, [*command.split(), "--var", "var"])
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)
    assert f"{log}: file is not a database" in done.output
    assert "svc restore" in done.output
    assert [each.name for each in tmp_path.iterdir()] == ["var"]


def test_a_start_on_damaged_pages_names_the_file_as_well(tmp_path: Path) -> None:
    init(tmp_path / "var")
    log = tmp_path / "var" / EVENTS_FILE
    pages = log.read_bytes()
    log.write_bytes(pages[:4096] + bytes(byte ^ 0x5A for byte in pages[4096:]))
    done = CliRunner().invoke(main, ["serve", "--var", str(tmp_path / "var"), "--intake", "127.0.0.1:0"])
    assert (done.exit_code, done.output.count(str(log))) == (1, 1)
    assert "svc restore" in done.output


def test_an_interrupt_while_modules_are_imported_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Ctrl-C right after the return key."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "main", interrupted)
    monkeypatch.setattr("sys.argv", ["svc", "grade"])
    with pytest.raises(SystemExit, match="Aborted!"):
        entry.main()


PLANTED = "heliotrope-4711"


def capture(server: Server, number: int) -> int:
    return server.capture(number, f"Please fix {PLANTED} in src/a", sessions=3).status_code


def json_of(*arguments: str | Path, check: bool = True) -> Any:
    return msgspec.json.decode(svc(*arguments, "--json", check=check).stdout)


@pytest.mark.process
def test_a_backup_under_load_restored_elsewhere_verifies_and_scores_the_same(tmp_path: Path) -> None:
    """Made while captures come in, as a tar file and as a folder; what it holds is what was there at one moment."""
    var, other = tmp_path / "var", tmp_path / "other"
    made = init(var)
    with serving(var, made["key"]) as server:
        with ThreadPoolExecutor(2) as pool:
            load = [pool.submit(capture, server, number) for number in range(1, 300)]
            load[60].result()
            backup = json_of("backup", tmp_path / "b.tar", "--var", var)
            assert {each.result() for each in load} == {201}
        assert 60 < backup["head"] < 700
        server.goals()
        json_of("backup", tmp_path / "folder", "--var", var)
        before = server.goals()
        assert server.stop() == 0
    assert json_of("restore", tmp_path / "b.tar", "--var", tmp_path / "early")["head"] == backup["head"]
    assert json_of("verify", "--var", tmp_path / "early")["clean"]
    (tmp_path / "folder" / ".DS_Store").write_bytes(b"left by a file manager")
    svc("restore", tmp_path / "folder", "--var", other)
    with serving(other, made["key"]) as server:
        assert server.goals() == before
        assert capture(server, 1) == 200
        assert server.stop() == 0
    events = json_of("verify", "--var", var)["events"]
    wanted = {"clean": True, "events": events, "position": events, "findings": [], "more": 0, "archive_files": 0}
    assert json_of("verify", "--var", other) | {"archive_files": 0} == wanted


@pytest.mark.process
def test_neither_a_backup_nor_a_folder_is_written_over(tmp_path: Path) -> None:
    var = tmp_path / "var"
    init(var)
    svc("backup", tmp_path / "b", "--var", var)
    for command, said in (("backup", "is there already"), ("restore", "is not empty")):
        again = svc(command, tmp_path / "b", "--var", var, check=False)
        assert (again.returncode, said in again.stderr) == (1, True)


@pytest.mark.process
def test_an_export_holds_everything_of_one_developer(tmp_path: Path) -> None:
    """Their events with their words, their conclusions as lines and as Parquet; the same numbers in both."""
    import duckdb

    var = tmp_path / "var"
    made = init(var)
    with serving(var, made["key"]) as server:
        assert {capture(server, number) for number in range(1, 8)} == {201}
        listed = {row["score_v3_sub_session_id"]: row for row in server.goals()}
        told = json_of("export", "Owner", tmp_path / "out", "--var", var)
        assert server.stop() == 0
    assert (told["sub_sessions"], told["prompts"]) == (3, 7)
    events, lines, goals = (
        [msgspec.json.decode(line) for line in (tmp_path / "out" / f"{name}.jsonl").read_bytes().splitlines()]
        for name in ("events", "prompts", "sub_sessions")
    )
    prompts = [each["prompt"] for each in events if each["topic"] == "prompt.captured"]
    assert prompts == [f"Please fix {PLANTED} in src/a {number}" for number in range(1, 8)]
    parquet = duckdb.sql(f"SELECT * FROM '{tmp_path}/out/prompts.parquet'")
    assert parquet is not None
    rows = [dict(zip(parquet.columns, row, strict=True)) for row in parquet.fetchall()]
    assert rows == lines
    for row in goals:
        one = listed.pop(row["score_v3_sub_session_id"])
        assert {name: row[name] for name in row if name in one} == {name: one[name] for name in one if name in row}
        assert {"unsure_count", "undecided_reason"} <= row.keys() & one.keys()
    assert not listed
    for row in (*lines, *goals):
        unsure = [name for name in BOOLEANS if row[f"{name}_applicability"] == "unsure"]
        assert (row["unsure_count"] or 0) == len(unsure)
        assert all((row[name] is None) == (row[f"{name}_applicability"] != "applies") for name in BOOLEANS)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    tables = [f"{name}.{kind}" for name in ("prompts", "requests", "sub_sessions") for kind in ("jsonl", "parquet")]
    assert names == ["events.jsonl", *tables]


HOUR_US = 3_600 * 1_000_000
NOON_US = 1_767_614_400 * 1_000_000


@pytest.fixture
def var(tmp_path: Path) -> Path:
    init(tmp_path / "var")
    return tmp_path / "var"


def scheduled(var: Path, folder: Path, clock: FixedClock | None = None) -> ScheduledBackups:
    settings = Settings(var=str(var), backup_folder=str(folder), backup_every=12, backup_keep=3)
    return ScheduledBackups(settings, clock or FixedClock(NOON_US))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_one_is_made_when_it_is_due_and_the_oldest_go(var: Path, tmp_path: Path) -> None:
    """Every twelve hours, three stay; a new process goes by what lies there, and leaves other files alone."""
    clock, folder = FixedClock(NOON_US), tmp_path / "kept"
    folder.mkdir(mode=0o700)
    (folder / "svc-mine.tar").write_text("mine")
    made = []
    for _ in range(8):
        backups = scheduled(var, folder, clock)
        made.append(await backups.step())
        clock.advance(6 * HOUR_US)
    assert [path is not None for path in made] == [True, False] * 4
    _, *newest = (path.name for path in made if path is not None)
    assert names(folder) == [*newest, "svc-mine.tar"]
    assert backups.age_seconds() == 12 * 3_600
    assert backups.shown().kept == 3


@pytest.mark.parametrize(("mode", "is_link"), [(0o770, False), (0o707, False), (0o1777, False), (0o700, True)])
async def test_a_folder_that_others_may_write_gets_none(var: Path, tmp_path: Path, mode: int, is_link: bool) -> None:
    """They could put a link in the place of a backup, or take one away."""
    folder = tmp_path / "kept"
    folder.mkdir()
    folder.chmod(mode)
    named = tmp_path / "link"
    named.symlink_to(folder)
    with pytest.raises(Mendable, match="link" if is_link else "chmod go-w"):
        await scheduled(var, named if is_link else folder).step()
    assert names(folder) == []


async def test_a_clock_that_was_set_back_makes_one_at_once(var: Path, tmp_path: Path) -> None:
    """One of the future says nothing of the present."""
    clock, folder = FixedClock(NOON_US), tmp_path / "kept"
    await scheduled(var, folder, clock).step()
    clock.advance(-48 * HOUR_US)
    assert await scheduled(var, folder, clock).step() is not None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"backup_every": 24, "backup_folder": "var/kept"}, "outside of it"),
        ({"backup_every": 24, "backup_keep": 0}, "BACKUP_KEEP|backup_keep"),
    ],
)
def test_settings_that_would_lose_backups_are_refused(given: dict[str, object], why: str) -> None:
    """Within the data folder they would be lost with it, and be copied into each other."""
    with pytest.raises(SettingsError, match=why):
        load_settings(given, {})


def age_seconds(server: Server) -> float:
    """Of the newest backup, as the metrics tell it."""
    lines = server.api.get("/metrics").text.splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("svc_backup_age_seconds ")))


@pytest.mark.process
def test_a_server_makes_one_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status and metrics tell its age."""
    monkeypatch.chdir(tmp_path)
    key = init(tmp_path / "var")["key"]
    (tmp_path / "svc.toml").write_text("backup_every = 24\n")
    with serving(tmp_path / "var", key) as server:
        assert until(lambda: age_seconds(server) < 120), server.said()
    # The next start finds it overdue.
    (first,) = (tmp_path / "var-backups").iterdir()
    os.replace(first, first.with_name("svc-20260101T000000Z.tar"))
    with serving(tmp_path / "var", key) as server:
        assert until(lambda: age_seconds(server) < 120)
        status = json.loads(svc("status", "--var", tmp_path / "var", "--json").stdout)["backups"]
        assert (status["kept"], status["overdue"], status["failures"]) == (2, False, 0)
