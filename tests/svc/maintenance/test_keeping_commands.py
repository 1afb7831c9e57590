"""What the commands that keep data say: whom they mean, and what to do next, also where a log is no database."""

import errno
import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from svc import __main__ as entry
from svc import cli
from svc.cli import main, sentences
from svc.cli.serving import forget_
from svc.log.sqlite import EVENTS_FILE
from tests.support.household import Worked
from tests.support.process import init


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
        (main, ["import", "claude-code", "."], "svc.cli.importing._import", "nothing counts twice"),
    ],
)
def test_whoever_interrupts_is_told_what_holds(
    command: click.Command,
    arguments: list[str],
    place: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
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
