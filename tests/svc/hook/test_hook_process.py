"""The real hook command: against a real server, against servers that are none, killed, and many at once."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from aggregates import REVIEW_MARK
from svc import hook
from svc.hook.machine import Outbox, connection_file, connection_folder
from tests.support.driver import until
from tests.support.listening import closed, dripping, intake, silent
from tests.support.process import environment, init, serving
from tests.support.tables import beside

pytestmark = pytest.mark.process

SECONDS_MAX = 2.0
"""What the contract gives a hook, whatever the server does; beside it what a busy machine takes to start anything."""
KEY = "svc_" + "k" * 43
WAITED_FOR_MODULES_MAX = 96
"""With some 30 that Python itself has at its start, and what runs the test."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def connect(url: str, key: str = KEY) -> Outbox:
    path = connection_file("claude-code")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"url": url, "key": key}))
    return Outbox(connection_folder("claude-code"))


def prompt(number: int) -> str:
    fields = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt_id": f"p{number}", "cwd": "/shop"}
    return json.dumps({**fields, "prompt": f"Fix the bug {number} in src/app.py"})


PATIENT = """
import sys
import svc.hook.main as bounds
bounds.EXIT_SECONDS = bounds.DELIVER_SECONDS = bounds.DELIVER_AT_END_SECONDS = 60.0
sys.argv = ["svc", "hook", "claude-code"]
from svc.__main__ import main
main()
"""
"""A hook with time enough, for what is not about time: ten at once on a busy machine take longer than one may."""


START = Path(hook.__file__).with_name("start.py")


def start(text: str | bytes, *arguments: str, patient: bool = False, apart: bool = False) -> subprocess.Popen[bytes]:
    """Start a hook; it has all of its input. `apart`: as `svc connect` has agents run it."""
    program = ["-I", "-S", str(START)] if apart else ["-m", "svc"]
    command = [sys.executable, *program, "hook", *(arguments or ("claude-code",))]
    command = [sys.executable, "-c", PATIENT] if patient else command
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment())
    assert process.stdin is not None
    process.stdin.write(text.encode() if isinstance(text, str) else text)
    process.stdin.close()
    process.stdin = None
    return process


def finish(process: subprocess.Popen[bytes]) -> None:
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, b"", b"")


def call(text: str | bytes, *arguments: str, patient: bool = False) -> float:
    began = time.monotonic()
    finish(start(text, *arguments, patient=patient))
    return time.monotonic() - began


def texts(outbox: Outbox) -> list[str]:
    return [json.loads(path.read_bytes())["body"]["prompt_text"] for path in outbox.waiting()]


def received(bodies: list[dict[str, Any]]) -> list[str]:
    """The prompts of what a server took, each once, in order."""
    return list(dict.fromkeys(body["prompt_text"] for body in bodies))


# --- bounded ----------------------------------------------------------------------------------------------


def test_a_hook_never_takes_longer_than_it_may(home: Path) -> None:
    """Refusing, hanging, dripping, busy: it ends in time with 0, says nothing, and has kept the prompt."""
    started = call(b"")
    with silent() as hanging, dripping() as slow, intake(503) as busy:
        for number, url in enumerate((closed(), hanging, slow, busy.url, "https" + busy.url.removeprefix("http"))):
            outbox = connect(url)
            outbox.note(pause_until=0) if outbox.waiting() else None
            assert call(prompt(number)) < SECONDS_MAX + started, url
            assert len(outbox.waiting()) == number + 1, url


@pytest.mark.parametrize(
    "text", [b"", b"no json", b"[]", b"{}", b"\xff", b'{"hook_event_name": 1, "session_id": []}', b"[" * 200_000]
)
def test_whatever_stands_on_its_input_a_hook_ends_well(text: bytes) -> None:
    """Also without a connection."""
    call(text)
    connect(closed())
    assert call(text) < SECONDS_MAX


def test_an_agent_that_nobody_knows_and_words_too_many_do_no_harm() -> None:
    call(prompt(1), "nobody", "--connection")


def test_an_input_that_never_ends_is_not_waited_for(home: Path) -> None:
    command = [sys.executable, "-m", "svc", "hook", "claude-code"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment())
    began = time.monotonic()
    assert process.wait(30) == 0
    assert time.monotonic() - began < SECONDS_MAX + 0.5
    process.communicate()


def test_where_nothing_can_be_kept_a_hook_ends_well(home: Path) -> None:
    """A state folder that is a file, as a disk that is full."""
    connect(closed())
    (home / ".local").write_text("no folder")
    assert call(prompt(1)) < SECONDS_MAX


# --- in order, once ---------------------------------------------------------------------------------------


def test_what_was_told_while_the_server_was_down_is_delivered_once_and_in_order(home: Path) -> None:
    """By the next call after it is back, to a real server."""
    made = init(home / "var")
    outbox = connect(closed(), made["key"])
    for number in range(3):
        call(prompt(number))
    assert len(outbox.waiting()) == 3
    with serving(home / "var", made["key"]) as server:
        connect(server.intake_url, made["key"])
        call(prompt(3))
        assert outbox.waiting() == []
        shown = [row["prompt_text"] for row in _prompts(server)]
        assert shown == [json.loads(prompt(number))["prompt"] for number in range(4)]
        call(prompt(3))
        assert len(_prompts(server)) == 4


def _prompts(server: Any) -> list[dict[str, Any]]:
    rows = server.api.get("/v1/score_v3/realtime/sub-sessions").json()
    found = [server.api.get(f"/v1/score_v3/sub-sessions/{row['sub_session_id']}/prompts").json() for row in rows]
    return sorted((each for rows in found for each in rows), key=lambda row: str(row["submitted_at"]))


def test_ten_hooks_at_once_keep_the_outbox_whole(home: Path) -> None:
    """With the server down all ten wait; with it back, ten more at once deliver twenty, each once."""
    with intake(503) as server:
        outbox = connect(server.url)
        for process in [start(prompt(number), patient=True) for number in range(10)]:
            finish(process)
        waiting = texts(outbox)
        assert len(set(waiting)) == 10
        server.status, server.received = 204, []
        for process in [start(prompt(number), patient=True) for number in range(10, 20)]:
            finish(process)
        finish(start(prompt(20), patient=True))
        assert outbox.waiting() == []
        assert len(server.received) == len(set(received(server.received))) == 21
        assert received(server.received)[:10] == waiting


@beside()
def test_killed_at_any_step_a_hook_leaves_an_outbox_that_goes_on(moment: str, nth: int, accepted: bool) -> None:
    """Before its name, after it, while it is sent, and between the server's answer and the end of the file."""
    place, _, name = moment.rpartition(".")
    code = f"""
import http.client, os, pathlib, signal, sys
calls, real = [], {moment}
def last(*arguments, **options):
    calls.append(1)
    if len(calls) == {nth}:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments, **options)
setattr({place}, {name!r}, last)
sys.argv = ["svc", "hook", "claude-code"]
from svc.__main__ import main
main()
"""
    with intake() as server:
        outbox = connect(server.url)
        done = subprocess.run([sys.executable, "-c", code], input=prompt(1).encode(), env=environment(), timeout=30)
        assert done.returncode == -signal.SIGKILL
        assert len(outbox.waiting()) == accepted
        call(prompt(2))
        first, second = (json.loads(prompt(number))["prompt"] for number in (1, 2))
        assert received(server.received) == ([first, second] if accepted else [second])
        assert len({body["client_event_id"] for body in server.received}) == 1 + accepted
        assert outbox.waiting() == []


# --- in nobody's way ----------------------------------------------------------------------------------------


def test_an_agent_waits_until_a_prompt_is_kept_and_not_until_it_is_sent(home: Path) -> None:
    """Nor does it read a pipe that the child holds open. The end of the session waits for all that is on its way."""
    with intake() as server:
        outbox = connect(server.url)
        server.answers.clear()
        finish(start(prompt(1), apart=True))
        assert texts(outbox) == [json.loads(prompt(1))["prompt"]]
        server.answers.set()
        finish(start('{"hook_event_name": "SessionEnd", "session_id": "s1"}', apart=True))
        assert outbox.waiting() == []
        assert received(server.received[:1]) == [json.loads(prompt(1))["prompt"]]
        assert server.paths[-1] == "/v1/logs"


def test_a_sessions_end_starts_the_judge_once_in_a_while(home: Path) -> None:
    """And not at the end of a run of its own."""
    began = home / "began"
    judge = [sys.executable, "-c", f"open({str(began)!r}, 'a').write('x')"]
    end = {"hook_event_name": "SessionEnd", "session_id": "s1", "cwd": "/shop"}
    with intake() as server:
        outbox = connect(server.url)
        connection_file("claude-code").write_text(json.dumps({"url": server.url, "key": KEY, "judge": judge}))
        outbox.folder.mkdir(parents=True)
        finish(start(json.dumps(end | {"cwd": f"/state/{REVIEW_MARK}"}), apart=True))
        assert not (home / ".local/state/svc/review.stamp").exists()
        for _ in range(2):
            finish(start(json.dumps(end), apart=True))
        assert until(began.exists, SECONDS_MAX * 5)
        assert began.read_text() == "x"


def test_where_no_child_can_be_had_the_hook_sends_by_itself(home: Path) -> None:
    """A machine that has as many processes as it may."""
    code = (
        "import os, runpy, sys\n"
        "def full(): raise BlockingIOError\n"
        f"os.fork, sys.argv = full, ['start.py', 'hook', 'claude-code']\n"
        f"runpy.run_path({str(START)!r}, run_name='__main__')\n"
    )
    with intake() as server:
        connect(server.url)
        subprocess.run([sys.executable, "-c", code], input=prompt(1).encode(), env=environment(), check=True)
        assert received(server.received) == [json.loads(prompt(1))["prompt"]]


# --- light ------------------------------------------------------------------------------------------------


def loaded(*program: str, code: str) -> set[str]:
    connect(closed())
    whole = f"import os, sys\nos._exit = lambda code: sys.exit(' '.join(sys.modules))\n{code}"
    command = [sys.executable, *program, "-c", whole]
    done = subprocess.run(command, input=prompt(1), text=True, capture_output=True, env=environment())
    return set(done.stderr.split())


def test_a_hook_imports_the_standard_library_only(home: Path) -> None:
    run = "sys.argv = ['svc', 'hook', 'claude-code']; from svc.__main__ import main; main()"
    names = {name.split(".")[0] for name in loaded(code=run)}
    assert "http" in names
    others = {name for name in names if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert others <= {"svc", "aggregates", "sitecustomize", "usercustomize"}


def test_what_an_agent_waits_for_imports_no_network(home: Path) -> None:
    """It takes half of a hook's time, and the child takes it. Counted, for a clock would tell the day."""
    run = f"import runpy; runpy.run_path({str(START)!r}, run_name='__main__')"
    left_to_a_child = "sys.argv = ['start.py', 'hook', 'claude-code']; os.fork = lambda: 1; "
    names = loaded("-I", "-S", code=left_to_a_child + run)
    assert "svc.hook.machine" in names
    assert names & {"http", "socket", "ssl", "email", "site", "subprocess", "argparse"} == set()
    assert len(names) <= WAITED_FOR_MODULES_MAX, sorted(names)


def test_the_entry_leaves_help_to_the_command_line() -> None:
    command = [sys.executable, "-m", "svc", "hook", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    assert "outbox" in shown.stdout
