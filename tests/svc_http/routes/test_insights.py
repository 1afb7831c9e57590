"""The insights payload: its exact shape, its figures against the live pages, and nothing where nothing was seen."""

from pathlib import Path
from typing import Any

import pytest

from aggregates.people.acts import ChangeDeveloper
from tests.support.basics import ANA, ANA_SCOPE
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, SECOND, Log, edit, request, shell
from tests.svc_http.house import Caller, House
from tests.svc_http.openapi.test_shapes import a_month_of_work, described

INSIGHTS = "/v1/insights/report"
WEEK = "from=2026-01-05&to=2026-01-11"
CENT = 0.01


async def payload(caller: Caller, query: str = WEEK) -> Any:
    return described(await caller.get(f"{INSIGHTS}?{query}"), "GET", INSIGHTS)


async def test_it_says_what_the_live_pages_say(house: House, intake: Caller, api: Caller, tmp_path: Path) -> None:
    """Over a whole month: the counts, the skill, the tokens. By all three routes, on both listeners, the same; `scope`
    changes nothing."""
    await a_month_of_work(house, intake, tmp_path)
    query = "from=2026-08-01&to=2026-08-31"
    month = await payload(api, query)
    for caller in (api, intake):
        for method, path in (("GET", ""), ("POST", "/generate"), ("POST", "/quick")):
            answer = await caller.call(method, f"{INSIGHTS}{path}?{query}&scope=team")
            assert (answer.status, answer.json) == (200, month)
    paths = ("score?window=monthly", "skill?window=monthly", "tokens?window=monthly")
    score, skill, spent = [(await api.get(f"/v1/score_v3/{path}")).json for path in paths]
    time = (await api.get("/v1/score_v3/task-time?from_date=2026-08-01&to_date=2026-08-31")).json
    won = month["impressiveThings"]
    highlights = sum(each["sessionCount"] for each in won["highlights"])
    assert won["totalWinSessions"] == highlights == score["crushed_count"] > 0
    assert won["winRate"] == pytest.approx(score["svc_score"] / 100)
    lost = sum(each["count"] for each in month["whereThingsGoWrong"]["categories"])
    assert lost == score["total_count"] - score["crushed_count"]
    assert month["skillSnapshot"]["skillIndex"] == skill["skill_index"]
    assert month["skillSnapshot"]["perBoolean"] == skill["per_boolean"]
    assert month["activity"]["totalActiveSeconds"] == time["totalActiveSeconds"]
    assert month["totalInputTokens"] in (None, spent["breakdown"]["input"])
    assert len(month["activity"]["points"]) == 31
    assert len(month["trends"]["points"]) == len(month["skillTrend"]) == 6
    assert month["worstPrompts"][0]["promptPreview"]


FIX = "Fix the crash in src/parser.py when the input is empty; it must return an empty list, and pytest must pass."


def worked() -> Log:
    """One fixed, checked and committed; one beside it whose last check failed."""
    log = Log(ANA_SCOPE)
    log.prompt("one", FIX, MONDAY)
    checked = shell(MONDAY + MINUTE, "pytest"), shell(MONDAY + 2 * MINUTE, "git commit -am x")
    log.records("one", request(MONDAY + 1), edit(MONDAY + 2), *checked)
    log.prompt("two", "Fix the login in src/login.py, the session is lost", MONDAY + MINUTE)
    failed = shell(MONDAY + 6 * MINUTE, "pytest", ok=False)
    log.records("two", request(MONDAY + MINUTE + 1), edit(MONDAY + MINUTE + 2, "src/login.py"), failed)
    return log.passes(MONDAY + 2 * HOUR)


async def test_the_formulas_hold_on_work_that_can_be_counted_by_hand(house: House, api: Caller) -> None:
    """Two sub-sessions, one crushed at the first try, one whose last check failed: that is undecided."""
    house.has_seen(worked())
    said = await payload(api)
    span = {"periodStart": "2026-01-05T00:00:00Z", "periodEnd": "2026-01-12T00:00:00Z", "timezone": "UTC"}
    assert said["meta"] == span | {"language": "en", "totalSessions": 2, "totalMessages": 2, "activeDays": 1}
    stats = {"avgTurnsPerSession": 1.0, "medianResponseTimeSecs": None, "sessions": 2, "firstTryRate": 0.5}
    assert said["howYouUseCc"]["stats"] == stats | {"multiClaudingEvents": 1}
    interval = said["impressiveThings"].pop("interval")
    assert (round(interval["low"], 3), round(interval["high"], 3), interval["confidence"]) == (0.095, 1.0, 0.95)
    assert said["impressiveThings"] == {
        "winRate": 0.5,
        "decidedCount": 1,
        "undecidedCount": 1,
        "totalWinSessions": 1,
        "highlights": [{"label": "Bugs fixed", "sessionCount": 1}],
    }
    (category,) = said["whereThingsGoWrong"]["categories"]
    assert (category["label"], category["count"]) == ("The last check failed", 1)
    assert said["costOptimization"] == {
        "totalCostUsd": pytest.approx(2 * CENT),
        "wastedCostUsd": pytest.approx(CENT),
        "wasteRatio": pytest.approx(0.5),
        "undecidedCostUsd": pytest.approx(CENT),
        "potentialSavingsUsd": 0.0,
        "modelRightsizing": [],
        "wasteActions": [{"action": category["mitigation"], "savingsUsd": pytest.approx(CENT)}],
        "unpricedRequests": 0,
    }
    week = {"periodStart": "2026-01-05T00:00:00Z", "firstTryRate": 0.5, "frictionRate": 0.5}
    assert said["trends"]["points"] == [week | {"costUsd": pytest.approx(2 * CENT)}]
    assert (said["totalInputTokens"], said["totalOutputTokens"]) == (200, 40)
    assert said["activity"]["points"][0] == {"date": "2026-01-05", "sessions": 2, "messages": 2}


async def test_messages_and_days_are_those_of_the_range(house: House, api: Caller) -> None:
    """A sub-session that began in it may go on after it."""
    log = Log(ANA_SCOPE)
    for place, day in enumerate((0, 1, 7, 8)):
        at_us = MONDAY + day * DAY
        log.prompt("s", f"Go on with part {place} of the parser", at_us)
        log.records("s", request(at_us + SECOND))
    house.has_seen(log)
    said = await payload(api)
    points = said["activity"]["points"]
    assert said["meta"]["totalMessages"] == sum(point["messages"] for point in points) == 2
    assert said["meta"]["activeDays"] == sum(point["messages"] > 0 for point in points) == 2


async def test_what_has_no_price_is_not_summed_up(house: House, api: Caller) -> None:
    """Null beside how many requests it is about; what is whole is told."""
    log = worked()
    log.prompt("three", "Explain how src/cache.py decides what to evict", MONDAY + 3 * HOUR)
    untold = dict.fromkeys(("cost_usd_nano", "input_tokens", "output_tokens"))
    log.records("three", request(MONDAY + 3 * HOUR + 1, model="nobody-knows", **untold))
    house.has_seen(log.passes(MONDAY + 5 * HOUR))
    await house.administer(ChangeDeveloper(developer_id=ANA, language="ko"))
    said = await payload(api)
    assert said["meta"]["language"] == "ko", "that of the profile"
    assert said["whereThingsGoWrong"]["categories"][0]["label"] == "마지막 확인이 실패함"
    assert (said["totalInputTokens"], said["totalOutputTokens"]) == (None, None)
    costs = said["costOptimization"]
    assert (costs["totalCostUsd"], costs["wasteRatio"], costs["unpricedRequests"]) == (None, None, 1)
    assert costs["wastedCostUsd"] in (None, pytest.approx(CENT))


async def test_a_report_is_generated_over_the_range_of_its_body(house: House, api: Caller) -> None:
    """Which wins over the query; none at all asks for the last thirty days; a wrong one is named."""
    house.has_seen(worked())
    wanted = await payload(api)
    assert wanted["meta"]["totalSessions"] == 2
    path = f"{INSIGHTS}/generate"
    week = {"from": "2026-01-05", "to": "2026-01-11"}
    assert (await api.post(path, week)).json == wanted
    assert (await api.post(f"{path}?from=2025-01-05&to=2025-01-11", week)).json == wanted
    assert (await api.post(path, {})).json == (await api.call("POST", path)).json == (await api.get(INSIGHTS)).json
    for wrong in ({"from": "soon", "to": "2026-01-11"}, {"from": "2026-01-05"}, {"from": 5, "to": 6}):
        assert (await api.post(path, wrong)).status == 400
