"""The last use of a key or a browser: known at once, written once a day."""

from aggregates.people.acts import EndSignIn, OpenSignIn
from aggregates.people.directory import Directory, Key
from aggregates.people.entry import Uses
from aggregates.times import US_PER_DAY, US_PER_SECOND
from tests.support.log import named
from tests.support.people import ACME, ANA, ANA_KEY, NOW_US, carry_out, company

ANAS = named(ANA_KEY)


def _key(directory: Directory) -> Key:
    (found,) = (each for each in directory.all(Key) if each.id == ANAS)
    return found


def test_many_uses_of_a_day_are_one_event() -> None:
    uses, directory = Uses(), company()
    for second in range(1_000):
        uses.note(ANAS, NOW_US + second * US_PER_SECOND)
    assert uses.shown(_key(directory)).last_used_on == "2026-08-01"
    (command,) = uses.due(directory)
    carry_out(directory, command)
    stream = directory.stream_of(Key, ANAS)
    assert stream is not None
    assert (_key(directory).last_used_on, directory.version(stream)) == ("2026-08-01", 2)
    assert list(uses.due(directory)) == []


def test_a_node_that_is_behind_takes_nothing_back() -> None:
    ahead, behind, directory = Uses(), Uses(), company()
    ahead.note(ANAS, NOW_US + US_PER_DAY)
    behind.note(ANAS, NOW_US)
    (late,) = behind.due(directory)
    for command in (*ahead.due(directory), late):
        carry_out(directory, command)
    assert _key(directory).last_used_on == behind.shown(_key(directory)).last_used_on == "2026-08-02"


def test_a_browser_is_seen_once_a_day_until_it_is_signed_out() -> None:
    uses, directory, browser = Uses(), company(), named("a browser")
    carry_out(directory, OpenSignIn(sign_in_id=browser, organization_id=ACME, developer_id=ANA))
    uses.note(browser, NOW_US)
    assert list(uses.due(directory)) == []
    for second in range(3):
        uses.note(browser, NOW_US + US_PER_DAY + second * US_PER_SECOND)
    (command,) = uses.due(directory)
    carry_out(directory, command, NOW_US + US_PER_DAY)
    assert list(uses.due(directory)) == []
    uses.note(browser, NOW_US + 2 * US_PER_DAY)
    carry_out(directory, EndSignIn(sign_in_id=browser))
    assert list(uses.due(directory)) == []
