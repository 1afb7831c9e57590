"""What `svc doctor` concludes, and once with the real program and a real server."""

import json
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from click.testing import CliRunner
from msgspec import structs

from aggregates.times import parse_instant
from svc.cli import main
from svc.connect import doctor
from svc.connect.changes import Refused
from svc.connect.connections import NotAnswered, Server, StoredConnection, known_key, note_archive_read, stored
from svc.connect.doctor import background_codex_since, examine, round_trip, run_hook
from svc.outward import Answer
from tests.support.listening import Handler, closed, listening
from tests.support.process import ROOT, init, serving, svc
from tests.support.tables import table

TOLERANCE_SECONDS = 10.0
URL, KEY = "http://127.0.0.1:9", "svc_" + "k" * 43


def connected(agent: str, *more: str) -> StoredConnection:
    done = CliRunner().invoke(main, ["connect", agent, "--url", URL, "--key", KEY, "--offline", *more])
    assert done.exit_code == 0, done.output
    found = stored(agent)
    assert found is not None
    return found


def warned(connection: StoredConnection) -> list[str]:
    """What is found wrong but for the server, which is not there."""
    return [each.text for each in examine(connection) if each.level != "ok" and each.what != "server"]


class OneRecord:
    """A server that keeps the last record, and knows it a little later where it lies in the range that is asked for."""

    def __init__(self, ahead: float) -> None:
        self._ahead = ahead
        self._kept: dict[str, Any] = {}
        self._asked = 0

    def answer(self, _method: str, _path: str, body: dict[str, Any]) -> None:
        self._kept = body["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]

    def has_record(self, mark: str, since: str) -> bool:
        """As the real one: nothing lies in a range that begins after now."""
        at, now = int(self._kept["timeUnixNano"]) / 1e9, time.time() - self._ahead
        assert parse_instant(since) / 1e6 < now
        assert abs(at - now) < TOLERANCE_SECONDS
        self._asked += 1
        return mark in str(self._kept) and self._asked > 2


ODD = b'{"capture": {}, "arrivals": [5], "refusals": {}, "arrivals_since": 1}'


@table(
    ("path", "body", "told"),
    {
        "an API, the likely mistake": ("/health/ready", b"{}", "is the API of svc, not its intake"),
        "settings of other types": ("/v1/plugin/config", ODD, "not as an intake of svc does"),
        "no JSON at all": ("/v1/plugin/config", b"\xff", "not as an intake of svc does"),
    },
)
def test_what_answers_but_is_no_intake_is_a_finding(path: str, body: bytes, told: str, home: Path) -> None:
    class Pages(Handler):
        def do_GET(self) -> None:
            known = {"/health": b"ok", path: body}
            self.answer(200 if self.path in known else 404, known.get(self.path, b'{"message": "no"}'))

    connection = connected("claude-code")
    with listening(Pages) as url:
        found = list(examine(structs.replace(connection, url=url)))
    assert [told in each.text for each in found if each.level == "wrong" and each.what == "server"] == [True]


@pytest.mark.parametrize("date", ["yesterday", "Mon, 01 Jan 0200 00:00:00 +2359"])
def test_a_clock_that_no_server_has_is_told(date: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svc.connect.connections.answered", lambda *_, **__: Answer(200, b"ok", {"Date": date}))
    with pytest.raises(NotAnswered):
        Server("http://127.0.0.1:1", "key").health()


@pytest.mark.parametrize("ahead", [0.0, 600.0, -600.0])
def test_a_clock_that_is_off_or_a_node_that_lags_does_not_make_the_server_look_broken(
    ahead: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test record has the server's time; that the clock is off is said beside it."""
    monkeypatch.setattr(doctor, "READ_BACK_SECONDS", 0)
    assert round_trip(cast(Server, OneRecord(ahead)), ahead).level == "ok"


@table(
    ("command", "level", "told"),
    {
        "one that is gone": ("/nowhere/svc-hook", "wrong", "not found"),
        "one that fails without a word": ("false || true", "wrong", "did not arrive"),
        "one that never ends": ("sleep 60", "wrong", "did not end within"),
        "one that sends": ("true", "ok", "was read back"),
    },
)
def test_the_hooks_are_run_as_they_were_written(
    command: str, level: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "READ_BACK_SECONDS", 0)
    monkeypatch.setattr(doctor, "HOOK_SECONDS", 1 if "sleep" in command else 10)
    monkeypatch.setattr(Server, "has_record", lambda *_: level == "ok")
    finding = run_hook(Server(URL, KEY), 0.0, command, "svc connect")
    assert (finding.level, told in finding.text) == (level, True)


def test_hooks_that_codex_was_not_told_to_trust_are_seen(home: Path) -> None:
    """It notes each one in its own settings, by file, event and place."""
    connection = connected("codex")
    (told,) = [text for text in warned(connection) if "trust" in text]
    assert told.endswith("SessionStart, UserPromptSubmit, Stop, Interrupt, SessionEnd")
    events = ("session_start", "user_prompt_submit", "stop", "interrupt")
    with (home / ".codex/config.toml").open("a") as file:
        for event in events:
            file.write(f'\n[hooks.state."{home}/.codex/hooks.json:{event}:0:0"]\ntrusted_hash = "sha256:x"\n')
    (told,) = [text for text in warned(connection) if "trust" in text]
    assert told.endswith(": SessionEnd")


@pytest.mark.parametrize(
    ("listed", "seconds"),
    [
        ("   01:05 /usr/bin/codex -c x app-server --listen unix://", 65),
        ("1-02:03:04 node /x/codex app-server", ((24 + 2) * 60 + 3) * 60 + 4),
        ("   01:05 /usr/bin/codex exec hello\n 00:01 grep app-server", None),
        ("", None),
    ],
)
def test_a_codex_in_the_background_is_known_by_what_runs(listed: str, seconds: int | None) -> None:
    assert background_codex_since(listed) == seconds


def test_a_codex_that_runs_since_before_is_seen(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = connected("codex")
    for since, is_told in (("1-00:00:00", True), ("00:00", False)):
        monkeypatch.setattr(doctor, "processes", lambda since=since: f"{since} /usr/bin/codex app-server")
        assert any("a Codex in the background" in text for text in warned(connection)) == is_told


def test_a_projects_own_env_that_lacks_the_key_is_seen(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = connected("gemini")
    assert warned(connection) == []
    project = home / "work" / "deep"
    project.mkdir(parents=True)
    env = home / "work" / ".env"
    env.write_text("API=1\n")
    monkeypatch.chdir(project)
    assert any(f"reads {env} in place of its own" in text for text in warned(connection))
    env.write_text((home / ".gemini/.env").read_text())
    assert warned(connection) == []


def test_a_plugin_is_seen_beside_hooks_and_without_svc(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its script runs the program that connect noted, else what is on the PATH."""
    connection = connected("claude-code")
    settings = home / ".claude/settings.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"enabledPlugins": {"svc@svc": True}}))
    (home / ".claude/plugins").mkdir()
    places = {"svc@svc": [{"installPath": str(ROOT / "plugins/claude-code")}]}
    (home / ".claude/plugins/installed_plugins.json").write_text(json.dumps({"plugins": places}))
    assert "the plugin svc@svc captures prompts as well as the hooks that svc wrote" in warned(connection)
    connection = connected("claude-code", "--no-hooks")
    assert warned(connection) == []
    (home / ".config/svc/program").unlink()
    monkeypatch.setenv("PATH", "/nowhere")
    assert "the plugin svc@svc finds no svc, so it captures nothing" in warned(connection)


SETTINGS = '{\n  "model": "opus",\n  "env": {"EDITOR": "vi"}\n}\n'
SOUND = ["settings", "address", "hooks", "server", "clock", "key", "capture", "hook", "outbox"]


@pytest.mark.process
def test_doctor_sends_a_record_there_and_back(home: Path, tmp_path: Path) -> None:
    """It belongs to no session, so that no score knows it. A key or an address that is wrong changes nothing."""
    settings = home / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(SETTINGS)
    made = init(tmp_path / "var")

    def connected(url: str, *more: str, key: str = made["key"], by: str = "--url") -> str:
        return svc("connect", "claude-code", by, url, "--key", key, *more, check=False).stderr

    def findings() -> Any:
        return msgspec.json.decode(svc("doctor", "--json", check=False).stdout)[0]["findings"]

    with serving(tmp_path / "var", made["key"]) as server:
        assert "unknown key" in connected(server.intake_url, key="svc_" + "x" * 43)
        assert "is the API of svc" in connected(server.api_url)
        assert (settings.read_text(), (home / ".config").exists()) == (SETTINGS, False)
        connected(server.api_url, "--offline")
        assert "intake" in svc("doctor", check=False).stdout
        assert connected(server.intake_url) == ""
        assert "key_configured" in svc("developer", "list", "--var", tmp_path / "var", "--json").stdout
        found = findings()
        assert [each["what"] for each in found if each["level"] == "ok"] == SOUND
        (none,) = [each for each in found if each["what"] == "arrived"]
        assert (none["level"], "nothing of claude-code has arrived" in none["text"]) == ("warning", True)
        assert server.api.get("/v1/score_v3/realtime/sub-sessions").json() == []
        told = {"prompt_text": "Hello there", "tool_session_id": "s"}
        assert server.intake.post("/v1/prompts", json=told).is_success
        assert server.intake.post("/v1/prompts", json=told | {"prompt_text": " "}).status_code == 400
        found = findings()
        (came,) = [each for each in found if each["what"] == "arrived"]
        assert (came["level"], came["text"][:22]) == ("ok", "prompts of claude-code")
        assert ["prompt_text is blank" in each["text"] for each in found if each["what"] == "refused"] == [True]
        wrong = connected(server.intake_url, "--mcp", "--api", server.intake_url)
        assert "That should be the API: --var names the folder" in wrong
        assert connected(str(tmp_path / "var"), "--mcp", by="--var") == ""
        (mcp,) = [each for each in findings() if each["what"] == "mcp"]
        assert (mcp["level"], f"--var {tmp_path / 'var'} --api {server.api_url} answers" in mcp["text"]) == ("ok", True)
        connected(closed(), "--offline")
        done = svc("doctor", check=False)
        assert (done.returncode, "start svc serve there" in done.stdout) == (1, True)
    connected(str(tmp_path / "var"), "--mcp", "--offline", by="--var")
    with serving(tmp_path / "var", made["key"]) as server:  # on other ports
        assert [each["level"] for each in findings() if each["what"] == "mcp"] == ["ok"]


_KNOWN = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}},
    "tools/list": {"tools": [{"name": "my_day", "inputSchema": {"type": "object"}}]},
}
_SERVER = f"""
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("id") is not None:
        known = {_KNOWN}
        answer = {{"result": known[asked["method"]]}} if asked["method"] in known else ANSWER
        print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], **answer}}), flush=True)
"""
_TOLD = {"result": {"content": [{"type": "text", "text": "two goals"}], "isError": False}}


def answering(answer: dict[str, Any]) -> str:
    return _SERVER.replace("ANSWER", repr(answer))


@table(
    ("program", "level", "told"),
    {
        "one that answers": (answering(_TOLD), "ok", "answers: two goals"),
        "one whose tool fails": (answering({"result": _TOLD["result"] | {"isError": True}}), "wrong", "two goals"),
        "one that refuses": (answering({"error": {"code": -1, "message": "no tool"}}), "wrong", "no tool"),
        "one that lacks its library": ("raise SystemExit('needs the extra')", "wrong", "closed"),
        "one that says nothing": ("input() and input() and input()", "wrong", "answers: "),
    },
)
@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
def test_the_agents_server_of_mcp_is_asked_a_question(
    program: str, level: str, told: str, agent: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "MCP_SECONDS", 1 if "input" in program else 20)
    monkeypatch.setattr("svc.cli.connecting._whole_program", lambda: [sys.executable, "-c", program])
    (found,) = [each for each in examine(connected(agent, "--mcp")) if each.what == "mcp"]
    assert (found.level, told in found.text) == (level, True)


def test_the_key_of_one_connection_is_known_among_several(home: Path) -> None:
    """So that what an agent starts speaks for whoever connected it."""
    connected("claude-code")
    connected("codex", "--key", KEY[:-1] + "x")
    assert [known_key(connection=each)[-1] for each in ("claude-code", "codex")] == ["k", "x"]
    with pytest.raises(Refused, match="different keys"):
        known_key()


def test_without_its_library_no_server_of_mcp_is_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svc.cli.connecting.find_spec", lambda _name: None)
    done = CliRunner().invoke(main, ["connect", "codex", "--url", URL, "--key", KEY, "--offline", "--mcp"])
    assert (done.exit_code, "needs an extra" in done.output, list(home.iterdir())) == (1, True, [])


def test_an_archive_of_agentsview_is_offered_and_its_last_reading_told(home: Path) -> None:
    """It names agents that svc cannot hear otherwise; who sends to a server is told to name it."""
    (home / ".agentsview").mkdir()
    with closing(sqlite3.connect(home / ".agentsview" / "sessions.db")) as db:
        db.executescript((Path(__file__).parents[1] / "importing" / "agentsview.sql").read_text())

    def said(*arguments: str) -> str:
        return CliRunner().invoke(main, arguments).output

    offer = said("connect", "claude-code", "--url", URL, "--key", KEY, "--offline")
    assert f"sessions of cursor, goose, pi, too: svc import agentsview --url {URL} --watch" in offer
    assert f"they are of cursor, goose, pi\n    → svc import agentsview --url {URL}" in said("doctor")
    note_archive_read()
    assert "AgentsView's sessions were last read at 20" in said("doctor")
