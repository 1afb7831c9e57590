"""Real transcripts, imported and then told in any order, give the same tables."""

from random import Random

from tests.support.facts import project, tables
from tests.support.real_data import NEEDS_REAL_DATA, imported_transcripts

SHUFFLES = 6

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
