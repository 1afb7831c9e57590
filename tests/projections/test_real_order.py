"""Real transcripts give the same tables in whatever order they are told, and the same figures however late."""

from collections.abc import Sequence
from random import Random
from typing import Any

from aggregates.times import US_PER_DAY
from aggregates.windows import Window
from projections.score import score, speed, tokens
from projections.skill import insight_summary, skill
from projections.sub_sessions import realtime
from tests.support.facts import ANA, Placed, project, reader, tables
from tests.support.real_data import LONG_AFTER_US, NEEDS_REAL_DATA, imported_transcripts

SHUFFLES = 6
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
    """What the developer is shown of all time, and what every prompt stands at."""
    db = project(facts, range(0, len(facts), batch))
    seen = reader(db, facts)
    figures = [query(seen, ANA, "monthly", ALL_TIME) for query in (score, speed, tokens, skill, insight_summary)]
    standings = db.execute("SELECT turn_id, sub_session_id, standing_score, counted FROM prompts ORDER BY turn_id")
    return [*figures, realtime(seen, ANA, 500, 0, None, None), standings.fetchall()]


async def test_captures_that_came_late_give_the_figures_of_those_that_came_in_order() -> None:
    """Each then stands at another place of the log, and most of them behind what happened after them."""
    facts = await imported_transcripts()
    in_order = shown(facts, batch=50)
    assert in_order[0].total_count > 0
    for seed in range(2):
        late = [fact.event for fact in Random(seed).sample(facts, len(facts))]
        assert shown([Placed(place, event) for place, event in enumerate(late, 1)], batch=50) == in_order, seed
