"""A newcomer's first hour in a minute: serve, connect, hook, scores, backup, restore, stop."""

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

START_SECONDS = 60
STOP_SECONDS = 10
"""After which a service manager would kill it (`deploy/`). It takes less than five where nothing else holds it up."""
COMMAND_SECONDS = 120

PROMPT = "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop."
SETTINGS = '{\n  "model": "opus"\n}\n'


class Newcomer(NamedTuple):
    """A program, and a machine that has seen neither it nor an agent of it."""

    command: Sequence[str]
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """No setting of whoever runs this, and a home of its own."""
        others = {name: value for name, value in os.environ.items() if not name.startswith(("SVC_", "CLAUDE_"))}
        return others | {"HOME": str(self.folder / "home"), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}

    def types(self, *arguments: str, stdin: str = "") -> str:
        """Run a command that must succeed; what it prints."""
        done = subprocess.run(
            [*self.command, *arguments],
            cwd=self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(arguments)} ended with {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout


class Running(NamedTuple):
    """A server and its first key."""

    process: subprocess.Popen[str]
    intake: str
    api: str
    key: str

    def get(self, path: str, **query: str) -> Any:
        """A read with the key, as JSON."""
        answer = httpx.get(
            f"{self.api}{path}", params=query, headers={"Authorization": f"Bearer {self.key}"}, timeout=30
        )
        assert answer.status_code == httpx.codes.OK, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()


@contextmanager
def serving(newcomer: Newcomer, var: str, key: str | None = None) -> Iterator[Running]:
    """A server on any free ports, until the end of the block; the first start shows the key."""
    told = newcomer.folder / f"{var}.log"
    command = [*newcomer.command, "serve", "--var", var, "--intake", "127.0.0.1:0", "--api", "127.0.0.1:0"]
    with told.open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=newcomer.folder,
            env=newcomer.environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    assert process.stdout is not None
    try:
        found = re.search(r"ready intake=(\S+) api=(\S+)", process.stdout.readline())
        assert found is not None, told.read_text()
        shown = re.search(r"svc_[\w-]{43}", told.read_text())
        yield Running(process, found[1], found[2], shown[0] if shown is not None else key or "")
    finally:
        _end(process)
        process.stdout.close()


def _end(process: subprocess.Popen[str]) -> None:
    """All of it: the one-file binary serves in a child of the process that unpacked it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM if process.poll() is None else signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def smoke(newcomer: Newcomer, say: Callable[[str], None]) -> None:
    """Every step; raises `AssertionError` at the first that does not hold."""
    assert newcomer.types("--version").startswith("svc, version ")
    assert json.loads(newcomer.types("grade", "--json", stdin=PROMPT))["status"] == "ok"
    say("it starts, and grades a prompt without a server")
    with serving(newcomer, "var") as server:
        _pages(server)
        say("it serves: pages, description, metrics, prices")
        _connected(newcomer, server)
        say("an agent is connected; its prompt is seen; disconnected, its settings are as before")
        before = _figures(server)
        newcomer.types("backup", "kept.tar", "--var", "var")
        newcomer.types("export", "Owner", "owner", "--var", "var")
        assert PROMPT in (newcomer.folder / "owner" / "events.jsonl").read_text()
        assert (newcomer.folder / "owner" / "prompts.parquet").read_bytes().startswith(b"PAR1")
        say("backup and export while it serves")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(STOP_SECONDS) == 0
        say("it stops by itself")
    newcomer.types("restore", "kept.tar", "--var", "elsewhere")
    with serving(newcomer, "elsewhere", server.key) as restored:
        assert _figures(restored) == before
        assert "clean" in newcomer.types("verify", "--var", "elsewhere")
        say("restored elsewhere: the same figures, and verified")


def _pages(server: Running) -> None:
    """What is carried as data files: pages, price data, time zones."""
    for path, word in (
        ("/docs", "<html"),
        ("/metrics", "svc_build_info"),
        ("/health/ready", ""),
        ("/openapi.json", "3."),
    ):
        answer = httpx.get(f"{server.api}{path}", timeout=30)
        assert (answer.status_code, word in answer.text) == (httpx.codes.OK, True), path
    server.get("/v1/score_v3/today-summary", timezone="Asia/Kathmandu")


def _connected(newcomer: Newcomer, server: Running) -> None:
    settings = newcomer.folder / "home" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(SETTINGS)
    newcomer.types("connect", "claude-code", "--url", server.intake, "--key", server.key)
    hooks = json.loads(settings.read_text())["hooks"]
    call = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]
    told = {"hook_event_name": "UserPromptSubmit", "session_id": "smoke", "prompt": PROMPT, "cwd": "/tmp"}
    subprocess.run(
        call, shell=True, input=json.dumps(told), text=True, env=newcomer.environment, timeout=10, check=True
    )
    (row,) = server.get("/v1/score_v3/realtime/sub-sessions")
    assert row["agent_session_id"] == "smoke"
    newcomer.types("doctor")
    newcomer.types("disconnect", "claude-code")
    assert settings.read_text() == SETTINGS


def _figures(server: Running) -> list[Any]:
    """What must be the same wherever the log is."""
    names = ("score", "skill", "insight/summary", "trivia")
    rows = server.get("/v1/score_v3/realtime/sub-sessions")
    return [rows, *(server.get(f"/v1/score_v3/{name}", window="monthly") for name in names)]
