"""Every answer to a read of one's own data is as described, and what is described stays as it was."""

import os
import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.golden.folder import differences
from tests.support import otlp
from tests.support.basics import ANA_SCOPE, NOW_US
from tests.support.described import described as document, faults, shapes
from tests.support.facts import DAY, HOUR, SECOND
from tests.svc_http.browsing import CORE, core
from tests.svc_http.house import Answer, Caller, House, prompt
from tests.svc_http.isolation_world import rows
from tests.svc_http.routes.test_reads import V3

SHAPES = Path(__file__).with_name("shapes.json")
LIST = f"{V3}/realtime/sub-sessions"
MONTHS, DAYS = "from=2026-07-01&to=2026-08-31", "from_date=2026-07-01&to_date=2026-08-31"
OF_OWN_DATA = {"API, own data", "API, a thing of one's own", "API, a team's"}
OTHERS = {f"{V3}/events", *(f"{V3}/report{path}" for path in ("", "/<id>", "/status/<id>"))}
"""A stream of events, not one answer; and those that have their tests."""


def reads() -> Iterator[str]:
    """Every read of one's own data, over each window or two months, with each word that a parameter may be."""
    wanted = {row.path for row in rows() if row.method == "GET" and row.kind in OF_OWN_DATA} - OTHERS
    for path, methods in document()["paths"].items():
        plain = re.sub("{.*?}", "<id>", path)
        if plain not in wanted:
            continue
        told = methods["get"].get("parameters", ())
        taken = {each["name"]: each["schema"].get("enum", ()) for each in told if each["in"] == "query"}
        spans = [f"window={each}" for each in taken.pop("window", ()) if each != "range"]
        words = [[f"{name}={word}" for word in known] for name, known in taken.items() if known]
        fixed = [f"team_id={CORE}"] * ("team_id" in taken) + ["limit=500"] * ("limit" in taken)
        for span in spans or [DAYS if "from_date" in taken else MONTHS]:
            for chosen in zip_longest(*words, [None]):  # each word once: all with all would be a thousand reads
                yield f"{plain}?{'&'.join((span, *fixed, *filter(None, chosen)))}"


def test_what_is_described_stays_as_it_was() -> None:
    """Clients were made for it. A wanted change of the contract is written by SVC_WRITE_PAGES=1."""
    if os.environ.get("SVC_WRITE_PAGES"):
        lines = (f"{msgspec.json.encode(route).decode()}: {told}" for route, told in _encoded())
        SHAPES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    wanted = msgspec.json.decode(SHAPES.read_bytes())
    assert list(differences(wanted, shapes())) == []


def _encoded() -> list[tuple[str, str]]:
    return [(route, msgspec.json.encode(shape).decode()) for route, shape in sorted(shapes().items())]


@pytest.fixture(autouse=True)
def _team(house: House) -> None:
    core(house, ANA_SCOPE, at_us=NOW_US - 30 * DAY)


async def nothing(house: House, intake: Caller, folder: Path) -> None:
    """No capture at all."""


async def one_open_prompt(house: House, intake: Caller, folder: Path) -> None:
    await intake.post("/v1/prompts", prompt())


async def one_settled_prompt(house: House, intake: Caller, folder: Path) -> None:
    await one_open_prompt(house, intake, folder)
    house.passes(house.clock_us + HOUR)


async def a_month_of_work(house: House, intake: Caller, folder: Path) -> None:
    """The demo sessions, and a prompt that has just been typed."""
    await house.has_demo()
    await one_open_prompt(house, intake, folder)


async def a_month_with_telemetry(house: House, intake: Caller, folder: Path) -> None:
    """The demo, a storm of retries, and an export of every signal on top: failures, counters, distributions, spans."""
    await a_month_of_work(house, intake, folder)
    for _ in range(3):
        house.clock_us += SECOND
        await intake.post(
            "/v1/prompts", prompt("Fix the login page, it shows an empty field again", tool_session_id="s2")
        )
    at = {"timeUnixNano": str((house.clock_us - SECOND) * 1000)}
    usage = {"model": "claude-sonnet-4-5", "input_tokens": 10, "output_tokens": 5, "request_id": "req-1"}
    usage |= {"cache_read_tokens": 7, "cache_creation_tokens": 3}
    failure = {"model": "claude-sonnet-4-5", "status_code": "429", "error": "rate limit"}
    tool = {"tool_name": "Bash", "success": "false", "duration_ms": "30"}
    events = (("api_request", usage), ("api_error", failure), ("tool_result", tool))
    told = otlp.logs(*(otlp.claude(name, attributes, **at) for name, attributes in events), otlp.log({"x": 1}, **at))
    session = {"session.id": "s1"}
    points = {
        "dataPoints": [{**at, "attributes": otlp.pairs(session), "count": "2", "sum": 3, "bucketCounts": [1, "1"]}]
    }
    counted = otlp.metrics(
        otlp.counter("claude_code.token.usage", {"asDouble": 5, **at}, {**session, "type": "input"}),
        {"name": "latency", "unit": "ms", "histogram": {"aggregationTemporality": 2, **points}},
    )
    times = {"startTimeUnixNano": at["timeUnixNano"], "endTimeUnixNano": at["timeUnixNano"]}
    traced = otlp.traces(otlp.span("chat", {"gen_ai.conversation.id": "s3"}, **times))
    for signal, export in (("logs", told), ("metrics", counted), ("traces", traced)):
        answer = await intake.post(f"/v1/{signal}", export)
        assert (answer.status, answer.json) == (200, {})


HISTORIES = (nothing, one_open_prompt, one_settled_prompt, a_month_with_telemetry)


def described(answer: Answer, method: str, path: str) -> Any:
    """The JSON of a good answer, once it is just as described."""
    assert answer.status in (200, 202), (path, answer)
    assert faults(method, path, answer.status, answer.headers["Content-Type"], answer.body) == [], path
    return answer.json


@pytest.mark.parametrize("history", HISTORIES)
async def test_each_read_is_described(house: House, intake: Caller, api: Caller, tmp_path: Path, history: Any) -> None:
    """Nothing that is not named, nothing of another type; of nothing, of one sub-session, and of a month of work."""
    await history(house, intake, tmp_path)
    ids = [row["sub_session_id"] for row in (await api.get(f"{LIST}?{MONTHS}&limit=20")).json]
    paths = [path.replace("<id>", each) for path in reads() for each in (ids if "<id>" in path else [""])]
    found = {path: described(await api.get(path), "GET", path) for path in paths}
    assert len(found) > 60
    for session, prompts in (("s1", ["p1"]), ("session-1", []), ("unknown", ["p1"])):
        asked = {"session_id": session, "prompt_ids": prompts}
        described(await api.post("/v1/telemetry/per-turn", asked), "POST", "/v1/telemetry/per-turn")
    if history is a_month_with_telemetry:
        _has_everything_to_show(found)


def _has_everything_to_show(found: dict[str, Any]) -> None:
    """So that the answers above are more than empty lists."""
    for path, shown in found.items():
        lists = [each for each in shown.values() if isinstance(each, list)] if isinstance(shown, dict) else [shown]
        assert not lists or any(lists) or "window=daily" in path or "today-summary" in path or "history" in path, path
    rows = found[f"{LIST}?{MONTHS}&limit=500"]
    assert {row["rework"] for row in rows} == {row["crushed"] for row in rows} == {True, False, None}
    points = found[f"/v1/telemetry/metrics?{MONTHS}&limit=500"]["records"]
    assert {point["distribution"] is None for point in points} == {True, False}
