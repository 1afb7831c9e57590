"""Importing folders of transcripts, and the same figures counted another way over real ones."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from aggregates import REVIEW_MARK
from aggregates.capture.events import PromptCaptured, RecordsCaptured
from aggregates.event import cut
from aggregates.records.record import Record
from aggregates.telemetry.draft import BATCH_RECORDS_MAX
from projections.derive.sessions import session_turns
from svc.cli.importing import import_
from svc.importing.exchange import of_review
from svc.importing.importer import FORMATS, NEWEST_US, newest_first
from tests.support import chats, imported, rollouts, transcripts
from tests.support.basics import BEN
from tests.support.facts import Placed, project
from tests.support.imported import Actor, exchanges_of
from tests.support.tables import each_of, lines_of
from tests.support.transcripts import SESSION, call, raw, result, said, user
from tests.svc.importing import test_claude_code, test_codex_import, test_copilot_import, test_gemini_import

run = partial(imported.run, "claude-code")
REAL_DATA = os.environ.get("SVC_REAL_DATA")

EXCHANGE = [
    user("u1", 0, "fix the login"),
    said("a1", 1, call("t1", "Edit", file_path="/a.py", old_string="x", new_string="y")),
    result("u2", 2, "t1"),
    said("a2", 3, call("t2", "Bash", command="pytest -q")),
    result("u3", 4, "t2"),
    said("a3", 5, "Fixed."),
]


def write(folder: Path, name: str, *lines: dict[str, Any] | bytes) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(raw(*lines)))
    return file


def captured(actor: Actor) -> list[Record]:
    return [record for event in actor.events if isinstance(event, RecordsCaptured) for record in event.records]


async def test_a_long_exchange_is_cut_into_bounded_batches(tmp_path: Path) -> None:
    actor = Actor()
    work = [said(f"a{n}", n, call(f"t{n}", "Read", file_path=f"/{n}")) for n in range(150)]
    write(tmp_path, "s.jsonl", user("u1", 0, "go"), *work)
    await run(tmp_path, actor)
    sizes = [len(event.records) for event in actor.events if isinstance(event, RecordsCaptured)]
    assert sizes == [BATCH_RECORDS_MAX, 101]


async def test_secrets_in_commands_are_taken_out(tmp_path: Path) -> None:
    """Each text is redacted before it is put among the others."""
    actor = Actor()
    key = "ghp_" + "a1B2c3D4e5F6" * 3
    shell = call("t1", "Bash", command=f"curl -H 'Authorization: Bearer {key}' example.test")
    write(tmp_path, "s.jsonl", user("u1", 0, "go"), said("a1", 1, shell, call("t2", "Read", file_path="/b.py")))
    await run(tmp_path, actor)
    batch = actor.events[-1]
    assert isinstance(batch, RecordsCaptured)
    assert key not in (batch.words.text or "")
    assert sum(batch.redactions.values()) >= 1
    assert cut(batch.words, batch.records[-1].path) == "/b.py"


async def test_a_fork_in_another_file_counts_once(tmp_path: Path) -> None:
    """Whichever name sorts first, the shorter original is read first."""
    actor = Actor()
    write(tmp_path, "z-original.jsonl", *EXCHANGE)
    fork = [{**each, "sessionId": "fork"} for each in EXCHANGE]
    write(tmp_path, "a-fork.jsonl", *fork, user("f1", 90, "another way", sessionId="fork"))
    report = await run(tmp_path, actor)
    assert (report.prompts, report.requests, report.tool_calls) == (2, 3, 2)
    assert {event.agent_session_id for event in actor.events if isinstance(event, RecordsCaptured)} == {SESSION, "fork"}


@pytest.mark.parametrize("order", ["fork original", "original fork"])
async def test_a_turn_that_a_fork_left_in_its_middle_counts_once(tmp_path: Path, order: str) -> None:
    """Whichever is imported first: the prompt is one, and all that was done for it counts."""
    actor = Actor(imported.NEXT_DAY_US)
    mine = [{**each, "sessionId": "fork"} for each in EXCHANGE[:3]]
    write(tmp_path, "fork.jsonl", *mine, user("f1", 90, "another way", sessionId="fork"))
    write(tmp_path, "original.jsonl", *EXCHANGE)
    for name in order.split():
        report = await run(tmp_path / f"{name}.jsonl", actor)
        assert report.refused == []
    db = project([Placed(number, event) for number, event in enumerate(actor.events, 1)])
    assert db.execute("SELECT count(*) FROM requests WHERE superseded = 0").fetchall() == [(3,)]
    turns = [turn for session in (SESSION, "fork") for turn in session_turns(db, session, 0)]
    assert sorted((turn.work.tool_calls, turn.response is not None) for turn in turns) == [(0, False), (2, True)]


def test_the_newest_days_come_first_with_all_that_they_go_on_from(tmp_path: Path) -> None:
    """In time order; a session of long ago comes along where a new one names it, and its sub-agents with it."""
    ids = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(5)]
    lines = {f"p/{id}.jsonl": user(f"u{place}", place * 3_600, "go", sessionId=id) for place, id in enumerate(ids)}
    lines[f"p/{ids[0]}/subagents/agent-a1.jsonl"] = user("s1", 5, "look", sessionId=ids[0])
    files = [write(tmp_path, name, each) for name, each in lines.items()]
    last_us = imported.TEN_O_CLOCK_US + 4 * 3_600_000_000 + NEWEST_US

    def parts() -> list[list[Path | None]]:
        return [
            [each.file for each in part] for part in newest_first(FORMATS["claude-code"].found([tmp_path]), last_us)
        ]

    assert parts() == [files[4:5], [*files[:4], files[5]]]
    write(tmp_path, f"p/{ids[4]}.jsonl", lines[f"p/{ids[4]}.jsonl"] | {"forkedFrom": {"sessionId": ids[0]}})
    assert parts() == [[files[0], *files[4:]], files[1:4]]


async def test_sub_agents_files_are_read_after_the_sessions(tmp_path: Path) -> None:
    actor = Actor()
    side = {"isSidechain": True, "agentId": "a1"}
    write(
        tmp_path,
        f"p/{SESSION}/subagents/agent-a1.jsonl",
        user("s1", 1, "look", promptId="p1", **side),
        said("s2", 2, "Looked.", **side),
    )
    write(tmp_path, f"p/{SESSION}.jsonl", user("u1", 0, "go", promptId="p1"), said("a1", 5, "Done."))
    report = await run(tmp_path, actor)
    assert (report.files, report.prompts, report.requests) == (2, 1, 2)
    assert [record.prompt_id for record in captured(actor) if record.kind == "request"] == ["p1", "p1"]


async def test_torn_lines_and_unreadable_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    actor = Actor()
    write(tmp_path, "p/s.jsonl", b'{"type":"user"\n', *EXCHANGE)
    locked = write(tmp_path, "locked.jsonl", *EXCHANGE)
    opens = Path.open

    def refuse(path: Path, mode: str = "r") -> Any:
        if path == locked:
            raise PermissionError(13, "Permission denied")
        return opens(path, mode)

    monkeypatch.setattr(Path, "open", refuse)
    report = await run(tmp_path, actor)
    named = [(torn.file, torn.line) for torn in report.torn]
    assert named == [("p/s.jsonl", 1), ("locked.jsonl", 0)]
    assert report.torn[1].reason == "Permission denied"
    assert (report.lines, report.prompts) == (7, 1)


async def test_another_developers_session_is_refused_and_named(tmp_path: Path) -> None:
    actor = Actor()
    write(tmp_path, "s.jsonl", *EXCHANGE)
    await run(tmp_path, actor)
    other = write(tmp_path, "t.jsonl", user("v1", 0, "mine", sessionId="mine"), said("b1", 1, "ok", sessionId="mine"))
    report = await run(tmp_path, actor, developer=BEN)
    assert {refusal.file for refusal in report.refused} == {"s.jsonl"}
    assert all(SESSION in refusal.what for refusal in report.refused)
    assert report.created == 3
    assert other.exists()


async def test_progress_ends_with_every_file(tmp_path: Path) -> None:
    write(tmp_path, "s.jsonl", *EXCHANGE)
    write(tmp_path, "t.jsonl", user("v1", 0, "mine", sessionId="t"))
    seen: list[tuple[int, int]] = []
    await run(tmp_path, Actor(), progress=lambda *now: seen.append(now))
    assert seen == sorted(seen)
    assert seen[-1] == (2, 2)


def test_a_path_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = CliRunner().invoke(import_, ["codex", str(tmp_path / "nothing-here")])
    assert (done.exit_code, "nothing-here" in done.output) == (1, True)


# --- real transcripts, counted by plain loops --------------------------------------------------------------


def real_lines(folder: Path) -> Iterator[Any]:
    for file in sorted(folder.rglob("*.jsonl")):
        for text in file.read_text(encoding="utf-8").split("\n"):
            if text.strip():
                yield json.loads(text)


def counted_prompts(folder: Path) -> Counter[str]:
    """Prompts by text as it stands in the file, told by exclusion."""
    texts: Counter[str] = Counter()
    for value in real_lines(folder):
        if value.get("type") != "user" or value.get("isMeta") or value.get("isSidechain"):
            continue
        content = value["message"]["content"]
        text = content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
        if not text.strip() or text.startswith(("[Request interrupted", "<local-command-stdout", "Operation stopped")):
            continue
        texts[text.split("<command-name>")[-1].split("</command-name>")[0] if "<command-name>" in text else text] += 1
    return Counter({text: number for text, number in texts.items() if text not in ("/exit", "/quit", "/clear")})


def counted_tokens(folder: Path) -> list[int]:
    """Token sums, the last usage of each message and request."""
    last: dict[tuple[str, str], dict[str, int]] = {}
    for value in real_lines(folder):
        if value.get("type") == "assistant" and value["message"]["model"] != "<synthetic>":
            last[value["message"]["id"], value.get("requestId", "")] = value["message"]["usage"]
    kinds = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return [len(last), *(sum(usage[kind] for usage in last.values()) for kind in kinds)]


def counted_calls(folder: Path) -> Counter[str]:
    calls: dict[str, str] = {}
    for value in real_lines(folder):
        for part in value.get("message", {}).get("content", []) if value.get("type") == "assistant" else []:
            if part["type"] == "tool_use":
                calls[part["id"]] = part["name"]
    return Counter(calls.values())


@pytest.mark.real_data
@pytest.mark.skipif(REAL_DATA is None, reason="SVC_REAL_DATA names no folder of real captures")
@pytest.mark.parametrize("name", ["entire-checkpoints/transcripts", "sniffly-mock-data"])
async def test_an_independent_count_over_real_transcripts_agrees(name: str) -> None:
    """Prompts, tool calls and token sums are those of plain loops over the files, and every line is used."""
    folder, actor = Path(REAL_DATA or "") / name, Actor()
    report = await run(folder, actor)
    taken = [event.prompt.text or "" for event in actor.events if isinstance(event, PromptCaptured)]
    in_files = counted_prompts(folder)
    assert report.prompts == len(taken) == in_files.total()
    assert Counter(text.strip("/")[:4] for text in taken) == Counter(
        text.strip("/")[:4] for text in in_files.elements()
    )
    tokens = report.tokens
    assert [report.requests, *list(tokens.values())[:4]] == counted_tokens(folder)
    calls = Counter(record.tool for record in captured(actor) if record.kind in ("tool", "rejection"))
    assert calls == counted_calls(folder)
    assert report.tool_calls == calls.total()
    assert (report.lines, report.torn, report.refused) == (len(list(real_lines(folder))), [], [])


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        (f"-home-ana-{REVIEW_MARK}/s.jsonl", "{}", True),
        ("s.jsonl", f'{{"payload": {{"cwd": "/home/ana/.local/state/svc/{REVIEW_MARK}"}}}}', True),
        ("s.jsonl", f'{{"content": [{{"text": "{REVIEW_MARK}\\n\\n{{}}"}}]}}', True),
        ("s.jsonl", f'{{"content": "what is {REVIEW_MARK}?", "cwd": "/shop"}}', False),
        ("s.jsonl", f'{{"content": "a log said {{\\"cwd\\": \\"/x/{REVIEW_MARK}\\"}}"}}', False),
    ],
)
def test_a_session_of_svc_review_is_known(tmp_path: Path, name: str, line: str, expected: bool) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(line)
    assert of_review(file) is expected


WRITTEN: dict[str, tuple[dict[str, Any], Callable[[list[Any]], bytes], str]] = {
    "claude-code": (
        vars(transcripts) | vars(test_claude_code),
        lambda lines: b"".join(transcripts.raw(*lines)),
        "stem.jsonl",
    ),
    "codex": (
        vars(rollouts) | vars(test_codex_import),
        lambda lines: rollouts.raw([rollouts.meta(), *lines]),
        f"{test_codex_import.STEM}.jsonl",
    ),
    "gemini": (vars(chats) | vars(test_gemini_import), lambda lines: chats.lines(*lines), "stem.jsonl"),
    "copilot": (
        vars(test_copilot_import),
        lambda lines: b"".join([test_copilot_import.begun(), *lines]),
        "x/events.jsonl",
    ),
}
"""By agent: the names that its lines are made of, what stands around them, and the file."""


@each_of(lines_of(Path(__file__).with_name("exchanges.txt")))
def test_lines_become_exchanges(agent: str, case: str) -> None:
    lines, _, expected = case.rpartition(" => ")
    names, written, file = WRITTEN[agent]
    found = exchanges_of(agent, written(eval(f"[{lines}]", dict(names))), file, tokens=agent != "claude-code")
    assert (" ; ".join(found) or "nothing").replace("\n", "\\n") == expected
