"""Imports as real processes when something is wrong: killed amid a line, not allowed to look, a line without end."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.process import Server, environment, init, serving, svc
from tests.support.transcripts import call, raw, result, said, user

pytestmark = pytest.mark.process
MIB = 1024 * 1024
RUN = """
import sys
from svc.__main__ import main
sys.argv[0] = "svc"
main()
"""
KILLED_AT = """
import os, signal, sys
import rich.progress, svc.cli.importing, svc.logs, svc.service
from svc.importing import exchange
left, lines_of, numbers = [0], exchange.lines_of, sys.argv.pop(1).split()
def counted(*arguments, **more):
    for line in lines_of(*arguments, **more):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        yield line
exchange.lines_of = counted
for number in numbers:
    left[0] = int(number)
    if not (child := os.fork()):
        break
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, number
else:
    left[0] = 0
"""
"""Runs that are killed at a line each, and one that comes to its end."""
MEASURED = """
import atexit, pathlib, sys
peak = lambda: pathlib.Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
atexit.register(lambda: print(peak(), file=sys.stderr))
"""
"""Its own peak of memory in KiB, at the end: `ru_maxrss` counts what started it."""


def write(file: Path, session: str, turns: int = 2, begun: float = 0) -> None:
    """A session in which every turn edits, checks and answers."""
    lines: list[dict[str, Any]] = []
    for turn in range(turns):
        at, name = begun + 60 * turn, f"{session}-{turn}"
        lines += [
            user(f"u{name}", at, f"Change number {turn} of {session} in src/cart.py", promptId=f"p{name}"),
            said(f"a{name}", at + 1, call(f"e{name}", "Edit", file_path="/cart.py", old_string="x", new_string="y")),
            result(f"r{name}", at + 2, f"e{name}"),
            said(f"b{name}", at + 3, call(f"s{name}", "Bash", command="make check")),
            result(f"q{name}", at + 4, f"s{name}"),
            said(f"c{name}", at + 5, f"Changed {turn}.", stop_reason="end_turn"),
        ]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(raw(*(line | {"sessionId": session} for line in lines))))


def run(
    code: str, *arguments: object, key: str | None = None, around: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    told = environment() | ({"SVC_KEY": key} if key else {})
    command = [*around, sys.executable, "-c", code + RUN, *map(str, arguments)]
    return subprocess.run(command, env=told, capture_output=True, text=True, check=False)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = init(tmp_path / "var")
    with serving(tmp_path / "var", made["key"]) as found:
        yield found


def shown(server: Server) -> list[Any]:
    """Goals, prompts and what was used."""
    goals = server.goals()
    paths = [f"/v1/score_v3/sub-sessions/{goal['sub_session_id']}/prompts" for goal in goals]
    paths.append("/v1/telemetry/analytics?from=2026-03-01T00:00:00Z&to=2026-03-04T00:00:00Z")
    return [goals, *(server.api.get(path).json() for path in paths)]


def test_killed_at_any_line_and_begun_again_it_shows_what_one_run_shows(tmp_path: Path) -> None:
    sessions, found = tmp_path / "sessions", list[Any]()
    for number in range(3):
        write(sessions / f"s{number}.jsonl", f"s{number}", 4, 3_600 * number)
    for name, kills in (("killed", "1 24 71"), ("whole", "")):
        made = init(tmp_path / name)
        command = ("import", "claude-code", sessions, "--var", tmp_path / name, "--json")
        report = json.loads(run(KILLED_AT, kills, *command).stdout)
        assert (report["prompts"], report["refused"], report["torn"]) == (12, [], [])
        assert json.loads(svc(*command).stdout)["created"] == 0
        with serving(tmp_path / name, made["key"]) as server:
            found.append(shown(server))
    assert found[0] == found[1]
    assert len(found[0][0]) == 3


def test_a_folder_and_a_file_that_may_not_be_read_are_named(server: Server, tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    for name in ("open/a", "closed/b", "open/c"):
        write(sessions / f"{name}.jsonl", name[-1])
    for path in ("closed", "open/c.jsonl"):
        (sessions / path).chmod(0)
    # root, who may read all, as one who may not.
    around = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.getuid() == 0 else []
    command = ("import", "claude-code", sessions, "--url", server.intake_url, "--json")
    done = run("", *command, key=server.key, around=around)
    (sessions / "closed").chmod(0o700)
    report = json.loads(done.stdout)
    assert report["prompts"] == 2
    assert sorted(torn["file"] for torn in report["torn"]) == ["closed", "open/c.jsonl"], report["torn"]
    assert {torn["reason"] for torn in report["torn"]} == {"Permission denied"}


def test_a_line_of_hundreds_of_mebibytes_is_named_and_memory_stays_bounded(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "sessions/long.jsonl"
    write(file, "long")
    lines = file.read_bytes().splitlines(keepends=True)
    with file.open("wb") as stream:
        stream.writelines(lines[:6])
        stream.write(b'{"type":"user","message":{"content":"')
        for _ in range(300):
            stream.write(b"x" * MIB)
        stream.write(b'"}}\n')
        stream.writelines(lines[6:])
    done = run(MEASURED, "import", "claude-code", file, "--url", server.intake_url, "--json", key=server.key)
    report = json.loads(done.stdout)
    assert [(torn["line"], torn["reason"]) for torn in report["torn"]] == [(7, f"longer than {64 * MIB} bytes")]
    assert (report["prompts"], report["responses"], report["tool_calls"]) == (2, 2, 4)
    assert int(done.stderr.split()[-1]) * 1024 < 400 * MIB
