"""What `python -m tests.bench` measures: captures, log records, own writes, a replay, hooks, starts."""

import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import trio
from rich.progress import track

from svc.log.opening import open_log
from svc.views.replay import BuildStep
from svc.views.views import LEAP_BATCH_EVENTS
from tests.bench.history import prepared
from tests.bench.world import MIDDLE, bare_route, bench_folder, fresh_server, wait_level
from tests.support.driver import Driver, Measured, at, put_load
from tests.support.process import THIS_TREE, environment
from tests.support.results import Result
from tests.support.work import api_request, export, prompt_body, record, tool_decision, tool_result

# --- captures, log records, own writes ------------------------------------------------------------------------------

CONNECTIONS = 16
EXPORTERS = 4  # agents of one developer that export at the same time
OF_BARE_MIN, P99_TIMES_MAX, LEVEL_SECONDS_MAX = 0.4, 4.0, 5.0
MEMORY_MIB_MAX = 300
PER_SECOND, OWN_P99_MS_MAX = 20, 50.0
BATCH_RECORDS, START_US = 100, 1_780_000_000_000_000
NAMES = ("user_prompt", *("api_request", "tool_decision", "tool_result") * 5)
"""The mix of real sessions: a prompt, and about five requests and tool calls for it."""
READ = "/v1/score_v3/realtime/sub-sessions"


class Captured(NamedTuple):
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
    with fresh_server() as server:
        port = server.intake_port
        found = trio.run(put_load, port, "/v1/prompts", server.key, prompt_body, CONNECTIONS, requests)
        return Captured(bare, found, wait_level(server.var, 0.02), server.mib("VmHWM"))


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
    with fresh_server() as server:
        captured = rate(server.intake_port, server.key)
        return captured / raw, captured, raw, bare, server.mib("VmHWM")


def _raw(bodies: Sequence[bytes]) -> float:
    """Records a second that are decoded and on disk, one synced transaction an export, without any server."""
    with bench_folder() as folder, closing(sqlite3.connect(folder / "raw.db", isolation_level=None)) as db:
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
        fresh_server() as server,
        Driver(server.intake_port, server.key) as intake,
        Driver(server.api_port, server.key) as api,
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


# --- a replay, beside only reading the same log ---------------------------------------------------------------------

END_US = 1_790_000_000_000_000
Step = tuple[int, float]  # events, and seconds from the start of the process


def replay(events: int) -> list[Result]:
    with bench_folder() as folder:
        var = folder / "var"
        prepared(var, events, END_US)
        count, read = _read(var)
        steps = _built(var, count)
    done, seconds = steps[-1]
    fifths = [f"{_rate(steps, of, of + 0.2):,.0f}" for of in (0.0, 0.8)]
    beside = f"reading the same log: {read:,.0f}/s; the first fifth {fifths[0]}/s, the last {fifths[1]}/s"
    return [Result("replayed events, one process", done / seconds, "/s", 5_000, baseline=beside)]


def _read(var: Path) -> tuple[int, float]:
    """How many events there are, and how many a second."""
    with closing(open_log(var)) as store:
        count = position = 0
        started = time.perf_counter()
        while found := store.read_after(position, LEAP_BATCH_EVENTS):
            count += len(found)
            position = found[-1].position
        seconds = time.perf_counter() - started
    return count, count / seconds


def _built(var: Path, events: int) -> list[Step]:
    size, head = str(LEAP_BATCH_EVENTS), str(events)
    command = (*THIS_TREE.command, "build-views", "--var", str(var), "--batch-events", size, "--up-to", head)
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        steps = [
            (msgspec.json.decode(line, type=BuildStep).done, time.perf_counter() - started) for line in process.stdout
        ]
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return steps[:-1]  # the last one has the digests as well


def _rate(steps: Sequence[Step], begin: float, end: float) -> float:
    """Events a second between two parts of the history, each told as a share of it."""
    within = [step for step in steps if begin <= step[0] / steps[-1][0] <= end] or [(0, 0.0)]
    return (within[-1][0] - within[0][0]) / max(within[-1][1] - within[0][1], 1e-9)


# --- hooks, commands and the start of a server, beside a Python that does nothing -------------------------------------

COMMAND_MS, READY_MS, IDLE_MIB = 300.0, 1_000.0, 90.0  # each at most
SETTLED_SECONDS = 2.0  # after its start a server loads what reads texts
STARTS = ("--help", "score --help", "doctor --help", "open --help", "serve --help")
IDLE = (sys.executable, "-c", "import sys; sys.stdin.read()")


def hooks(calls: int) -> list[Result]:
    """A hook with the server up and with it gone."""
    with bench_folder() as home:
        idle = _times(IDLE, home, calls)
        with fresh_server() as server:
            to = ("--url", server.intake_url, "--key", str(server.key))
            THIS_TREE.run("connect", "claude-code", *to, told={"HOME": str(home)})
            settings = msgspec.json.decode((home / ".claude" / "settings.json").read_bytes())
            command = ("sh", "-c", settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"])
            up = _times(command, home, calls)
        gone = _times(command, home, calls)
    beside = f"an idle Python: {at(idle, MIDDLE):.0f} ms"
    return [
        Result(f"hook, {when}, p50", at(times, MIDDLE), "ms", baseline=f"{beside}; p99 {at(times, 0.99):.0f} ms")
        for when, times in (("server up", up), ("server gone", gone))
    ]


def starts(rounds: int) -> list[Result]:
    """Commands, and until a server is ready; MiB of the idle server; in turns. The first round compiles modules."""
    commands = {f"svc {each}": (*THIS_TREE.command, *each.split()) for each in STARTS}
    plain, ready, memory = list[float](), list[float](), list[float]()
    times: dict[str, list[float]] = {name: [] for name in commands}
    with bench_folder() as folder:
        for _ in range(rounds + 1):
            plain += _times((sys.executable, "-c", "pass"), folder, 1)
            for name, command in commands.items():
                times[name] += _times(command, folder, 1)
            with THIS_TREE.serving(folder / "var") as server:
                ready.append(server.ready_seconds * 1000)
                time.sleep(SETTLED_SECONDS)
                memory.append(server.mib())
    beside = f"python -c pass: {_median(plain):.0f} ms"
    return [
        *(Result(name, _median(each), "ms", COMMAND_MS, True, beside) for name, each in times.items()),
        Result("svc serve, ready", _median(ready), "ms", READY_MS, True, beside),
        Result("svc serve, idle", _median(memory), "MiB", IDLE_MIB, True, beside),
    ]


def _median(rounds: list[float]) -> float:
    return statistics.median(rounds[1:])


def _times(command: Sequence[str], home: Path, calls: int) -> list[float]:
    told = {"hook_event_name": "UserPromptSubmit", "cwd": "/home/ana/shop", "prompt": "Fix the crash in src/app.py"}
    env = {name: value for name, value in environment().items() if name != "CLAUDE_CONFIG_DIR"} | {"HOME": str(home)}
    times = []
    for number in range(calls):
        text = msgspec.json.encode(told | {"session_id": "s1", "prompt_id": f"p{number}"})
        began = time.perf_counter()
        subprocess.run(command, input=text, env=env, check=True, capture_output=True)
        times.append((time.perf_counter() - began) * 1000)
    return times
