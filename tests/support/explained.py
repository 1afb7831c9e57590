"""Explanations as a page for people: two goals of the demo, in the words of `svc why`."""

import tempfile
from pathlib import Path
from typing import Any

from svc.cli.scoring import PARTS, lines_of
from svc_http.app import build_api
from tests.support.basics import ANA_KEY, ANA_SCOPE
from tests.support.facts import DAY
from tests.support.household import import_demo
from tests.svc_http.house import DIGESTER, Caller, House, bearer

HEAD = """# Two explanations

The best and the worst scored sub-session of the bundled demo (`make demo`), in the words of `svc why`.
Written by `python -m tests.pages`; never by hand.
"""


async def demo_page() -> str:
    """Of the best and the worst that is scored: reached with the most habits, and not reached with the fewest."""
    house = House()
    house.clock_us += 20 * DAY
    with tempfile.TemporaryDirectory(prefix="svc-pages-") as folder:
        await import_demo(Path(folder), house.send, ANA_SCOPE, DIGESTER, house.clock_us)
    api = Caller(build_api(house), bearer(ANA_KEY))
    rows = (await api.get("/v1/score_v3/insight/sessions?limit=500")).json
    scored = [row["score_v3_sub_session_id"] for row in rows if row["letter_grade"] is not None]
    found = [(await api.get(f"/v1/score_v3/sub-sessions/{each}/explain")).json for each in scored]
    worst, *_, best = sorted(found, key=_rank)
    return "\n".join([HEAD, *_section("The best", best), *_section("The worst", worst)])


def _rank(shown: Any) -> tuple[object, ...]:
    """Ties go by how many habits apply, and then by time."""
    rubric, outcome = shown["rubric"], shown["outcome"]
    reached = (False, None, True).index(outcome["goal_complete"])
    return reached, rubric["score"], len(rubric["booleans"]), rubric["prompts"][0]["submitted_at"]


def _section(name: str, shown: Any) -> list[str]:
    ended = "complete" if shown["outcome"]["goal_complete"] else "not complete"
    lines = [f"## {name}: {shown['rubric']['letter_grade']}, {ended}", "", shown["verdict"], ""]
    lines += [f"{place}. “{each['quote']}” {each['text']}" for place, each in enumerate(shown["rubric"]["prompts"], 1)]
    for part, title in PARTS.items():
        lines += ["", f"### {title.capitalize()}", "", *(f"- {line}" for line in lines_of(shown[part]))]
    return [*lines, ""]
