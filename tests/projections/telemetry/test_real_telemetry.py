"""Real exports of real agents become sessions: the same in any order, beside a plugin, and of every agent."""

import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any
from uuid import UUID, uuid5

import msgspec
import pytest

from aggregates.capture.events import CapturePrompt
from aggregates.telemetry.batches import ExportContext
from aggregates.telemetry.envelope import Signal, split
from aggregates.telemetry.export import Export
from aggregates.times import parse_instant
from tests.support.facts import ANA, DIGESTER, NAMESPACE, Placed, project, tables
from tests.support.imported import Actor
from tests.support.real_data import FOLDER, NEEDS_REAL_DATA

LONG_AFTER_US = 1_900_000_000 * 1_000_000

pytestmark = NEEDS_REAL_DATA


def _lines(*patterns: str) -> Iterator[bytes]:
    """The request bodies of these files, one a line, or one a file where a file is one JSON document."""
    for pattern in patterns:
        for path in sorted(FOLDER.glob(pattern)):
            bodies = path.read_bytes().splitlines() if path.suffix == ".jsonl" else [path.read_bytes()]
            yield from (body for body in bodies if body.strip())


def _signal(body: bytes) -> Signal:
    if b'"resourceLogs"' in body:
        return "logs"
    return "traces" if b'"resourceSpans"' in body else "metrics"


async def _captured(actor: Actor, bodies: Iterable[bytes]) -> list[Placed]:
    """What stands in the log once these bodies were sent; every record of them can be used."""
    for body in bodies:
        export = Export(_signal(body), ExportContext(ANA, LONG_AFTER_US, DIGESTER, redaction=True))
        for made in export.commands(split(body, _signal(body))):
            await actor.send(made.command)
        assert export.faults.message is None
    received = [msgspec.structs.replace(event, received_at_us=LONG_AFTER_US) for event in actor.events]
    return [Placed(number, event) for number, event in enumerate(received, 1)]


def _records(body: bytes) -> Iterator[dict[str, Any]]:
    """The attributes of each log record, read without any of the project's own code."""
    for resource in json.loads(body).get("resourceLogs", ()):
        for scope in resource["scopeLogs"]:
            for record in scope["logRecords"]:
                yield {each["key"]: next(iter(each["value"].values()), None) for each in record["attributes"]}


CLAUDE_CODE = ("claude-code-replay/*/logs.jsonl", "claude-code-replay/*/metrics.jsonl")


async def test_exports_in_any_order_give_the_same_tables() -> None:
    """Logs, metrics and spans of every agent, shuffled and cut anywhere."""
    facts = await _captured(Actor(), _lines(*CLAUDE_CODE, "captured-*/*.json", "vs-copilot-traces/*.jsonl"))
    expected = tables(project(facts))
    assert expected["failed"] == []
    random = Random(3)
    for _ in range(2):
        shuffled = random.sample(facts, len(facts))
        assert tables(project(shuffled, random.sample(range(len(facts)), 9))) == expected


async def test_plugin_captures_beside_the_telemetry_add_no_turn() -> None:
    """Joined by the prompt's id where the plugin knows it, else by the text."""
    bodies, actor = list(_lines(CLAUDE_CODE[0])), Actor()
    alone = tables(project(await _captured(actor, bodies)))
    assert len(alone["turns"]) > 100
    for named in (True, False):
        beside = actor.copy()
        for body in bodies:
            for number, record in enumerate(_records(body)):
                # A plugin's hook never hears of the program's own commands to leave or to clear.
                own = record.get("command_name") in ("exit", "quit", "clear")
                if record.get("event.name") == "user_prompt" and not own:
                    await beside.send(_capture(record, uuid5(NAMESPACE, f"{body!r}{number}"), named))
        joined = tables(project(await _captured(beside, ())))
        assert len(joined["captures"]) == 2 * len(alone["captures"]), named
        assert len(joined["turns"]) == len(alone["turns"]), named


def _capture(record: dict[str, Any], prompt_id: UUID, named: bool) -> CapturePrompt:
    return CapturePrompt(
        organization_id=ANA.organization_id,
        developer_id=ANA.developer_id,
        prompt_id=prompt_id,
        agent_session_id=record["session.id"],
        source="claude-code",
        text=record["prompt"],
        host_prompt_id=record["prompt.id"] if named else None,
        submitted_at_us=parse_instant(record["event.timestamp"]),
    )


@pytest.mark.parametrize(
    ("files", "tokens", "reason"),
    [
        ("captured-codex-cli/*.json", 3136, "no_mutating_calls"),
        ("captured-gemini-cli/*.json", 3168, "no_mutating_calls"),
        ("vs-copilot-traces/sample-3*.jsonl", 0, None),
    ],
)
async def test_other_agents_appear_with_what_they_carry(files: str, tokens: int, reason: str | None) -> None:
    """One short session each; what they do not tell is not known, and little that changed nothing is trivia."""
    db = project(await _captured(Actor(), _lines(files)))
    columns = "turns, input_tokens + output_tokens + cache_read_tokens + cache_write_tokens, trivia_reason"
    rows = db.execute(f"SELECT {columns} FROM sub_sessions").fetchall()
    assert rows
    assert [(row[1], row[2]) for row in rows] == [(tokens, reason)]
