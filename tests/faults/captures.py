"""What a load sends, and how it is found again in the log."""

import hashlib
import json
import random
import time
import uuid
from typing import Any

import msgspec

TEXTS = (
    "Fix the crash in src/parser_{n}.py when the input is empty; run pytest -q tests/test_parser_{n}.py after that.",
    "thanks, next rename --format to --output in cli_{n}.py",
    "no, that is still broken: KeyError 'total_{n}' in reports/monthly.py line {n}",
    "Make a plan before you change billing_{n}.py, and do not touch the migrations",
    "commit it, number {n}",
    "why is cache {n} not invalidated after a write in storage/cache.py? find the cause first",
)
_BATCHES = (1, 5, 20, 60)
"""Records in an export; the larger ones take another way through the intake."""


NEVER = float("inf")


class Capture(msgspec.Struct):
    """One request, and what of it must stand in the log once it was acknowledged: each mark once, all or none."""

    path: str
    key: str
    """Of the developer who sends it."""
    body: bytes
    marks: frozenset[str]
    acknowledged_at: float = NEVER
    """When the first answer said that it is stored, in seconds since 1970."""
    answer_id: str | None = None
    """The prompt's id, as the first answer told it."""


class Writer:
    """Makes up what one client sends; a seed gives the same each time, but for the times."""

    def __init__(self, name: str, key: str, seed: str) -> None:
        self._name = name
        self._key = key
        self._random = random.Random(seed)
        self._number = 0
        self._answerable: list[str] = []

    def next(self) -> Capture:
        """Whatever comes next: a prompt, the response to one that was acknowledged, or an export of log records."""
        self._number += 1
        chance = self._random.random()
        if chance < 0.3 and self._answerable:
            return self._response(self._answerable.pop())
        return self._prompt() if chance < 0.75 else self._logs()

    def taken(self, capture: Capture) -> None:
        """A prompt was acknowledged, so it may be answered."""
        if capture.path == "/v1/prompts":
            self._answerable.append(json.loads(capture.body)["client_event_id"])

    def _prompt(self) -> Capture:
        event_id = str(uuid.UUID(int=self._random.getrandbits(128)))
        body = {
            "prompt_text": self._random.choice(TEXTS).format(n=self._number),
            "tool_session_id": self._session(),
            "client_event_id": event_id,
        }
        return self._capture("/v1/prompts", body, {f"prompt {event_id}"})

    def _response(self, event_id: str) -> Capture:
        body = {
            "client_event_id": event_id,
            "response_operation_id": f"op-{event_id}",
            "response_text": f"Done, {self._number}; all tests pass.",
            "elapsed_ms": 5000,
        }
        return self._capture("/v1/prompts/response", body, {f"answer op-{event_id}", f"claim op-{event_id}"})

    def _logs(self) -> Capture:
        resource = {"attributes": _pairs({"service.name": "claude-code", "host.name": self._name})}
        scope = {"name": "faults"}
        session = self._session()
        records = [self._record(session, number) for number in range(self._random.choice(_BATCHES))]
        marks = {f"record {_source_id(resource, scope, record)}" for record in records}
        scopes = [{"scope": scope, "logRecords": records}]
        body = {"resourceLogs": [{"resource": resource, "scopeLogs": scopes}]}
        return self._capture("/v1/logs", body, marks)

    def _capture(self, path: str, body: object, marks: set[str]) -> Capture:
        return Capture(path, self._key, json.dumps(body).encode(), frozenset(marks))

    def _record(self, session: str, number: int) -> dict[str, Any]:
        call = f"{self._name}-{self._number}-{number}"
        event = self._random.choice(("api_request", "tool_result"))
        attributes = {"session.id": session, "event.name": event, "event.sequence": call}
        if event == "api_request":
            attributes |= {"model": "claude-sonnet-4-5", "input_tokens": "9", "output_tokens": "200"}
            attributes |= {"cost_usd": "0.05", "duration_ms": "900", "request_id": f"req_{call}"}
        else:
            attributes |= {"tool_name": "Edit", "tool_use_id": f"toolu_{call}", "success": "true"}
        body = {"stringValue": f"claude_code.{event}"}
        return {"timeUnixNano": str(time.time_ns()), "body": body, "attributes": _pairs(attributes)}

    def _session(self) -> str:
        """An agent session lasts some forty captures."""
        return f"{self._name}-{self._number // 40}-{self._random.randrange(2)}"


def _pairs(attributes: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]


def _source_id(resource: object, scope: object, record: object) -> str:
    """What names a record, as docs/wire.md has it; computed here, so that the program's own way is tested, too."""
    content = json.dumps(
        [resource, None, scope, None, record], sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return hashlib.sha256(content.encode()).hexdigest()
