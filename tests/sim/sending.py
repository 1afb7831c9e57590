"""The request bodies of agents and plugins."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.sim.stories import PRICED, Record, Turn
from tests.support import otlp
from tests.support.catalogs import list_rate, lookup

NANO = 1_000_000_000


def iso(at_us: int) -> str:
    """A time as clients write it, in a form of their own."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)).isoformat()


def prompt(turn: Turn, text: str | None = None) -> dict[str, Any]:
    return {
        "prompt_text": text or turn.text,
        "tool_session_id": turn.session,
        "client_event_id": str(turn.event_id),
        "host_prompt_id": turn.name,
        "submitted_at": iso(turn.at_us),
        "cwd": turn.cwd,
    }


def response(turn: Turn, text: str | None = None) -> dict[str, Any]:
    answer = turn.answer
    return {
        "client_event_id": str(turn.event_id),
        "response_operation_id": answer.operation_id,
        "responded_at": iso(answer.at_us),
        "response_text": text or answer.text,
        "model": answer.model,
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
        "cost_usd": None if answer.cost_nano is None else answer.cost_nano / NANO,
    }


def logs(records: Iterable[Record]) -> dict[str, Any]:
    return otlp.logs(*map(_log, records))


def catalog() -> dict[str, Any]:
    """List prices of the models that have any."""
    rates = {
        name: {"input": dollars[0], "output": dollars[1], "cache_read": 0, "cache_write_5m": 0}
        for name, dollars in PRICED.items()
    }
    return {"exact_lookups": [lookup(name, list_rates=[list_rate(rate=each)]) for name, each in rates.items()]}


def _log(record: Record) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "session.id": record.session,
        "prompt.id": record.turn,
        "sim.nonce": record.nonce,
        "prompt": record.text,
        "model": record.model,
        "input_tokens": record.input_tokens,
        "output_tokens": record.output_tokens,
        "cost_usd": None if record.cost_nano is None else record.cost_nano / NANO,
        "tool_name": record.tool,
    }
    if record.event == "api_request":
        attributes["request_id"] = f"req-{record.nonce}"
    if record.tool is not None:
        attributes |= {"tool_use_id": f"call-{record.nonce}", "success": "true" if record.ok else "false"}
    told = {name: value for name, value in attributes.items() if value is not None}
    return otlp.claude(record.event, told, timeUnixNano=str(record.at_us * 1_000))
