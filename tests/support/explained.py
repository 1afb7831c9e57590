"""Explanations as a page for people: shortened to what a reader needs of them."""

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from svc_http.app import build_api
from tests.support.demo import import_demo
from tests.support.facts import DAY
from tests.support.people import ANA_KEY, ANA_SCOPE
from tests.svc_http.house import DIGESTER, Caller, House, bearer

Json = Mapping[str, Any]

HEAD = """# Two explanations

The best and the worst scored sub-session of the bundled demo (`make demo`), as `/v1/score_v3/sub-sessions/<id>/explain`
tells them, without ids and without what stands there twice. A number is the position of a fact.
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
    return page(best, worst)


def _rank(shown: Json) -> tuple[object, ...]:
    """Ties go by how many habits apply, and then by time."""
    rubric, outcome = shown["rubric"], shown["outcome"]
    reached = (False, None, True).index(outcome["goal_complete"])
    return reached, rubric["score"], len(rubric["booleans"]), rubric["prompts"][0]["submitted_at"]


def page(best: Json, worst: Json) -> str:
    return "\n".join([HEAD, *_section("The best", best), "", *_section("The worst", worst), ""])


def _section(name: str, shown: Json) -> list[str]:
    rubric, outcome = shown["rubric"], shown["outcome"]
    pieces = [*outcome["evidence_for"], *outcome["evidence_against"]]
    return [
        f"## {name}: {rubric['letter_grade']}, {'complete' if outcome['goal_complete'] else 'not complete'}",
        "",
        *(
            f"{place}. “{each['quote']}” (fact {each['position']}). {each['text']}"
            for place, each in enumerate(rubric["prompts"], 1)
        ),
        "",
        f"**Beginning and end.** {_prose(shown['boundary'])}",
        "",
        f"**Work or trivia.** {_prose(shown['floor'])}",
        "",
        f"**Grade.** {_prose(rubric)}",
        "",
        "| habit | | why | words |",
        "|---|---|---|---|",
        *(_habit(habit, each) for habit, each in rubric["booleans"].items()),
        "",
        f"**Outcome.** {_prose(outcome)}",
        "",
        *(_evidence(piece) for piece in pieces),
        "",
        f"**Rework.** {_prose(shown['rework'])}",
        "",
        f"**Not observed.** {'; '.join(_unseen(shown)) or 'Nothing of it was missing'}.",
    ]


def _prose(part: Json) -> str:
    return " ".join(part["text"])


def _habit(name: str, each: Json) -> str:
    words = "" if each["quote"] is None else f"“{each['quote']}” (fact {each['position']})".replace("|", "\\|")
    said = "unsure" if each["unsure"] else "shown" if each["earned"] else "missed"
    return f"| {name} | {said} | {each['what']} | {words} |"


def _evidence(piece: Json) -> str:
    where = "" if piece["position"] is None else f" (fact {piece['position']})"
    return f"- {piece['what']}{where}" + ("" if piece["quote"] is None else f": “{piece['quote']}”")


def _unseen(shown: Json) -> Iterable[str]:
    """Each once, in the order of the parts."""
    return dict.fromkeys(
        sentence
        for part in ("boundary", "floor", "rubric", "outcome", "rework")
        for sentence in shown[part]["not_observed"]
    )
