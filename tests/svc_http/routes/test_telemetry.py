"""Telemetry reads over HTTP: shapes, parameters, pages, scope."""

import pytest

from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, Log, request
from tests.support.otlp import add_logs, add_points, add_spans
from tests.support.people import ANA_SCOPE
from tests.svc_http.house import Caller, House

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
    house.has_seen(log)
    house.passes(MONDAY + 3 * HOUR)
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
    assert await some("from=2026-01-05T10:00:00%2B01:00")
    assert await some("from=2026-01-05T10:00:00+01:00&to=2026-01-05T10:00:01+01:00")
    assert await some("from=2026-01-05&to=2026-01-05")
    assert not await some("to=2026-01-05T09:00:00Z")
    assert not await some("from=2026-01-05T09:05:00Z")
    monday.clock_us = MONDAY + DAY
    assert await some()
    monday.clock_us += 3 * MINUTE
    assert not await some()
    assert await some("from=2026-01-05")


@pytest.mark.parametrize(
    ("query", "calls"),
    [
        (f"from_us={MONDAY}&to_us={MONDAY + HOUR}", 1),
        (f"from_us={MONDAY + HOUR}&to_us={MONDAY + 2 * HOUR}&timezone=Europe/Berlin", 0),
        ("from=2026-01-05&to=2026-01-05", 1),
        ("from=2026-01-05&to=2026-01-05&timezone=Pacific/Kiritimati", 1),
        ("from=2026-01-04&to=2026-01-04", 0),
        ("date=2026-01-05", 1),
    ],
)
async def test_ranges_of_analytics(monday: House, api: Caller, query: str, calls: int) -> None:
    """Times, microseconds or days, in the zone asked for."""
    found = (await api.get(f"{V1}/analytics?{query}")).json
    assert sum(tool["calls"] for tool in found["tools"]) == calls


@pytest.mark.parametrize(("session_id", "prompt_ids"), [("", []), ("s1", [""]), ("s1", ["p"] * 501), ("s\0", [])])
async def test_turns_that_cannot_be_asked_for(api: Caller, session_id: str, prompt_ids: list[str]) -> None:
    answer = await api.post(f"{V1}/per-turn", {"session_id": session_id, "prompt_ids": prompt_ids})
    assert answer.status == 400
