"""A report's prose: asked of a real endpoint by figures alone, and shown where it is believed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from aggregates.reports.events import ReportCompleted
from projections.facts.reports import OpenReport
from svc.jobs.questions import Narratives
from svc_http.app import build_api
from tests.support.facts import DAY, MINUTE, MONDAY, SECOND, Log, edit, request, shell
from tests.support.memory import FixedClock
from tests.support.model_server import ModelServer, fails, gateway_to, model_server, says, wrote
from tests.support.people import ANA_SCOPE
from tests.svc_http.house import Caller, Workshop, bearer
from tests.svc_http.routes.test_reports import asked, record

MARK = "zqx"
"""Stands in every text of the developer's, and in no word of ours."""


class Press:
    """A workshop whose reports get prose from an endpoint."""

    def __init__(self, server: ModelServer, folder: Path) -> None:
        self.server = server
        self.shop = Workshop()
        self.ana = Caller(build_api(self.shop), bearer())
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

    It stands beside the sections; who wrote it, to which prompt text, and what that took, is in the fact.
    """
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
            assert (await press.ana.post(f"/v1/score_v3/report/cancel/{report_id}", {})).status == 200
            await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        assert (await record(press.ana, report_id))["status"] == "cancelled"
        assert not any(isinstance(event, ReportCompleted) for event in press.shop.events)
