"""Every scoring response fits its shape: for an empty history, for one sub-session, and for a month of work."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.demo import import_demo
from tests.support.facts import DAY, HOUR
from tests.support.people import ANA_SCOPE
from tests.svc_http import shapes
from tests.svc_http.explanation_shapes import Explanation
from tests.svc_http.house import DIGESTER, Caller, House, prompt
from tests.svc_http.routes.test_reads import V3

WINDOWS = ("daily", "weekly", "monthly")
FIGURES: dict[str, Any] = {
    "score": shapes.Score,
    "speed": shapes.Speed,
    "speed/sessions": list[shapes.SpeedRow],
    "tokens": shapes.Tokens,
    "tokens/trend": shapes.TokenTrend,
    "skill": shapes.Skill,
    "insight/summary": shapes.InsightSummary,
    "trivia": list[shapes.TriviaItem],
}
RANGES: dict[str, Any] = {
    "files": shapes.Files,
    "prompts/top": shapes.TopPrompts,
    "task-time": shapes.TaskTimes,
    "model-task": shapes.ModelTasks,
}
READS: dict[str, Any] = {
    **{f"{path}?window={window}&limit=500": shape for path, shape in FIGURES.items() for window in WINDOWS},
    **{f"{path}?from_date=2026-07-01&to_date=2026-08-31": shape for path, shape in RANGES.items()},
    "insight/sessions?limit=500": list[shapes.RubricItem],
    "insight/rubric?from=2026-07-01&to=2026-08-31": list[shapes.RubricItem],
    "trivia/trend?from=2026-07-01&to=2026-08-31&period=week": shapes.TriviaTrend,
    "realtime/sub-sessions?limit=500": list[shapes.RealtimeRow],
    "today-summary": shapes.Today,
    "today-summary?date=2026-07-28": shapes.Today,
}
OF_ONE: dict[str, Any] = {
    "": shapes.Detail,
    "/prompts?limit=500": list[shapes.Prompt],
    "/explain": Explanation,
}


async def nothing(house: House, intake: Caller, folder: Path) -> None:
    """No capture at all."""


async def one_open_prompt(house: House, intake: Caller, folder: Path) -> None:
    """A plugin's capture, without an answer."""
    await intake.post("/v1/prompts", prompt())


async def one_settled_prompt(house: House, intake: Caller, folder: Path) -> None:
    """The same, an hour later."""
    await one_open_prompt(house, intake, folder)
    house.passes(house.clock_us + HOUR)


async def a_month_of_work(house: House, intake: Caller, folder: Path) -> None:
    """The demo sessions, and a prompt that has just been typed."""
    house.clock_us += 20 * DAY
    await import_demo(folder, house.send, ANA_SCOPE, DIGESTER, house.clock_us)
    await one_open_prompt(house, intake, folder)


HISTORIES = (nothing, one_open_prompt, one_settled_prompt, a_month_of_work)


def check(body: bytes, shape: Any, path: str) -> Any:
    """The body as its shape; a failure names the path and the place in it."""
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.ValidationError as error:
        pytest.fail(f"{path}: {error}")


@pytest.mark.parametrize("history", HISTORIES)
async def test_every_scoring_read_fits_its_shape(
    house: House, intake: Caller, api: Caller, tmp_path: Path, history: Any
) -> None:
    """And so does each of its sub-sessions by itself."""
    await history(house, intake, tmp_path)
    for path, shape in READS.items():
        answer = await api.get(f"{V3}/{path}")
        assert answer.status == 200, path
        check(answer.body, shape, path)
    rows = (await api.get(f"{V3}/realtime/sub-sessions?limit=500")).json
    for row in rows:
        for path, shape in OF_ONE.items():
            answer = await api.get(f"{V3}/sub-sessions/{row['sub_session_id']}{path}")
            check(answer.body, shape, path)


async def test_a_month_of_work_has_everything_to_show(
    house: House, intake: Caller, api: Caller, tmp_path: Path
) -> None:
    """So that the shapes above are held against more than empty lists."""
    await a_month_of_work(house, intake, tmp_path)
    for path in READS:
        shown = (await api.get(f"{V3}/{path}")).json
        listed = shown if isinstance(shown, list) else shown.get("items", shown.get("points", [shown]))
        assert listed or "window=daily" in path, path
    rows = (await api.get(f"{V3}/realtime/sub-sessions?limit=500")).json
    assert {row["rework"] for row in rows} == {True, False, None}
    assert {row["crushed"] for row in rows} == {True, False, None}
