"""Telemetry reads over HTTP: shapes, parameters, pages, scope."""

from typing import Any

import msgspec
import pytest

from tests.support import otlp
from tests.support.basics import ANA_SCOPE, BEN_KEY
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, Log, request
from tests.support.otlp import NOW_US, add_logs, add_points, add_spans
from tests.svc_http.house import Caller, House, bearer

V1 = "/v1/telemetry"
LISTS = [f"{V1}/logs", f"{V1}/metrics", f"{V1}/traces"]
RANGES = [*LISTS, f"{V1}/stats"]


@pytest.fixture
def monday(house: House) -> House:
    """Ana's agent sent three log records, a span and a point at nine; it is Monday noon."""
    log = Log(ANA_SCOPE).claim("s1")
    add_logs(
        log,
        "s1",
        {"at_us": MONDAY, "name": "user_prompt", "attributes": {"prompt.id": "p1"}},
        request(MONDAY + MINUTE, name="api_request", prompt_id="p1"),
        {"kind": "tool", "tool": "Bash", "at_us": MONDAY + 2 * MINUTE, "ok": False, "prompt_id": "p1"},
    )
    add_spans(log, "s1", {"at_us": MONDAY, "name": "llm_request"})
    add_points(log, "s1", {"at_us": MONDAY, "value": 5.0, "meaning": "input_tokens", "series": "s"})
    house.has_seen(log, MONDAY + 3 * HOUR)
    return house


async def test_logs_are_read_through_intake_too(monday: House, intake: Caller, api: Caller) -> None:
    answer = await intake.get(f"{V1}/logs")
    assert answer.json == (await api.get(f"{V1}/logs")).json
    assert answer.json["records"][2]["attributes_json"] == '{"prompt.id":"p1"}'


@pytest.mark.parametrize("path", RANGES)
async def test_the_default_range_is_a_day(monday: House, api: Caller, path: str) -> None:
    """The last 24 hours; each end may be given alone."""

    async def some(query: str = "") -> bool:
        found = (await api.get(f"{path}?signal=metrics&{query}")).json
        return bool(found.get("records") or found.get("groups"))

    assert await some()
    assert await some("from=2026-01-05T10:00:00+01:00&to=2026-01-05T10:00:01%2B01:00")
    assert await some("from=2026-01-05&to=2026-01-05")
    assert not await some("to=2026-01-05T09:00:00Z")
    assert not await some("from=2026-01-05T09:05:00Z")
    monday.clock_us = MONDAY + DAY
    assert await some()
    monday.clock_us += 3 * MINUTE
    assert not await some()
    assert await some("from=2026-01-05")


# --- what agents export, read back as they sent it: through the decoder, the log and the views ---------------------


async def test_log_records(house: House, intake: Caller, api: Caller) -> None:
    """Each with its own attributes, in a document that holds several sessions; to nobody else."""
    house.clock_us = NOW_US + MINUTE
    request = otlp.claude("api_request", {"model": "m", "input_tokens": 10, "cost_usd": 0.25})
    other = otlp.claude("user_prompt", {"session.id": "s2", "prompt_length": "7"})
    assert (await intake.post("/v1/logs", otlp.logs(other, request, otlp.log({"x": 1})))).json == {}

    async def records(query: str = "", caller: Caller = api) -> dict[str | None, dict[str, Any]]:
        found = (await caller.get(f"{V1}/logs?{query}")).json["records"]
        return {record["event_name"]: record for record in found}

    by_name = await records()
    shown = by_name["api_request"]
    told = [shown[name] for name in ("timestamp", "session_id", "input_tokens", "cost_usd", "cost_kind")]
    assert told == ["2026-05-28T20:26:40Z", "s1", 10, 0.25, "reported"]
    assert len(shown["source_event_id"]) == 64
    assert msgspec.json.decode(by_name["user_prompt"]["attributes_json"])["session.id"] == "s2"
    assert (by_name[None]["session_id"], by_name[None]["attributes_json"]) == (None, '{"x":1}')
    assert [record["session_id"] for record in (await records("session_id=s2")).values()] == ["s2"]
    assert await records("session_id=s1", api.using(bearer(BEN_KEY))) == {}
