"""Real exports: each is taken as a whole, its requests' tokens as it tells them."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from aggregates.capture.events import RecordsCaptured
from tests.support.real_data import FOLDER, NEEDS_REAL_DATA
from tests.svc_http.house import Caller, House

pytestmark = NEEDS_REAL_DATA

LONG_AFTER_US = 1_900_000_000 * 1_000_000
SIGNALS = {b"resourceLogs": "logs", b"resourceSpans": "traces", b"resourceMetrics": "metrics"}
Sums = Counter[tuple[str, str]]


def bodies(pattern: str) -> Iterator[tuple[str, str, bytes]]:
    """File, signal and body of each request of these files: one a file, or one a line."""
    for path in sorted(FOLDER.glob(pattern)):
        for body in path.read_bytes().splitlines() if path.suffix == ".jsonl" else [path.read_bytes()]:
            yield path.name, next((name for part, name in SIGNALS.items() if part in body), "logs"), body


async def taken_as_a_whole(house: House, intake: Caller, pattern: str) -> None:
    """200 and an empty object; the requests' tokens by model are those that the exports tell."""
    told, found = Sums(), list(bodies(pattern))
    assert found
    for name, signal, body in found:
        answer = await intake.post(f"/v1/{signal}", body)
        assert (name, answer.status, answer.body) == (name, 200, b"{}")
        told += _told(body)
    assert _kept(house) == told


@pytest.mark.parametrize(
    "pattern",
    [
        *("otlp-official-examples/*.json", "captured-codex-cli/*.json"),
        *("captured-gemini-cli/*.json", "vs-copilot-traces/*.jsonl"),
    ],
)
async def test_real_exports_are_taken_as_a_whole_and_once(house: House, intake: Caller, pattern: str) -> None:
    """Exporters send again what they got no answer to."""
    await taken_as_a_whole(house, intake, pattern)
    before = len(house.events)
    for _, signal, body in bodies(pattern):
        assert (await intake.post(f"/v1/{signal}", body)).status == 200
    assert len(house.events) == before


async def test_generated_exports_are_taken_or_refused_with_a_reason(intake: Caller) -> None:
    """Ids in base64 are no OTLP JSON; a record with them is rejected. An enum's unknown name costs itself."""
    for name, signal, body in bodies("otlp2parquet-testdata/**/*.json*"):
        answer = await intake.post(f"/v1/{signal}", body)
        assert (name, answer.status) == (name, 400 if name == "malformed.json" else 200)
        named = any(why in answer.body for why in (b"hexadecimal", b"no value that OTLP names"))
        assert name == "malformed.json" or answer.body == b"{}" or named, answer.body


async def test_logs_and_counters_of_an_agent_tell_the_same(house: House, intake: Caller, api: Caller) -> None:
    """Its exports are taken as a whole, and then told session by session, to the token and to the nano-dollar."""
    house.clock_us = LONG_AFTER_US
    await taken_as_a_whole(house, intake, "claude-code-replay/dev0[35]*/*.jsonl")
    told = []
    for signal in ("logs", "metrics"):
        query = f"signal={signal}&group_by=session_id&from=1970-01-01"
        groups = (await api.get(f"/v1/telemetry/stats?{query}")).json["groups"]
        told.append({each["key"]: (each["input_tokens"], each["output_tokens"], each["cost_usd"]) for each in groups})
    by_logs, by_counters = told
    assert len(by_logs) > 5
    assert by_logs == by_counters


# --- counted without any of the project's own code ------------------------------------------------------------


def _log_records(body: bytes) -> Iterator[dict[str, Any]]:
    for resource in json.loads(body).get("resourceLogs", ()):
        for scope in resource["scopeLogs"]:
            yield from scope["logRecords"]


def _told(body: bytes) -> Sums:
    sums: Sums = Counter()
    for record in _log_records(body):
        sums += _tokens(
            {each["key"]: next(iter(each["value"].values()), None) for each in record.get("attributes", ())}
        )
    return sums


def _tokens(record: dict[str, Any]) -> Sums:
    """Uncached input, output with thoughts, and what was read from the cache."""
    event, model = record.get("event.name"), record.get("model", "")
    number = {key: int(value) for key, value in record.items() if isinstance(value, int | str) and str(value).isdigit()}
    match event:
        case "api_request":
            counts = (number["input_tokens"], number["output_tokens"], number["cache_read_tokens"])
        case "codex.sse_event" if "input_token_count" in record:
            cached = number["cached_token_count"]
            counts = (number["input_token_count"] - cached, number["output_token_count"], cached)
        case "gemini_cli.api_response":
            cached = number["cached_content_token_count"]
            output = number["output_token_count"] + number["thoughts_token_count"]
            counts = (number["input_token_count"] - cached, output, cached)
        case _:
            return Counter()
    return Counter({(model, name): count for name, count in zip(("in", "out", "cached"), counts, strict=True)})


def _kept(house: House) -> Sums:
    sums: Sums = Counter()
    for event in house.events:
        for record in event.records if isinstance(event, RecordsCaptured) else ():
            if record.kind == "request":
                sums[record.model or "", "in"] += record.input_tokens or 0
                sums[record.model or "", "out"] += record.output_tokens or 0
                sums[record.model or "", "cached"] += record.cache_read_tokens or 0
    return +sums
