"""Every real export is taken as a whole, and its requests hold the tokens that it tells; generated ones never break."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from aggregates.capture.events import RecordsCaptured
from tests.support.real_data import FOLDER, NEEDS_REAL_DATA
from tests.svc_http.house import Caller, House

pytestmark = NEEDS_REAL_DATA

Sums = Counter[tuple[str, str]]


def bodies(pattern: str) -> Iterator[tuple[str, bytes]]:
    """The request bodies of these files: one a file, or one a line."""
    for path in sorted(FOLDER.glob(pattern)):
        data = path.read_bytes()
        yield from ((path.name, each) for each in (data.splitlines() if path.suffix == ".jsonl" else [data]))


def route(body: bytes) -> str:
    for member, path in (
        (b'"resourceLogs"', "logs"),
        (b'"resourceSpans"', "traces"),
        (b'"resourceMetrics"', "metrics"),
    ):
        if member in body:
            return f"/v1/{path}"
    return "/v1/logs"


@pytest.mark.parametrize(
    "pattern",
    [
        "otlp-official-examples/*.json",
        "captured-codex-cli/*.json",
        "captured-gemini-cli/*.json",
        "vs-copilot-traces/*.jsonl",
    ],
)
async def test_real_exports_are_taken_as_a_whole(house: House, intake: Caller, pattern: str) -> None:
    """200 and an empty object; the requests' tokens by model are those that the export tells."""
    await taken_as_a_whole(house, intake, pattern)


async def taken_as_a_whole(house: House, intake: Caller, pattern: str) -> None:
    """Send these exports, and see that nothing of them is missing."""
    told: Sums = Counter()
    found = list(bodies(pattern))
    assert found
    for name, body in found:
        answer = await intake.post(route(body), body)
        assert (name, answer.status, answer.body) == (name, 200, b"{}")
        told += _told(body)
    assert _kept(house) == told


async def test_a_second_time_adds_nothing(house: House, intake: Caller) -> None:
    """Exporters send again what they got no answer to."""
    found = [body for _, body in bodies("captured-*/*.json")]
    for body in found:
        assert (await intake.post(route(body), body)).status == 200
    before = len(house.events)
    for body in found:
        assert (await intake.post(route(body), body)).status == 200
    assert len(house.events) == before


async def test_generated_exports_are_taken_or_refused_with_a_reason(house: House, intake: Caller) -> None:
    """Enum names and ids in base64 are no OTLP JSON; a record with them is rejected, the others are kept."""
    for name, body in bodies("otlp2parquet-testdata/**/*.json*"):
        answer = await intake.post(route(body), body)
        if name == "malformed.json":
            assert answer.status == 400
        elif name.startswith(("metrics_gauge", "metrics_summary")):
            assert (name, answer.body) == (name, b"{}")
        else:
            assert (name, answer.status, b"errorMessage" in answer.body) == (name, 200, True)


# --- counted without any of the project's own code ------------------------------------------------------------


def _told(body: bytes) -> Sums:
    sums: Sums = Counter()
    for resource in json.loads(body).get("resourceLogs", ()):
        for scope in resource["scopeLogs"]:
            for record in scope["logRecords"]:
                values = {
                    each["key"]: next(iter(each["value"].values()), None) for each in record.get("attributes", ())
                }
                sums += _tokens(values)
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
