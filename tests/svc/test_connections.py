"""Many connections: they are idle, and everybody else is served all the same."""

import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from structlog.testing import capture_logs

from svc.serving import FILES_MIN, raise_file_limit
from tests.support.process import Program, beside, init, serving

IDLE = 2_000


@contextmanager
def idle(url: str, count: int) -> Iterator[None]:
    address = urlsplit(url)
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(socket.create_connection((address.hostname, address.port), timeout=10))
        yield


@pytest.mark.process
@pytest.mark.one_folder("fills the connections of one process")
def test_newcomers_are_answered_beside_two_thousand_idle_connections(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES_MIN:
        pytest.skip("this machine lets nobody open as many files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        var = tmp_path / "var"
        made = init(var)
        with serving(var, made["key"]) as server, idle(server.intake_url, IDLE):
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
    """Its listener begins again at the same address; the other one does not notice."""
    var = tmp_path / "var"
    made = init(var)
    with serving(var, made["key"]) as server:
        address = urlsplit(server.intake_url)
        for number in range(3):
            with socket.create_connection((address.hostname, address.port), timeout=10) as client:
                client.sendall(BREAKING)
                while client.recv(65_536):
                    pass
            with httpx.Client(base_url=server.intake_url, headers=server.intake.headers) as newcomer:
                body = {"prompt_text": "Fix the crash", "tool_session_id": f"s{number}"}
                assert newcomer.post("/v1/prompts", json=body).status_code == 201
        assert server.api.get("/health").status_code == 200
        assert server.api.post("/mcp", json={}).status_code == 404, "the setting is off by default"
        assert server.stop() == 0
    assert "begins again" in (tmp_path / "var.log").read_text()


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
