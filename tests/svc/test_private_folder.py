"""The folder is its owner's alone: an open one is closed or refused, no umask opens it, and who holds it is said.
Commands reach a running server by the socket in it; the internal secret goes nowhere else."""

import fcntl
import os
import signal
import socket
import socketserver
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import msgspec
import pytest
import trio
from structlog.testing import capture_logs

from aggregates.event import Mendable
from svc.cli.access import NotReached, reach
from svc.log.folder import LOCK, RUNNING, SOCKET, FolderInUse, Running, held, internal_secret, note_running, socket_path
from svc.service import open_service
from svc.serving import hang_up_all, initialize, listening
from svc.settings import Settings
from tests.support.otlp import claude, logs
from tests.support.process import Program, Server, init, serving, svc

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


def test_a_linked_folder_is_judged_by_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real").chmod(0o750)
    (tmp_path / "var").symlink_to(tmp_path / "real")
    with held(tmp_path / "var"):
        assert open_to_others(tmp_path / "real") == {}


@pytest.mark.parametrize(
    ("left", "patched", "said"),
    [
        (["program"], (), "is not from svc"),
        ([], (os, "geteuid", lambda: os.getuid() + 1), "run svc as that user, or name a folder of your own"),
        ([], (Path, "chmod", lambda _path, _mode: None), "its file system keeps no modes"),
    ],
    ids=["other things in it", "of somebody else", "a file system without modes, as vfat"],
)
def test_an_open_folder_that_cannot_be_ours_is_refused_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: list[str], patched: tuple[Any, ...], said: str
) -> None:
    """Whoever mistypes the folder finds their programs and pages as they were."""
    for path in (tmp_path, *(tmp_path / name for name in left)):
        path.mkdir(exist_ok=True)
        path.chmod(0o755)
    if patched:
        monkeypatch.setattr(*patched)
    with pytest.raises(Mendable, match=said), held(tmp_path):
        pass
    assert modes(tmp_path) == dict.fromkeys([".", *left], 0o755)


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


STATUS = "/v1/admin/control/status"


class Reusing(socketserver.TCPServer):
    allow_reuse_address = True


@contextmanager
def rogue(address: str) -> Iterator[list[bytes]]:
    """Somebody who listens where a server did; what they were sent."""
    heard: list[bytes] = []

    class Answer(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            heard.append(self.request.recv(65_536))
            self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    host, port = address.removeprefix("http://").split(":")
    with Reusing((host, int(port)), Answer) as listener:
        Thread(target=listener.serve_forever).start()
        yield heard
        listener.shutdown()


@contextmanager
def locked(var: Path) -> Iterator[None]:
    """As another command holds a folder, or a server that is about to start."""
    with (var / LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


@pytest.mark.process
def test_who_listens_at_the_port_of_a_killed_server_is_told_nothing(tmp_path: Path) -> None:
    """What the server noted of itself outlives kill -9; so does its socket, at which nobody answers."""
    var = tmp_path / "var"
    init(var)
    with serving(var) as server:
        assert stat.S_IMODE((var / SOCKET).stat().st_mode) == 0o600
        address = server.api_url
        server.kill()
    noted = msgspec.json.decode((var / RUNNING).read_bytes(), type=Running)
    assert (noted.api, (var / SOCKET).is_socket()) == (address, True)
    with rogue(address) as heard, locked(var):
        done = svc("status", "--var", var, check=False)
        assert (done.returncode, "the running server does not answer" in done.stderr) == (1, True)
    assert heard == []
    with serving(var) as server:  # in spite of what was left
        assert '"state":"serving"' in svc("status", "--var", var, "--json").stdout
        server.process.send_signal(signal.SIGTERM)
        server.process.wait()
    assert not (var / SOCKET).exists()


@asynccontextmanager
async def served(var: Path) -> AsyncIterator[Settings]:
    settings = Settings(var=str(var), intake="127.0.0.1:0", api="127.0.0.1:0", catalog_refresh=False)
    with held(var):
        async with open_service(settings) as service:
            await initialize(service, var)
            async with listening(settings, service):
                yield settings


@pytest.mark.parametrize("name", ["var", "v" * 200])
async def test_a_command_speaks_by_the_socket_however_long_its_path(name: str, tmp_path: Path) -> None:
    """An address holds about a hundred bytes."""
    async with served(tmp_path / name) as settings:

        def asked() -> Any:
            with reach(settings) as access:
                return access.ask("GET", STATUS)

        assert (await trio.to_thread.run_sync(asked))["state"] == "serving"
        assert stat.S_ISSOCK((tmp_path / name / SOCKET).stat().st_mode)
    assert not (tmp_path / name / SOCKET).exists()


async def test_the_socket_asks_for_the_secret_like_the_api(tmp_path: Path) -> None:
    """It is the same application: whoever gets into the folder can read the secret, and nobody else gets in."""
    async with served(tmp_path / "var") as settings:
        with socket_path(settings.var_path) as path:
            transport = httpx.AsyncHTTPTransport(uds=path)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                secret = internal_secret(settings.var_path)
                asked = [{}, {"X-Internal-Secret": secret[:-1]}, {"X-Internal-Secret": secret}]
                found = [(await client.get(STATUS, headers=headers)).status_code for headers in asked]
    assert found == [401, 401, 200]


def test_no_secret_goes_into_a_folder_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose socket would listen, next to a link to our secret."""
    (tmp_path / "events.db").touch()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(Mendable, match="belongs to another user"), reach(Settings(var=str(tmp_path))):
        pass


def test_a_folder_that_serves_nothing_is_not_reached(tmp_path: Path) -> None:
    (tmp_path / "events.db").touch(0o600)
    with held(tmp_path), pytest.raises(NotReached, match="but serves nothing"), reach(Settings(var=str(tmp_path))):
        pass


def test_a_stop_ends_what_came_by_the_socket_and_nothing_else(tmp_path: Path) -> None:
    """A command that takes no data would hold the server up for ever: no timeout of the kernel ends it."""
    ends: list[tuple[socket.socket, socket.socket]] = []
    listeners = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    for number, listener in enumerate(listeners):
        listener.bind(str(tmp_path / str(number)))
        listener.listen()
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(tmp_path / str(number)))
        client.setblocking(False)
        ends.append((client, listener.accept()[0]))
    before = len(os.listdir("/dev/fd"))
    hang_up_all(listeners[0].getsockname())
    assert len(os.listdir("/dev/fd")) == before
    assert ends[0][0].recv(1) == b""
    with pytest.raises(BlockingIOError):
        ends[1][0].recv(1)
    for each in (*listeners, *ends[0], *ends[1]):
        each.close()
