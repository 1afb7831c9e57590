"""Many connections, and frames of HTTP/2 that hold a bare port up, through the shipped proxy files: everybody else is
served all the same."""

import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from structlog.testing import capture_logs

from svc.serving import FILES_MIN, raise_file_limit
from tests.support.driver import until
from tests.support.listening import self_signed
from tests.support.postgres import free_port
from tests.support.process import ROOT, Program, Server, beside, init, serving

IDLE = 2_000


@contextmanager
def idle(url: str, count: int) -> Iterator[None]:
    address = urlsplit(url)
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(socket.create_connection((address.hostname, address.port), timeout=10))
        yield


@pytest.mark.process
def test_newcomers_are_answered_beside_two_thousand_idle_connections(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES_MIN:
        pytest.skip("this machine lets nobody open as many files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        key = init(tmp_path / "var")["key"]
        with serving(tmp_path / "var", key) as server, idle(server.intake_url, IDLE):
            for url in (server.intake_url, server.api_url):
                assert httpx.get(f"{url}/health", timeout=10).status_code == 200
            assert server.capture(1).status_code == 201
            assert server.stop() == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


BREAKING = b"GET /health HTTP/1.1\r\nHost: svc\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\n\r\n"
"""Settings whose base64 breaks off."""


@pytest.mark.process
def test_a_connection_that_breaks_hypercorn_does_not_stop_the_service(tmp_path: Path) -> None:
    """Its listener begins again, and cuts off whom it accepted just then; the other one does not notice."""
    key = init(tmp_path / "var")["key"]
    with serving(tmp_path / "var", key) as server:
        address, log = urlsplit(server.intake_url), tmp_path / "var.log"
        for number in range(3):
            with socket.create_connection((address.hostname, address.port), timeout=10) as client:
                client.sendall(BREAKING)
                while client.recv(65_536):
                    pass
            assert until(lambda n=number: log.read_text().count("begins again") > n, 30)  # type: ignore[misc]
            with httpx.Client(base_url=server.intake_url, headers=server.intake.headers) as newcomer:
                body = {"prompt_text": "Fix the crash", "tool_session_id": f"s{number}"}
                assert newcomer.post("/v1/prompts", json=body).status_code == 201
        assert server.api.get("/health").status_code == 200
        assert server.api.post("/mcp", json={}).status_code == 404, "the setting is off by default"
        assert server.stop() == 0


@pytest.mark.parametrize(("hard", "warnings"), [(FILES_MIN, 0), (FILES_MIN - 1, 1), (resource.RLIM_INFINITY, 0)])
def test_the_soft_limit_of_open_files_is_raised(monkeypatch: pytest.MonkeyPatch, hard: int, warnings: int) -> None:
    limits = [(256, hard)]
    monkeypatch.setattr(resource, "getrlimit", lambda _which: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _which, pair: limits.append(pair))
    with capture_logs() as lines:
        raise_file_limit()
    assert limits[-1] == (hard, hard)
    assert [line["log_level"] for line in lines] == ["warning"] * warnings
    assert all("keeps everybody else out" in line["event"] for line in lines)


def test_idle_connections_end_soon_where_few_files_may_be_open(tmp_path: Path) -> None:
    """As many as there may be of them keep everybody out until then."""
    init(tmp_path / "var")
    program = Program((sys.executable, "-m", "svc"))
    around = ("bash", "-c", 'ulimit -n 128; exec "$@"', "few")
    with program.serving(tmp_path / "var", around=around) as server, idle(server.intake_url, 150):
        assert httpx.get(f"{server.intake_url}/health", timeout=20).status_code == 200
    assert "keeps everybody else out" in beside(tmp_path / "var", "log").read_text()


@pytest.mark.parametrize(("host", "warnings"), [("127.0.0.1", 0), ("[::1]", 0), ("0.0.0.0", 1)])
def test_a_start_warns_where_other_machines_reach_it_without_tls(tmp_path: Path, host: str, warnings: int) -> None:
    init(tmp_path / "var")
    with Program().serving(tmp_path / "var", "--intake", f"{host}:0", "--api", f"{host}:0"):
        assert beside(tmp_path / "var", "log").read_text().count("deploy/Caddyfile") == warnings


FLOOD = """
import socket, ssl, sys, time
port, secure = int(sys.argv[1]), sys.argv[2] == "ssl"
frames = b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
frames += bytes([0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1]) * 5_000
context = ssl._create_unverified_context()
context.set_alpn_protocols(["h2", "http/1.1"])
print("begun", flush=True)
while True:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
            with context.wrap_socket(plain) if secure else plain as one:
                while True:
                    one.sendall(frames)
                    frames = frames[-65_000:]
    except OSError:
        time.sleep(0.01)
"""
SECONDS, PAUSE_SECONDS = 1.0, 0.02
USUAL_WAIT_MS = 50
Proxy = Callable[[Server, Path, int, int], tuple[list[str], dict[str, str], str]]


def _nginx(server: Server, folder: Path, port: int, private: int) -> tuple[list[str], dict[str, str], str]:
    certificate, key = self_signed(folder)
    shipped = (ROOT / "deploy" / "nginx.conf").read_text()
    for old, new in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("listen 8443 ssl", f"listen 127.0.0.1:{private} ssl"),
        ("/etc/letsencrypt/live/svc.example.org/fullchain.pem", str(certificate)),
        ("/etc/letsencrypt/live/svc.example.org/privkey.pem", str(key)),
        ("127.0.0.1:4318", f"127.0.0.1:{server.intake_port}"),
        ("127.0.0.1:8318", f"127.0.0.1:{server.api_port}"),
    ):
        assert old in shipped
        shipped = shipped.replace(old, new)
    (folder / "svc.conf").write_text(shipped)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    around = f"pid {folder}/pid; error_log {folder}/error.log; events {{}} http {{ access_log off; {temporary} "
    (folder / "nginx.conf").write_text(f"{around} include {folder}/svc.conf; }}")
    command = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    return command, {}, f"https://127.0.0.1:{port}"


def _caddy(server: Server, folder: Path, port: int, _private: int) -> tuple[list[str], dict[str, str], str]:
    shipped = (ROOT / "deploy" / "Caddyfile").read_text()
    assert shipped.startswith("{\n")
    (folder / "Caddyfile").write_text(shipped.replace("{\n", "{\n\tadmin off\n", 1))
    url = f"http://127.0.0.1:{port}"  # a certificate would be made, and put among those that this machine trusts
    told = {"SVC_HOST": url, "SVC_INTAKE": f"127.0.0.1:{server.intake_port}", "XDG_DATA_HOME": str(folder)}
    told |= {"XDG_CONFIG_HOME": str(folder), "HOME": str(folder)}
    return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"], told, url


@contextmanager
def _started(command: list[str], told: dict[str, str], url: str, log: Path) -> Iterator[httpx.Client]:
    with log.open("wb") as said, httpx.Client(base_url=url, verify=False, timeout=30) as client:
        process = subprocess.Popen(command, env={**os.environ, **told}, stdout=said, stderr=said)
        try:
            assert until(lambda: process.poll() is not None or _answers(client), 20), log.read_text()
            yield client
        finally:
            process.terminate()
            process.wait(10)


def _answers(client: httpx.Client) -> bool:
    with suppress(httpx.HTTPError):
        return client.get("/health").is_success
    return False


def _waits_ms(client: httpx.Client) -> list[float]:
    found, end = [], time.monotonic() + SECONDS
    while time.monotonic() < end:
        began = time.perf_counter()
        assert client.get("/health").status_code == 200
        found.append((time.perf_counter() - began) * 1_000)
        time.sleep(PAUSE_SECONDS)
    return found


def _processor_seconds(server: Server) -> float:
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.process
@pytest.mark.parametrize(("program", "proxy"), [("nginx", _nginx), ("caddy", _caddy)])
def test_a_flood_of_frames_holds_nobody_up(tmp_path: Path, program: str, proxy: Proxy) -> None:
    """Without a key, as fast as the machine gives them; beside it, who comes through the proxy and who is let by."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not on this machine: apt-get install {program}")
    key = init(tmp_path / "var")["key"]
    folder = tmp_path / program
    folder.mkdir()
    with serving(tmp_path / "var", key) as server:
        command, told, url = proxy(server, folder, free_port(), free_port())
        with _started(command, told, url, tmp_path / "proxy.log") as client:
            quiet = _waits_ms(client) + _waits_ms(server.intake)
            kind = "ssl" if url.startswith("https") else "plain"
            port = re.sub(r".*:", "", url)
            flood = subprocess.Popen([sys.executable, "-c", FLOOD, port, kind], stdout=subprocess.PIPE)
            try:
                assert flood.stdout is not None
                flood.stdout.readline()
                before = _processor_seconds(server)
                through, beside = _waits_ms(client), _waits_ms(server.intake)
                taken = _processor_seconds(server) - before
            finally:
                flood.kill()
                flood.communicate()
    assert taken < SECONDS, "the frames end at the proxy"
    usual_ms = statistics.median(quiet)
    assert statistics.median([*through, *beside]) <= max(USUAL_WAIT_MS, 3 * usual_ms)
