"""A log that is no database: every command says so in one sentence, names the file, and says what to do."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from svc import __main__ as entry
from svc import cli
from svc.cli import main
from svc.log.sqlite import EVENTS_FILE
from tests.support.process import init

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
