"""Budgets let a whole window's use through at once, then as much as leaks away, and forget nobody who matters."""

from hypothesis import given
from hypothesis import strategies as st

from aggregates.people.entry import DEVELOPER, US_PER_MINUTE, USERS_MAX, Budgets, Exhausted
from aggregates.times import US_PER_DAY, US_PER_SECOND
from tests.support.facts import ANA, BEN

REQUESTS, SESSIONS = DEVELOPER[0], "sessions_per_day"
START_US = 1_000 * US_PER_DAY


def admitted(budgets: Budgets, at_us: int) -> bool:
    """Whether one more request of Ana's passes; it counts if it does."""
    if budgets.exhausted((REQUESTS,), ANA.developer_id, at_us) is not None:
        return False
    budgets.use(REQUESTS, ANA.developer_id, 1, at_us)
    return True


def test_a_windows_use_may_come_at_once_and_room_comes_back_evenly() -> None:
    budgets = Budgets({REQUESTS: 60})
    assert [admitted(budgets, START_US) for _ in range(61)] == [True] * 60 + [False]
    assert not admitted(budgets, START_US)
    assert admitted(budgets, START_US + US_PER_SECOND)
    assert not admitted(budgets, START_US + US_PER_SECOND)
    assert [admitted(budgets, START_US + 11 * US_PER_SECOND) for _ in range(11)] == [True] * 10 + [False]


def test_who_is_refused_is_told_which_budget_and_for_how_long() -> None:
    budgets = Budgets({REQUESTS: 60, SESSIONS: 10})
    budgets.use(SESSIONS, ANA.developer_id, 11, START_US)
    told = budgets.exhausted((REQUESTS, SESSIONS), ANA.developer_id, START_US)
    assert told == Exhausted(SESSIONS, 10, 8_641, is_new=True)
    again = budgets.exhausted((REQUESTS, SESSIONS), ANA.developer_id, START_US + 41 * US_PER_SECOND)
    assert again == Exhausted(SESSIONS, 10, 8_600, is_new=False)
    assert budgets.exhausted((REQUESTS,), ANA.developer_id, START_US) is None, "another budget"
    assert budgets.exhausted((SESSIONS,), BEN.developer_id, START_US) is None, "another developer"
    assert budgets.refused == {SESSIONS: 2}


def test_one_request_keeps_nobody_waiting_for_longer_than_a_window() -> None:
    budgets = Budgets({SESSIONS: 10})
    budgets.use(SESSIONS, ANA.developer_id, 10**9, START_US)
    assert budgets.exhausted((SESSIONS,), ANA.developer_id, START_US + US_PER_DAY - 1) is not None
    assert budgets.exhausted((SESSIONS,), ANA.developer_id, START_US + US_PER_DAY + 1) is None


def test_a_clock_that_is_set_back_makes_nobody_wait_for_longer() -> None:
    budgets, back_us = Budgets({REQUESTS: 60}), START_US - US_PER_DAY
    budgets.use(REQUESTS, ANA.developer_id, 61, START_US)
    assert (admitted(budgets, back_us), admitted(budgets, back_us + 2 * US_PER_SECOND)) == (False, True)


def test_what_has_no_bound_is_not_counted() -> None:
    budgets = Budgets({REQUESTS: 0})
    budgets.use(REQUESTS, ANA.developer_id, 10**9, START_US)
    assert budgets.exhausted(DEVELOPER, ANA.developer_id, START_US) is None
    assert {(each.most, each.used, each.used_by) for each in budgets.shown(START_US)} == {(0, 0.0, None)}


def test_it_shows_who_has_used_most() -> None:
    budgets = Budgets({REQUESTS: 60})
    budgets.use(REQUESTS, ANA.developer_id, 30, START_US)
    budgets.use(REQUESTS, BEN.developer_id, 45, START_US)
    (shown,) = (each for each in budgets.shown(START_US) if each.name == REQUESTS)
    assert (shown.used, shown.used_by) == (0.75, str(BEN.developer_id))
    (later,) = (each for each in budgets.shown(START_US + US_PER_MINUTE) if each.name == REQUESTS)
    assert (later.used, later.used_by) == (0.0, None)


def test_only_so_many_are_remembered_of_each_budget() -> None:
    name = "address_requests_per_minute"
    budgets = Budgets({name: 1, REQUESTS: 1})
    budgets.use(REQUESTS, ANA.developer_id, 1, START_US)
    for number in range(2 * USERS_MAX):
        budgets.use(name, f"192.0.2.{number}", 1, START_US)
    assert budgets.exhausted((name,), f"192.0.2.{2 * USERS_MAX - 1}", START_US) is not None
    assert budgets.exhausted((name,), "192.0.2.0", START_US) is None, "the first were forgotten"
    assert budgets.exhausted((REQUESTS,), ANA.developer_id, START_US) is not None, "addresses push out no developer"


@given(st.integers(1, 50), st.lists(st.integers(0, 20 * US_PER_SECOND), max_size=200))
def test_no_stretch_of_time_lets_more_through_than_a_window_and_what_leaks(most: int, gaps_us: list[int]) -> None:
    budgets = Budgets({REQUESTS: most})
    now_us, passed = START_US, list[int]()
    for gap_us in gaps_us:
        now_us += gap_us
        if admitted(budgets, now_us):
            passed.append(now_us)
    for first, start_us in enumerate(passed):
        for last in range(first, len(passed)):
            leaked = (passed[last] - start_us) * most / US_PER_MINUTE
            assert last - first + 1 <= most + leaked + 1 + 1e-6
