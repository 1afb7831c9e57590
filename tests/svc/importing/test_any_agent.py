"""What holds of an import, whichever agent's files it reads."""

import re
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import example, given, settings, strategies as st

from aggregates.capture.events import PromptAnswered, PromptCaptured, RecordsCaptured
from aggregates.event import cut
from svc.importing.importer import QUIET_US
from tests.support import chats, rollouts, transcripts
from tests.support.imported import SECOND, TEN_O_CLOCK_US, Actor, captured, prompts, reader_of, records, run, told
from tests.support.tables import each_of, lines_of


def _joined(*lines: dict[str, Any]) -> bytes:
    return b"".join(transcripts.raw(*lines))


ROLLOUT = f"rollout-2026-03-02T10-00-00-{rollouts.THREAD}.jsonl"
CHAT = "chats/session-2026-03-02T10-00-7b8f1c2d.json"
TWO_TURNS = {
    ROLLOUT: rollouts.raw([rollouts.meta(), *rollouts.turn(10), *rollouts.turn(100, "and the logout", 2, spent=3)]),
    f"{CHAT}l": chats.lines(*chats.exchange(10), *chats.exchange(100, "and the logout", 2)),
    CHAT: chats.document([*chats.exchange(10), *chats.exchange(100, "and the logout", 2)]),
    "s.jsonl": _joined(
        transcripts.user("u1", 10, "fix the login"),
        transcripts.said("a1", 11, transcripts.call("t1", "Bash", command="pytest -q")),
        transcripts.result("u2", 12, "t1"),
        transcripts.said("a2", 16, "Fixed."),
        transcripts.user("u3", 100, "and the logout"),
        transcripts.said("a3", 101, "Done.", stop_reason="end_turn"),
    ),
}
FILES = pytest.mark.parametrize("name", TWO_TURNS)
USED = {"usage": transcripts.usage(uncached=400, read=600, output=50)}
LOGIN = {"file_path": "src/login.py", "old_string": "old", "new_string": "new\nmore"}
CLAUDE = _joined(
    transcripts.user("u1", 10, "fix the login"),
    transcripts.said("a1", 11, transcripts.call("t1", "Edit", **LOGIN), **USED),
    transcripts.result("u2", 12, "t1"),
    transcripts.said("a2", 13, transcripts.call("t2", "Bash", command="pytest -q"), **USED),
    transcripts.result("u3", 15, "t2", "Exit code 1", error=True),
    transcripts.said("a3", 17, "Fixed 1.", **USED),
)


def written(folder: Path, name: str, data: bytes) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return folder


def agent_of(name: str) -> str:
    starts = {"rollout": "codex", "chats": "gemini", "events": "copilot"}
    return next((agent for start, agent in starts.items() if name.startswith(start)), "claude-code")


@pytest.mark.parametrize(
    ("name", "lines", "session", "edited", "elapsed_ms"),
    [
        (ROLLOUT, rollouts.raw([rollouts.meta(), *rollouts.turn(10)]), rollouts.THREAD, "src/login.py", 7000),
        ("s.jsonl", CLAUDE, transcripts.SESSION, "src/login.py", 7000),
        (CHAT, chats.document(chats.exchange(10)), chats.SESSION, "/home/ana/shop/login.py", 6000),
        (f"{CHAT}l", chats.lines(*chats.exchange(10)), chats.SESSION, "/home/ana/shop/login.py", 6000),
    ],
)
async def test_a_turn_becomes_prompt_response_and_records(
    tmp_path: Path, name: str, lines: bytes, session: str, edited: str, elapsed_ms: int
) -> None:
    """The same facts that a plugin and telemetry leave, each at its own time."""
    actor, agent = Actor(), agent_of(name)
    report = await run(agent, written(tmp_path, name, lines), actor)
    (prompt,) = (each for each in actor.events if isinstance(each, PromptCaptured))
    assert (prompt.prompt.text, prompt.agent_session_id) == ("fix the login", session)
    assert (prompt.source, prompt.submitted_at_us) == (f"{agent}-transcript", TEN_O_CLOCK_US + 10 * SECOND)
    (answer,) = (each for each in actor.events if isinstance(each, PromptAnswered))
    assert answer.response is not None
    assert (answer.response.text, answer.elapsed_ms) == ("Fixed 1.", elapsed_ms)
    batch = [each for each in actor.events if isinstance(each, RecordsCaptured)][-1]
    edit, shell = (record for record in batch.records if record.kind == "tool")
    assert (cut(batch.words, edit.path), edit.ok, edit.lines_added, edit.lines_removed) == (edited, True, 2, 1)
    assert (cut(batch.words, shell.command), shell.ok) == ("pytest -q", False)
    requests = [record for record in batch.records if record.kind == "request"]
    tokens = {(each.input_tokens, each.cache_read_tokens, each.output_tokens, each.cost_usd_nano) for each in requests}
    assert edit.input_digest != shell.input_digest
    model = {"codex": rollouts.MODEL, "gemini": chats.MODEL}.get(agent, "claude-opus-4-6")
    assert (tokens, {each.model for each in requests}) == ({(400, 600, 50, None)}, {model})
    assert [report.tokens[f"{kind}_tokens"] for kind in ("input", "output", "cache_read")] == [1_200, 150, 1_800]
    assert (report.prompts, report.responses, report.requests, report.tool_calls) == (1, 1, 3, 2)
    assert (report.torn, report.refused, report.unfinished) == ([], [], 0)


@FILES
async def test_running_it_twice_adds_nothing(tmp_path: Path, name: str) -> None:
    """Every id comes from the lines' own ids, or from their places."""
    actor = Actor()
    folder = written(tmp_path, name, TWO_TURNS[name])
    first = await run(agent_of(name), folder, actor)
    events = len(actor.events)
    second = await run(agent_of(name), folder, actor)
    assert (second.created, second.known, second.refused) == (0, first.created, [])
    assert (len(actor.events), second.prompts) == (events, 2)


@pytest.mark.parametrize(
    ("name", "lines", "last_second"),
    [
        (ROLLOUT, rollouts.raw([rollouts.meta(), *rollouts.turn(10)[:-1]]), 16),
        (f"{CHAT}l", chats.lines(*chats.exchange(10)), 16),
        ("s.jsonl", _joined(transcripts.user("u1", 10, "go"), transcripts.said("a1", 16, "Fixed.")), 16),
    ],
)
async def test_a_turn_that_still_runs_is_left_for_the_next_run(
    tmp_path: Path, name: str, lines: bytes, last_second: int
) -> None:
    """Unless nothing was heard of it for long. Its prompt is taken at once."""
    actor, folder = Actor(), written(tmp_path, name, lines)
    quiet_us = TEN_O_CLOCK_US + last_second * SECOND + QUIET_US
    early = await run(agent_of(name), folder, actor, now_us=quiet_us - 1)
    assert (early.prompts, early.responses, early.unfinished) == (1, 0, 1)
    late = await run(agent_of(name), folder, actor, now_us=quiet_us)
    assert (late.responses, late.unfinished) == (1, 0)


@FILES
@settings(max_examples=20)
@given(part=st.floats(0, 1))
@example(part=0.1066)  # a line of Codex's without its last brace
def test_a_file_cut_anywhere_says_nothing_false_and_the_next_run_completes_it(
    tmp_path_factory: pytest.TempPathFactory, name: str, part: float
) -> None:
    folder, whole, agent = tmp_path_factory.mktemp("cut"), TWO_TURNS[name], agent_of(name)

    async def import_both() -> None:
        at_once, in_two = Actor(), Actor()
        await run(agent, written(folder, name, whole), at_once)
        await run(agent, written(folder, name, whole[: int(part * len(whole))]), in_two, now_us=TEN_O_CLOCK_US)
        assert captured(in_two).items() <= captured(at_once).items()
        report = await run(agent, written(folder, name, whole), in_two)
        assert (captured(in_two), told(in_two), report.refused) == (captured(at_once), told(at_once), [])

    trio.run(import_both)


NAMES = {"codex": ROLLOUT, "gemini": f"{CHAT}l", "claude-code": "s.jsonl"}
ODD = [(*kind.split(), line) for kind, line in lines_of(Path(__file__).with_name("odd_lines.txt"))]
TIME = b'"timestamp":"2026-03-02T10:00:00Z"'


def asked(agent: str, text: str, second: float) -> bytes:
    match agent:
        case "codex":
            return rollouts.raw([rollouts.event("user_message", second, message=text)])
        case "gemini":
            return chats.lines(chats.user(f"u{second}", second, text)).splitlines(keepends=True)[-1]
        case _:
            return _joined(transcripts.user(f"u{second}", second, text))


@each_of([(agent, line) for kind, agent, line in ODD if kind == "torn"])
def test_a_torn_line_is_named_and_the_others_are_used(agent: str, line: str) -> None:
    told, _, reason = line.partition(" =>")
    torn, reader = eval(told, dict(globals())), reader_of(agent, NAMES[agent])
    after = [asked(agent, "two", 9)] if torn.endswith(b"\n") else []
    found = list(reader.read([asked(agent, "one", 1), torn, b" \n", *after]))
    assert prompts(found) == ["one", "two"][: 1 + len(after)]
    assert [(each.file, each.line) for each in reader.torn] == [(NAMES[agent], 2)]
    assert reason.strip() in reader.torn[0].reason


@each_of([(agent, line) for kind, agent, line in ODD if kind == "left"])
def test_lines_without_meaning_here_are_read_and_left(agent: str, line: str) -> None:
    """They are neither torn nor counted as anything but the session's beginning."""
    reader = reader_of(agent, NAMES[agent])
    found = list(reader.read([rollouts.raw([eval(line, dict(globals()))])]))
    assert len(records(found, "session_start")) == sum(len(each.drafts) for each in found)
    assert (reader.lines, reader.torn, prompts(found)) == (1, [], [])


def test_a_message_that_is_none_is_named_and_the_others_of_its_document_are_used() -> None:
    entries: list[Any] = [float("inf"), *chats.exchange(10)]
    for name, data in (("s.jsonl", rollouts.raw(entries)), ("s.json", chats.document(entries))):
        reader = reader_of("gemini", name)
        found = list(reader.read(data.splitlines(keepends=True) if name == "s.jsonl" else [data]))
        assert prompts(found) == ["fix the login"]
        assert (reader.lines, [torn.line for torn in reader.torn]) == (len(entries), [1])


@each_of(["0001-01-01T00:00:00Z", "9999-12-31T23:59:59+14:00", "2026-03-02"])
def test_any_time_that_is_one_is_taken(time: str) -> None:
    told = {**rollouts.event("user_message", 1, message="go"), "timestamp": time}
    assert prompts(list(reader_of("codex", ROLLOUT).read([rollouts.raw([told])]))) == ["go"]


NAMED = re.compile(rb'"(id|uuid|sessionId|session_id|promptId|requestId|call_id|turn_id|toolCallId)": ?"[^"]*"')


EVENTS: list[dict[str, Any]] = [
    {"type": kind, "id": f"e{number}", "timestamp": transcripts.at(number), "data": data}
    for number, (kind, data) in enumerate(
        [("user.message", {"content": "go"}), ("session.usage_record", {"usage": {"inputTokens": 7}})] * 2
    )
]


@pytest.mark.parametrize("name", [*TWO_TURNS, "events.jsonl"])
async def test_a_blank_id_names_nothing(tmp_path: Path, name: str) -> None:
    """All that was said counts still, and the session is named by its file."""
    data = {**TWO_TURNS, "events.jsonl": rollouts.raw(EVENTS)}[name]
    whole = await run(agent_of(name), written(tmp_path / "whole", name, data), Actor())
    actor = Actor()
    blank = await run(agent_of(name), written(tmp_path / "blank", name, NAMED.sub(rb'"\1": " "', data)), actor)
    told = [(each.prompts, each.responses, each.requests, each.tokens) for each in (blank, whole)]
    assert (told[0], blank.torn, blank.refused) == (told[1], [], [])
    session = rollouts.THREAD if name == ROLLOUT else Path(name).stem
    assert {each.agent_session_id for each in actor.events if isinstance(each, PromptCaptured)} == {session}
