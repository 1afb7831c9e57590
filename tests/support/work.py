"""What agents and plugins send, made up for the tools: prompts, responses, log records as Claude Code exports them."""

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

import msgspec

from tests.support.otlp import log, logs

_SENTENCES = (
    "Fix the crash in src/parser_{n}.py when the input has no header line and the file is empty.",
    "The error is KeyError: 'total_{n}' raised from compute_totals in reports/monthly.py line {n}.",
    "Add a test for the empty case next to the others in tests/test_parser_{n}.py.",
    "Keep the public signature as it is, other teams import it.",
    "Run pytest -q tests/test_parser_{n}.py before you say that it is done.",
    "Please explain first why the cache in storage/cache.py is not invalidated after a write.",
    "Now rename the option --format to --output in the command line and update docs/cli.md.",
    "We saw this in production last week with order {n}, so the cause matters more than a quick patch.",
    "Do not touch the database migrations.",
    "Make a plan with steps before you change anything in the billing module.",
    "It should return an empty list instead of None, with a warning in the log.",
    "Thanks, that works, next the retry logic in http_client_{n}.py needs a limit of five tries.",
)


def prompt_text(connection: int, number: int, characters: int = 1000) -> str:
    """A prompt of some length that differs each time."""
    words: list[str] = []
    place, size = connection * 7 + number, 0
    while size < characters:
        words.append(_SENTENCES[place % len(_SENTENCES)].format(n=(connection * 1000 + number) % 977))
        size += len(words[-1]) + 1
        place += 5
    return " ".join(words)[:characters]


def prompt_body(connection: int, number: int) -> bytes:
    """About 1 KB of a prompt; an agent session lasts twenty prompts."""
    session = f"bench-{connection}-{number // 20}"
    return prompt(prompt_text(connection, number), session, UUID(int=(connection << 64) + number + 1))


def prompt(text: str, session: str, event_id: UUID | None = None) -> bytes:
    named = {} if event_id is None else {"client_event_id": str(event_id)}
    told = {"prompt_text": text, "source": "claude-code", "tool_session_id": session, **named}
    return json.dumps(told, ensure_ascii=False).encode()


def response(event_id: str, text: str) -> bytes:
    told = {"client_event_id": event_id, "response_operation_id": f"op-{event_id}", "response_text": text}
    return msgspec.json.encode(told | {"elapsed_ms": 5000})


def record(name: str, at_us: int, attributes: dict[str, Any]) -> dict[str, Any]:
    times = dict.fromkeys(("timeUnixNano", "observedTimeUnixNano"), str(at_us * 1_000))
    return log({"event.name": name, **attributes}, body={"stringValue": f"claude_code.{name}"}, **times)


def export(records: Iterable[dict[str, Any]], host: str = "amd64") -> dict[str, Any]:
    return logs(*records, resource={"service.version": "2.1.37", "os.type": "linux", "host.arch": host})


def api_request(number: int, tokens: int = 266) -> dict[str, Any]:
    return {
        "model": "claude-opus-4-6",
        "input_tokens": 3,
        "output_tokens": tokens,
        "cache_read_tokens": 44_206,
        "cache_creation_tokens": 1_234,
        "cost_usd": 0.0829525,
        "duration_ms": 4_920,
        "request_id": f"req_{number:024d}",
        "query_source": "repl_main_thread",
    }


def tool_decision(number: int) -> dict[str, Any]:
    return {"tool_name": "Edit", "tool_use_id": f"toolu_{number:020d}", "decision": "accept", "source": "config"}


def tool_result(number: int, tool: str, given: dict[str, str]) -> dict[str, Any]:
    told = msgspec.json.encode(given).decode()
    more = {"tool_parameters": json.dumps({"full_command": given["command"]})} if "command" in given else {}
    ended = {"success": "true", "duration_ms": "1234", "tool_input": told}
    return {"tool_name": tool, "tool_use_id": f"toolu_{number:020d}", **ended, **more}
