"""Details of the contract, from what agents send to what is answered: all of it goes through the two listeners."""

import json
from typing import Any

import pytest

from aggregates.times import iso
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, SECOND
from tests.support.otlp import claude, logs
from tests.support.people import ANA, BEN
from tests.svc_http.house import Caller, House, prompt

V3 = "/v1/score_v3"
ADMIN = "/v1/admin"
ASK = "Make src/parser.py return an empty list for an empty file, and run the tests."
OTHER = "Put the changelog in order."


def at(at_us: int, name: str, session: str = "s", **attributes: Any) -> dict[str, Any]:
    """What Claude Code logs at a time, in a session."""
    told = {"session.id": session, "prompt.id": f"{session} unseen", **attributes}
    return claude(name, told, timeUnixNano=str(at_us * 1_000))


def asked(at_us: int, session: str = "s", **attributes: Any) -> dict[str, Any]:
    """A request of 100 tokens in and 20 out, for a cent."""
    usual: dict[str, Any] = {
        "model": "opus",
        "input_tokens": 100,
        "output_tokens": 20,
        "cost_usd": 0.01,
        "request_id": f"r{at_us}",
    }
    return at(at_us, "api_request", session, **(usual | attributes))


def failed(at_us: int, status_code: int = 429, **attributes: Any) -> dict[str, Any]:
    return at(at_us, "api_error", model="opus", status_code=status_code, request_id=f"r{at_us}", **attributes)


def edited(at_us: int, path: str, session: str = "s") -> dict[str, Any]:
    called = json.dumps({"file_path": path, "old_string": "a", "new_string": "b\nc\nd"})
    return at(at_us, "tool_result", session, tool_name="Edit", success="true", tool_input=called)


def ran(at_us: int, command: str, session: str = "s") -> dict[str, Any]:
    called = json.dumps({"full_command": command})
    return at(at_us, "tool_result", session, tool_name="Bash", success="true", tool_parameters=called)


class Agent:
    """Sends prompts, answers and log records of Ana's, each at its own time; the clock never goes back."""

    def __init__(self, house: House, intake: Caller) -> None:
        self.house, self.intake = house, intake
        house.clock_us = MONDAY

    async def prompts(self, at_us: int, text: str, session: str = "s", **fields: object) -> str:
        self.house.clock_us = max(self.house.clock_us, at_us)
        body = prompt(text, tool_session_id=session, submitted_at=iso(at_us), **fields)
        answer = await self.intake.post("/v1/prompts", body)
        assert answer.status == 201, answer
        name: str = answer.json["id"]
        return name

    async def answers(self, at_us: int, prompt_id: str, text: str = "Done.", **fields: object) -> None:
        self.house.clock_us = max(self.house.clock_us, at_us)
        body = {"prompt_id": prompt_id, "response_operation_id": prompt_id, "response_text": text, **fields}
        answer = await self.intake.post("/v1/prompts/response", body | {"responded_at": iso(at_us)})
        assert answer.status == 204, answer

    async def logs(self, *records: dict[str, Any]) -> None:
        self.house.clock_us = max([self.house.clock_us, *(int(each["timeUnixNano"]) // 1_000 for each in records)])
        answer = await self.intake.post("/v1/logs", logs(*records))
        assert (answer.status, answer.json) == (200, {})


@pytest.fixture
def agent(house: House, intake: Caller) -> Agent:
    return Agent(house, intake)


async def rows(api: Caller) -> dict[str, Any]:
    return {row["agent_session_id"]: row for row in (await api.get(f"{V3}/realtime/sub-sessions")).json}


# --- what response captures alone tell ----------------------------------------------------------------------------


async def test_responses_alone_count_wherever_tokens_and_cost_do(agent: Agent, house: House, api: Caller) -> None:
    """Rightsizing, analytics, insights and reports tell the same as the tokens of the week and the tasks of a model."""
    usage: dict[str, Any] = {"model": "opus", "input_tokens": 70, "output_tokens": 30, "cost_usd": 0.25}
    for place in range(2):
        name = await agent.prompts(MONDAY + place * HOUR, ASK, f"s{place}")
        await agent.answers(MONDAY + place * HOUR + MINUTE, name, **usage)
    house.passes(MONDAY + 4 * HOUR)
    tokens = (await api.get(f"{V3}/tokens")).json["breakdown"]
    assert (tokens["input"], tokens["output"]) == (140, 60)
    right = (await api.get("/v1/intelligence/rightsizing?from=2026-01-05&to=2026-01-05")).json
    (used,) = right["modelUsage"]
    assert (used["model"], used["requestCount"], used["totalCostUsd"]) == ("opus", 2, 0.5)
    (month,) = right["monthlyUsage"]
    assert (month["inputTokens"], month["outputTokens"], month["totalCostUsd"]) == (140, 60, 0.5)
    said = (await api.get("/v1/insights/report?from=2026-01-05&to=2026-01-05")).json
    assert (said["totalInputTokens"], said["totalOutputTokens"]) == (140, 60)
    assert said["costOptimization"]["totalCostUsd"] == 0.5
    (model,) = (await api.get("/v1/telemetry/analytics?date=2026-01-05")).json["models"]
    assert (model["model"], model["requests"], model["costUsd"]) == ("opus", 2, 0.5), model


# --- leaving and coming back --------------------------------------------------------------------------------------


async def created(admin: Caller, kind: str, **fields: object) -> Any:
    answer = await admin.post(f"{ADMIN}/{kind}", fields)
    assert answer.status == 201, answer
    return answer.json


async def test_who_leaves_and_comes_back(agent: Agent, house: House, api: Caller, admin: Caller) -> None:
    """Another membership, no team, no key; what was done meanwhile elsewhere, or is done since, is no team's."""
    acme = (await admin.get(f"{ADMIN}/memberships?developer_id={BEN}")).json[0]
    about = {"organization_id": acme["organization_id"], "developer_id": str(BEN)}
    team = await created(admin, "teams", organization_id=acme["organization_id"], name="Core")
    for who in (ANA, BEN):
        await created(admin, "team-memberships", team_id=team["id"], developer_id=str(who))
    key = (await created(admin, "keys", **about))["key"]
    ben = Agent(house, agent.intake.using({"Authorization": f"Bearer {key}"}))
    await ben.logs(asked(MONDAY + HOUR, "first"))
    house.clock_us = MONDAY + 2 * HOUR
    assert (await admin.call("DELETE", f"{ADMIN}/memberships/{acme['id']}")).status == 204
    house.clock_us = MONDAY + 2 * DAY
    again = await created(admin, "memberships", **about)
    assert again["id"] != acme["id"]
    held = (await admin.get(f"{ADMIN}/memberships?developer_id={BEN}")).json
    assert [(each["id"], each["active"]) for each in held] == [(acme["id"], False), (again["id"], True)]
    refused = await ben.intake.post("/v1/logs", logs(asked(MONDAY + 2 * DAY, "first")))
    assert refused.status == 401
    stays = (await admin.get(f"{ADMIN}/team-memberships?developer_id={BEN}")).json
    assert [(each["active"], each["ended_at"]) for each in stays] == [(False, iso(MONDAY + 2 * HOUR))]
    renewed = {"Authorization": f"Bearer {(await created(admin, 'keys', **about))['key']}"}
    assert (await api.using(renewed).get(f"/v1/team/cost?team_id={team['id']}")).status == 404
    late = [asked(MONDAY + DAY + HOUR, "first"), asked(MONDAY + 2 * DAY + HOUR, "first")]
    house.clock_us = MONDAY + 2 * DAY + HOUR
    assert (await ben.intake.using(renewed).post("/v1/logs", logs(*late))).json == {}
    house.passes(MONDAY + 3 * DAY)
    found = (await api.get(f"/v1/team/cost?team_id={team['id']}")).json
    assert (found["rollup"]["requestCount"], found["rollup"]["costUsd"]) == (1, 0.01)


# --- counts and sums ----------------------------------------------------------------------------------------------


async def test_sums_say_what_was_not_measured(agent: Agent, house: House, api: Caller) -> None:
    """Null beside how many requests told no tokens; where the contract has a number it is of the others."""
    await agent.prompts(MONDAY, ASK)
    silent = asked(MONDAY + 2 * SECOND)
    silent["attributes"] = [each for each in silent["attributes"] if not each["key"].endswith("_tokens")]
    await agent.logs(asked(MONDAY + SECOND), silent, edited(MONDAY + MINUTE, "src/parser.py"))
    await agent.logs(ran(MONDAY + 2 * MINUTE, "pytest -q"), asked(MONDAY + 3 * MINUTE))
    house.passes(MONDAY + 12 * HOUR)
    (row,) = (await api.get(f"{V3}/realtime/sub-sessions")).json
    assert (row["total_tokens"], row["unmeasured_requests"]) == (None, 1)
    tokens = (await api.get(f"{V3}/tokens")).json
    assert (tokens["breakdown"]["input"], tokens["breakdown"]["output"]) == (200, 40)
    assert (tokens["unmeasured_requests"], tokens["tpt"], tokens["crush_weight"]) == (1, 240, 240)
    said = (await api.get("/v1/insights/report?from=2026-01-05&to=2026-01-05")).json
    assert said["totalInputTokens"] is None


@pytest.mark.parametrize("backwards", [False, True])
async def test_files_have_one_order_whatever_came_first(
    agent: Agent, house: House, api: Caller, backwards: bool
) -> None:
    """By edits, then by path."""
    await agent.prompts(MONDAY, ASK)
    work = [edited(MONDAY + place * SECOND, path) for place, path in enumerate(["c.py", "b.py", "a.py", "b.py"], 1)]
    for each in reversed(work) if backwards else work:
        await agent.logs(each)
    (row,) = (await api.get(f"{V3}/realtime/sub-sessions")).json
    files = (await api.get(f"{V3}/sub-sessions/{row['sub_session_id']}")).json["files"]
    assert [(each["path"], each["edits"]) for each in files] == [("b.py", 2), ("a.py", 1), ("c.py", 1)]


@pytest.mark.parametrize(
    ("field", "most"),
    [("input_tokens", 10**12), ("output_tokens", 10**12), ("cost_usd", 1_000_000)],
)
async def test_bounds_of_counts_and_costs_are_one(
    agent: Agent, house: House, api: Caller, field: str, most: int
) -> None:
    """A response capture and a log record take the same, and no more."""
    name = await agent.prompts(MONDAY, ASK)
    body = {"prompt_id": name, "response_operation_id": "r", "response_text": "Done."}
    assert (await agent.intake.post("/v1/prompts/response", body | {field: most + 1})).status == 400
    assert (await agent.intake.post("/v1/prompts/response", body | {field: most})).status == 204
    other = await agent.prompts(MONDAY + HOUR, OTHER, "b")
    await agent.logs(asked(MONDAY + HOUR + SECOND, "b", **{"prompt.id": other, field: most}))
    await agent.logs(asked(MONDAY + HOUR + 2 * SECOND, "b", **{"prompt.id": other, field: most + 1}))
    row = (await rows(api))["b"]
    told = (row["total_tokens"], row["unpriced_requests"])
    assert told == {"input_tokens": (most + 40, 0), "output_tokens": (most + 200, 0), "cost_usd": (240, 1)}[field]


# --- what is missing ----------------------------------------------------------------------------------------------


async def test_a_request_that_failed_makes_no_sum_null(agent: Agent, house: House, api: Caller) -> None:
    """It has no tokens that anybody could have measured."""
    await agent.prompts(MONDAY, ASK)
    await agent.logs(failed(MONDAY + SECOND), asked(MONDAY + 2 * SECOND))
    row = (await rows(api))["s"]
    assert (row["total_tokens"], row["unpriced_requests"]) == (120, 0)
    tokens = (await api.get(f"{V3}/tokens")).json
    assert (tokens["breakdown"]["input"], tokens["unmeasured_requests"]) == (100, 0)
    assert (await api.get("/v1/insights/report?from=2026-01-05&to=2026-01-05")).json["totalInputTokens"] == 100
