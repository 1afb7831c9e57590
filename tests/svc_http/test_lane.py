"""Work on a person's text: by whichever door it comes, it has one lane, and whoever sent it pays for it."""

import ast
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import trio
from quart_trio import QuartTrio

from aggregates.people.entry import Budgets
from svc_http import ports as lane
from svc_http.app import build_api
from svc_http.tools import with_tools
from tests.support.people import ANA
from tests.svc_http.browsing import ANAS, press, signs_in
from tests.svc_http.house import Answer, Caller, House, bearer

ROOT = Path(__file__).parents[2]
NO_LIMITER = {
    "svc/jobs/nodes.py": "waits for other nodes, by itself",
    "svc/jobs/notices.py": "at most NOTICES_MAX, by itself",
    "svc/maintenance/texts.py": "one person is forgotten at a time",
    "svc/maintenance/backup.py": "one backup at a time, by itself",
    "svc/maintenance/verify.py": "a command",
    "svc/views/projector.py": "where a replay ends, and one look after the other for what is due",
    "svc/views/replay.py": "one replay at a time",
}
"""Threads beside those that a route waits for, and why they are few."""
ROOMS = ("actors", "archive", "jobs", "llm", "log", "maintenance", "observe", "views", "service.py")


def _threads(*places: Path) -> Iterator[tuple[str, ast.Call]]:
    for place in places:
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("to_thread.run_sync"):
                    yield path.relative_to(ROOT).as_posix(), node


def test_routes_begin_threads_in_the_lane_alone() -> None:
    """Which takes whose processor time it is."""
    assert [path for path, _ in _threads(ROOT / "http")] == ["http/svc_http/ports.py"]


def test_every_thread_of_the_service_names_its_limiter() -> None:
    """The pool that is used by default has 40."""
    found = _threads(*(ROOT / "svc" / name for name in ROOMS))
    assert {path for path, call in found if "limiter" not in {each.arg for each in call.keywords}} == set(NO_LIMITER)


# --- the two doors to a grade ---------------------------------------------------------------------------------

MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
Grade = Callable[[QuartTrio, str], Awaitable[Answer]]


async def _by_page(app: QuartTrio, text: str) -> Answer:
    return await press(Caller(app, ANAS), "/habits/grade", prompt=text)


async def _by_tool(app: QuartTrio, text: str) -> Answer:
    params = {"name": "grade_prompt", "arguments": {"text": text}}
    caller = Caller(app, bearer())
    return await caller.call("POST", "/mcp", MESSAGE | {"params": params}, {"Accept": "application/json"})


DOORS = pytest.mark.parametrize("grade", [_by_page, _by_tool])


@pytest.fixture
async def app(house: House) -> Any:
    signs_in(house)
    made = build_api(house)
    async with with_tools(made, house):
        yield made


@DOORS
async def test_grading_is_charged_to_whoever_asks(house: House, app: QuartTrio, grade: Grade) -> None:
    house.budgets = Budgets({"cpu_seconds_per_minute": 40})
    assert (await grade(app, "fix the crash in src/a.py " + "a@" * 16_000)).status == 200
    shown = {each.name: each for each in house.budgets.shown(house.now_us())}
    assert shown["cpu_seconds_per_minute"].used > 0.01 / 40
    assert shown["cpu_seconds_per_minute"].used_by == str(ANA)


@DOORS
async def test_no_longer_text_is_graded(app: QuartTrio, grade: Grade) -> None:
    """Counted in bytes; and both say so."""
    answer = await grade(app, "한" * 11_000)
    assert b"32 KB" in answer.body or b"32768 bytes" in answer.body


async def test_grades_of_both_doors_wait_for_each_other(app: QuartTrio, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are asked for, one is worked on."""
    at_work, most, go_on = [0], [0], Event()

    def grade_text(_text: str) -> None:
        at_work[0] += 1
        most[0] = max(most[0], at_work[0])
        go_on.wait(10)
        at_work[0] -= 1
        raise ValueError("graded enough")

    monkeypatch.setattr("svc_http.pages.figures.grades.grade_text", grade_text)
    monkeypatch.setattr("svc_http.tools.grade_text", grade_text)
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(_by_page, app, "fix it")
            nursery.start_soon(_by_tool, app, "fix it")
        with trio.fail_after(10):
            while lane._SHORT.statistics().tasks_waiting < 5:
                await trio.lowlevel.checkpoint()
        go_on.set()
    assert most == [1]
