"""Real transcripts give the same tables in any order; real prompts, cut at a sentence, raise no figure."""

import re
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from aggregates.capture.events import PromptCaptured
from aggregates.event import Scope
from aggregates.reading.readings import maker_of
from aggregates.reading.verdicts import BOOLEANS, Rubric
from aggregates.times import US_PER_DAY, Window
from projections.scores.score import Score, score, speed, tokens
from projections.scores.skill import insight_summary, skill
from projections.sub_sessions.listing import realtime
from tests.judges.judge import read_lines
from tests.projections.derive.test_splitting import Judged, figures, ok, raised
from tests.support.facts import ANA, Placed, project, reader, tables
from tests.support.real_data import FOLDER, LONG_AFTER_US, NEEDS_REAL_DATA, captured_turns, imported_transcripts

SHUFFLES = 4
ALL_TIME = (Window(0, 1), Window(1, LONG_AFTER_US + US_PER_DAY))

pytestmark = NEEDS_REAL_DATA


async def test_real_sessions_give_the_same_tables_in_any_order() -> None:
    """Shuffled, a tenth of them doubled, and cut into batches from one fact to all of them."""
    facts = await imported_transcripts()
    at_once = tables(project(facts))
    assert at_once["failed"] == []
    assert len(at_once["turns"]) > len(at_once["sub_sessions"]) > 0
    for seed in range(SHUFFLES):
        random = Random(seed)
        told = facts + random.sample(facts, len(facts) // 10)
        random.shuffle(told)
        cuts = random.sample(range(len(told)), (0, 7, 60, len(told))[seed % 4])
        assert tables(project(told, cuts)) == at_once, f"shuffle {seed}"


def shown(facts: Sequence[Placed], batch: int) -> list[Any]:
    """What each developer is shown of all time, and what every prompt stands at."""
    db = project(facts, range(0, len(facts), batch))
    seen = reader(db, facts)
    found: list[Any] = db.execute(
        "SELECT turn_id, sub_session_id, standing_score, counted FROM prompts ORDER BY turn_id"
    ).fetchall()
    for scope in sorted({fact.event.developer_id for fact in facts if isinstance(fact.event, PromptCaptured)}):
        owner = Scope(ANA.organization_id, scope)
        found += [query(seen, owner, "monthly", ALL_TIME) for query in (score, speed, tokens, skill, insight_summary)]
        found.append(realtime(seen, owner, 500, 0, None, None))
    return found


@pytest.mark.parametrize("source", [imported_transcripts, captured_turns])
async def test_captures_that_came_late_give_the_figures_of_those_that_came_in_order(source: Any) -> None:
    facts = source() if source is captured_turns else await source()
    in_order = shown(facts, batch=400)
    assert any(isinstance(each, Score) and each.crushed_count for each in in_order)
    late = [fact.event for fact in Random(1).sample(facts, len(facts))]
    assert shown([Placed(place, event) for place, event in enumerate(late, 1)], batch=400) == in_order


# --- labelled prompts, cut at a sentence: floor, boundaries and outcomes are the real ones --------------------


SENTENCE_END = re.compile(r"[.!?]\s+(?=\S)|\n+")
EACH = 3
"""Every third of them: `test_splitting.py` holds the arithmetic for any verdicts, here only the words are real."""
SHARES_MAX = {"letter": 0.25, "skill_index": 0.20, "apg": 0.20, "svc_score": 0.12, "cspw": 0.12, "cut in two": 0.25}
"""How many labelled prompts the shipped judges may judge better in halves, or as two goals. Only ever made smaller."""


def halves(text: str) -> tuple[str, str] | None:
    """Cut at the sentence in the middle; None where it is one sentence."""
    ends = [found.end() for found in SENTENCE_END.finditer(text)]
    inner = [end for end in ends if text[:end].strip() and text[end:].strip()]
    middle = inner[len(inner) // 2] if inner else 0
    return (text[:middle], text[middle:]) if middle else None


def labelled() -> list[tuple[str, tuple[str, str], Rubric]]:
    """Every labelled prompt of a person that can be cut: whole, in halves, and what the experts say of the whole."""
    found = []
    for item in read_lines(FOLDER / "labels/prompts.jsonl"):
        label, cut = item["label"], halves(item["prompt"])
        if cut is not None and label["status"] == "ok" and maker_of(item["prompt"]) is None:
            earned = {name for name in BOOLEANS if label[name]}
            found.append((item["prompt"], cut, ok(label["intent"], earned)))
    return found


def test_halves_of_a_prompt_raise_no_figure_where_they_earn_what_the_experts_say_of_the_whole() -> None:
    """Each half earns some of it, and both are known to be one goal."""
    random = Random(7)
    prompts = labelled()[::EACH]
    assert len(prompts) > 100
    for text, cut, whole in prompts:
        assert whole.intent is not None
        shares = [ok(whole.intent, {name for name in whole.earned if random.random() < 0.7}) for _ in cut]
        pieces = [Judged(half, share) for half, share in zip(cut, shares, strict=True)]
        assert raised(figures([Judged(text, whole)]), figures(pieces)) == [], text


def test_how_often_the_shipped_judges_give_halves_more_does_not_grow() -> None:
    """The specification asks for never; a judge that reads each prompt by itself cannot promise it.

    No check ran, so that an outcome hangs on the words.
    """
    prompts = labelled()[1::EACH]
    more = Counter(
        name
        for text, cut, _ in prompts
        for name in raised(
            figures([Judged(text)], checked=False, joined=False),
            figures([Judged(half) for half in cut], checked=False, joined=False),
        )
    )
    assert {name: count for name, count in more.items() if count > SHARES_MAX[name] * len(prompts)} == {}
