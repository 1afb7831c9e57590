"""Reports by their routes: asked for, looked at, made, cancelled, deleted, and never at odds with the live pages."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from aggregates.people.acts import ChangeDeveloper
from svc_http.app import build_api
from svc_http.routes.reports import WAITING_MAX
from tests.support.facts import DAY, HOUR
from tests.support.household import import_demo
from tests.support.people import ANA, ANA_SCOPE, BEN_KEY
from tests.svc_http.house import DIGESTER, Caller, Workshop, bearer
from tests.svc_http.openapi.test_shapes import described

REPORT = "/v1/score_v3/report"
FAILED = {
    "status": "failed",
    "error_code": "source_unavailable",
    "error_message": "The report could not be generated. Please try again.",
}


@pytest.fixture
def shop() -> Workshop:
    """A service in memory, and who makes its reports."""
    return Workshop()


@pytest.fixture
def ana(shop: Workshop) -> Caller:
    return Caller(build_api(shop), bearer())


async def worked(shop: Workshop, folder: Path) -> None:
    """The demo's month of work, all of it settled."""
    shop.clock_us += 20 * DAY
    await import_demo(folder, shop.send, ANA_SCOPE, DIGESTER, shop.clock_us)
    shop.passes(shop.clock_us + HOUR)


async def asked(ana: Caller, **wanted: Any) -> str:
    """The id of a report that was asked for."""
    answer = await ana.post(f"{REPORT}/generate", wanted)
    report_id: str = described(answer, "POST", f"{REPORT}/generate")["report_id"]
    return report_id


async def record(ana: Caller, report_id: str) -> Any:
    return described(await ana.get(f"{REPORT}/{report_id}"), "GET", f"{REPORT}/{report_id}")


async def test_from_asking_to_deleting(shop: Workshop, ana: Caller, tmp_path: Path) -> None:
    """Queued, pending, completed, latest, in the history, deleted, and gone."""
    await worked(shop, tmp_path)
    assert (await ana.get(f"{REPORT}/pending")).json == {"report_id": None}
    assert (await ana.get(REPORT)).status == 404
    report_id = await asked(ana, period="monthly")
    pending = (await ana.get(f"{REPORT}/pending")).json
    status = f"{REPORT}/status/{report_id}"
    assert pending == described(await ana.get(status), "GET", status)
    assert (pending["report_id"], pending["status"], pending["error_code"]) == (report_id, "queued", None)
    assert (await record(ana, report_id))["sections"] is None
    assert (await ana.call("DELETE", f"{REPORT}/{report_id}")).status == 409
    await shop.works()
    made = await record(ana, report_id)
    assert (made["status"], made["meta"]["rulesVersion"]) == ("completed", 1)
    assert (await ana.get(f"{REPORT}/pending")).json == {"report_id": None}
    assert described(await ana.get(REPORT), "GET", REPORT) == made
    history = await ana.get(f"{REPORT}/history")
    said = ("sections", "narrative", "narrative_source")
    assert described(history, "GET", f"{REPORT}/history") == [{n: v for n, v in made.items() if n not in said}]
    over = await ana.call("POST", f"{REPORT}/cancel/{report_id}")
    assert over.json == {"report_id": report_id, "status": "completed"}
    assert (await ana.call("DELETE", f"{REPORT}/{report_id}")).status == 204
    for path in (f"{REPORT}/{report_id}", status, REPORT):
        assert (await ana.get(path)).status == 404
    assert (await ana.get(f"{REPORT}/history")).json == []
    assert (await ana.call("DELETE", f"{REPORT}/{report_id}")).status == 404
    assert (await asked(ana, period="monthly")) != report_id


LIVE = {
    "score": "score?window={window}",
    "speed": "speed?window={window}",
    "tokens": "tokens?window={window}",
    "skill": "skill?window={window}",
    "insightSummary": "insight/summary?window={window}",
    "integrity": "integrity?window={window}",
    "trivia": "trivia?window={window}&limit=200",
    "files": "files?{range}&limit=200",
    "topPrompts": "prompts/top?{range}&limit=200",
    "taskTime": "task-time?{range}&limit=200",
    "modelTask": "model-task?{range}&limit=200",
}


@pytest.mark.parametrize("window", ["daily", "weekly", "monthly"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Seoul"])
async def test_a_report_says_what_the_live_pages_say(
    shop: Workshop, ana: Caller, tmp_path: Path, window: Any, zone: str
) -> None:
    """Every section, of the current window, against the page's own answer."""
    await shop.administer(ChangeDeveloper(developer_id=ANA, timezone=zone))
    await worked(shop, tmp_path)
    today = (await ana.get("/v1/score_v3/today-summary")).json["date"]
    report_id = await asked(ana, period=window, date=today)
    await shop.works()
    made = await record(ana, report_id)
    said, meta = made["sections"], made["meta"]
    echo = said["files"]["range"]
    spans = {"window": window, "range": f"from_us={echo['fromUs']}&to_us={echo['toUs']}&timezone={zone}"}
    for name, path in LIVE.items():
        live = await ana.get(f"/v1/score_v3/{path.format(**spans)}")
        assert said[name] == live.json, name
    span = f"from={meta['periodStart']}&to={meta['periodEnd']}"
    assert said["throttle"] == (await ana.get(f"/v1/intelligence/throttle?{span}")).json
    usage = {name: value for name, value in said["modelUsage"].items() if name != "spending"}
    assert usage == (await ana.get(f"/v1/intelligence/rightsizing?{span}")).json
    if window == "monthly":
        assert said["score"]["total_count"] > 3
        assert said["coaching"]["items"]


async def test_the_weakest_habits_come_with_a_prompt_that_missed_them(
    shop: Workshop, ana: Caller, tmp_path: Path
) -> None:
    """In the language asked for; what was asked for is what the figures are about."""
    await worked(shop, tmp_path)
    made = []
    for language in ("en", "ko-KR"):
        report_id = await asked(ana, period="monthly", date="2026-08-01", language=language)
        await shop.works()
        made.append(await record(ana, report_id))
    assert [each["meta"]["language"] for each in made] == ["en", "ko"]
    here, there = (each["sections"]["coaching"]["items"] for each in made)
    shares = made[0]["sections"]["skill"]["per_boolean"]
    for each, other in zip(here, there, strict=True):
        assert each["share"] == shares[each["boolean"]] < 1
        assert each["example"]["preview"]
        assert each["habit"] != other["habit"]
        assert {**each, "label": None, "habit": None} == {**other, "label": None, "habit": None}
    missed = [round(each["promptCount"] * (1 - each["share"])) for each in here]
    assert missed == sorted(missed, reverse=True)


async def test_one_is_made_of_a_period_at_a_time(shop: Workshop, ana: Caller) -> None:
    """The same period answers the same id until it is made; another period, and another person, have their own."""
    first = await asked(ana, period="weekly")
    assert await asked(ana, period="weekly", language="ko") == first
    assert await asked(ana, period="daily") != first
    assert await asked(ana.using(bearer(BEN_KEY)), period="weekly") != first
    await shop.works()
    assert await asked(ana, period="weekly") != first


async def test_a_queued_report_can_be_cancelled(shop: Workshop, ana: Caller) -> None:
    """Once and again; it is never made, and the period is free."""
    report_id = await asked(ana)
    for _ in range(2):
        answer = await ana.call("POST", f"{REPORT}/cancel/{report_id}")
        assert (answer.status, answer.json) == (200, {"report_id": report_id, "status": "cancelled"})
    await shop.works()
    assert (await record(ana, report_id))["sections"] is None
    assert await asked(ana) != report_id


@pytest.mark.parametrize("fault", ["archive", "file", "views", "a bug"])
async def test_a_source_that_cannot_be_read_is_said_and_then_it_works_again(
    shop: Workshop, ana: Caller, fault: str
) -> None:
    """Exactly the failed shape, with nothing of what went wrong; once it is repaired, a new one is made."""
    secret = "/var/lib/svc/archive: permission denied"
    shop.archive_away = secret if fault == "archive" else None
    shop.unreadable_files = 1 if fault == "file" else 0
    shop.views_break = {"views": sqlite3.DatabaseError(secret), "a bug": KeyError(secret)}.get(fault)
    report_id = await asked(ana)
    await shop.works()
    answer = await ana.get(f"{REPORT}/status/{report_id}")
    code = None if fault == "a bug" else "source_unavailable"
    assert answer.json == {"report_id": report_id, **FAILED, "error_code": code}
    assert secret not in (await ana.get(f"{REPORT}/{report_id}")).body.decode()
    shop.archive_away, shop.unreadable_files, shop.views_break = None, 0, None
    again = await asked(ana)
    assert again != report_id
    await shop.works()
    assert (await record(ana, again))["status"] == "completed"


REFUSED = [
    ({"period": "hourly"}, "period"),
    ({"date": "yesterday"}, "$.date"),
    ({"date": "2031-01-01"}, "$.date"),
    ({"timezone": "Mars/Olympus"}, "$.timezone"),
    ({"timezone": "Etc/GMT 5"}, "$.timezone"),
    ({"period": None}, "period"),
    ([], "body"),
    (b"{", "JSON"),
]


@pytest.mark.parametrize(("body", "named"), REFUSED)
async def test_what_cannot_be_reported_on_is_refused_with_a_reason(ana: Caller, body: object, named: str) -> None:
    """400, and nothing is queued."""
    answer = await ana.post(f"{REPORT}/generate", body)
    assert answer.status == 400
    assert named in answer.message
    assert (await ana.get(f"{REPORT}/pending")).json == {"report_id": None}


async def test_everything_may_be_left_out(shop: Workshop, ana: Caller) -> None:
    """Without a body: the last whole day of the profile's zone; of an empty one a report without a guess."""
    answer = await ana.call("POST", f"{REPORT}/generate")
    assert answer.status == 202
    await shop.works()
    made = await record(ana, answer.json["report_id"])
    assert made["meta"] == {
        "period": "daily",
        "periodStart": "2026-07-31T00:00:00Z",
        "periodEnd": "2026-08-01T00:00:00Z",
        "timezone": "UTC",
        "language": "en",
        "rulesVersion": 1,
    }
    said = made["sections"]
    assert (said["score"]["total_count"], said["score"]["letter_grade"]) == (0, "N/A")
    assert (said["skill"]["skill_index"], said["coaching"]["items"]) == (None, [])
    assert said["coaching"]["note"].startswith("Not enough data")


async def test_a_loop_that_asks_for_reports_is_stopped(shop: Workshop, ana: Caller) -> None:
    """503 with Retry-After, until some are made."""
    for day in range(WAITING_MAX):
        await asked(ana, date=f"2026-{5 + day // 28:02}-{day % 28 + 1:02}")
    answer = await ana.post(f"{REPORT}/generate", {})
    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    await shop.works()
    await asked(ana)
