"""The real captures, which are no part of the project: where they lie, and the marks of tests that read them."""

import os
from pathlib import Path
from typing import Any
from uuid import uuid5

import msgspec
import pytest

from aggregates.event import Scope
from aggregates.times import parse_instant
from svc.importing.claude_code import CLAUDE_CODE
from tests.judges.judge import read_lines
from tests.support.facts import ANA, DIGESTER, NAMESPACE, SECOND, Log, Placed
from tests.support.imported import Actor, import_transcripts

_NAMED = os.environ.get("SVC_REAL_DATA")
FOLDER = Path(_NAMED or "")

NEEDS_REAL_DATA = [
    pytest.mark.real_data,
    pytest.mark.skipif(not _NAMED, reason="SVC_REAL_DATA names no folder of real captures"),
]
"""For a module's `pytestmark`."""

TRANSCRIPTS = ("entire-checkpoints/transcripts", "sniffly-mock-data")
SESSIONS_STEP = 4  # of so many sessions of captured turns one is read
LONG_AFTER_US = 1_800_000_000 * 1_000_000
"""When the server took it all: later than any line, so that no time counts as skewed."""


async def imported_transcripts() -> list[Placed]:
    """The facts of every real transcript, in the order of their import."""
    actor = Actor()
    for folder in TRANSCRIPTS:
        await import_transcripts(
            CLAUDE_CODE,
            FOLDER / folder,
            actor.send,
            lambda *_: None,
            scope=ANA,
            digester=DIGESTER,
            now_us=LONG_AFTER_US,
        )
    received = [msgspec.structs.replace(event, received_at_us=LONG_AFTER_US) for event in actor.events]
    return [Placed(number, event) for number, event in enumerate(received, 1)]


def captured_turns() -> list[Placed]:
    """The facts of hundreds of real turns of several developers, as a plugin and telemetry would have brought them."""
    log, turns = Log(), list(read_lines(FOLDER / "entire-checkpoints/turns.jsonl"))
    told = set(list(dict.fromkeys(turn["session_id"] for turn in turns))[::SESSIONS_STEP])
    for turn in (turn for turn in turns if turn["session_id"] in told):
        log.scope = Scope(ANA.organization_id, uuid5(NAMESPACE, turn["developer"]))
        session, at_us = turn["session_id"], parse_instant(turn["ts"])
        named = log.prompt(session, turn["prompt"], at_us, host_prompt_id=turn["prompt_id"], cwd_digest=7)
        if turn["response_text"]:
            log.answer(session, named, turn["response_text"], at_us + (turn["elapsed_ms"] or 0) * 1_000)
        log.records(session, *_records(turn, at_us))
    return log.facts


def _records(turn: dict[str, Any], at_us: int) -> list[dict[str, Any]]:
    """One request with all tokens of the turn, its tools, and where it was stopped."""
    used = {name: turn[name] for name in ("model", "input_tokens", "output_tokens", "cache_read_tokens")}
    records = [
        {"kind": "request", "at_us": at_us + SECOND, "cache_write_tokens": turn["cache_creation_tokens"], **used}
    ]
    for each in turn["tools"]:
        told = {"lines_added": each.get("added"), "lines_removed": each.get("removed"), "ok": each.get("ok")}
        told |= {name: each[name] for name in ("path", "command") if each.get(name)}
        records.append({"kind": "tool", "tool": each["name"], "at_us": parse_instant(each["ts"]), **told})
    if turn["interrupted"]:
        records.append({"kind": "interruption", "at_us": max(record["at_us"] for record in records) + 1})
    return records
