"""Real transcripts, imported and then told in any order, give the same tables."""

import os
from pathlib import Path
from random import Random

import msgspec
import pytest

from svc.importer import import_claude_code
from tests.support.captures import Actor
from tests.support.facts import ANA, DIGESTER, Placed, project, tables

REAL_DATA = os.environ.get("SVC_REAL_DATA")
FOLDERS = ("entire-checkpoints/transcripts", "sniffly-mock-data")
LONG_AFTER_US = 1_800_000_000 * 1_000_000
"""When the server took it all: later than any line, so that no time counts as skewed."""
SHUFFLES = 6

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(not REAL_DATA, reason="SVC_REAL_DATA names no folder of real captures"),
]


async def _imported() -> list[Placed]:
    """The facts of every real transcript, in the order of their import."""
    actor = Actor()
    for folder in FOLDERS:
        path = Path(REAL_DATA or "") / folder
        await import_claude_code(
            path, actor.send, lambda progress: None, scope=ANA, digester=DIGESTER, now_us=LONG_AFTER_US
        )
    received = [msgspec.structs.replace(event, received_at_us=LONG_AFTER_US) for event in actor.events]
    return [Placed(number, event) for number, event in enumerate(received, 1)]


async def test_real_sessions_give_the_same_tables_in_any_order() -> None:
    """Shuffled, a tenth of them doubled, and cut into batches from one fact to all of them."""
    facts = await _imported()
    at_once = tables(project(facts))
    assert at_once["failed"] == []
    assert len(at_once["turns"]) > len(at_once["sub_sessions"]) > 0
    for seed in range(SHUFFLES):
        random = Random(seed)
        told = facts + random.sample(facts, len(facts) // 10)
        random.shuffle(told)
        cuts = random.sample(range(len(told)), (0, 7, 60, len(told))[seed % 4])
        assert tables(project(told, cuts)) == at_once, f"shuffle {seed}"
