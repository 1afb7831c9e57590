"""What goals cost, by day, outcome and model, added up by hand."""

import pytest

from aggregates.times import Window
from projections.prices import dearest, spent_by_model, spent_by_outcome, spent_in
from projections.reader import Reader
from tests.support.facts import (
    ADD,
    ANA,
    BEN,
    DAY,
    FIX,
    HOUR,
    MONDAY,
    Log,
    project,
    reader,
)

DOLLAR = 10**9
DAYS = [Window(MONDAY + day * DAY, MONDAY + (day + 1) * DAY) for day in range(3)]
WEEK = Window(MONDAY, MONDAY + 7 * DAY)


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


def test_a_day_has_the_goals_that_began_on_it(spent: Reader) -> None:
    days = spent_in(spent, ANA, DAYS)
    assert [(each.cost_usd_nano, each.requests, each.unpriced_requests) for each in days] == [
        (5 * DOLLAR, 2, 0),
        (0, 1, 1),
        (0, 0, 0),
    ]


def test_outcomes_share_the_whole(spent: Reader) -> None:
    found = spent_by_outcome(spent, ANA, WEEK)
    assert {outcome: (count, sums.cost_usd_nano) for outcome, (count, sums) in found.items()} == {
        "reached": (2, 2 * DOLLAR),
        "not_reached": (1, 3 * DOLLAR),
    }


def test_the_dearest_model_comes_first_and_one_without_a_price_last(spent: Reader) -> None:
    found = spent_by_model(spent, ANA, WEEK)
    assert [(each.model, each.spent.cost_usd_nano, each.spent.unpriced_requests) for each in found] == [
        ("claude-b", 3 * DOLLAR, 0),
        ("claude-a", 2 * DOLLAR, 0),
        ("claude-c", 0, 1),
    ]


def test_the_dearest_goals_are_those_with_a_price(spent: Reader) -> None:
    assert [(each.outcome, each.cost_usd) for each in dearest(spent, ANA, WEEK, 10)] == [
        ("not_reached", 3.0),
        ("reached", 2.0),
    ]
    assert len(dearest(spent, ANA, WEEK, 1)) == 1


def test_nobody_pays_for_another(spent: Reader) -> None:
    assert spent_by_outcome(spent, BEN, WEEK) == {}
    assert spent_by_model(spent, BEN, WEEK) == []
    assert dearest(spent, BEN, WEEK, 10) == []
    assert [each.requests for each in spent_in(spent, BEN, DAYS)] == [0, 0, 0]
