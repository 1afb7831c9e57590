"""Captures at the pace of a large team, each followed by a read that shows it and by the same read again."""

import time
from http.client import HTTPConnection
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from tests.bench.load import prompt_body
from tests.bench.results import Result
from tests.bench.servers import Serving, fresh_service

PER_SECOND = 20
CONNECTIONS = 16
"""Whose sessions the captures are of, in turn."""
P99_MS_MAX = 50.0
READ = "/v1/score_v3/realtime/sub-sessions"


class Took(NamedTuple):
    """Milliseconds of a capture, of the read that shows it, and of the same read again; each in order."""

    captured: list[float]
    shown: list[float]
    again: list[float]


def compare_own_writes(captures: int, console: Console) -> list[Result]:
    """Print how long a read of one's own write takes."""
    table = Table("captured p50/p99 ms", "read of it p50/p99 ms", "the same read again p50/p99 ms")
    with fresh_service() as service:
        took = Took(*map(sorted, _paced(service, captures)))
    table.add_row(*(f"{_at(part, 0.5):.1f} / {_at(part, 0.99):.1f}" for part in took))
    console.print(table)
    return [_result(took)]


def _result(took: Took) -> Result:
    what = f"a read of one's own write, p99 at {PER_SECOND} captures a second, one process"
    beside = f"p50 {_at(took.shown, 0.5):.0f} ms; the same read again, p99: {_at(took.again, 0.99):.0f} ms"
    return Result(what, _at(took.shown, 0.99), "ms", P99_MS_MAX, at_most=True, baseline=beside)


def _paced(service: Serving, captures: int) -> Took:
    took = Took([], [], [])
    intake, api = HTTPConnection("127.0.0.1", service.port), HTTPConnection("127.0.0.1", service.server.api_port)
    began = time.perf_counter()
    for number in range(captures):
        time.sleep(max(0.0, began + number / PER_SECOND - time.perf_counter()))
        body = prompt_body(number % CONNECTIONS, number // CONNECTIONS)
        took.captured.append(_call(intake, "POST", "/v1/prompts", service.headers, body))
        took.shown.append(_call(api, "GET", READ, service.headers))
        took.again.append(_call(api, "GET", READ, service.headers))
    intake.close()
    api.close()
    return took


def _call(connection: HTTPConnection, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> float:
    """The milliseconds that it takes; raises RuntimeError for anything but a success."""
    began = time.perf_counter()
    connection.request(method, path, body or None, headers | {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    if answer.status not in (200, 201):
        raise RuntimeError(f"{path}: {answer.status} {content[:200]!r}")
    return (time.perf_counter() - began) * 1000


def _at(values: list[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]
