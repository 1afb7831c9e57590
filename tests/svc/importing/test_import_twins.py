"""A session that telemetry told of and that is imported as well is there once."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from aggregates.decide import AnyCommand
from projections.derive.sessions import session_turns
from svc.importing.importer import FORMATS, import_transcripts
from tests.support import chats, rollouts
from tests.support.facts import ANA, DIGESTER, Placed, project
from tests.support.imported import Actor
from tests.support.otlp import Attributes, log, logs, taken

TEN_O_CLOCK_US = 1_772_445_600_000_000
NEXT_DAY_US = TEN_O_CLOCK_US + 86_400_000_000
TRACE = "0123456789abcdef0123456789abcdef"


def at(seconds: float) -> str:
    """As an exporter writes it; its clock is read a little after the file's line was."""
    return str((TEN_O_CLOCK_US + round(seconds * 1_000_000) + 40_000) * 1_000)


def codex(event: str, seconds: float, attributes: Attributes, trace: str = TRACE) -> dict[str, Any]:
    named = {"event.name": f"codex.{event}", "conversation.id": rollouts.THREAD, "model": rollouts.MODEL}
    return log({**named, **attributes}, timeUnixNano=at(seconds), traceId=trace)


def codex_turn(second: float) -> list[AnyCommand]:
    used = {
        "event.kind": "response.completed",
        "input_token_count": "1000",
        "cached_token_count": 600,
        "output_token_count": "50",
        "reasoning_token_count": 10,
    }
    shell = json.dumps({"cmd": "pytest -q", "workdir": "/home/ana/shop"})
    tools = {
        3: {"tool_name": "apply_patch", "call_id": "call_p1", "arguments": rollouts.PATCH, "success": "true"},
        5: {"tool_name": "exec_command", "call_id": "call_s1", "arguments": shell, "success": "false"},
    }
    records = [
        codex("conversation_starts", 0, {}),
        codex("user_prompt", second, {"prompt": "fix the login", "prompt_length": "13"}),
        *(codex("sse_event", second + after, used, "") for after in (1, 3, 6)),
        *(codex("tool_result", second + after, told) for after, told in tools.items()),
    ]
    return list(taken(logs(*records, service="codex_cli_rs")).commands)


def gemini(event: str, seconds: float, attributes: Attributes) -> dict[str, Any]:
    usual = {"session.id": chats.SESSION, "event.name": f"gemini_cli.{event}", "prompt_id": f"{chats.SESSION}########1"}
    return log({**usual, **attributes}, timeUnixNano=at(seconds))


def gemini_turn(second: float) -> list[AnyCommand]:
    used = {
        "model": chats.MODEL,
        "input_token_count": 1000,
        "output_token_count": 40,
        "cached_content_token_count": 600,
        "thoughts_token_count": 10,
        "status_code": 200,
    }
    edit = {"file_path": "/home/ana/shop/login.py", "old_string": "old", "new_string": "new\nmore"}
    stat = {"model_added_lines": 2, "model_removed_lines": 1}
    edited = {"function_name": "replace", "function_args": json.dumps(edit), "metadata": json.dumps(stat)}
    ran = {"function_name": "run_shell_command", "function_args": json.dumps({"command": "pytest -q"})}
    records = [
        gemini("config", 0, {"model": chats.MODEL}),
        gemini("user_prompt", second, {"prompt": "fix the login", "prompt_length": 13}),
        *(gemini("api_response", second + after, used) for after in (1, 3, 6)),
        gemini("tool_call", second + 2, {**edited, "success": True, "decision": "accept"}),
        gemini("tool_call", second + 5, {**ran, "success": True, "decision": "auto_accept"}),
    ]
    return list(taken(logs(*records, service="gemini-cli", resource={"session.id": chats.SESSION})).commands)


async def views(folder: Path, agent: str, telemetry: Sequence[AnyCommand], *, first: str, imported: bool) -> Any:
    """The tables after telemetry and an import, in one order or the other."""
    actor = Actor(NEXT_DAY_US)

    async def capture() -> None:
        for command in telemetry:
            await actor.send(command)

    async def read() -> None:
        transcripts = FORMATS[agent]
        await import_transcripts(
            transcripts, folder, actor.send, lambda _: None, scope=ANA, digester=DIGESTER, now_us=NEXT_DAY_US
        )

    steps = [capture, *([read] if imported else [])]
    for step in steps if first == "telemetry" else reversed(steps):
        await step()
    return project([Placed(number, event) for number, event in enumerate(actor.events, 1)])


def work(db: sqlite3.Connection, session: str) -> list[Any]:
    assert db.execute("SELECT * FROM failed").fetchall() == []
    turns = session_turns(db, session, 0)
    return [
        (
            sum(each.requests for each in turn.work.usage),
            sum(each.output_tokens or 0 for each in turn.work.usage),
            turn.work.tool_calls,
            turn.work.lines_added,
            turn.work.lines_removed,
            len(turn.work.files),
        )
        for turn in turns
    ]


@pytest.mark.parametrize("first", ["telemetry", "import"])
@pytest.mark.parametrize("agent", ["codex", "gemini"])
async def test_an_import_of_what_telemetry_told_doubles_nothing(tmp_path: Path, agent: str, first: str) -> None:
    """Turns, requests, tokens, tool calls and lines are those of telemetry alone; only the answer is new."""
    if agent == "codex":
        rollouts.write(tmp_path, [rollouts.meta(), *rollouts.turn(10)])
    else:
        chats.write(tmp_path, chats.lines(*chats.exchange(10)))
    told, session = (codex_turn(10), rollouts.THREAD) if agent == "codex" else (gemini_turn(10), chats.SESSION)
    alone = await views(tmp_path, agent, told, first="telemetry", imported=False)
    both = await views(tmp_path, agent, told, first=first, imported=True)
    imported = await views(tmp_path, agent, [], first=first, imported=True)
    assert work(alone, session) == [(3, 150, 2, 2, 1, 1)]
    assert work(both, session) == work(alone, session)
    assert work(imported, session) == work(alone, session)
    counted = "SELECT count(*), sum(input_tokens), sum(output_tokens) FROM requests WHERE superseded = 0"
    assert both.execute(counted).fetchall() == alone.execute(counted).fetchall() == [(3, 1200, 150)]
