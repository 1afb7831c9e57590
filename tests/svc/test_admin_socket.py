"""Commands reach a running server by the socket in its folder; the internal secret goes nowhere else."""

import fcntl
import os
import signal
import socket
import socketserver
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Thread

import httpx
import msgspec
import pytest

from svc.cli.access import NotReached, reach
from svc.log.folder import LOCK, RUNNING, SOCKET, FolderUnusable, Running, held, internal_secret, socket_path
from svc.service import open_service
from svc.serving import hang_up_all, initialize, listening
from svc.settings import Settings
from tests.support.process import init, serving, svc

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
@pytest.mark.one_folder("looks at the ports of one process")
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
    async with served(tmp_path / name) as settings, reach(settings) as access:
        answer = await access.admin("GET", STATUS)
        assert answer.json()["state"] == "serving"
        assert answer.request.url.host == "localhost"
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


async def test_no_secret_goes_into_a_folder_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose socket would listen, next to a link to our secret."""
    (tmp_path / "events.db").touch()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(FolderUnusable, match="belongs to another user"):
        async with reach(Settings(var=str(tmp_path))):
            pass


async def test_a_folder_that_a_command_holds_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "events.db").touch(0o600)
    with held(tmp_path), pytest.raises(NotReached, match="but serves nothing"):
        async with reach(Settings(var=str(tmp_path))):
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
    hang_up_all(listeners[0].getsockname())
    assert ends[0][0].recv(1) == b""
    with pytest.raises(BlockingIOError):
        ends[1][0].recv(1)
    for each in (*listeners, *ends[0], *ends[1]):
        each.close()
