"""What `svc doctor` concludes; that it runs as a program stands in test_connect_process.py."""

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Barrier, Thread
from typing import Any, cast

import pytest
from click.testing import CliRunner

from aggregates.times import parse_instant
from svc.cli import connecting as doctoring
from svc.connect import connecting
from svc.connect.connecting import StoredConnection
from svc.connect.doctor import Finding, round_trip
from svc.connect.server import HEALTH_SECONDS, Answer, Capture, NotAnswered, Server

TOLERANCE_SECONDS = 10.0


class OneRecord:
    """A server that keeps the last record, and gives it back where it lies in the range that is asked for."""

    def __init__(self, ahead: float) -> None:
        self._ahead = ahead
        self._kept: dict[str, Any] = {}

    def send_log(self, body: dict[str, Any]) -> None:
        """Keep it."""
        self._kept = body["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]

    def logs(self, since: str) -> list[dict[str, Any]]:
        """As the real one: nothing lies in a range that begins after now."""
        at, now = int(self._kept["timeUnixNano"]) / 1e9, time.time() - self._ahead
        assert parse_instant(since) / 1e6 < now
        assert abs(at - now) < TOLERANCE_SECONDS
        return [{"attributes_json": str(self._kept)}]


def test_the_api_is_told_from_an_intake() -> None:
    """Both answer at /health: the address of the other one is the likely mistake."""

    class Api(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = {"/health": b"ok", "/health/ready": b"{}"}
            self.send_response(200 if self.path in known else 404)
            self.end_headers()
            self.wfile.write(known.get(self.path, b'{"message": "no"}'))

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    with HTTPServer(("127.0.0.1", 0), Api) as api:
        Thread(target=api.serve_forever, args=(0.01,), daemon=True).start()
        server = Server(f"http://127.0.0.1:{api.server_port}", "key")
        with server, pytest.raises(NotAnswered, match="is the API of svc, not its intake"):
            server.capture()
        api.shutdown()


def test_who_listens_and_says_nothing_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A moment is enough for a question that takes no work."""
    assert HEALTH_SECONDS <= 3
    asked: list[float] = []

    def note(_self: Server, _method: str, _path: str, *_: object, seconds: float = 0.0) -> Answer:
        asked.append(seconds)
        return Answer("/health", 200, b"ok", None)

    monkeypatch.setattr(Server, "_asked", note)
    with Server("http://127.0.0.1:1", "key") as server:
        server.health()
    assert asked == [HEALTH_SECONDS]


@pytest.mark.parametrize("ahead", [0.0, 600.0, -600.0])
def test_a_clock_that_is_off_does_not_make_the_server_look_broken(ahead: float) -> None:
    """The test record has the server's time; that the clock is off is said beside it."""
    assert round_trip(cast(Server, OneRecord(ahead)), ahead).level == "ok"


def test_connections_are_examined_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits here for the other one; they are shown in the order of their names all the same."""
    both = Barrier(2, timeout=10)

    def examine(each: StoredConnection) -> Iterator[Finding]:
        both.wait()
        yield Finding("server", "ok", f"{each.name} answers")

    known = [StoredConnection(name, "codex", "user", "/", "http://h", "key", Capture()) for name in ("a", "b")]
    monkeypatch.setattr(doctoring, "examine", examine)
    monkeypatch.setattr(connecting, "all_stored", lambda: known)
    done = CliRunner().invoke(doctoring.doctor)
    assert done.exit_code == 0
    assert done.output.index("a answers") < done.output.index("b answers")
