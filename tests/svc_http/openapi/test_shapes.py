"""Every answer to a read of one's own data is as described, and what is described stays as it was."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aggregates.event import Refused
from aggregates.people.acts import AddTeamMember, CreateTeam
from tests.golden.folder import differences
from tests.support import otlp
from tests.support.basics import ACME, ANA, ANA_SCOPE, NOW_US, carry_out, named
from tests.support.described import faults, shapes
from tests.support.facts import DAY, HOUR, SECOND
from tests.support.household import import_demo
from tests.svc_http.house import DIGESTER, Answer, Caller, House, prompt
from tests.svc_http.isolation_world import rows
from tests.svc_http.routes.test_reads import V3

SHAPES = Path(__file__).with_name("shapes.json")
TEAM = named("core")
WINDOWS = ("daily", "weekly", "monthly")
MONTH = "from=2026-07-01&to=2026-08-31"
DAYS = "from_date=2026-07-01&to_date=2026-08-31"
OF_WINDOW = (
    *("score", "speed", "speed/sessions", "tokens", "tokens/trend", "skill", "insight/summary"),
    *("trivia", "integrity"),
)
READS = [
    *(f"{V3}/{path}?window={window}&limit=500" for path in OF_WINDOW for window in WINDOWS),
    *(f"{V3}/{path}?{DAYS}" for path in ("files", "prompts/top", "task-time", "model-task")),
    *(f"{V3}/integrity/trend?{MONTH}&period={each}" for each in ("day", "week", "month")),
    f"{V3}/insight/sessions?limit=500",
    f"{V3}/insight/rubric?{MONTH}",
    f"{V3}/trivia/trend?{MONTH}&period=week",
    f"{V3}/realtime/sub-sessions?limit=500",
    f"{V3}/integrity/recent?limit=500",
    f"{V3}/peer-comparison",
    f"{V3}/today-summary",
    f"{V3}/today-summary?date=2026-07-28",
    "/v1/sub-sessions/accuracy",
    *(f"/v1/telemetry/{signal}?limit=500&{MONTH}" for signal in ("logs", "metrics", "traces")),
    *(
        f"/v1/telemetry/stats?{MONTH}&signal={signal}&group_by={by}"
        for signal in ("logs", "metrics", "traces")
        for by in ("hour", "day", "session_id")
    ),
    f"/v1/telemetry/analytics?{DAYS}",
    f"/v1/intelligence/throttle?{MONTH}",
    f"/v1/intelligence/throttle/team?team_id={TEAM}&{MONTH}",
    "/v1/intelligence/rightsizing",
    *(f"/v1/team/cost?team_id={TEAM}&window={window}" for window in WINDOWS),
    f"/v1/team/daily-summary?team_id={TEAM}",
    f"/v1/insights/report?{MONTH}",
]
OF_ONE = ("", "/prompts?limit=500", "/explain")
OF_REPORTS = {"/v1/score_v3/report", "/v1/score_v3/report/<id>", "/v1/score_v3/report/status/<id>"}
OTHERS = {
    "/v1/score_v3/events",  # a stream of events, not one answer
    "/v1/score_v3/sessions/<id>/prompts",  # another name of a read that is asked
    "/v1/score_v3/report/history",
    "/v1/score_v3/report/pending",
    *OF_REPORTS,  # these have their tests
}


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
    for command in (
        CreateTeam(team_id=TEAM, organization_id=ACME, name="Core"),
        AddTeamMember(team_membership_id=named("ana in core"), team_id=TEAM, developer_id=ANA),
    ):
        assert not isinstance(carry_out(house.directory, command, NOW_US - 30 * DAY), Refused)


async def nothing(house: House, intake: Caller, folder: Path) -> None:
    """No capture at all."""


async def one_open_prompt(house: House, intake: Caller, folder: Path) -> None:
    await intake.post("/v1/prompts", prompt())


async def one_settled_prompt(house: House, intake: Caller, folder: Path) -> None:
    await one_open_prompt(house, intake, folder)
    house.passes(house.clock_us + HOUR)


async def a_month_of_work(house: House, intake: Caller, folder: Path) -> None:
    """The demo sessions, and a prompt that has just been typed."""
    house.clock_us += 20 * DAY
    await import_demo(folder, house.send, ANA_SCOPE, DIGESTER, house.clock_us)
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
async def test_every_read_is_as_described(
    house: House, intake: Caller, api: Caller, tmp_path: Path, history: Any
) -> None:
    """Nothing that is not named, nothing of another type; of nothing, of one sub-session, and of a month of work."""
    await history(house, intake, tmp_path)
    found = {path: described(await api.get(path), "GET", path) for path in READS}
    for row in found[f"{V3}/realtime/sub-sessions?limit=500"][:20]:
        for path in (f"{V3}/sub-sessions/{row['sub_session_id']}{of_one}" for of_one in OF_ONE):
            described(await api.get(path), "GET", path)
    for session, prompts in (("s1", ["p1"]), ("session-1", []), ("unknown", ["p1"])):
        asked = {"session_id": session, "prompt_ids": prompts}
        described(await api.post("/v1/telemetry/per-turn", asked), "POST", "/v1/telemetry/per-turn")
    if history is a_month_with_telemetry:
        _has_everything_to_show(found)


def _has_everything_to_show(found: dict[str, Any]) -> None:
    """So that the answers above are more than empty lists."""
    for path, shown in found.items():
        lists = [each for each in shown.values() if isinstance(each, list)] if isinstance(shown, dict) else [shown]
        assert not lists or any(lists) or "window=daily" in path or "today-summary" in path, path
    rows = found[f"{V3}/realtime/sub-sessions?limit=500"]
    assert {row["rework"] for row in rows} == {row["crushed"] for row in rows} == {True, False, None}
    points = found[f"/v1/telemetry/metrics?limit=500&{MONTH}"]["records"]
    assert {point["distribution"] is None for point in points} == {True, False}


def test_every_read_of_ones_own_data_is_asked() -> None:
    """Whoever builds another one adds it above."""
    asked = {path.partition("?")[0] for path in READS}
    asked |= {f"/v1/score_v3/sub-sessions/<id>{path.partition('?')[0]}" for path in OF_ONE}
    kinds = ("API, own data", "API, a thing of one's own", "API, a team's")
    built = {row.path for row in rows() if row.kind in kinds and row.method == "GET"}
    assert built - OTHERS - asked == set()
