"""What one key can do to the others: so many requests of every kind at a fresh server without budgets, while a second
developer captures and the server's memory is watched. It ends with 1 where a bound is broken."""

import gzip
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random
from threading import Thread
from typing import NamedTuple
from urllib.parse import urlencode

import click
from rich.console import Console
from rich.progress import track

from tests.bench.world import fresh_server
from tests.support.driver import BROKEN, FORM, Driver, bearer, once, signed_in
from tests.support.process import NO_BUDGETS, NOTHING, THIS_TREE, Server, environment
from tests.support.results import Outcome, told
from tests.support.work import prompt, record

WAIT_MS_MAX, PEAK_MIB_MAX, STOP_SECONDS_MAX = 250, 300, 5.0
ATTACK_SECONDS = 12.0  # no further request is sent after so long
STOP_AFTER_SECONDS, WATCH_PAUSE_SECONDS, QUIET_SECONDS = 0.7, 0.05, 3.0
KIB, MIB = 1024, 1024 * 1024
READ = "/v1/score_v3/realtime/sub-sessions"
_LETTERS = ("é", "€", "한", "😀", "\\u00e9", "\\n", "a", " ")
_FINDINGS = (
    *("a{}@example.com ", "10.1.{}.7 ", "/home/ana{}/src ", "https://u:pw{}@db.example/x ", "AKIA{:016d} "),
    *("ghp_{:036d} ", "4111 1111 1111 {:04d} ", "password{}=hunter2 ", "Bearer ey{:040d} ", "xoxb-{:012d}-{:012d}-ab "),
    *("hvs.{:024d} ", "token{} = 'abc' "),
)
_UNITS = (
    *("‹", "<", "fix ", "#\n", "`", "```\n", "- a\n", "key=", "a.b.", "/a", "(", "&lt;", "https://", "1. ", "> "),
    *("@@ -1 +1 @@\n", "src/app.py ", '"', "\\", "undo that. ", "+a\n-b\n", "password=", "a@", "\u2028", "--", "'\"`"),
    "no, ",
)


class Sent(NamedTuple):
    """One request, to the intake where it has no other door."""

    path: str
    body: bytes | None
    zipped: bool = False
    method: str = "POST"
    headers: Mapping[str, str] = NOTHING


class Attack(NamedTuple):
    """Requests that are sent over so many connections, each slowly where `seconds` are given."""

    about: str
    requests: Sequence[Sent]
    connections: int
    seconds: float = 0.0


# --- what is sent ---------------------------------------------------------------------------------------------


def _prompt(text: str, session: str) -> Sent:
    return Sent("/v1/prompts", prompt(text, session))


def _records(items: str, head: str = "", zipped: bool = False) -> Sent:
    body = f'{{"resourceLogs":[{{"resource":{{{head}}},"scopeLogs":[{{"logRecords":[{items}]}}]}}]}}'.encode()
    return Sent("/v1/logs", gzip.compress(body) if zipped else body, zipped)


def _record(session: str, name: str = "user_prompt", **texts: str) -> str:
    return json.dumps(record(name, time.time_ns() // 1_000, {"session.id": session} | texts))


def _findings(chance: Random) -> Attack:
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
    sent = Sent(path, gzip.compress(body), True)
    return Attack(f"{count} × {item}, depth {depth}, {wrong!r}, {path}", [sent] * 20, 20)


def _windows(chance: Random) -> Attack:
    """Exports whose cutting once was more than linear."""
    letter, deep = chance.choice(_LETTERS), chance.choice((0, 0, 1, 50))
    value = f'{{"stringValue":"{letter * chance.choice((1, 10, 1_000))}"}}'
    nested = '{"arrayValue":{"values":[' * deep + value + "]}}" * deep
    item = f'{{"attributes":[{{"key":"session.id","value":{nested}}}]}}' + " " * chance.choice((0, 0, 100))
    count = min(49_000, 15 * MIB // len(item.encode()))
    one = _records(",".join([item] * count), zipped=True)
    return Attack(f"{count} × {item[:60]!r}…, {len(one.body or b'') // KIB} KiB zipped", [one] * 4, 4)


def _patterns(chance: Random) -> Attack:
    """Prompts of one piece again and again."""
    unit = "".join(chance.choice(_UNITS) for _ in range(chance.choice((1, 1, 2, 3))))
    before, size = chance.choice(("", 'password="', "fix ", "```\n")), chance.choice((80_000, 600_000, 3_900_000))
    times = size // len(unit.encode())
    text = (before + unit * times)[:size]
    return Attack(f"{before!r} + {unit!r} × {times}", [_prompt(text, f"p{n}") for n in range(8)], 8)


def _folds(chance: Random) -> Attack:
    sessions = chance.choice((1, 1, 2, 50, 2_000))
    texts = chance.choice((("go on",), ("no, undo that", "again"), ("x" * 2_000,)))
    tools = chance.choice((0, 0, 3, 20))
    done = _record("S", "tool_result", tool_name="Bash", success=chance.choice(("true", "false")))

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
    one = _records(",".join(_record(f"h{n}", "api_request") for n in range(sessions)), about)
    return Attack(f"{sessions} sessions, head of {head} {letter!r}", [one] * 4, 2)


def _slow(chance: Random) -> Attack:
    """Bodies that come in over many connections at the pace of a bad line."""
    size, connections = chance.choice((60 * KIB, MIB, 4 * MIB - KIB, 16 * MIB - KIB)), chance.choice((20, 60, 100))
    path = chance.choice(("/v1/logs", "/v1/traces", "/v1/prompts"))
    body = b'{"resourceLogs":[]' + b" " * size
    return Attack(f"{connections} × {size // KIB} KiB to {path}", [Sent(path, body)] * connections, connections, 8.0)


def _grades(chance: Random) -> Attack:
    """Texts to grade, at both doors at once."""
    text = chance.choice(("a@", *_UNITS)) * (32 * KIB)
    text = text.encode()[: 32 * KIB - 8].decode(errors="ignore")
    asked = {"name": "grade_prompt", "arguments": {"text": text}}
    tool = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}).encode()
    page = Sent("/habits/grade", urlencode({"prompt": text}).encode(), headers=FORM)
    both = [Sent("/mcp", tool, headers=_MESSAGE), page]
    return Attack(f"96 grades of {text[:4]!r} at both doors", both * 48, 96)


def _streams(chance: Random) -> Attack:
    """Streams that would never end, by one key."""
    listen = b'{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"subscriptions":[]}}'
    tries = (
        Sent("/mcp", None, method="GET", headers={"Accept": "text/event-stream"}),
        Sent("/mcp", listen, headers=_MESSAGE),
        Sent("/mcp", listen, headers={**_MESSAGE, "MCP-Protocol-Version": "2026-07-28"}),
        Sent("/v1/score_v3/events", None, method="GET"),
    )
    return Attack("2,500 tries at a stream", [chance.choice(tries) for _ in range(2_500)], 250)


_MESSAGE = {"Accept": "application/json, text/event-stream"}
KINDS: dict[str, Callable[[Random], Attack]] = {
    "1 redaction": _findings,
    "2 unreadable": _unreadable,
    "3 cutting": _windows,
    "4 patterns": _patterns,
    "5 folding": _folds,
    "6 heads": _heads,
    "7 slow": _slow,
    "8 grades": _grades,
    "9 streams": _streams,
}


# --- how it is sent, and what the others see ----------------------------------------------------------------


def _put(server: Server, attack: Attack) -> None:
    """Send everything; what becomes of it does not matter."""
    until, waiting = time.monotonic() + ATTACK_SECONDS, list(attack.requests)

    def work() -> None:
        while waiting and time.monotonic() < until:
            try:
                _send(server, waiting.pop(), attack.seconds)
            except (*BROKEN, IndexError):
                continue  # hung up, stopped, or another thread took the last one

    threads = [Thread(target=work, daemon=True) for _ in range(attack.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(ATTACK_SECONDS + attack.seconds)


def _send(server: Server, sent: Sent, seconds: float) -> None:
    more = {"Content-Encoding": "gzip"} if sent.zipped else {}
    key = server.key or ""
    headers = bearer(key) | more | dict(sent.headers)
    if sent.path.startswith("/habits"):
        headers["Cookie"] = signed_in(server.api_port, key)
    is_private = sent.headers or sent.body is None
    body: object = sent.body
    if seconds and sent.body is not None:
        body, headers["Content-Length"] = _dripping(sent.body, seconds), str(len(sent.body))
    with Driver(server.api_port if is_private else server.intake_port, timeout=ATTACK_SECONDS) as driver:
        driver.call(sent.method, sent.path, body, **headers)


def _dripping(body: bytes, seconds: float, pieces: int = 80) -> Iterator[bytes]:
    size = -(-len(body) // pieces)
    for number in range(pieces):
        yield body[number * size : (number + 1) * size]
        time.sleep(seconds / pieces)


@contextmanager
def _watched(server: Server, key: str) -> Iterator[list[float]]:
    """Afterwards: the slowest health check, capture and read, in milliseconds, and how many were refused."""
    found = list[float]()
    asked = json.dumps([server.intake_port, server.api_port, key])
    command = [sys.executable, "-c", "from tests.bench.attacks import watch; watch()", asked]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield found
        finally:
            process.send_signal(signal.SIGINT)
            found += json.loads(process.stdout.read())


def watch() -> None:
    """The second developer: one round after the other, until interrupted."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background work ignores interrupts
    intake, api, key = json.loads(sys.argv[1])
    slowest, refused, number = [0.0, 0.0, 0.0], 0, 0
    try:
        while True:
            number += 1
            captured = prompt(f"please add test {number}", "colleague")
            asked = (
                (intake, "GET", "/health", None),
                (intake, "POST", "/v1/prompts", captured),
                (api, "GET", READ, None),
            )
            for place, (port, method, path, body) in enumerate(asked):
                answer = once(port, method, path, body, key)
                refused += answer.status not in (200, 201)
                slowest[place] = max(slowest[place], answer.ms)
            if number == 2:
                slowest, refused = [0.0, 0.0, 0.0], 0  # the first ones start its actor
                print("watching", flush=True)
            time.sleep(WATCH_PAUSE_SECONDS)
    except KeyboardInterrupt:
        print(json.dumps([*slowest, refused]))


def _tried(attack: Attack, outcome: Outcome) -> None:
    with fresh_server({**NO_BUDGETS, "SVC_MCP": "true"}) as server:
        ben = THIS_TREE.another(server.var, "Ben").key
        with _watched(server, ben) as quiet:
            time.sleep(QUIET_SECONDS)
        with _watched(server, ben) as watched:
            _put(server, attack)
        peak_mib = server.mib("VmHWM")
        Thread(target=partial(_put, server, attack), daemon=True).start()
        time.sleep(STOP_AFTER_SECONDS)
        began = time.perf_counter()
        server.stop(4 * STOP_SECONDS_MAX)
        stop_seconds = time.perf_counter() - began
    health_ms, capture_ms, read_ms, refused = watched
    told = f"health {health_ms:.0f} ms, capture {capture_ms:.0f} ms, read {read_ms:.0f} ms, {refused:.0f} refused"
    fits = peak_mib <= PEAK_MIB_MAX and stop_seconds <= STOP_SECONDS_MAX
    holds = max(health_ms, capture_ms) <= max(WAIT_MS_MAX, 3 * max(quiet[:2])) and fits and not refused
    told += f", {peak_mib:.0f} MiB, {max(quiet[:2]):.0f} ms before"
    outcome.check(holds, f"{attack.about}: {told}, stopped in {stop_seconds:.1f} s")
    outcome.tried += 1
    worst = {"health ms": health_ms, "capture ms": capture_ms, "read ms": read_ms}
    worst |= {"MiB": peak_mib, "stop ms": 1000 * stop_seconds}
    outcome.seen |= {name: max(outcome.seen.get(name, 0), round(value)) for name, value in worst.items()}


@click.command()
@click.option("--each", default=11, show_default=True, help="Attacks of every kind.")
@click.option("--seed", default=1, show_default=True)
@click.option("--kind", type=click.Choice(list(KINDS)), multiple=True, help="Only these.")
def main(each: int, seed: int, kind: tuple[str, ...]) -> None:
    """Attack a fresh server in many ways, beside a developer who goes on working.

    Example: python -m tests.bench.attacks --kind "4 patterns" --each 2"""
    chance = Random(seed)
    bounds = f"≤ {WAIT_MS_MAX} ms, ≤ {PEAK_MIB_MAX} MiB, stopped in {STOP_SECONDS_MAX:.0f} s"
    outcomes = {name: Outcome(name, bounds) for name in kind or KINDS}
    drawn = [(outcome, KINDS[name](chance)) for name, outcome in outcomes.items() for _ in range(each)]
    for outcome, attack in track(drawn, "attacks", console=Console(stderr=True)):
        _tried(attack, outcome)
    raise SystemExit(told([*outcomes.values()]))


if __name__ == "__main__":
    main()
