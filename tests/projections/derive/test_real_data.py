"""Real transcripts give the same tables in any order."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from aggregates.capture.events import PromptCaptured
from aggregates.event import Scope
from aggregates.times import US_PER_DAY, Window
from projections.scores.score import Score, score, speed, tokens
from projections.scores.skill import insight_summary, skill
from projections.sub_sessions.listing import realtime
from tests.support.facts import ANA, Placed, project, reader, tables
from tests.support.real_data import LONG_AFTER_US, NEEDS_REAL_DATA, captured_turns, imported_transcripts

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
