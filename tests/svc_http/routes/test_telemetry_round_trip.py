"""What agents export, read back as they sent it: through the decoder, the log and the views."""

from typing import Any

import msgspec
import pytest

from tests.support import otlp
from tests.support.otlp import NOW_US
from tests.support.people import BEN_KEY
from tests.svc_http.house import Caller, House, bearer

SECOND = 1_000_000
V1 = "/v1/telemetry"
API_REQUEST = {
    "model": "claude-sonnet-4-5",
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_read_tokens": 7,
    "cache_creation_tokens": 3,
    "cost_usd": 0.25,
    "duration_ms": 1200,
    "request_id": "req-1",
}


@pytest.fixture
def house(house: House) -> House:
    """It is a minute after the agents sent."""
    house.clock_us = NOW_US + 60 * SECOND
    return house


async def sent(intake: Caller, signal: str, export: dict[str, Any]) -> None:
    answer = await intake.post(f"/v1/{signal}", export)
    assert (answer.status, answer.json) == (200, {})


async def records(api: Caller, signal: str, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await api.get(f"{V1}/{signal}?{query}")).json["records"]
    return found


async def test_log_records(house: House, intake: Caller, api: Caller) -> None:
    """Tokens and cost beside the attributes; each record with its own, in a document that holds several sessions."""
    other = otlp.claude("user_prompt", {"session.id": "s2", "prompt_length": "7"})
    note = otlp.log({"x": 1})
    await sent(intake, "logs", otlp.logs(other, otlp.claude("api_request", API_REQUEST), note))
    by_name = {record["event_name"]: record for record in await records(api, "logs")}
    shown = by_name["api_request"]
    attributes = msgspec.json.decode(shown.pop("attributes_json"))
    assert attributes == {"session.id": "s1", "prompt.id": "p1", "event.name": "api_request", **API_REQUEST}
    assert len(shown.pop("source_event_id")) == 64
    told = {name: value for name, value in API_REQUEST.items() if name != "request_id"}
    named = {"timestamp": "2026-05-28T20:26:40Z", "event_name": "api_request", "session_id": "s1"}
    assert shown == told | named | {"cost_kind": "reported"}
    assert msgspec.json.decode(by_name["user_prompt"]["attributes_json"])["session.id"] == "s2"
    assert (by_name[None]["session_id"], by_name[None]["attributes_json"]) == (None, '{"x":1}')
    assert [record["session_id"] for record in await records(api, "logs", "session_id=s2")] == ["s2"]
    assert await records(api.using(bearer(BEN_KEY)), "logs", "session_id=s1") == []


async def test_secrets_are_not_read_back(intake: Caller, api: Caller) -> None:
    secret = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
    await sent(intake, "logs", otlp.logs(otlp.claude("user_prompt", {"prompt": f"use {secret} here"})))
    (shown,) = await records(api, "logs")
    assert secret not in shown["attributes_json"]
    assert "here" in shown["attributes_json"]
