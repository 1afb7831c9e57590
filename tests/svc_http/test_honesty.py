"""Sentences that the scores are held to, from what agents send to what a developer is shown.

Beside these: a running total and deltas give the same tokens (`test_telemetry.py`); any order gives the same
tables (`test_any_order.py`, `test_real_data.py`); pasted
text earns no goal, scope, check or plan (`test_rubric.py`).
"""

import json
import re
from typing import Any

import pytest

from aggregates.event import Scope
from projections.facts.facts import ARRIVALS_MAX
from svc_http.ports import REFUSALS_MAX, Arrivals
from tests.support import otlp
from tests.support.basics import ACME, ANA, ANA_SCOPE, BEN, BEN_KEY
from tests.support.facts import HOUR, SECOND, Log, edit
from tests.support.otlp import NOW_US, claude, logs, span, traces
from tests.svc_http.browsing import signs_in
from tests.svc_http.house import Caller, House, bearer, prompt
from tests.svc_http.routes.test_reads import V3

ASK = "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop."

Told = tuple[str, dict[str, Any]]
"""An event of Claude Code's log and its attributes."""

REQUEST: Told = (
    "api_request",
    {"model": "claude-sonnet-4-5", "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.01},
)
ERROR: Told = ("api_error", {"model": "claude-sonnet-4-5", "status_code": "529", "error": "overloaded"})


def call(tool: str, **arguments: str) -> Told:
    """A tool call that succeeded, with its details."""
    return "tool_result", {"tool_name": tool, "success": "true", "tool_input": json.dumps(arguments)}


EDIT = call("Edit", file_path="src/parser.py", old_string="return rows[0]", new_string="return rows[:1]")
CHECK = call("Bash", command="pytest -q")
COMMIT = call("Bash", command="git commit -am 'Empty input'")


async def sends(house: House, intake: Caller, *course: Told, prompt_id: str = "p1", start_us: int = NOW_US) -> None:
    """The agent's own log of a prompt and of what was done about it, ten seconds apart; then two hours go by."""
    house.clock_us = start_us + HOUR
    events: list[Told] = [("user_prompt", {"prompt": ASK, "prompt_length": str(len(ASK))}), *course]
    told = [
        otlp.claude(
            name, {"prompt.id": prompt_id, **attributes}, timeUnixNano=str((start_us + number * 10 * SECOND) * 1000)
        )
        for number, (name, attributes) in enumerate(events)
    ]
    answer = await intake.post("/v1/logs", otlp.logs(*told))
    assert (answer.status, answer.json) == (200, {})
    house.passes(start_us + 3 * HOUR)


async def only(api: Caller) -> dict[str, Any]:
    (row,) = (await api.get(f"{V3}/realtime/sub-sessions")).json
    assert not row["is_preview"]
    return dict(row)


async def against(api: Caller, row: dict[str, Any]) -> list[str]:
    shown = (await api.get(f"{V3}/sub-sessions/{row['sub_session_id']}/explain")).json
    return [piece["what"] for piece in shown["outcome"]["evidence_against"]]


# --- outcomes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recovered", [False, True])
async def test_an_end_on_an_error_is_not_complete(house: House, intake: Caller, api: Caller, recovered: bool) -> None:
    """However much was changed, checked and committed before."""
    await sends(house, intake, REQUEST, EDIT, CHECK, COMMIT, REQUEST, ERROR, *([REQUEST] if recovered else []))
    row = await only(api)
    assert (row["goal_complete"], row["crushed"]) == (recovered, recovered)
    assert ("ends on an API error that was not recovered" in await against(api, row)) is not recovered
    score = (await api.get(f"{V3}/score?window=daily")).json
    assert (score["crushed_count"], score["total_count"]) == (int(recovered), 1)


@pytest.mark.parametrize("told_twice", [False, True])
async def test_a_failure_that_a_hook_tells_speaks_against_the_goal_and_adds_no_request(
    house: House, intake: Caller, api: Caller, told_twice: bool
) -> None:
    """With the plugin alone nothing else tells it; beside the agent's own log it counts once."""
    course = (REQUEST, EDIT, CHECK, COMMIT, REQUEST, *((ERROR,) if told_twice else ()))
    failure = {"event.name": "svc.stop_failure", "session.id": "s1", "prompt.id": "p1", "error": "overloaded"}
    at = str((NOW_US + 10 * len(course) * SECOND + SECOND) * 1000)
    hook = otlp.logs(otlp.log(failure, timeUnixNano=at), service="svc-hook")
    assert (await intake.post("/v1/logs", hook)).status == 200
    await sends(house, intake, *course)
    row = await only(api)
    assert row["goal_complete"] is False
    assert "ends on an API error that was not recovered" in await against(api, row)
    errors = (await api.get("/v1/telemetry/analytics")).json["errors"]
    assert sum(each["count"] for each in errors) == int(told_twice)


# --- tokens ---------------------------------------------------------------------------------------------------


async def tokens_of(api: Caller) -> tuple[int, int]:
    found = (await api.get(f"{V3}/tokens?window=daily")).json["breakdown"]
    return found["input"], found["output"]


async def test_two_agents_under_one_session_id_count_once_each(house: House, intake: Caller, api: Caller) -> None:
    """A session that was resumed in two terminals: two turns, the sum of their requests, and one session."""
    for prompt_id, start_us in (("p1", NOW_US), ("p2", NOW_US + 5 * SECOND)):
        mine = (REQUEST[0], {**REQUEST[1], "request_id": f"req-{prompt_id}"})
        for _ in range(2):  # each exporter tries again
            await sends(house, intake, mine, EDIT, CHECK, prompt_id=prompt_id, start_us=start_us)
    rows = (await api.get(f"{V3}/realtime/sub-sessions")).json
    assert [(row["agent_session_id"], row["turns"]) for row in rows] == [("s1", 2)]
    assert await tokens_of(api) == (20, 10)
    assert (rows[0]["total_tokens"], rows[0]["cost_usd"]) == (30, pytest.approx(0.02))


async def test_a_plugin_beside_its_agents_own_log_doubles_nothing(house: House, intake: Caller, api: Caller) -> None:
    """The prompt is one turn, and the numbers of the response capture give way to those of the request log."""
    house.clock_us = NOW_US + SECOND
    body = prompt(ASK, tool_session_id="s1", submitted_at="2026-05-28T20:26:41Z")
    captured = (await intake.post("/v1/prompts", body)).json["id"]
    answer = {"prompt_id": captured, "response_operation_id": "op", "response_text": "Fixed."}
    numbers = {"input_tokens": 999, "output_tokens": 999, "model": "claude-sonnet-4-5"}
    assert (await intake.post("/v1/prompts/response", answer | numbers)).status == 204
    house.passes(NOW_US + 2 * SECOND)
    assert await tokens_of(api) == (999, 999)
    await sends(house, intake, REQUEST, EDIT, CHECK)
    assert (await only(api))["turns"] == 1
    assert await tokens_of(api) == (10, 5)


# --- what is missing, and what is too much ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "tokens", "unmeasured"),
    [(("api_request", {"model": "claude-sonnet-4-5", "cost_usd": 0.01}), None, 1), (ERROR, 15, 0)],
    ids=["a request that told none", "a request that failed"],
)
async def test_sums_say_what_was_not_measured(
    house: House, intake: Caller, api: Caller, told: Told, tokens: int | None, unmeasured: int
) -> None:
    """Null beside how many requests told no tokens; where the contract has a number it is of the others."""
    await sends(house, intake, told, REQUEST, EDIT, CHECK)
    row, week = await only(api), (await api.get(f"{V3}/tokens?window=daily")).json
    assert (row["total_tokens"], row["unmeasured_requests"], row["unpriced_requests"]) == (tokens, unmeasured, 0)
    assert (week["unmeasured_requests"], week["tpt"], await tokens_of(api)) == (unmeasured, 15, (10, 5))
    said = (await api.get("/v1/insights/report?from=2026-05-28&to=2026-05-29")).json
    assert said["totalInputTokens"] == (None if unmeasured else 10)


@pytest.mark.parametrize(
    ("field", "most", "told"),
    [
        ("input_tokens", 10**12, (10**12 + 10, 0)),
        ("output_tokens", 10**12, (10**12 + 20, 0)),
        ("cost_usd", 1_000_000, (30, 1)),
    ],
)
async def test_bounds_of_counts_and_costs_are_one(
    house: House, intake: Caller, api: Caller, field: str, most: int, told: tuple[int, int]
) -> None:
    """A response capture and a log record take the same, and no more."""
    captured = (await intake.post("/v1/prompts", prompt(tool_session_id="another"))).json["id"]
    body = {"prompt_id": captured, "response_operation_id": "r", "response_text": "Done."}
    assert (await intake.post("/v1/prompts/response", body | {field: most + 1})).status == 400
    assert (await intake.post("/v1/prompts/response", body | {field: most})).status == 204
    requests = [("api_request", {**REQUEST[1], "request_id": f"{n}", field: n}) for n in (most, most + 1)]
    await sends(house, intake, *requests)
    rows = {row["agent_session_id"]: row for row in (await api.get(f"{V3}/realtime/sub-sessions")).json}
    assert (rows["s1"]["total_tokens"], rows["s1"]["unpriced_requests"]) == told


async def test_no_table_holds_a_secret(house: House, intake: Caller) -> None:
    """Whatever name or id it stands in; and a session that holds one is still one session."""
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    body = prompt(tool_session_id=f"s {secret}", source=secret, host_prompt_id=secret, cwd=f"/{secret}")
    assert (await intake.post("/v1/prompts", body)).status == 201
    named = dict.fromkeys(("tool_name", "model", "prompt.id", "tool_use_id", secret), secret)
    sent = otlp.logs(otlp.claude("tool_result", named | {"session.id": f"s {secret}"}), resource={"mcp": secret})
    assert (await intake.post("/v1/logs", sent)).status == 200
    assert (await intake.post("/v1/metrics", otlp.metrics(otlp.counter(secret, {"asInt": 1}, named)))).status == 200
    tables = "\n".join(house._views.iterdump())
    assert secret not in tables
    assert len({*re.findall("redacted-[0-9a-f]{32}", tables)}) == 2  # the session, and what is nothing but the secret


CONFIG = "/v1/plugin/config"


async def test_what_came_is_told_by_agent_and_signal(house: House, intake: Caller) -> None:
    """With the time of the last, and what was refused with its reason; to nobody else."""
    house.clock_us += 1_000_000
    sent = await intake.post("/v1/logs", logs(claude("user_prompt", {"prompt": "Add a test.", "session.id": "s1"})))
    assert sent.status == 200, sent.body
    await intake.post("/v1/prompts", {"prompt_text": "Add a test.", "tool_session_id": "s", "source": "codex"})
    told = (await intake.get(CONFIG)).json
    assert [(each["source"], each["signal"], each["requests"]) for each in told["arrivals"]] == [
        ("claude-code", "logs", 1),
        ("codex", "prompts", 1),
    ]
    assert told["refusals"] == []
    assert (await intake.post("/v1/prompts", {"prompt_text": " ", "tool_session_id": "s"})).status == 400
    (refusal,) = (await intake.get(CONFIG)).json["refusals"]
    assert (refusal["path"], refusal["status"]) == ("/v1/prompts", 400)
    assert "prompt_text is blank" in refusal["message"]
    others = (await intake.using(bearer(BEN_KEY)).get(CONFIG)).json
    assert others["arrivals"] == others["refusals"] == []


async def test_a_restart_forgets_no_agent(house: House, api: Caller) -> None:
    """The log knows when each signal last came; an import of old work is none, and others' are others'."""
    signs_in(house)
    for scope, source in ((ANA_SCOPE, "codex"), (Scope(ACME, BEN), "gemini")):
        log = Log(scope, house.clock_us)
        log.prompt(f"s of {source}", "Add a test", house.clock_us, source=source)
        log.records(f"s of {source}", edit(house.clock_us))  # as an import reads it
        house.has_seen(log)
    shown = (await api.using({"Cookie": "svc_session=ana's"}).get("/settings")).body.decode()
    assert '<strong>codex</strong> <span class="hint">prompts</span>' in shown
    assert "gemini</strong>" not in shown


async def test_an_agent_that_is_not_known_is_told_by_the_name_of_its_service(intake: Caller) -> None:
    """One that follows the conventions for generative AI is read. What svc cannot read is told where figures stand:
    a day without figures is not taken for a day without work."""
    asked = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c1", "gen_ai.usage.input_tokens": 5}
    today = "/v1/score_v3/today-summary"
    assert (await intake.get(today)).json["unknown_agents"] == []
    for told, service in (({"x": 1}, "windmill"), (asked, "crush")):
        assert (await intake.post("/v1/traces", traces(span("a span", told), service=service))).status == 200
    known = [each["source"] for each in (await intake.get(CONFIG)).json["arrivals"]]
    assert known == ["crush", "unknown agent windmill"]
    assert (await intake.get(today)).json["unknown_agents"] == ["unknown agent windmill sends traces"]


def test_no_sender_makes_it_grow() -> None:
    arrivals, names = Arrivals(0), ARRIVALS_MAX + 9
    for number in range(names):
        arrivals.took(ANA, f"agent{number}", "logs", number)
        arrivals.refused(ANA, "/v1/logs", 400, "no", number)
    taken, refused = arrivals.of(ANA)
    assert (len(taken), len(refused)) == (ARRIVALS_MAX, REFUSALS_MAX)
    assert f"agent{names - 1}" in {each.source for each in taken}
    assert arrivals.of(BEN) == ([], [])
