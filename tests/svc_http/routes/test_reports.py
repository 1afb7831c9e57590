"""Reports by their routes: asked for, looked at, made, cancelled, deleted, and never at odds with the live pages."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from aggregates.people.acts import ChangeDeveloper
from aggregates.reports.events import ReportCompleted
from projections.facts.reports import OpenReport
from svc.jobs.questions import Narratives
from svc_http.app import build_api
from svc_http.routes.reports import WAITING_MAX
from tests.support.basics import ANA, ANA_SCOPE, FixedClock
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, SECOND, Log, edit, request, shell
from tests.support.model_server import ModelServer, fails, gateway_to, model_server, says, wrote
from tests.svc_http.house import Caller, bearer, over
from tests.svc_http.openapi.test_shapes import described
from tests.svc_http.workshop import Workshop

REPORT = "/v1/score_v3/report"


async def worked(house: Workshop) -> None:
    """The demo's month of work, all of it settled."""
    await house.has_demo()
    house.passes(house.clock_us + HOUR)


async def asked(api: Caller, **wanted: Any) -> str:
    """The id of a report that was asked for."""
    answer = await api.post(f"{REPORT}/generate", wanted)
    report_id: str = described(answer, "POST", f"{REPORT}/generate")["report_id"]
    return report_id


async def record(api: Caller, report_id: str) -> Any:
    return described(await api.get(f"{REPORT}/{report_id}"), "GET", f"{REPORT}/{report_id}")


async def test_from_asking_to_deleting(house: Workshop, api: Caller, tmp_path: Path) -> None:
    """Queued, pending, completed, latest, in the history, deleted, and gone."""
    await worked(house)
    assert (await api.get(f"{REPORT}/pending")).json == {"report_id": None}
    assert (await api.get(REPORT)).status == 404
    report_id = await asked(api, period="monthly")
    pending = (await api.get(f"{REPORT}/pending")).json
    status = f"{REPORT}/status/{report_id}"
    assert pending == described(await api.get(status), "GET", status)
    assert (pending["report_id"], pending["status"], pending["error_code"]) == (report_id, "queued", None)
    assert (await record(api, report_id))["sections"] is None
    assert (await api.call("DELETE", f"{REPORT}/{report_id}")).status == 409
    await house.works()
    made = await record(api, report_id)
    assert (made["status"], made["meta"]["rulesVersion"]) == ("completed", 1)
    assert (await api.get(f"{REPORT}/pending")).json == {"report_id": None}
    assert described(await api.get(REPORT), "GET", REPORT) == made
    history = await api.get(f"{REPORT}/history")
    said = ("sections", "narrative", "narrative_source")
    assert described(history, "GET", f"{REPORT}/history") == [{n: v for n, v in made.items() if n not in said}]
    over = await api.call("POST", f"{REPORT}/cancel/{report_id}")
    assert over.json == {"report_id": report_id, "status": "completed"}, "nothing is left to cancel"
    assert (await api.call("DELETE", f"{REPORT}/{report_id}")).status == 204
    for path in (f"{REPORT}/{report_id}", status, REPORT):
        assert (await api.get(path)).status == 404
    assert (await api.get(f"{REPORT}/history")).json == []
    assert (await api.call("DELETE", f"{REPORT}/{report_id}")).status == 404
    assert (await asked(api, period="monthly")) != report_id


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
async def test_reports_and_pages_agree(house: Workshop, api: Caller, tmp_path: Path, window: Any, zone: str) -> None:
    """Every section, of the current window, against the page's own answer."""
    await house.administer(ChangeDeveloper(developer_id=ANA, timezone=zone))
    await worked(house)
    today = (await api.get("/v1/score_v3/today-summary")).json["date"]
    report_id = await asked(api, period=window, date=today)
    await house.works()
    made = await record(api, report_id)
    said, meta = made["sections"], made["meta"]
    echo = said["files"]["range"]
    spans = {"window": window, "range": f"from_us={echo['fromUs']}&to_us={echo['toUs']}&timezone={zone}"}
    for name, path in LIVE.items():
        live = await api.get(f"/v1/score_v3/{path.format(**spans)}")
        # A report names no prompt as the best that is not sure.
        told = (
            live.json | {"items": [each for each in live.json["items"] if each["sure"]]}
            if name == "topPrompts"
            else live.json
        )
        assert said[name] == told, name
    span = f"from={meta['periodStart']}&to={meta['periodEnd']}"
    assert said["throttle"] == (await api.get(f"/v1/intelligence/throttle?{span}")).json
    usage = {name: value for name, value in said["modelUsage"].items() if name != "spending"}
    assert usage == (await api.get(f"/v1/intelligence/rightsizing?{span}")).json
    if window == "monthly":
        assert said["score"]["total_count"] > 3
        assert said["coaching"]["items"]


async def test_weak_habits_come_with_a_prompt_that_missed_them(house: Workshop, api: Caller, tmp_path: Path) -> None:
    """The weakest first, in the language asked for; what was asked for is what the figures are about."""
    await worked(house)
    made = []
    for language in ("en", "ko-KR"):
        report_id = await asked(api, period="monthly", date="2026-08-01", language=language)
        await house.works()
        made.append((await record(api, report_id))["sections"])
    here, there = (each["coaching"]["items"] for each in made)
    for each, other in zip(here, there, strict=True):
        assert each["share"] == made[0]["skill"]["per_boolean"][each["boolean"]] < 1
        assert each["example"] is None or each["example"]["preview"], "only of one that surely misses it"
        assert each["habit"] != other["habit"]
    missed = [round(each["promptCount"] * (1 - each["share"])) for each in here]
    assert missed == sorted(missed, reverse=True)


@pytest.mark.parametrize(("fault", "code"), [(sqlite3.DatabaseError, "source_unavailable"), (KeyError, None)])
async def test_what_went_wrong_is_not_said_and_then_it_works_again(
    house: Workshop, api: Caller, fault: type[Exception], code: str | None
) -> None:
    """Exactly the failed shape; once it is repaired, a new one is made. `test_reports_on_disk.py` has the archive's."""
    secret = "/var/lib/svc/views.db: permission denied"
    house.views_break = fault(secret)
    report_id = await asked(api)
    await house.works()
    answer = await api.get(f"{REPORT}/status/{report_id}")
    failed = {"status": "failed", "error_message": "The report could not be generated. Please try again."}
    assert answer.json == {"report_id": report_id, **failed, "error_code": code}
    assert secret not in (await api.get(f"{REPORT}/{report_id}")).body.decode()
    house.views_break = None
    again = await asked(api)
    assert again != report_id
    await house.works()
    assert (await record(api, again))["status"] == "completed"


async def test_everything_may_be_left_out(house: Workshop, api: Caller) -> None:
    """Without a body: the last whole day of the profile's zone; of an empty one a report without a guess."""
    answer = await api.call("POST", f"{REPORT}/generate")
    assert answer.status == 202
    await house.works()
    made = await record(api, answer.json["report_id"])
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


async def test_a_loop_that_asks_for_reports_is_stopped(house: Workshop, api: Caller) -> None:
    """503 with Retry-After, until some are made."""
    for day in range(WAITING_MAX):
        await asked(api, date=f"2026-{5 + day // 28:02}-{day % 28 + 1:02}")
    answer = await api.post(f"{REPORT}/generate", {})
    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    await house.works()
    await asked(api)


# --- prose: asked of a real endpoint by figures alone, and shown where it is believed ------------------------------


MARK = "zqx"
"""Stands in every text of the developer's, and in no word of ours."""


class Press:
    """A workshop whose reports get prose from an endpoint."""

    def __init__(self, server: ModelServer, folder: Path) -> None:
        self.server = server
        self.shop = Workshop()
        self.ana = Caller(over(self.shop, build_api), bearer())
        self.tallied: list[str] = []
        self.leaves = True
        now_us = FixedClock(20_000 * DAY).now_us
        self.gateway = gateway_to(server, folder, now_us, lambda _id: self.leaves, self._count)
        self.shop.write = Narratives(self.gateway, lambda: 0, lambda _id: ["Ana"], self._count).report

    def _count(self, kind: str, outcome: str, _tokens: int) -> None:
        self.tallied.append(f"{kind} {outcome}")

    async def report(self, **wanted: Any) -> Any:
        """One that was asked for and made, in its exact shape."""
        report_id = await asked(self.ana, period="weekly", date="2026-01-05", **wanted)
        await self.shop.works()
        return await record(self.ana, report_id)


@contextmanager
def opened(folder: Path) -> Iterator[Press]:
    """A week of work of which every text bears the mark."""
    with model_server() as server:
        press = Press(server, folder)
        log = Log(ANA_SCOPE)
        for day in range(4):
            at_us = MONDAY + day * DAY
            log.prompt(f"{MARK}{day}", f"Fix the {MARK} crash in src/{MARK}{day}.py, add a test and run pytest", at_us)
            log.records(f"{MARK}{day}", request(at_us + SECOND, model=f"{MARK}-model"), edit(at_us + 2 * SECOND))
            log.records(f"{MARK}{day}", shell(at_us + MINUTE, f"pytest {MARK}"))
        press.shop.has_seen(log)
        press.shop.passes(MONDAY + 8 * DAY)
        press.shop.clock_us = MONDAY + 9 * DAY
        yield press


COUNTED = "pieces_of_work_that_count"


async def test_prose_is_a_part_of_the_report(tmp_path: Path) -> None:
    """What leaves are the figures that its sections show and names of habits: no text, id, name, path, model or time.
    It stands beside the sections; who wrote it, to which prompt text, and what that took, is in the fact."""
    with opened(tmp_path) as press:
        press.server.answer = lambda asked: says({"narrative": f"You did {asked.data['figures'][COUNTED]} things."})
        made = await press.report(language="ko")
        assert (made["narrative"], made["narrative_source"]) == ("You did 4 things.", "llm")
        (fact,) = [event for event in press.shop.events if isinstance(event, ReportCompleted)]
        took = {"model": "m", "prompt_version": 1, "input_tokens": 100, "output_tokens": 20}
        assert msgspec.to_builtins(fact.narrated_by) == took
        assert press.tallied == ["report ok"]
        (asked_once,) = press.server.received
        everything = asked_once.raw + str(asked_once.headers)
        for planted in (MARK, str(ANA_SCOPE.developer_id), str(ANA_SCOPE.organization_id), "2026", "src/", "Ana"):
            assert planted not in everything, planted
        told = asked_once.data
        assert set(told) == {"language", "period", "figures", "weakest_habits"}
        assert (told["language"], told["period"]) == ("Korean", "week")
        assert all(isinstance(value, int | float) for value in told["figures"].values())
        assert told["figures"]["completion_rate_percent"] == made["sections"]["score"]["svc_score"]
        assert told["figures"][COUNTED] == made["sections"]["score"]["total_count"] == 4


async def broken(_wanted: OpenReport, _sections: str) -> None:
    raise AssertionError("a bug")


@pytest.mark.parametrize(
    ("said", "outcome"),
    [(says({"narrative": "You did 999 things."}), 2), (wrote("not json"), 1), (fails(500), 1), (None, 0), (broken, 0)],
    ids=["a number that is none of the figures", "no JSON", "a failure", "no text leaves", "an error of our own"],
)
async def test_without_prose_a_report_is_as_it_was(tmp_path: Path, said: Any, outcome: int) -> None:
    """Whatever goes wrong there, the report is made."""
    with opened(tmp_path) as press:
        press.leaves = said is not None
        if said is broken:
            press.shop.write = broken
        elif said is not None:
            press.server.answers(said)
        made = await press.report()
        assert (made["status"], made["narrative"], made["narrative_source"]) == ("completed", None, None)
        assert made["sections"]["score"]["total_count"] == 4
        assert (bool(press.tallied), bool(press.server.received)) == (outcome > 0, outcome > 0)


async def test_a_cancel_while_prose_is_written(tmp_path: Path) -> None:
    """The job ends there and then, and nothing of it is kept."""

    async def endless(_wanted: OpenReport, _sections: str) -> None:
        await trio.sleep_forever()

    with opened(tmp_path) as press:
        press.shop.write = endless
        report_id = await asked(press.ana, period="weekly", date="2026-01-05")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(press.shop.jobs.run)
            await wait_all_tasks_blocked()
            for _ in range(2):
                cancelled = await press.ana.post(f"{REPORT}/cancel/{report_id}", {})
                assert (cancelled.status, cancelled.json["status"]) == (200, "cancelled")
            await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        assert (await record(press.ana, report_id))["status"] == "cancelled"
        assert not any(isinstance(event, ReportCompleted) for event in press.shop.events)
