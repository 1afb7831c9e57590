"""A newcomer's first hour in a minute: demo, serve, connect, hook, import, scores, backup, restore, stop. python -m
tests.smoke COMMAND… (the source tree or the binary, in a temporary folder)"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.driver import once, until
from tests.support.process import KEY, Program, Server, beside
from tests.support.transcripts import SESSION, at, said, user

STOP_SECONDS = 10
"""After which a service manager would kill it (`deploy/`). It takes less than five where nothing else holds it up."""
PROMPT = "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop."
SETTINGS = '{\n  "model": "opus"\n}\n'


class Newcomer(NamedTuple):
    """A program, and a machine that has seen neither it nor an agent of it."""

    program: Program
    folder: Path

    def types(self, *arguments: str | Path, stdin: str = "") -> str:
        """Run a command that must succeed; what it prints."""
        return self.program.run(*arguments, stdin=stdin).stdout


def newcomer(command: tuple[str, ...], folder: Path) -> Newcomer:
    """With a home of their own, no setting of whoever runs this, and no way to these sources."""
    home = folder / "home"
    home.mkdir()
    taken_out = [name for name in os.environ if name.startswith(("SVC_", "CLAUDE_"))]
    told = {"HOME": str(home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "PYTHONPATH": ""}
    around = ("env", *(f"--unset={name}" for name in taken_out))
    return Newcomer(Program((*around, *command), told), folder)


@contextmanager
def serving(person: Newcomer, var: Path, key: str | None = None) -> Iterator[Server]:
    """A server on any free ports, until the end of the block; the first start shows the key."""
    with person.program.serving(var, key=key) as server:
        if shown := KEY.search(beside(var, "log").read_text()):
            server.key = shown[0]
        yield server


def read(server: Server, path: str) -> Any:
    """With the key, as JSON."""
    return server.api.get(path).raise_for_status().json()


def smoke(person: Newcomer, say: Callable[[str], None]) -> None:
    """Every step; raises `AssertionError` at the first that does not hold."""
    var, elsewhere, kept, owner = (person.folder / name for name in ("var", "elsewhere", "kept.tar", "owner"))
    assert person.types("--version").startswith("svc, version ")
    assert json.loads(person.types("grade", "--json", stdin=PROMPT))["status"] == "ok"
    assert "goals" in person.types("demo")
    say("it starts, grades a prompt without a server, and plays the demo")
    with serving(person, var) as server:
        _pages(server)
        say("it serves: pages, description, metrics, prices")
        _connected(person, server)
        say("an agent is connected; its prompt is seen; disconnected, its settings are as before")
        _imported(person, server, var)
        say("a session that was kept is imported, and its goal is in the terminal")
        before = _figures(server)
        person.types("backup", kept, "--var", var)
        person.types("export", "Owner", owner, "--var", var)
        assert PROMPT in (owner / "events.jsonl").read_text()
        assert (owner / "prompts.parquet").read_bytes().startswith(b"PAR1")
        say("backup and export while it serves")
        assert server.stop(STOP_SECONDS) == 0
        say("it stops by itself")
    person.types("restore", kept, "--var", elsewhere)
    with serving(person, elsewhere, server.key) as restored:
        assert _figures(restored) == before
        assert "clean" in person.types("verify", "--var", elsewhere)
        say("restored elsewhere: the same figures, and verified")


def _pages(server: Server) -> None:
    """What is carried as data files: pages, price data, time zones."""
    asked = {"/sign-in": b"<html", "/docs": b"<html", "/metrics": b"svc_build_info", "/openapi.json": b"3."}
    for path, word in (asked | {"/health/ready": b""}).items():
        answer = once(server.api_port, "GET", path)
        assert (answer.status, word in answer.body) == (200, True), (path, answer)
    read(server, "/v1/score_v3/today-summary?timezone=Asia/Kathmandu")


def _connected(person: Newcomer, server: Server) -> None:
    settings = person.folder / "home" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(SETTINGS)
    person.types("connect", "claude-code", "--mcp", "--var", server.var, "--key", str(server.key))
    hooks = json.loads(settings.read_text())["hooks"]
    call = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]
    told = {"hook_event_name": "UserPromptSubmit", "session_id": "smoke", "prompt": PROMPT, "cwd": "/tmp"}
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SVC_", "CLAUDE_"))}
    env |= person.program.told
    subprocess.run(call, shell=True, input=json.dumps(told), text=True, env=env, timeout=10, check=True)
    seen = "/v1/score_v3/realtime/sub-sessions"
    until(lambda: bool(read(server, seen)), STOP_SECONDS)  # the hook sends after the agent has gone on
    assert [row["agent_session_id"] for row in read(server, seen)] == ["smoke"]
    found = person.types("doctor")
    assert "answers: {" in found, "the server of MCP that the agent starts"
    assert "went through the hooks" in found
    person.types("disconnect", "claude-code")
    assert settings.read_text() == SETTINGS


def _imported(person: Newcomer, server: Server, var: Path) -> None:
    """Yesterday's session, from the folder where Claude Code keeps it; importing it again adds nothing."""
    kept = person.folder / "home" / ".claude" / "projects" / "shop" / f"{SESSION}.jsonl"
    kept.parent.mkdir(parents=True)
    lines = [user("u1", 0, PROMPT), said("a1", 60, "Done: the parser returns an empty list, and all tests pass.")]
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    kept.write_text("".join(json.dumps(line) + "\n" for line in lines).replace(at(0)[:10], yesterday.isoformat()))
    for _ in range(2):
        person.types("import", "claude-code", "--var", var)
    assert len(server.goals()) == 2  # the hook's, and this one
    assert f"{yesterday.day} {yesterday:%b}" in person.types("goals", "--api", server.api_url, "--key", str(server.key))


def _figures(server: Server) -> list[Any]:
    """What must be the same wherever the log is."""
    names = ("score", "skill", "insight/summary", "trivia")
    return [server.goals(), *(read(server, f"/v1/score_v3/{name}?window=monthly") for name in names)]


def say(sentence: str) -> None:
    print(sentence, flush=True)


if __name__ == "__main__":
    program, *arguments = sys.argv[1:]
    found = str(Path(program).absolute()) if "/" in program else program  # whatever folder it is then started in
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="svc-smoke-") as folder:
        smoke(newcomer((found, *arguments), Path(folder)), say)
    say(f"all of it in {time.monotonic() - begun:.0f} s")
