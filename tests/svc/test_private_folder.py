"""The folder is its owner's alone: an open one is closed or refused, no umask opens it, and who holds it is said."""

import os
import stat
import sys
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from svc.log.folder import LOCK, RUNNING, FolderInUse, FolderUnusable, Running, held, note_running
from tests.support.otlp import claude, logs
from tests.support.process import Program, Server, svc

ARCHIVING = """
import sys
import svc.archive.lane as lane
lane.ARCHIVE_INTERVAL_SECONDS = 0.1
from svc.__main__ import main
main()
"""
"""The program, but for the five minutes until it archives."""


def modes(folder: Path) -> dict[str, int]:
    """Of a folder and of all that is in it."""
    paths = [folder, *folder.rglob("*")]
    return {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in paths}


def open_to_others(folder: Path) -> dict[str, str]:
    return {name: oct(mode) for name, mode in modes(folder).items() if mode & 0o077}


def worked(server: Server) -> None:
    body = logs(claude("user_prompt", {"prompt": "Fix src/a.py"}), claude("api_request", {"input_tokens": 3}))
    assert server.intake.post("/v1/logs", json=body).status_code == 200
    assert server.api.get("/v1/score_v3/realtime/sub-sessions").status_code == 200


@pytest.mark.process
def test_whatever_the_umask_what_is_written_is_the_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Captures, archive, replay, backups, exports, a restored folder, an agent's settings and a hook's outbox."""
    home, var, kept = (tmp_path / name for name in ("home", "var", "kept"))
    monkeypatch.setenv("HOME", str(home))
    home.mkdir(mode=0o700)
    kept.mkdir(mode=0o700)
    key = svc("init", "--var", var, "--json").stdout.partition('"key":"')[2].partition('"')[0]
    archiving = Program((sys.executable, "-c", ARCHIVING))
    with archiving.serving(var, key=key, around=("sh", "-c", 'umask 0; exec "$@"', "sh")) as server:
        worked(server)
        svc("connect", "claude-code", "--url", server.intake_url, "--key", key)
        for target in ("b", "b.tar"):
            svc("backup", kept / target, "--var", var)
        svc("replay", "--var", var)
        svc("export", "Owner", kept / "owner", "--var", var)
        while not list(var.rglob("*.parquet")):
            server.api.get("/health")
        while_it_runs = open_to_others(var)
        names = set(modes(var))
        assert server.stop() == 0
    svc("hook", "claude-code", stdin='{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Fix it"}')
    svc("restore", kept / "b.tar", "--var", kept / "var")
    assert {"events.db", "events.db-wal", "archive.db", "admin.sock", "running.json", "lock", "keys"} <= names
    assert any("outbox/" in name for name in modes(home))
    assert [while_it_runs, *map(open_to_others, (var, kept, home))] == [{}, {}, {}, {}]


def test_an_open_folder_of_ours_is_closed_and_that_is_said(tmp_path: Path) -> None:
    """With all that is in it, once; links stay what they are, and so does what they lead to."""
    var, outside = tmp_path / "var", tmp_path / "outside"
    (var / "keys").mkdir(parents=True, mode=0o755)
    for path in (outside, var / "lock", var / "events.db", var / "keys" / "a.key"):
        path.touch(0o644)
        path.chmod(0o644)
    (var / "link").symlink_to(outside)
    var.chmod(0o755)
    with capture_logs() as told:
        for _ in range(2):
            with held(var):
                pass
    assert [(line["log_level"], line["folder"], line["mode"]) for line in told] == [("warning", str(var), "0o755")]
    assert {mode for name, mode in modes(var).items() if name != "link"} == {0o700, 0o600}
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


def test_an_open_file_in_a_closed_folder_is_closed(tmp_path: Path) -> None:
    for name in ("lock", "events.db"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o644)
    with held(tmp_path):
        assert open_to_others(tmp_path) == {}


def test_an_open_folder_with_other_things_in_it_is_refused_as_it_is(tmp_path: Path) -> None:
    """Whoever mistypes the folder finds their programs and pages as they were."""
    (tmp_path / "program").touch()
    (tmp_path / "program").chmod(0o755)
    tmp_path.chmod(0o755)
    with pytest.raises(FolderUnusable, match="is not from svc"), held(tmp_path):
        pass
    assert modes(tmp_path) == {".": 0o755, "program": 0o755}


def test_a_linked_folder_is_judged_by_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real").chmod(0o750)
    (tmp_path / "var").symlink_to(tmp_path / "real")
    with held(tmp_path / "var"):
        assert open_to_others(tmp_path / "real") == {}


def test_a_folder_of_somebody_else_is_refused_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(FolderUnusable, match="run svc as that user, or name a folder of your own"), held(tmp_path):
        pass
    assert modes(tmp_path) == {".": 0o777}


def test_a_file_system_without_modes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with vfat, where everything is everybody's: chmod does nothing there."""
    tmp_path.chmod(0o755)
    monkeypatch.setattr(Path, "chmod", lambda _path, _mode: None)
    with pytest.raises(FolderUnusable, match="its file system keeps no modes"), held(tmp_path):
        pass
    assert modes(tmp_path) == {".": 0o755}


def test_a_lock_that_was_taken_away_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore that was refused removes its lock: who opened that one just before holds nothing."""
    (tmp_path / LOCK).touch(0o600)
    real = Path.open

    def too_late(path: Path, mode: str) -> object:
        opened = real(path, mode)
        path.unlink()
        return opened

    monkeypatch.setattr(Path, "open", too_late)
    with pytest.raises(FolderInUse, match="try again"), held(tmp_path):
        pass


def test_a_folder_that_a_server_holds_names_the_server(tmp_path: Path) -> None:
    """Process and addresses: with several folders nobody knows which one it is."""
    with held(tmp_path):
        note_running(tmp_path, "http://127.0.0.1:4318", "http://127.0.0.1:8318")
        said = rf"process id {os.getpid()} \(intake=http://127.0.0.1:4318 api=http://127.0.0.1:8318\): stop it first"
        with pytest.raises(FolderInUse, match=said), held(tmp_path):
            pass


def test_a_folder_that_a_command_holds_is_waited_for(tmp_path: Path) -> None:
    for _ in range(2):
        with held(tmp_path), pytest.raises(FolderInUse, match="another svc process: wait until"), held(tmp_path):
            pass
        (tmp_path / RUNNING).write_bytes(msgspec.json.encode(Running(2**22 + 1, "http://a", "http://b")))
