"""A session that telemetry told of and that is imported as well is there once."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from aggregates.decide import AnyCommand
from projections.derive.sessions import session_turns
from svc.importing.importer import FORMATS
from tests.support import chats, rollouts
from tests.support.facts import ANA, DIGESTER, Placed, project
from tests.support.imported import Actor, import_transcripts
from tests.support.otlp import TRACE, log, logs, taken
from tests.support.tables import lines_of

TEN_O_CLOCK_US = 1_772_445_600_000_000
NEXT_DAY_US = TEN_O_CLOCK_US + 86_400_000_000
SESSIONS = {"codex": rollouts.THREAD, "gemini": chats.SESSION}


def told_of(agent: str) -> list[AnyCommand]:
    """The turn as an exporter tells it; its clock is read a little after the file's line was."""
    records = []
    for each, line in lines_of(Path(__file__).with_name("twins.txt")):
        seconds, event, attributes = line.split(" ", 2)
        at_us = TEN_O_CLOCK_US + int(seconds) * 1_000_000 + 40_000
        named = {"conversation.id": rollouts.THREAD, "model": rollouts.MODEL, "event.name": f"codex.{event}"}
        if agent == "gemini":
            named = {"session.id": chats.SESSION, "prompt_id": "1", "event.name": f"gemini_cli.{event}"}
        trace = "" if event == "sse_event" else TRACE
        if each == agent:
            records.append(log(named | json.loads(attributes), timeUnixNano=str(at_us * 1_000), traceId=trace))
    service = "codex_cli_rs" if agent == "codex" else "gemini-cli"
    return list(taken(logs(*records, service=service)).commands)


async def views(folder: Path, agent: str, telemetry: Sequence[AnyCommand], *, first: str, imported: bool) -> Any:
    """The tables after telemetry and an import, in one order or the other."""
    actor = Actor(NEXT_DAY_US)

    async def capture() -> None:
        for command in telemetry:
            await actor.send(command)

    async def read() -> None:
        transcripts = FORMATS[agent]
        await import_transcripts(
            transcripts, folder, actor.send, lambda *_: None, scope=ANA, digester=DIGESTER, now_us=NEXT_DAY_US
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
    told, session = told_of(agent), SESSIONS[agent]
    alone = await views(tmp_path, agent, told, first="telemetry", imported=False)
    both = await views(tmp_path, agent, told, first=first, imported=True)
    imported = await views(tmp_path, agent, [], first=first, imported=True)
    assert work(alone, session) == [(3, 150, 2, 2, 1, 1)]
    assert work(both, session) == work(alone, session)
    assert work(imported, session) == work(alone, session)
    counted = "SELECT count(*), sum(input_tokens), sum(output_tokens) FROM requests WHERE superseded = 0"
    assert both.execute(counted).fetchall() == alone.execute(counted).fetchall() == [(3, 1200, 150)]
