"""The promises of the first page, on the real program: real sockets, real SQLite, real kill -9."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.support.process import init, serving, svc

pytestmark = pytest.mark.process

SECRET = "sk-ant-api03-" + "Zq7" * 20
WORDS = "the quick heron rewrites the harbour ledger"


@pytest.mark.one_folder("looks into events.db; the storm kills nodes")
def test_kill_9_in_the_middle_of_a_load_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Every acknowledged capture is there once, none half, and a replay gives the same tables."""
    var = tmp_path / "var"
    made = init(var)
    acknowledged: list[int] = []
    with serving(var, made["key"]) as server:

        def send(number: int) -> None:
            try:
                answer = server.capture(number)
            except httpx.TransportError:
                return
            if answer.status_code == 201:
                acknowledged.append(number)
            if len(acknowledged) == 300:
                server.process.kill()

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(send, range(1, 1001)))
        server.kill()
    assert len(acknowledged) >= 300
    with serving(var, made["key"]) as server:
        repeated = [server.capture(number) for number in acknowledged]
        assert {answer.status_code for answer in repeated} == {200}
        assert server.stop() == 0
    with closing(sqlite3.connect(var / "events.db")) as log:
        versions = "SELECT 1 FROM stored_events GROUP BY originator_id, originator_version HAVING count(*) > 1"
        doubled = f"SELECT count(*) FROM ({versions})"
        assert log.execute(doubled).fetchone() == (0,)
    checked = msgspec.json.decode(svc("replay", "--var", var, "--check", "--json").stdout)
    assert (checked["identical"], checked["failed"]) == (True, 0)


def _children(var: Path) -> list[str]:
    """What runs besides the server of a folder, as its own child: the command lines."""
    pid = msgspec.json.decode((var / "running.json").read_bytes())["pid"]
    lists = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    pids = [child for some in lists for child in some]
    return [Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode() for child in pids]


def test_a_replay_under_a_running_server_serves_the_same_scores(tmp_path: Path) -> None:
    """The pointer moves to a new file; reads before and after answer alike, captures go on."""
    var = tmp_path / "var"
    made = init(var)
    with serving(var, made["key"]) as server:
        for number in range(1, 20):
            server.capture(number)
        before = server.goals()
        old = (var / "views.current").read_text()
        svc("replay", "--var", var)
        assert _children(var) == [], "a server is one process"
        assert (var / "views.current").read_text() != old
        assert server.goals() == before
        assert server.capture(20).status_code == 201
        assert not (var / old.strip()).exists()


def test_no_secret_and_no_text_lies_in_any_file(tmp_path: Path) -> None:
    """A planted secret is in no file at all; a prompt's words are sealed wherever they stand."""
    var = tmp_path / "var"
    made = init(var)
    with serving(var, made["key"]) as server:
        text = f"{WORDS}, and my key is {SECRET}"
        event = {"prompt_text": text, "tool_session_id": "s1", "cwd": f"/home/{WORDS}", "metadata": {"note": WORDS}}
        prompt_id = server.intake.post("/v1/prompts", json=event).json()["id"]
        answer = {"prompt_id": prompt_id, "response_operation_id": "op", "response_text": f"I saw {SECRET}: {WORDS}"}
        assert server.intake.post("/v1/prompts/response", json=answer).status_code == 204
        row = server.goals()[0]
        assert "heron" in row["title"]
        patched = server.api.patch(f"/v1/score_v3/sub-sessions/{row['sub_session_id']}", json={"title": f"My {WORDS}"})
        assert patched.json()["title_source"] == "user_edited"
        server.stop()
    searched = [path for path in var.rglob("*") if path.is_file()]
    content = b"".join(path.read_bytes() for path in searched) + (tmp_path / "var.log").read_bytes()
    assert len(searched) >= 4
    assert SECRET.encode() not in content
    assert b"heron" not in content
    assert made["key"].encode() not in content


@pytest.mark.one_folder("locks events.db")
def test_the_store_unwritable_is_503_and_recovers_without_a_restart(tmp_path: Path) -> None:
    """While another process locks the log for writing, captures are refused; once it lets go, they are taken."""
    var = tmp_path / "var"
    made = init(var)
    with serving(var, made["key"]) as server:
        assert server.capture(1).status_code == 201
        with closing(sqlite3.connect(var / "events.db", isolation_level=None)) as locker:
            locker.execute("BEGIN EXCLUSIVE")
            with ThreadPoolExecutor(1) as pool:
                asked = pool.submit(server.intake.get, "/health")
                refused, health = server.capture(2), asked.result()
            assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
            assert (health.status_code, health.text) == (503, "event store unavailable")
            assert "Retry-After" not in health.headers
            locker.execute("ROLLBACK")
        assert server.capture(3).status_code == 201
        assert server.intake.get("/health").text == "ok"


AUGUST = ("--from", "2026-08-01", "--to", "2026-08-31")


def backfilled(var: Path, *more: str) -> list[dict[str, Any]]:
    """What the command says as JSON, once it is done."""
    found: list[dict[str, Any]] = json.loads(svc("backfill", "--var", var, *AUGUST, "--json", *more).stdout)
    return found


def test_by_command_and_by_key_with_and_without_a_server(tmp_path: Path) -> None:
    """Each judges what there is again, and says how much that was."""
    var = tmp_path / "var"
    made = init(var)
    with serving(var, made["key"]) as server:
        prompt = {"prompt_text": "Fix src/a.py", "tool_session_id": "s1", "submitted_at": "2026-08-03T09:00:00Z"}
        assert server.intake.post("/v1/prompts", json=prompt).status_code == 201
        assert len(server.api.get("/v1/score_v3/realtime/sub-sessions").json()) == 1
        (through_server,) = backfilled(var)
        asked = {"from": "2026-08-01", "to": "2026-08-31"}
        by_key = server.api.post("/v1/score_v3/admin/backfill", json=asked)
        assert (by_key.status_code, by_key.json().keys()) == (202, {"backfill_id"})
        assert server.stop() == 0
    (alone,) = backfilled(var, "--organization", made["organization_id"])
    for each in (through_server, alone):
        assert (each["status"], each["sub_sessions"], each["done"]) == ("completed", 1, 1)
    refused = svc("backfill", "--var", var, "--from", "x", "--to", "2026-08-31", check=False)
    assert refused.returncode == 1
    assert "from must be" in refused.stderr
