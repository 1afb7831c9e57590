"""A few seeded histories of the whole service; `make soak` has as many as one likes."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from trio._core import _run as trio_run

from aggregates.event import Done
from tests.sim.history import Failed, Size, history
from tests.sim.world import StoreKind
from tests.support.postgres import programs

SMALL = Size(steps=3, people=2, deeds=20, sessions=2)
ONE_STEP = replace(SMALL, steps=1)


@pytest.mark.parametrize(("seed", "kind"), [(13, "memory"), (3, "sqlite")])
def test_a_history_holds(seed: int, kind: StoreKind) -> None:
    """Deaths, refusals, clocks that jump and a replay at the end; `python -m tests.sim --seed N` shows it again."""
    told = history(seed, kind, SMALL)
    assert told.counts["events replayed twice"] > 10
    assert told.reads.total() > 5


@pytest.mark.skipif(programs() is None, reason="no postgres is found on this machine")
def test_a_history_holds_with_three_nodes() -> None:
    """Each request goes to any of them; they die one by one, and their tables are alike at the end."""
    told = history(1, "nodes", replace(ONE_STEP, deeds=10))
    assert told.counts["events replayed twice"] > 10
    assert told.reads.total() > 5


def test_a_seed_gives_the_same_history_again() -> None:
    """To the last request and read: the order of tasks, the ids and the keys hang on nothing else."""
    tiny = Size(steps=1, people=2, deeds=10, sessions=1)
    assert history(4, "memory", tiny) == history(4, "memory", tiny)
    assert hasattr(trio_run, "_r")
    assert hasattr(trio_run, "_ALLOW_DETERMINISTIC_SCHEDULING")


def test_what_does_not_hold_is_said_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An intake that acknowledges exports and stores none of them."""

    async def forget(_service: object, commands: Sequence[object]) -> list[Done]:
        return [Done(True) for _ in commands]

    monkeypatch.setattr("svc.service.RunningService.send_all", forget)
    with pytest.raises(Failed, match=r"seed 6, memory store, step 1: Divergence"):
        history(6, "memory", ONE_STEP)
