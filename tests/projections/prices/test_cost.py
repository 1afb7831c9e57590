"""What goals cost, told apart in every way: one read, whose parts always add up to the whole."""

from collections.abc import Sequence
from typing import get_args
from zoneinfo import ZoneInfo

import pytest

from aggregates.times import INSTANT_MAX_US, Window
from projections import CostBy, cost as read
from projections.cost import Cost, CostParts, CostQuery, CostSums, cost, costs
from projections.reader import Reader
from tests.support.facts import ADD, ANA, BEN, FIX, MONDAY, Log, project, reader
from tests.support.stages import DAY, HOUR

DOLLAR = 10**9
WEEK = Window(MONDAY, MONDAY + 7 * DAY)
UTC = ZoneInfo("UTC")
WAYS = [(by, parts) for by in get_args(CostBy) for parts in get_args(CostParts)]


def goal(log: Log, session: str, text: str, at_us: int, cost_usd_nano: int | None, model: str, *, ok: bool) -> None:
    log.corrects_goal(session, log.works(session, at_us, text, ok=ok, model=model, cost_usd_nano=cost_usd_nano), ok)


@pytest.fixture(scope="module")
def spent() -> Reader:
    """Two dollars reached, three not reached, and a request of nobody knows what price, on the next day."""
    log = Log()
    goal(log, "a", FIX, MONDAY, 2 * DOLLAR, "claude-a", ok=True)
    goal(log, "b", ADD, MONDAY + HOUR, 3 * DOLLAR, "claude-b", ok=False)
    goal(log, "c", ADD, MONDAY + DAY, None, "claude-c", ok=True)
    log.passes(MONDAY + 3 * DAY)
    return reader(project(log.facts), log.facts)


def asked(spent: Reader, by: CostBy, parts: CostParts = "none", window: Window = WEEK) -> Cost:
    return cost(spent, ANA, CostQuery(window, by, UTC, parts))


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("day", [("2026-01-05", 2, 5.0), ("2026-01-06", 1, 0.0)]),
        ("week", [("2026-01-05", 3, 5.0)]),
        ("month", [("2026-01-01", 3, 5.0)]),
        ("model", [("claude-b", 1, 3.0), ("claude-a", 1, 2.0), ("claude-c", 1, 0.0)]),
        ("outcome", [("not_reached", 1, 3.0), ("reached", 2, 2.0)]),
    ],
)
def test_groups(spent: Reader, by: CostBy, groups: list[tuple[str, int, float]]) -> None:
    """Periods in their order, without empty ones; others the dearest first, what has no price last."""
    assert [(each.key, each.goals, each.known_cost_usd) for each in asked(spent, by).groups] == groups


@pytest.mark.parametrize(("by", "parts"), WAYS)
def test_the_whole_is_the_same_whichever_way_it_is_told_apart(spent: Reader, by: CostBy, parts: CostParts) -> None:
    found, other = asked(spent, by, parts), asked(spent, "day")
    assert (found.total, found.not_reached, found.dearest) == (other.total, other.not_reached, other.dearest)
    sums: list[tuple[CostSums, Sequence[CostSums]]] = [(found.total, found.groups)]
    for whole, apart in [*sums, *((each, each.parts) for each in found.groups if each.parts)]:
        for name in ("requests", "unpriced_requests", "known_cost_usd", "total_tokens"):
            assert sum(getattr(each, name) for each in apart) == pytest.approx(getattr(whole, name))


def test_sums_say_how_far_they_are_known(spent: Reader) -> None:
    found = asked(spent, "day")
    assert (found.total.cost_usd, found.total.known_cost_usd) == (None, 5.0)
    assert (found.total.priced_requests, found.total.unpriced_requests) == (2, 1)
    assert (found.not_reached.cost_usd, found.not_reached.goals) == (3.0, 1)
    assert [each.cost_usd for each in found.dearest] == [3.0, 2.0]


def test_of_too_many_goals_no_sum_is_told(spent: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "GOALS_READ_MAX", 2)
    found = asked(spent, "model")
    assert (found.is_partial, found.groups) == (True, [])
    assert {getattr(found.total, name) for name in CostSums.__struct_fields__} == {None}
    assert asked(spent, "model", window=Window(MONDAY, MONDAY + DAY)).is_partial is False


def test_several_ways_take_one_look_at_the_goals(spent: Reader) -> None:
    ways = [CostQuery(WEEK, by, UTC, parts, dearest=0) for by, parts in WAYS]
    looks = list[str]()
    spent.db.set_trace_callback(looks.append)
    found = costs(spent, ANA, *ways)
    spent.db.set_trace_callback(None)
    assert sum("s.models" in each for each in looks) == 1
    assert found == [cost(spent, ANA, each) for each in ways]


@pytest.mark.parametrize(
    "window", [Window(0, MONDAY), Window(MONDAY + 7 * DAY, INSTANT_MAX_US), Window(0, INSTANT_MAX_US)]
)
def test_any_range_is_answered_and_nobody_pays_for_another(spent: Reader, window: Window) -> None:
    """Before the first goal, in the future, and of hundreds of years."""
    assert cost(spent, BEN, CostQuery(window, "day", UTC)).total.goals == 0
    whole = window.start_us < MONDAY < window.end_us
    assert asked(spent, "day", window=window).total.goals == (3 if whole else 0)
