"""`docs/explanations.md` tells what the demo really gives.

Other weights change some lines of it, and may do so; `make explanations` writes it anew.
"""

import os
from pathlib import Path
from typing import Any

from tests.support.demo import import_demo
from tests.support.explained import page
from tests.support.facts import DAY
from tests.support.people import ANA_SCOPE
from tests.svc_http.house import DIGESTER, Caller, House
from tests.svc_http.routes.test_reads import V3

PAGE = Path(__file__).parents[3] / "docs" / "explanations.md"
STALE_LINES_MAX = 0.25
"""The share of the page that may differ before it must be written anew."""


async def best_and_worst(api: Caller) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of what is scored: reached with the most habits, and not reached with the fewest."""
    rows = (await api.get(f"{V3}/insight/sessions?limit=500")).json
    scored = [row["score_v3_sub_session_id"] for row in rows if row["letter_grade"] is not None]
    found = [(await api.get(f"{V3}/sub-sessions/{each}/explain")).json for each in scored]
    found.sort(key=rank)
    return found[-1], found[0]


def rank(shown: dict[str, Any]) -> tuple[object, ...]:
    """Ties go by how many habits apply, and then by time."""
    rubric, outcome = shown["rubric"], shown["outcome"]
    reached = (False, None, True).index(outcome["goal_complete"])
    return reached, rubric["score"], len(rubric["booleans"]), rubric["prompts"][0]["submitted_at"]


async def test_the_page_tells_what_the_demo_gives(house: House, api: Caller, tmp_path: Path) -> None:
    """Line by line, all but a few."""
    house.clock_us += 20 * DAY
    await import_demo(tmp_path, house.send, ANA_SCOPE, DIGESTER, house.clock_us)
    best, worst = await best_and_worst(api)
    given = page(best, worst)
    if os.environ.get("SVC_WRITE_PAGES"):
        PAGE.write_text(given, encoding="utf-8")
    written = PAGE.read_text(encoding="utf-8").splitlines()
    stale = [line for line in written if line and line not in given.splitlines()]
    assert len(stale) <= STALE_LINES_MAX * len(written), "the page has aged; make explanations writes it anew"
    assert best["outcome"]["goal_complete"]
    assert not worst["outcome"]["goal_complete"]
    assert best["rubric"]["score"] > worst["rubric"]["score"]
