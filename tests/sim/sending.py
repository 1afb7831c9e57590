"""The request bodies of agents and plugins."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.sim.stories import PRICED, Point, Record, Turn

NANO = 1_000_000_000


def iso(at_us: int) -> str:
    """A time as clients write it, in a form of their own."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)).isoformat()


def prompt(turn: Turn, text: str | None = None) -> dict[str, Any]:
    """A capture of a prompt."""
    return {
        "prompt_text": text or turn.text,
        "tool_session_id": turn.session,
        "client_event_id": str(turn.event_id),
        "host_prompt_id": turn.name,
        "submitted_at": iso(turn.at_us),
        "cwd": turn.cwd,
    }


def response(turn: Turn, text: str | None = None) -> dict[str, Any]:
    """A capture of a response."""
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
    """An export of log records."""
    scope = {"scope": {"name": "sim"}, "logRecords": [_log(record) for record in records]}
    return {"resourceLogs": [{"resource": _resource(), "scopeLogs": [scope]}]}


def metrics(points: Iterable[Point]) -> dict[str, Any]:
    """An export of points, each of a counter of its own series."""
    scope = {"scope": {"name": "sim"}, "metrics": [_counter(point) for point in points]}
    return {"resourceMetrics": [{"resource": _resource(), "scopeMetrics": [scope]}]}


def catalog() -> dict[str, Any]:
    """List prices of the models that have any."""
    return {
        "exact_lookups": [
            {
                "external_model_id": name,
                "model": {"status": "known", "canonical_model_id": name, "display_name": name},
                "provider": {"status": "observed", "provider": "sim"},
                "list_rates": [
                    {
                        "effective_from": "1970-01-01T00:00:00Z",
                        "effective_to": None,
                        "rate": {"input": dollars[0], "output": dollars[1], "cache_read": 0, "cache_write_5m": 0},
                    }
                ],
            }
            for name, dollars in PRICED.items()
        ]
    }


def _resource() -> dict[str, Any]:
    return {"attributes": _pairs({"service.name": "claude-code"})}


def _log(record: Record) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "session.id": record.session,
        "prompt.id": record.turn,
        "event.name": record.event,
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
    body = {"stringValue": f"claude_code.{record.event}"}
    return {"timeUnixNano": str(record.at_us * 1_000), "body": body, "attributes": _pairs(told)}


def _counter(point: Point) -> dict[str, Any]:
    attributes = {"session.id": point.session, "type": "input", "model": "sim-large-1", "sim.nonce": point.nonce}
    made = {
        "timeUnixNano": str(point.at_us * 1_000),
        "startTimeUnixNano": str(point.at_us * 1_000 - 1_000),
        "asInt": str(point.input_tokens),
        "attributes": _pairs(attributes),
    }
    sums = {"aggregationTemporality": 1, "isMonotonic": True, "dataPoints": [made]}
    return {"name": "claude_code.token.usage", "sum": sums}


def _pairs(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Any) -> dict[str, Any]:
    match value:
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case _:
            return {"stringValue": value}
