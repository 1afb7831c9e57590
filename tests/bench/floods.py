"""How long a colleague waits for a read of their own write while one developer floods the server.

`python -m tests.bench.floods --sessions 30000 --prompts 12000`
"""

import subprocess
import time
import uuid
from http.client import HTTPConnection
from threading import Event, Thread
from typing import Any

import click
import msgspec
import trio
from rich.console import Console
from rich.table import Table

from tests.bench.load import Body, put_load
from tests.bench.servers import NO_BUDGETS, Serving, fresh_service, svc_command

CONNECTIONS = 32
READ = "/v1/score_v3/realtime/sub-sessions"


class Visits(msgspec.Struct):
    """What a colleague saw: seconds of each read of their own write, and how many requests were refused."""

    read_seconds: list[float]
    refused: int = 0


@click.command()
@click.option("--sessions", default=30_000, show_default=True)
@click.option("--prompts", default=12_000, show_default=True, help="In one session.")
def main(sessions: int, prompts: int) -> None:
    """Flood a fresh server in two ways, beside a colleague who captures and reads once a second."""
    table = Table("flood", "captures/s", "read p50 s", "read p99 s", "refused")
    for what, body, count in (("many sessions", _one_each, sessions), ("one session", _all_in_one, prompts)):
        with fresh_service(more=NO_BUDGETS) as service:
            per_second, seen = _flooded(service, body, count)
        times = sorted(seen.read_seconds)
        p50, p99 = (times[min(len(times) - 1, int(len(times) * share))] for share in (0.5, 0.99))
        table.add_row(f"{count} prompts, {what}", f"{per_second:.0f}", f"{p50:.2f}", f"{p99:.2f}", str(seen.refused))
    Console(width=120).print(table)


def _flooded(service: Serving, body: Body, count: int) -> tuple[float, Visits]:
    seen, over = Visits([]), Event()
    visitor = Thread(target=_visit, args=(service, colleague(service), over, seen))
    visitor.start()
    try:
        load = trio.run(put_load, service.port, "/v1/prompts", service.headers, body, CONNECTIONS, count)
    finally:
        over.set()
        visitor.join()
    return load.per_second, seen


def _visit(service: Serving, headers: dict[str, str], over: Event, seen: Visits) -> None:
    number = 0
    while not over.wait(1.0):
        number += 1
        seen.refused += _answered(service.port, "POST", "/v1/prompts", headers, _prompt("colleague", number)) != 201
        began = time.perf_counter()
        seen.refused += _answered(service.server.api_port, "GET", READ, headers) != 200
        seen.read_seconds.append(time.perf_counter() - began)


def _answered(port: int, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> int:
    connection = HTTPConnection("127.0.0.1", port)
    connection.request(method, path, body or None, headers | {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def _one_each(connection: int, number: int) -> bytes:
    return _prompt(f"flood-{connection}-{number}", number)


def _all_in_one(connection: int, number: int) -> bytes:
    return _prompt("flood", number)


def _prompt(session: str, number: int) -> bytes:
    value = {
        "prompt_text": f"go on with part {number} of the parser in src/parser.py please",
        "source": "claude-code",
        "tool_session_id": session,
        "client_event_id": str(uuid.uuid4()),
    }
    return msgspec.json.encode(value)


def colleague(service: Serving) -> dict[str, str]:
    """Headers of another developer of the same organization."""
    _told("developer", "create", "Ben", "--var", str(service.var), "--json")
    key = _told("key", "issue", "--developer", "Ben", "--var", str(service.var), "--json")
    return {"Authorization": f"Bearer {key['key']}"}


def _told(*arguments: str) -> dict[str, str]:
    answered = subprocess.run(svc_command(*arguments), check=True, capture_output=True)
    return msgspec.json.decode(answered.stdout, type=dict[str, Any])


if __name__ == "__main__":
    main()
