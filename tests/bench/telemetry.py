"""`python -m tests.bench.telemetry`: decoding of log records alone; no store, no HTTP."""

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
from svc.process import GC_ALLOCATIONS
from tests.support.work import api_request, export, record, tool_decision, tool_result

BATCH_RECORDS = 100
BATCHES, REPEATS = 50, 5
START_US = 1_780_000_000_000_000
_NAMES = ("user_prompt", *("api_request", "tool_decision", "tool_result") * 5)
"""The mix of real sessions: a prompt, and about five requests and tool calls for it."""


def main() -> None:
    """Prints records a second."""
    gc.set_threshold(GC_ALLOCATIONS, *gc.get_threshold()[1:])
    means = ExportContext(Scope(UUID(int=1), UUID(int=2)), START_US, Digester(b"bench"), redaction=True)
    bodies = [msgspec.json.encode(batch(number)) for number in range(BATCHES)]
    size_kib = sum(map(len, bodies)) / len(bodies) / 1024
    print(f"{BATCHES} exports of {BATCH_RECORDS} records, {size_kib:.0f} KiB each")
    best = min(_seconds(bodies, means) for _ in range(REPEATS))
    records = BATCHES * BATCH_RECORDS
    print(f"{records / best:,.0f} records/s, {best / records * 1e6:.1f} µs a record")


def _seconds(bodies: list[bytes], means: ExportContext) -> float:
    started = time.process_time()
    for body in bodies:
        Export("logs", means).commands(split(body, "logs"))
    return time.process_time() - started


def batch(number: int) -> dict[str, Any]:
    """An export of a hundred records, different from every other."""
    return export(_records(number))


def _records(number: int) -> Iterator[dict[str, Any]]:
    session = f"00000000-0000-4000-8000-{number:012d}"
    for index in range(BATCH_RECORDS):
        name = _NAMES[index % len(_NAMES)]
        told = {**_identity(session, number, index), **_own(name, number, index)}
        yield record(name, START_US + (number * 1000 + index) * 1_000, told) | {"droppedAttributesCount": 0}


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
    call = number * 10**10 + index
    match name:
        case "user_prompt":
            asked = f"Please fix test {index} of module {number}; it fails on empty input."
            return {"prompt_length": "60", "prompt": asked}
        case "tool_decision":
            return tool_decision(call)
        case "tool_result":
            given = {"command": f"pytest tests/test_{index}.py -q", "description": "Run the tests"}
            return tool_result(call, "Bash", given) | {"tool_result_size_bytes": "2345"}
        case _:
            return api_request(call, 266 + index) | {"cost_usd_micros": 82_952, "speed": "normal"}


if __name__ == "__main__":
    main()
