"""Integrity, peers, overrides, telemetry, intelligence and team answers fit their shapes, whatever there is to show.

Together with `test_shapes.py` it is every built read of a developer's own data, and a test says so.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aggregates.event import Refused
from aggregates.people.commands import AddTeamMember, CreateTeam
from tests.support import otlp
from tests.support.facts import DAY, SECOND
from tests.support.log import named
from tests.support.people import ACME, ANA, NOW_US, carry_out
from tests.svc_http import shapes_of_use as shapes
from tests.svc_http.house import Caller, House, prompt
from tests.svc_http.openapi import test_shapes as scoring
from tests.svc_http.test_routes import of

TEAM = named("core")
SIGNALS = ("logs", "metrics", "traces")
GROUPINGS = ("hour", "day", "session_id")
MONTH = "from=2026-07-20&to=2026-08-31"
READS: dict[str, Any] = {
    **{f"score_v3/integrity?window={window}": shapes.Integrity for window in scoring.WINDOWS},
    **{f"score_v3/integrity/trend?{MONTH}&period={each}": shapes.IntegrityTrend for each in ("day", "week", "month")},
    "score_v3/integrity/recent?limit=500": list[shapes.Flag],
    "score_v3/peer-comparison": shapes.Peers,
    "sub-sessions/accuracy": shapes.Accuracy,
    f"telemetry/logs?limit=500&{MONTH}": shapes.Logs,
    f"telemetry/metrics?{MONTH}": shapes.Points,
    f"telemetry/traces?{MONTH}": shapes.Spans,
    **{
        f"telemetry/stats?{MONTH}&signal={signal}&group_by={by}": shapes.Groups
        for signal in SIGNALS
        for by in GROUPINGS
    },
    "telemetry/analytics?from_date=2026-07-20&to_date=2026-08-31": shapes.Analytics,
    f"intelligence/throttle?{MONTH}": shapes.ThrottleImpact,
    f"intelligence/throttle/team?team_id={TEAM}&{MONTH}": shapes.ThrottleImpact,
    "intelligence/rightsizing": shapes.Rightsizing,
    **{f"team/cost?team_id={TEAM}&window={window}": shapes.TeamCost for window in scoring.WINDOWS},
}
OF_OTHERS = {
    "/v1/score_v3/events",  # a stream of events, not one answer
    "/v1/score_v3/sessions/<id>/prompts",  # another name of a read that has one
    "/v1/score_v3/report",
    "/v1/score_v3/report/<id>",
    "/v1/score_v3/report/history",
    "/v1/score_v3/report/pending",
    "/v1/score_v3/report/status/<id>",
    "/v1/team/daily-summary",
    "/v1/insights/report",
}
"""Reads that have tests of their shape beside them."""


@pytest.fixture(autouse=True)
def _team(house: House) -> None:
    """Ana's team, since a month ago."""
    for command in (
        CreateTeam(team_id=TEAM, organization_id=ACME, name="Core"),
        AddTeamMember(team_membership_id=named("ana in core"), team_id=TEAM, developer_id=ANA),
    ):
        assert not isinstance(carry_out(house.directory, command, NOW_US - 30 * DAY), Refused)


async def a_month_with_telemetry(house: House, intake: Caller, folder: Path) -> None:
    """The demo, a storm of retries, and an export of every signal on top: failures, counters, distributions, spans."""
    await scoring.a_month_of_work(house, intake, folder)
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


HISTORIES = (scoring.nothing, scoring.one_open_prompt, scoring.one_settled_prompt, a_month_with_telemetry)


@pytest.mark.parametrize("history", HISTORIES)
async def test_every_other_read_fits_its_shape(
    house: House, intake: Caller, api: Caller, tmp_path: Path, history: Callable[..., Any]
) -> None:
    """For an empty history, for one sub-session, open and settled, and for a month of work."""
    await history(house, intake, tmp_path)
    for path, shape in READS.items():
        answer = await api.get(f"/v1/{path}")
        assert answer.status == 200, (path, answer)
        scoring.check(answer.body, shape, path)
    for session, prompts in (("s1", ["p1"]), ("session-1", []), ("unknown", ["p1"])):
        answer = await api.post("/v1/telemetry/per-turn", {"session_id": session, "prompt_ids": prompts})
        assert answer.status == 200
        scoring.check(answer.body, shapes.TurnsUse, "per-turn")


async def test_a_month_with_telemetry_has_everything_to_show(
    house: House, intake: Caller, api: Caller, tmp_path: Path
) -> None:
    """So that the shapes above are held against more than empty lists."""
    await a_month_with_telemetry(house, intake, tmp_path)
    for path in READS:
        shown = (await api.get(f"/v1/{path}")).json
        lists = shown if isinstance(shown, list) else [each for each in shown.values() if isinstance(each, list)]
        assert not lists or any(lists), path
    points = (await api.get(f"/v1/telemetry/metrics?{MONTH}")).json["records"]
    assert {point["distribution"] is None for point in points} == {True, False}
    assert (await api.get("/v1/score_v3/integrity?window=weekly")).json["by_kind"]
    (turn,) = (await api.post("/v1/telemetry/per-turn", {"session_id": "s1", "prompt_ids": ["p1"]})).json["turns"]
    assert turn["tokens"] is not None


def test_every_read_of_ones_own_data_has_a_shape() -> None:
    """Whoever builds another one writes its shape, too."""
    shaped = {f"/v1/{path.partition('?')[0]}" for path in READS}
    shaped |= {f"/v1/score_v3/{path.partition('?')[0]}" for path in scoring.READS}
    shaped |= {f"/v1/score_v3/sub-sessions/<id>{path.partition('?')[0]}" for path in scoring.OF_ONE}
    built = {route.path for route in of("key", "member", listeners="a") if route.method == "GET"}
    assert built - OF_OTHERS - shaped == set()
