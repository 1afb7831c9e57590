"""Frames of HTTP/2 that hold a bare port up, sent through the shipped proxy files: nobody else notices."""

import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.support.driver import until
from tests.support.listening import self_signed
from tests.support.postgres import free_port
from tests.support.process import ROOT, Server, init, serving

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
