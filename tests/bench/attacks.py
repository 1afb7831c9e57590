"""What one key can do to the others: requests drawn from the shapes that once stopped the server.

`python -m tests.bench.attacks --each 11 --seed 1` sends so many of every kind at a fresh server without budgets. A
second developer asks for `/health` and captures meanwhile, from a process of its own; the server's memory is watched,
and in the end it is stopped amid the same requests. It ends with 1 where a bound is broken.
"""

import gzip
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from random import Random
from threading import Thread
from typing import NamedTuple

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.bench.floods import colleague
from tests.bench.servers import NO_BUDGETS, Serving, fresh_service

WAIT_MS_MAX = 250
PEAK_MIB_MAX = 300
STOP_SECONDS_MAX = 5.0
ATTACK_SECONDS = 12.0
"""No further request is sent after so long."""
STOP_AFTER_SECONDS = 0.7
WATCH_PAUSE_SECONDS = 0.05
KIB, MIB = 1024, 1024 * 1024
_LETTERS = ("é", "€", "한", "😀", "\\u00e9", "\\n", "a", " ")
_FINDINGS = (
    *("a{}@example.com ", "10.1.{}.7 ", "/home/ana{}/src ", "https://u:pw{}@db.example/x ", "AKIA{:016d} "),
    *("ghp_{:036d} ", "4111 1111 1111 {:04d} ", "password{}=hunter2 ", "Bearer ey{:040d} ", "xoxb-{:012d}-{:012d}-ab "),
    *("hvs.{:024d} ", "token{} = 'abc' "),
)
_UNITS = (
    *(
        "‹",
        "<",
        "fix ",
        "#\n",
        "`",
        "```\n",
        "- a\n",
        "key=",
        "a.b.",
        "/a",
        "(",
        "&lt;",
        "https://",
        "1. ",
        "> ",
        "no, ",
    ),
    *("@@ -1 +1 @@\n", "src/app.py ", '"', "\\", "undo that. ", "+a\n-b\n", "password=", "a@", "\u2028", "--", "'\"`"),
)


class Sent(NamedTuple):
    """One request."""

    path: str
    body: bytes
    zipped: bool = False


class Attack(NamedTuple):
    """Requests that are sent over so many connections, each slowly where `seconds` are given."""

    about: str
    requests: Sequence[Sent]
    connections: int
    seconds: float = 0.0


class Seen(NamedTuple):
    health_ms: float
    capture_ms: float
    refused: int
    peak_mib: int
    stop_seconds: float

    @property
    def holds(self) -> bool:
        slowest_ms = max(self.health_ms, self.capture_ms)
        fits = self.peak_mib <= PEAK_MIB_MAX and self.stop_seconds <= STOP_SECONDS_MAX
        return slowest_ms <= WAIT_MS_MAX and fits and not self.refused


# --- what is sent ---------------------------------------------------------------------------------------------


def _prompt(text: str, session: str) -> Sent:
    return Sent(
        "/v1/prompts", json.dumps({"prompt_text": text, "tool_session_id": session}, ensure_ascii=False).encode()
    )


def _records(items: str, head: str = "", zipped: bool = False) -> Sent:
    body = f'{{"resourceLogs":[{{"resource":{{{head}}},"scopeLogs":[{{"logRecords":[{items}]}}]}}]}}'.encode()
    return Sent("/v1/logs", gzip.compress(body) if zipped else body, zipped)


def _record(session: str, name: str = "claude_code.user_prompt", **texts: str) -> str:
    values = {"session.id": session, "event.name": name.rpartition(".")[2]} | texts
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
    return json.dumps({"timeUnixNano": str(time.time_ns()), "body": {"stringValue": name}, "attributes": attributes})


def _findings(chance: Random) -> Attack:
    """Texts full of what is redacted."""
    form, size = chance.choice(_FINDINGS), chance.choice((32 * KIB, 256 * KIB, 2 * MIB, 4 * MIB - 8 * KIB))
    text = "".join(form.format(number, number) for number in range(size // len(form.format(0, 0))))[: size * 9 // 10]
    one = _prompt(text, "r") if chance.random() < 0.6 else _records(_record("r", prompt=text))
    return Attack(f"{form!r}, {size // KIB} KiB, {one.path}", [one] * 20, 8)


def _unreadable(chance: Random) -> Attack:
    """Bodies that are refused, and how much their refusal costs."""
    count = chance.choice((10_000, 500_000, 2 * MIB - 4_000))
    item = chance.choice(("0", '""', "[]", "{}", "null", '{"a":0}', "1.5", "1e999", '"\\u0000"'))
    items = ",".join([item] * (count // (len(item) + 1)))
    wrong = chance.choice((',"prompt_text":"\\ud800"}', ',"prompt_text":5}', ',"prompt_text":""}', "", "}}", "\xff}"))
    depth = chance.choice((0, 1, 900, 20_000))
    body = ('{"metadata":' + "[" * depth + f"[{items}]" + "]" * depth + wrong).encode("latin-1")
    path = chance.choice(("/v1/prompts", "/v1/prompts/response", "/v1/logs", "/v1/metrics", "/v1/traces"))
    return Attack(
        f"{count} × {item}, depth {depth}, {wrong!r}, {path}", [Sent(path, gzip.compress(body), True)] * 20, 20
    )


def _windows(chance: Random) -> Attack:
    """Exports whose cutting once was more than linear."""
    letter, deep = chance.choice(_LETTERS), chance.choice((0, 0, 1, 50))
    value = f'{{"stringValue":"{letter * chance.choice((1, 10, 1_000))}"}}'
    nested = '{"arrayValue":{"values":[' * deep + value + "]}}" * deep
    item = f'{{"attributes":[{{"key":"session.id","value":{nested}}}]}}' + " " * chance.choice((0, 0, 100))
    count = min(49_000, 15 * MIB // len(item.encode()))
    one = _records(",".join([item] * count), zipped=True)
    return Attack(f"{count} × {item[:60]!r}…, {len(one.body) // KIB} KiB zipped", [one] * 4, 4)


def _patterns(chance: Random) -> Attack:
    """Prompts of one piece again and again."""
    unit = "".join(chance.choice(_UNITS) for _ in range(chance.choice((1, 1, 2, 3))))
    before, size = chance.choice(("", 'password="', "fix ", "```\n")), chance.choice((80_000, 600_000, 3_900_000))
    text = before + unit * (size // len(unit.encode()))
    return Attack(
        f"{before!r} + {unit!r} × {size // len(unit.encode())}", [_prompt(text[:size], f"p{n}") for n in range(8)], 8
    )


def _folds(chance: Random) -> Attack:
    """Many small captures that belong together."""
    sessions, texts = (
        chance.choice((1, 1, 2, 50, 2_000)),
        chance.choice((("go on",), ("no, undo that", "again"), ("x" * 2_000,))),
    )
    tools = chance.choice((0, 0, 3, 20))
    done = _record("S", "claude_code.tool_result", tool_name="Bash", success=chance.choice(("true", "false")))

    def one(number: int) -> Sent:
        session, text = f"f{number % sessions}", f"{texts[number % len(texts)]} {chance.choice(('', number))}"
        if not tools:
            return _prompt(text, session)
        return _records(",".join([_record(session, prompt=text), *[done.replace('"S"', f'"{session}"')] * tools]))

    return Attack(f"{sessions} sessions, {texts[0][:20]!r}, {tools} tools each", [one(n) for n in range(6_000)], 32)


def _heads(chance: Random) -> Attack:
    """Exports whose resource would be stored for each of their sessions."""
    sessions, head = chance.choice((10, 300, 1_000, 2_000, 20_000)), chance.choice((100, 10_000, 160_000, 1_000_000))
    letter = chance.choice(_LETTERS[:5])
    about = f'"attributes":[{{"key":"x","value":{{"stringValue":"{letter * (head // len(letter))}"}}}}]'
    one = _records(",".join(_record(f"h{n}", "claude_code.api_request") for n in range(sessions)), about)
    return Attack(f"{sessions} sessions, head of {head} {letter!r}", [one] * 4, 2)


def _slow(chance: Random) -> Attack:
    """Bodies that come in over many connections at the pace of a bad line."""
    size, connections = chance.choice((60 * KIB, MIB, 4 * MIB - KIB, 16 * MIB - KIB)), chance.choice((20, 60, 100))
    path = chance.choice(("/v1/logs", "/v1/traces", "/v1/prompts"))
    body = b'{"resourceLogs":[]' + b" " * size
    return Attack(f"{connections} × {size // KIB} KiB to {path}", [Sent(path, body)] * connections, connections, 8.0)


KINDS: dict[str, Callable[[Random], Attack]] = {
    "1 redaction": _findings,
    "2 unreadable": _unreadable,
    "3 cutting": _windows,
    "4 patterns": _patterns,
    "5 folding": _folds,
    "6 heads": _heads,
    "7 slow": _slow,
}


# --- how it is sent, and what the others see ----------------------------------------------------------------


def _put(service: Serving, attack: Attack) -> None:
    """Send everything; what becomes of it does not matter."""
    until, waiting = time.monotonic() + ATTACK_SECONDS, list(attack.requests)

    def work() -> None:
        while waiting and time.monotonic() < until:
            try:
                _send(service, waiting.pop(), attack.seconds)
            except (OSError, HTTPException, IndexError):
                continue  # hung up, stopped, or another thread took the last one

    threads = [Thread(target=work, daemon=True) for _ in range(attack.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(ATTACK_SECONDS + attack.seconds)


def _send(service: Serving, sent: Sent, seconds: float) -> None:
    connection = HTTPConnection("127.0.0.1", service.port, timeout=ATTACK_SECONDS)
    connection.putrequest("POST", sent.path)
    more = {"Content-Type": "application/json", "Content-Length": str(len(sent.body))}
    for name, value in (service.headers | more | ({"Content-Encoding": "gzip"} if sent.zipped else {})).items():
        connection.putheader(name, value)
    connection.endheaders()
    pieces = 80 if seconds else 1
    size = -(-len(sent.body) // pieces)
    for number in range(pieces):
        connection.send(sent.body[number * size : (number + 1) * size])
        time.sleep(seconds / pieces)
    connection.getresponse().read()
    connection.close()


@contextmanager
def _watched(service: Serving, headers: dict[str, str]) -> Iterator[list[tuple[float, float, int]]]:
    """Afterwards: the slowest health check and capture, in milliseconds, and how many were refused."""
    command = [sys.executable, "-c", "from tests.bench.attacks import watch; watch()"]
    found: list[tuple[float, float, int]] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([service.port, headers]) + "\n")
        process.stdin.flush()
        process.stdout.readline()
        try:
            yield found
        finally:
            process.send_signal(signal.SIGINT)
            found.append(tuple(json.loads(process.stdout.read())))


def watch() -> None:
    """The second developer: one round after the other, until interrupted."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background work ignores interrupts
    port, headers = json.loads(sys.stdin.readline())
    health, captures, refused, number = [0.0], [0.0], 0, 0
    try:
        while True:
            number += 1
            for times, one in ((health, None), (captures, _prompt(f"please add test {number}", "colleague"))):
                began = time.perf_counter()
                refused += _status(port, headers, one) not in (200, 201)
                times.append((time.perf_counter() - began) * 1_000)
            if number == 2:
                health, captures, refused = [0.0], [0.0], 0  # the first ones start its actor
                print("watching", flush=True)
            time.sleep(WATCH_PAUSE_SECONDS)
    except KeyboardInterrupt:
        print(json.dumps([max(health), max(captures), refused]))


def _status(port: int, headers: dict[str, str], sent: Sent | None) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    if sent is None:
        connection.request("GET", "/health")
    else:
        connection.request("POST", sent.path, sent.body, headers | {"Content-Type": "application/json"})
    status = connection.getresponse().status
    connection.close()
    return status


def _tried(attack: Attack) -> Seen:
    with fresh_service(more=NO_BUDGETS) as service:
        with _watched(service, colleague(service)) as watched:
            _put(service, attack)
        status = Path(f"/proc/{service.server.pid}/status").read_text(encoding="ascii")
        peak_mib = int(status.partition("VmHWM:")[2].split()[0]) // KIB
        Thread(target=partial(_put, service, attack), daemon=True).start()
        time.sleep(STOP_AFTER_SECONDS)
        return Seen(*watched[0], peak_mib, _stopped(service))


def _stopped(service: Serving) -> float:
    """Seconds from SIGTERM until nothing listens any more and the process is gone."""
    began = time.perf_counter()
    subprocess.run(["kill", str(service.server.pid)], check=True)
    while time.perf_counter() - began < 4 * STOP_SECONDS_MAX:
        if Path(f"/proc/{service.server.pid}/stat").read_text(encoding="ascii").split()[2] == "Z":
            break
        time.sleep(0.02)
    return time.perf_counter() - began


@click.command()
@click.option("--each", default=11, show_default=True, help="Attacks of every kind.")
@click.option("--seed", default=1, show_default=True)
@click.option("--kind", type=click.Choice(list(KINDS)), multiple=True, help="Only these.")
def main(each: int, seed: int, kind: tuple[str, ...]) -> None:
    """Attack a fresh server in many ways, beside a developer who goes on working.

    Example: python -m tests.bench.attacks --each 2 --kind "4 patterns"
    """
    socket.setdefaulttimeout(60)
    console = Console(width=150)
    table = Table("attack", "health max ms", "capture max ms", "refused", "peak MiB", "stop s", "")
    chance = Random(seed)
    drawn = [(name, KINDS[name](chance)) for name in kind or KINDS for _ in range(each)]
    broken = 0
    for name, attack in track(drawn, "attacks", console=Console(stderr=True)):
        seen = _tried(attack)
        broken += not seen.holds
        shown = f"{seen.health_ms:.0f}", f"{seen.capture_ms:.0f}", str(seen.refused), str(seen.peak_mib)
        table.add_row(f"{name}: {attack.about}", *shown, f"{seen.stop_seconds:.1f}", "" if seen.holds else "BROKEN")
        if not seen.holds:
            console.print(f"broken: {name}: {attack.about}: {seen}")
    console.print(table)
    raise SystemExit(1 if broken else 0)


if __name__ == "__main__":
    main()
