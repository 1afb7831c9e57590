"""A link opens the operator's pages once; a browser stands for some hours."""

from aggregates.people.entry import KEPT_MAX, OPERATOR_HOURS, OPERATOR_LINK_SECONDS, Operators
from aggregates.times import US_PER_SECOND
from tests.support.people import NOW_US


def test_a_link_opens_once_and_in_time() -> None:
    operators = Operators()
    late_us = operators.offer("a", NOW_US)
    operators.offer("b", NOW_US)
    assert late_us == NOW_US + OPERATOR_LINK_SECONDS * US_PER_SECOND
    assert [operators.waits(each, NOW_US) for each in ("a", "a", "unknown")] == [True, True, False]
    operators.use("a")
    assert not operators.waits("a", NOW_US)
    assert not operators.waits("b", late_us)


def test_a_browser_stands_until_it_ends_or_its_time_is_over() -> None:
    operators = Operators()
    operators.begin("a", NOW_US)
    operators.begin("b", NOW_US)
    operators.end("b")
    assert [operators.stands(each, NOW_US) for each in ("a", "b", "unknown")] == [True, False, False]
    assert not operators.stands("a", NOW_US + OPERATOR_HOURS * 3_600 * US_PER_SECOND)


def test_only_so_many_are_kept() -> None:
    operators = Operators()
    for number in range(KEPT_MAX + 1):
        operators.begin(str(number), NOW_US)
    assert [operators.stands(each, NOW_US) for each in ("0", "1")] == [False, True]
