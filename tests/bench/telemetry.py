"""Measure decoding of log records alone: `python -m tests.bench.telemetry`.

Exports as Claude Code sends them, a hundred records each; no store, no HTTP.
"""

import gc
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgspec

from aggregates.event import Digester, Scope
from aggregates.telemetry.batches import ExportContext
from aggregates.telemetry.envelope import split
from aggregates.telemetry.export import Export
from svc.limits import GC_ALLOCATIONS

BATCH_RECORDS = 100
BATCHES = 50
REPEATS = 5

_NAMES = ("user_prompt", *("api_request", "tool_decision", "tool_result") * 5)
"""The mix of real sessions: a prompt, and about five requests and tool calls for it."""
_MEANS = ExportContext(
    scope=Scope(UUID(int=1), UUID(int=2)),
    received_us=1_780_000_000_000_000,
    digester=Digester(b"bench"),
    redaction=True,
)


def main() -> None:
    """Prints records a second."""
    gc.set_threshold(GC_ALLOCATIONS, *gc.get_threshold()[1:])
    bodies = [msgspec.json.encode(export(number)) for number in range(BATCHES)]
    size_kib = sum(map(len, bodies)) / len(bodies) / 1024
    print(f"{BATCHES} exports of {BATCH_RECORDS} records, {size_kib:.0f} KiB each")
    best = min(_seconds(bodies) for _ in range(REPEATS))
    records = BATCHES * BATCH_RECORDS
    print(f"{records / best:,.0f} records/s, {best / records * 1e6:.1f} µs a record")


def _seconds(bodies: list[bytes]) -> float:
    started = time.process_time()
    for body in bodies:
        Export("logs", _MEANS).commands(split(body, "logs"))
    return time.process_time() - started


def export(number: int) -> dict[str, Any]:
    """One export, different from every other."""
    return exported(list(_records(number)))


def exported(records: list[dict[str, Any]]) -> dict[str, Any]:
    """An export of these records, as Claude Code sends it."""
    resource = {"service.name": "claude-code", "service.version": "2.1.37", "os.type": "linux", "host.arch": "amd64"}
    scope = {"name": "com.anthropic.claude_code.events", "version": "2.1.37"}
    return {
        "resourceLogs": [
            {"resource": {"attributes": pairs(resource)}, "scopeLogs": [{"scope": scope, "logRecords": records}]}
        ]
    }


def _records(number: int) -> Iterator[dict[str, Any]]:
    session = f"00000000-0000-4000-8000-{number:012d}"
    for index in range(BATCH_RECORDS):
        name = _NAMES[index % len(_NAMES)]
        nanos = str((1_780_000_000_000 + number * 1000 + index) * 1_000_000)
        attributes = {**_identity(session, number, index), "event.name": name, **_own(name, number, index)}
        yield {
            "timeUnixNano": nanos,
            "observedTimeUnixNano": nanos,
            "body": {"stringValue": f"claude_code.{name}"},
            "attributes": pairs(attributes),
            "droppedAttributesCount": 0,
        }


def _identity(session: str, number: int, index: int) -> dict[str, Any]:
    return {
        "user.id": "0f" * 32,
        "session.id": session,
        "organization.id": "6f1c1d5e-0000-4000-8000-000000000001",
        "user.email": "somebody@example.com",
        "user.account_uuid": "3b9e9123-d287-5413-83f3-847ea915393d",
        "terminal.type": "vscode",
        "event.timestamp": f"2026-05-28T10:{number % 60:02d}:{index % 60:02d}.000Z",
        "event.sequence": index,
        "prompt.id": f"10000000-0000-4000-8000-{number * 100 + index // 10:012d}",
    }


def _own(name: str, number: int, index: int) -> dict[str, Any]:
    call = f"toolu_01{number:010d}{index:010d}"
    match name:
        case "user_prompt":
            return {
                "prompt_length": "60",
                "prompt": f"Please fix test {index} of module {number}; it fails on empty input.",
            }
        case "tool_decision":
            return {"tool_name": "Edit", "tool_use_id": call, "decision": "accept", "source": "config"}
        case "tool_result":
            given = {"command": f"pytest tests/test_{index}.py -q", "description": "Run the tests"}
            return {
                "tool_name": "Bash",
                "tool_use_id": call,
                "success": "true",
                "duration_ms": "1234",
                "tool_result_size_bytes": "2345",
                "tool_parameters": msgspec.json.encode({"full_command": given["command"]}).decode(),
                "tool_input": msgspec.json.encode(given).decode(),
            }
        case _:
            return {
                "model": "claude-opus-4-6",
                "input_tokens": 3,
                "output_tokens": 266 + index,
                "cache_read_tokens": 44_206,
                "cache_creation_tokens": 1_234,
                "cost_usd": 0.0829525,
                "cost_usd_micros": 82_952,
                "duration_ms": 4_920,
                "request_id": f"req_{number:012d}{index:012d}",
                "speed": "normal",
                "query_source": "repl_main_thread",
            }


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    """Attributes as OTLP JSON lists them."""
    kinds = {str: "stringValue", int: "intValue", float: "doubleValue"}
    return [{"key": key, "value": {kinds[type(value)]: value}} for key, value in attributes.items()]


if __name__ == "__main__":
    main()
