"""Durable captures and log records a second beside bare routes, and reads of one's own writes."""

import sqlite3
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import trio
from rich.progress import track

from tests.bench.world import MIDDLE, bare_route, fresh_service
from tests.support.driver import Driver, Measured, at, put_load
from tests.support.results import Result
from tests.support.work import api_request, export, prompt_body, record, tool_decision, tool_result

CONNECTIONS = 16
EXPORTERS = 4  # agents of one developer that export at the same time
OF_BARE_MIN, P99_TIMES_MAX, LEVEL_SECONDS_MAX = 0.4, 4.0, 5.0
MEMORY_MIB_MAX = 300
PER_SECOND, OWN_P99_MS_MAX = 20, 50.0
BATCH_RECORDS, START_US = 100, 1_780_000_000_000_000
NAMES = ("user_prompt", *("api_request", "tool_decision", "tool_result") * 5)
"""The mix of real sessions: a prompt, and about five requests and tool calls for it."""
READ = "/v1/score_v3/realtime/sub-sessions"


class Captured(msgspec.Struct, frozen=True):
    """One round: the bare route, the service, and how long its views took to be level afterwards."""

    bare: Measured
    service: Measured
    level_seconds: float
    mib: float

    @property
    def ratio(self) -> float:
        return self.service.per_second / self.bare.per_second


def captures(requests: int, rounds: int) -> list[Result]:
    """By the round of the median ratio."""
    found = sorted((_captured(requests) for _ in track(range(rounds), "captures")), key=lambda each: each.ratio)
    middle = found[len(found) // 2]
    bare, service = middle.bare, middle.service
    p99s = at(bare.times, 0.99), at(service.times, 0.99)
    rates = f"bare route: {bare.per_second:,.0f}/s; durable captures: {service.per_second:,.0f}/s"
    rounds_told = ", ".join(f"{each.ratio:.2f}" for each in found)
    return [
        Result("captures, of the bare route", middle.ratio, "", OF_BARE_MIN, False, f"{rates}; rounds {rounds_told}"),
        Result(
            "a capture's p99, of the bare route's", p99s[1] / p99s[0], "", P99_TIMES_MAX, True,
            f"bare route: {p99s[0]:.0f} ms; durable captures: {p99s[1]:.0f} ms",
        ),
        Result(
            "views level after captures", middle.level_seconds, "s", LEVEL_SECONDS_MAX, True,
            f"after {len(service.times):,} captures",
        ),
        Result("memory under captures", middle.mib, "MiB", MEMORY_MIB_MAX, True, "the most"),
    ]  # fmt: skip


def _captured(requests: int) -> Captured:
    with bare_route() as port:
        bare = trio.run(put_load, port, "/v1/prompts", None, prompt_body, CONNECTIONS, requests)
    with fresh_service() as service:
        port = service.server.intake_port
        found = trio.run(put_load, port, "/v1/prompts", service.key, prompt_body, CONNECTIONS, requests)
        return Captured(bare, found, service.level_seconds(), service.server.mib("VmHWM"))


def batch(number: int) -> dict[str, Any]:
    """An export of a hundred records, different from every other."""

    def one(index: int) -> dict[str, Any]:
        name, call = NAMES[index % len(NAMES)], number * 10**10 + index
        told = {
            "user.id": "0f" * 32,
            "session.id": f"00000000-0000-4000-8000-{number:012d}",
            "user.email": "somebody@example.com",
            "terminal.type": "vscode",
            "event.sequence": index,
            "prompt.id": f"10000000-0000-4000-8000-{number * 100 + index // 10:012d}",
        }
        match name:
            case "user_prompt":
                told |= {"prompt": f"Please fix test {index} of module {number}; it fails on empty input."}
            case "tool_decision":
                told |= tool_decision(call)
            case "tool_result":
                told |= tool_result(call, "Bash", {"command": f"pytest tests/test_{index}.py -q"})
            case _:
                told |= api_request(call, 266 + index)
        return record(name, START_US + (number * 1000 + index) * 1_000, told)

    return export(map(one, range(BATCH_RECORDS)))


def records(batches: int, rounds: int) -> list[Result]:
    """Exports of a hundred records, as Claude Code sends them."""
    bodies = [msgspec.json.encode(batch(number)) for number in range(batches)]
    found = sorted(_recorded(bodies) for _ in track(range(rounds), "log records"))
    _, captured, raw, bare, mib = found[len(found) // 2]
    beside = f"decoding into SQLite: {raw:,.0f}/s, of which it is {captured / raw:.2f}; a bare route: {bare:,.0f}/s"
    return [
        Result("log records, durable", captured, "/s", 10_000, baseline=beside),
        Result("memory under log records", mib, "MiB", MEMORY_MIB_MAX, True, "the most"),
    ]


def _recorded(bodies: Sequence[bytes]) -> tuple[float, float, float, float, float]:
    """The share of what is only decoded and inserted; records a second, of both baselines too; MiB."""

    def body(connection: int, number: int) -> bytes:
        return bodies[number * EXPORTERS + connection]

    def rate(port: int, key: str | None) -> float:
        return BATCH_RECORDS * trio.run(put_load, port, "/v1/logs", key, body, EXPORTERS, len(bodies)).per_second

    raw = _raw(bodies)
    with bare_route() as port:
        bare = rate(port, None)
    with fresh_service() as service:
        captured = rate(service.server.intake_port, service.key)
        return captured / raw, captured, raw, bare, service.server.mib("VmHWM")


def _raw(bodies: Sequence[bytes]) -> float:
    """Records a second that are decoded and on disk, one synced transaction an export, without any server."""
    with (
        tempfile.TemporaryDirectory(prefix="svc-bench-") as folder,
        closing(sqlite3.connect(Path(folder) / "raw.db", isolation_level=None)) as db,
    ):
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE batches (body BLOB)"):
            db.execute(statement)
        started = time.perf_counter()
        for body in bodies:
            msgspec.json.decode(body)
            db.execute("INSERT INTO batches (body) VALUES (?)", (body,))
        seconds = time.perf_counter() - started
    return BATCH_RECORDS * len(bodies) / seconds


def own_writes(count: int) -> list[Result]:
    """Captures at the pace of a large team, each followed by a read that shows it and by the same read again."""
    shown, again = list[float](), list[float]()
    with (
        fresh_service() as service,
        Driver(service.server.intake_port, service.key) as intake,
        Driver(service.server.api_port, service.key) as api,
    ):
        began = time.perf_counter()
        for number in track(range(count), "own writes"):
            time.sleep(max(0.0, began + number / PER_SECOND - time.perf_counter()))
            intake.ask("POST", "/v1/prompts", prompt_body(number % CONNECTIONS, number // CONNECTIONS))
            shown.append(api.ask("GET", READ).ms)
            again.append(api.ask("GET", READ).ms)
    beside = f"p50 {at(shown, MIDDLE):.0f} ms; the same read again, p99: {at(again, 0.99):.0f} ms"
    what = f"a read of one's own write, p99 at {PER_SECOND} captures a second"
    return [Result(what, at(shown, 0.99), "ms", OWN_P99_MS_MAX, True, beside)]
