"""Real exports read back: every record with the attributes it was sent with, logs and counters telling the same."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.real_data import FOLDER, NEEDS_REAL_DATA
from tests.svc_http.house import Caller, House
from tests.svc_http.routes.test_otlp_real import taken_as_a_whole

LONG_AFTER_US = 1_900_000_000 * 1_000_000

pytestmark = NEEDS_REAL_DATA


def bodies(pattern: str) -> Iterator[tuple[str, bytes]]:
    """Signal and request body, one a line, or one a file where a file is one JSON document."""
    for path in sorted(FOLDER.glob(pattern)):
        for body in path.read_bytes().splitlines() if path.suffix == ".jsonl" else [path.read_bytes()]:
            yield "logs" if b'"resourceLogs"' in body else "traces" if b'"resourceSpans"' in body else "metrics", body


def attributes_in(signal: str, body: bytes) -> Iterator[str]:
    """The attributes of each record, read without any of the project's own code."""
    top, scopes, inner = {
        "logs": ("resourceLogs", "scopeLogs", "logRecords"),
        "traces": ("resourceSpans", "scopeSpans", "spans"),
        "metrics": ("resourceMetrics", "scopeMetrics", "metrics"),
    }[signal]
    for resource in json.loads(body)[top]:
        for scope in resource[scopes]:
            for each in scope[inner]:
                yield from map(names, points_of(each) if signal == "metrics" else [each])


def points_of(metric: dict[str, Any]) -> list[Any]:
    """The points of a metric of any kind."""
    return [point for member in metric.values() if isinstance(member, dict) for point in member.get("dataPoints", ())]


def names(record: dict[str, Any]) -> str:
    """The names of a record's attributes, and their texts."""
    texts = {each["key"]: each["value"].get("stringValue") for each in record.get("attributes") or ()}
    return json.dumps(sorted(texts.items(), key=str))


def texts_of(attributes: dict[str, Any]) -> str:
    """As `names`, of attributes as they are shown."""
    texts = {name: value if isinstance(value, str) else None for name, value in attributes.items()}
    return json.dumps(sorted(texts.items(), key=str))


async def read_back(api: Caller, signal: str) -> list[str]:
    """The same of every record that is read, page by page."""
    found: list[str] = []
    more = True
    while more:
        page = (await api.get(f"/v1/telemetry/{signal}?from=1970-01-01&limit=1000&offset={len(found)}")).json
        found += [texts_of(json.loads(record["attributes_json"])) for record in page["records"]]
        more = page["has_more"]
    return found


@pytest.mark.parametrize("agent", ["captured-codex-cli/*.json", "captured-gemini-cli/*.json"])
async def test_every_record_is_read_back(house: House, intake: Caller, api: Caller, agent: str) -> None:
    """With the attributes it was sent with, however deep in a document of many sessions it stood."""
    house.clock_us = LONG_AFTER_US
    sent: dict[str, Counter[str]] = {"logs": Counter(), "traces": Counter(), "metrics": Counter()}
    for signal, body in bodies(agent):
        assert (await intake.post(f"/v1/{signal}", body)).json == {}
        sent[signal].update(attributes_in(signal, body))
    for signal, records in sent.items():
        assert records
        assert Counter(await read_back(api, signal)) == records


async def test_logs_and_counters_of_an_agent_tell_the_same(house: House, intake: Caller, api: Caller) -> None:
    """Its exports are taken as a whole, and then told session by session, to the token and to the nano-dollar."""
    house.clock_us = LONG_AFTER_US
    await taken_as_a_whole(house, intake, "claude-code-replay/*/*.jsonl")
    told = []
    for signal in ("logs", "metrics"):
        query = f"signal={signal}&group_by=session_id&from=1970-01-01"
        groups = (await api.get(f"/v1/telemetry/stats?{query}")).json["groups"]
        told.append({each["key"]: (each["input_tokens"], each["output_tokens"], each["cost_usd"]) for each in groups})
    by_logs, by_counters = told
    assert len(by_logs) > 10
    assert by_logs == by_counters
