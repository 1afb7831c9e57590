"""What a hook makes of what it is told, what it keeps while the server is away, and how it sends that."""

import json
import os
import ssl
import time
from http.client import BadStatusLine
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from aggregates import REVIEW_MARK
from svc.hook.captures import TEXT_BYTES_MAX, TOOL_INPUT_BYTES_MAX, Captured, captured
from svc.hook.machine import PAUSE_SECONDS, Connection, Letter, OpenPrompt, Outbox, forget_old, load_connection
from svc.hook.main import Sender, keep, send
from tests.support.listening import intake, silent
from tests.support.tables import lines_of

AT = 1_790_000_000.25
CONNECTION = Connection("claude-code", "http://127.0.0.1:9", "svc_key")


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def told(event: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": event, "session_id": "s1", "cwd": "/home/ana/shop", **fields}


def heard(agent: str, last: OpenPrompt | None, input_fields: dict[str, Any]) -> Captured | None:
    return captured(CONNECTION, agent, input_fields, lambda session: last, AT)


def capture(agent: str, last: OpenPrompt | None = None, /, **input_fields: Any) -> Letter:
    found = heard(agent, last, input_fields)
    assert found is not None
    assert found.letter is not None
    return found.letter


def attributes(letter: Letter) -> dict[str, str]:
    (record,) = letter.body["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    return {each["key"]: each["value"]["stringValue"] for each in record["attributes"]}


@pytest.mark.parametrize("field", [{"cwd": f"/home/ana/.local/{REVIEW_MARK}"}, {"prompt": f"{REVIEW_MARK} x"}])
def test_a_run_of_svc_review_is_nobodys_session(field: dict[str, str]) -> None:
    assert heard("codex", None, told("UserPromptSubmit", **{"prompt": "fix it", "turn_id": "t"} | field)) is None
    assert heard("codex", None, told("SessionStart", **field)) is None


def test_what_the_doctor_asks_goes_the_same_way_and_names_no_session() -> None:
    letter = capture("claude-code", **told("SvcDoctor"))
    assert (letter.path, attributes(letter)) == ("/v1/logs", {"event.name": "svc.doctor", "svc.doctor.mark": "s1"})


# --- captures ---------------------------------------------------------------------------------------------


def test_a_prompt_is_named_as_the_agents_telemetry_names_it() -> None:
    letter = capture("claude-code", **told("UserPromptSubmit", prompt="fix it", prompt_id="p1"))
    assert letter.path == "/v1/prompts"
    assert UUID(letter.body.pop("client_event_id"))
    assert letter.body == {
        "prompt_text": "fix it",
        "tool_session_id": "s1",
        "source": "claude-code",
        "host_prompt_id": "p1",
        "submitted_at": "2026-09-21T14:13:20.250Z",
        "cwd": "/home/ana/shop",
    }


@pytest.mark.parametrize(("agent", "event"), [("codex", "UserPromptSubmit"), ("gemini", "BeforeAgent")])
def test_codex_and_gemini_prompts_have_no_name_in_telemetry(agent: str, event: str) -> None:
    letter = capture(agent, **told(event, prompt="fix it", turn_id="t1", timestamp="2026-09-21T14:13:20Z"))
    assert (letter.body["source"], letter.body["host_prompt_id"]) == (agent, None)


def test_two_hooks_that_tell_of_one_prompt_tell_of_the_same() -> None:
    """As where a plugin and the settings both have them; an equal text later is another prompt."""
    fields = told("UserPromptSubmit", prompt="fix it")
    ids = [capture("claude-code", **fields, prompt_id=name).body["client_event_id"] for name in ("p1", "p1", "p2")]
    assert ids[0] == ids[1] != ids[2]
    first, second = (capture("claude-code", **fields).body["client_event_id"] for _ in range(2))
    assert first != second


def test_a_long_prompt_is_cut_and_says_so() -> None:
    text = "é" * TEXT_BYTES_MAX
    body = capture("claude-code", **told("UserPromptSubmit", prompt=text)).body
    assert len(body["prompt_text"].encode()) <= TEXT_BYTES_MAX
    assert (body["truncated"], body["original_char_count"]) == (True, len(text))


@pytest.mark.parametrize(("event", "field"), [("Stop", "last_assistant_message"), ("AfterAgent", "prompt_response")])
def test_an_answer_goes_to_the_prompt_before_it(event: str, field: str) -> None:
    """With how long it took; its operation is the same however often it is sent."""
    last = OpenPrompt("7d0c1c0e-6c0b-4b53-9a55-0f6f7b1f2a11", AT - 2.5)
    letter = capture("claude-code", last, **told(event, **{field: "done"}))
    assert letter.path == "/v1/prompts/response"
    assert letter.body["client_event_id"] == last.event_id
    assert (letter.body["response_text"], letter.body["elapsed_ms"]) == ("done", 2500)
    assert letter == capture("claude-code", last, **told(event, **{field: "done"}))


@pytest.mark.parametrize(
    ("last", "fields"),
    [
        (None, {"last_assistant_message": "done"}),
        (OpenPrompt("7d0c1c0e-6c0b-4b53-9a55-0f6f7b1f2a11", AT, answered=True), {"last_assistant_message": "more"}),
        (
            OpenPrompt("7d0c1c0e-6c0b-4b53-9a55-0f6f7b1f2a11", AT, "p1"),
            {"last_assistant_message": "x", "prompt_id": "p2"},
        ),
        (OpenPrompt("7d0c1c0e-6c0b-4b53-9a55-0f6f7b1f2a11", AT), {}),
        (OpenPrompt("7d0c1c0e-6c0b-4b53-9a55-0f6f7b1f2a11", AT), {"prompt_response": "[no response text]"}),
    ],
    ids=["no prompt known", "answered already", "another prompt's", "no text", "Gemini's word for no text"],
)
def test_an_answer_that_belongs_to_no_open_prompt_is_not_sent(last: OpenPrompt | None, fields: dict[str, str]) -> None:
    assert heard("claude-code", last, told("Stop", **fields)) == Captured("response", "s1")


@pytest.mark.parametrize("answered_under", ["running", "own"])
def test_a_prompt_that_is_typed_while_the_agent_works_gets_its_own_answer(tmp_path: Path, answered_under: str) -> None:
    """Its hook bears the name of the turn that runs; the answer that one or a new one. Two hooks may tell of it."""
    outbox = Outbox(tmp_path / "c")
    for text in ("one", "two", "two"):
        keep(CONNECTION, outbox, "claude-code", told("UserPromptSubmit", prompt=text, prompt_id="running"))
    keep(CONNECTION, outbox, "claude-code", told("Stop", last_assistant_message="done", prompt_id=answered_under))
    bodies = [json.loads(path.read_bytes())["body"] for path in outbox.waiting()]
    one, *others = (body["client_event_id"] for body in bodies)
    assert [each == one for each in others] == [False] * 3
    assert len(set(others)) == 1


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop", "SessionStart", "SessionEnd"])
def test_what_a_sub_agent_is_told_and_answers_is_no_persons(event: str) -> None:
    """Codex tells it under the name of the session that it works for."""
    fields = {"prompt": "look at the tests", "last_assistant_message": "done", "turn_id": "t1"}
    assert heard("codex", None, told(event, **fields)) is not None
    found = heard("codex", None, told(event, **fields, agent_id="a1", agent_type="explorer"))
    if event != "UserPromptSubmit":
        assert found is None
        return
    assert found is not None
    assert (found.kind, found.session, found.prompt) == ("session_start", "a1", None)
    assert found.letter is not None
    assert attributes(found.letter)["source"] == "subagent"


def test_what_the_server_does_not_ask_for_is_not_sent() -> None:
    prompt, unasked = told("UserPromptSubmit", prompt="fix it"), CONNECTION._replace(prompts=False)
    assert captured(unasked, "claude-code", prompt, lambda session: None, AT) == Captured("prompt", "s1")


@pytest.mark.parametrize("line", [line for _, line in lines_of(Path(__file__).with_name("calls.txt"))])
def test_whatever_else_happens_is_a_log_record(line: str) -> None:
    """In the vocabulary of the intake; of a tool call in Claude Code's words, so that the two are known to be one."""
    call, _, record = line.partition(" => ")
    (agent, event, fields), (name, expected) = call.split(" ", 2), record.split(" ", 1)
    letter = capture(agent, **told(event, **json.loads(fields)))
    assert letter.path == "/v1/logs"
    assert attributes(letter) == {"event.name": f"svc.{name}", "session.id": "s1", **json.loads(expected)}


def test_a_tools_large_input_is_cut_and_marked() -> None:
    """What is wrong when cut, the server then does not count."""
    written = {"file_path": "/a.py", "content": "x" * TOOL_INPUT_BYTES_MAX}
    sent = json.loads(
        attributes(capture("claude-code", **told("PostToolUse", tool_name="Write", tool_input=written)))["tool_input"]
    )
    assert sent["file_path"] == "/a.py"
    assert sent["content"].endswith("…[cut]")


# --- a session --------------------------------------------------------------------------------------------


def test_a_session_is_kept_in_the_outbox_in_order() -> None:
    """Start, prompt, answer, end; a second answer of the same prompt is none."""
    outbox = Outbox(Path(os.environ["XDG_STATE_HOME"]) / "svc" / "claude-code")
    for each in (
        told("SessionStart", source="startup"),
        told("UserPromptSubmit", prompt="fix it", prompt_id="p1"),
        told("Stop", last_assistant_message="done", prompt_id="p1"),
        told("Stop", last_assistant_message="really done", prompt_id="p1", stop_hook_active=True),
        told("SessionEnd", reason="other"),
    ):
        keep(CONNECTION, outbox, "claude-code", each)
    waiting = [json.loads(path.read_bytes()) for path in outbox.waiting()]
    assert [each["path"] for each in waiting] == ["/v1/logs", "/v1/prompts", "/v1/prompts/response", "/v1/logs"]
    assert waiting[1]["body"]["client_event_id"] == waiting[2]["body"]["client_event_id"]


def test_sessions_that_nobody_goes_on_with_are_forgotten(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    outbox.remember("old", OpenPrompt("1", AT))
    for path in (tmp_path / "sessions").iterdir():
        os.utime(path, (0, 0))
    outbox.remember("new", OpenPrompt("2", AT))
    forget_old(outbox.sessions)
    assert (outbox.last("old"), outbox.last("new")) == (None, OpenPrompt("2", AT))


def test_a_plugins_options_make_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_connection("claude-code") is None
    monkeypatch.setenv("CLAUDE_PLUGIN_OPTION_URL", "http://h:1/")
    monkeypatch.setenv("CLAUDE_PLUGIN_OPTION_KEY", "svc_k")
    assert load_connection("claude-code") == Connection("claude-code", "http://h:1", "svc_k")


SHORT_SECONDS = 0.2


# --- the outbox -------------------------------------------------------------------------------------------


def letters(count: int) -> list[Letter]:
    return [Letter("/v1/prompts", {"client_event_id": str(number)}) for number in range(count)]


def numbers(outbox: Outbox) -> list[str]:
    return [json.loads(path.read_bytes())["body"]["client_event_id"] for path in outbox.waiting()]


def test_what_was_accepted_waits_in_order(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "c")
    for letter in letters(3):
        outbox.accept(letter)
    assert numbers(outbox) == ["0", "1", "2"]
    assert {path.stat().st_mode & 0o777 for path in outbox.folder.iterdir()} == {0o600}
    assert outbox.folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("bound", "most", "left"),
    [("OUTBOX_FILES_MAX", 2, ["2", "3"]), ("OUTBOX_BYTES_MAX", 1, ["3"]), ("OUTBOX_SECONDS_MAX", 60, ["2", "3"])],
)
def test_an_outbox_has_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int, left: list[str]
) -> None:
    """In number, in bytes, in age: what came last stays, and what was given up is counted."""
    monkeypatch.setattr(f"svc.hook.machine.{bound}", most)
    outbox = Outbox(tmp_path / "c")
    for number, letter in enumerate(letters(4)):
        outbox.accept(letter)
        if number == 1 and bound == "OUTBOX_SECONDS_MAX":
            for path in outbox.waiting():
                os.utime(path, (0, 0))
    assert (numbers(outbox), outbox.given_up()) == (left, 4 - len(left))


def test_a_disk_that_is_full_keeps_nothing_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outbox = Outbox(tmp_path / "c")
    outbox.accept(letters(1)[0])

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        outbox.accept(letters(2)[1])
    assert numbers(outbox) == ["0"]
    assert [path.name for path in outbox.folder.iterdir() if path.name.startswith(".")] == []


# --- sending ----------------------------------------------------------------------------------------------


def sent(url: str, outbox: Outbox, seconds: float = 5.0) -> None:
    send(CONNECTION._replace(url=url), outbox, time.monotonic() + seconds)


def box(tmp_path: Path, count: int = 3) -> Outbox:
    outbox = Outbox(tmp_path / "c")
    for letter in letters(count):
        outbox.accept(letter)
    return outbox


@pytest.mark.parametrize("status", [200, 201, 204])
def test_what_the_server_took_is_gone(tmp_path: Path, status: int) -> None:
    outbox = box(tmp_path)
    with intake(status) as server:
        sent(server.url + "/behind/a/proxy", outbox)
        sent(server.url, outbox)
    assert [each["client_event_id"] for each in server.received] == ["0", "1", "2"]
    assert server.paths == ["/behind/a/proxy/v1/prompts"] * 3
    assert (outbox.waiting(), outbox.notes().get("dead")) == ([], None)


@pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 503, 301, 404, 405])
def test_what_may_be_taken_later_waits(tmp_path: Path, status: int) -> None:
    """Behind a key that is refused, a server without time, an address where something else answers: in order."""
    outbox = box(tmp_path)
    with intake(status) as server:
        sent(server.url, outbox)
        assert [each["client_event_id"] for each in server.received] == ["0"]
        assert outbox.notes()["failure"]["what"] == f"HTTP {status}"
        server.status, server.received = 204, []
        sent(server.url, outbox)
        assert [each["client_event_id"] for each in server.received] == ["0", "1", "2"]


@pytest.mark.parametrize(("route", "status"), [*(("", each) for each in (400, 409, 413, 415)), ("/response", 404)])
def test_what_is_refused_for_good_holds_nobody_up(tmp_path: Path, route: str, status: int) -> None:
    """It is remembered for `svc doctor`, without its text. An answer's 404 is about its prompt, not the address."""
    outbox = Outbox(tmp_path / "c")
    for number in range(2):
        outbox.accept(Letter(f"/v1/prompts{route}", {"client_event_id": str(number)}))
    with intake(status) as server:
        sent(server.url, outbox)
    assert outbox.waiting() == []
    dead = outbox.notes()["dead"]
    assert [(each["id"], each["status"]) for each in dead] == [("0", status), ("1", status)]
    assert set(dead[0]) == {"at", "path", "id", "status"}


def test_a_record_that_was_refused_alone_is_remembered(tmp_path: Path) -> None:
    outbox = box(tmp_path, 1)
    with intake(200) as server:
        server.body = b'{"partialSuccess": {"rejectedLogRecords": "1"}}'
        sent(server.url, outbox)
    assert outbox.notes()["dead"][0]["status"] == "refused in part"


def test_a_file_that_cannot_be_read_holds_nobody_up(tmp_path: Path) -> None:
    outbox = box(tmp_path)
    outbox.waiting()[0].write_text("{torn")
    with intake() as server:
        sent(server.url, outbox)
    assert [each["client_event_id"] for each in server.received] == ["1", "2"]


@pytest.mark.parametrize(
    "error",
    [
        ssl.SSLCertVerificationError(1, "certificate verify failed"),
        ssl.SSLError(1, "wrong version number"),
        UnicodeError("label too long"),
        BadStatusLine("nonsense"),
        ConnectionResetError(104, "Connection reset by peer"),
    ],
    ids=repr,
)
def test_whatever_goes_wrong_on_the_way_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A certificate that is refused is a ValueError, too: it says nothing about the capture."""

    def broken(*_: object) -> None:
        raise error

    outbox = box(tmp_path)
    monkeypatch.setattr(Sender, "_post", broken)
    sent("https://localhost:1", outbox)
    assert (numbers(outbox), outbox.notes().get("dead")) == (["0", "1", "2"], None)
    assert outbox.notes()["failure"]["what"]


def test_a_server_that_hangs_is_waited_for_once(tmp_path: Path) -> None:
    """For as long as there is time; then nobody waits for it for a while."""
    outbox = box(tmp_path)
    with silent() as url:
        began = time.monotonic()
        sent(url, outbox, SHORT_SECONDS)
        assert SHORT_SECONDS <= time.monotonic() - began < SHORT_SECONDS + 1
        began = time.monotonic()
        sent(url, outbox)
        assert time.monotonic() - began < SHORT_SECONDS
    assert 0 < outbox.notes()["pause_until"] - time.time() <= PAUSE_SECONDS
    outbox.note(pause_until=0)
    with intake() as server:
        sent(server.url, outbox)
    assert [each["client_event_id"] for each in server.received] == ["0", "1", "2"]


def test_one_sends_at_a_time(tmp_path: Path) -> None:
    outbox = box(tmp_path)
    with intake() as server, outbox.sending() as ours:
        sent(server.url, outbox)
        assert (ours, server.received) == (True, [])
