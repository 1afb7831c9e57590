"""Links that open once, browsers that stand for a member or the operator, and the last use of a key or a browser."""

import msgspec
import pytest

from aggregates.event import Reason, Scope
from aggregates.ids import link_stream, membership_stream, sign_in_stream
from aggregates.people import acts, entry
from aggregates.people.directory import Directory, Key, Link
from aggregates.times import US_PER_DAY, US_PER_SECOND
from tests.support.basics import ACME, ANA, ANA_KEY, BEN, BEN_KEY, NOW_US, carry_out, company, named, why
from tests.support.tables import table

LINK, BROWSER = link_stream("digest of a link"), sign_in_stream("digest of a cookie")
END_US = NOW_US + 60 * US_PER_SECOND
OFFER = acts.OfferLink(link_id=LINK, organization_id=ACME, developer_id=BEN, expires_at_us=END_US)
LEAVES = acts.EndMembership(membership_id=membership_stream(ACME, BEN))
OPEN = acts.OpenSignIn(sign_in_id=BROWSER, organization_id=ACME, developer_id=BEN)


def test_a_link_is_used_once_and_in_time() -> None:
    for at_us, opens in ((END_US - 1, True), (END_US, False)):
        directory = company()
        assert why(carry_out(directory, acts.UseLink(link_id=LINK))) is Reason.NOT_FOUND
        carry_out(directory, OFFER)
        assert isinstance(carry_out(directory, acts.UseLink(link_id=LINK), at_us), Link) is opens
        assert not opens or why(carry_out(directory, acts.UseLink(link_id=LINK))) is Reason.CONFLICT


@pytest.mark.parametrize("begin", [OFFER, OPEN], ids=["a link", "a sign-in"])
def test_nobody_stands_for_who_is_no_member_and_none_is_given_twice(begin: acts.OfferLink | acts.OpenSignIn) -> None:
    for before in (begin, LEAVES):
        directory = company()
        carry_out(directory, before)
        assert why(carry_out(directory, begin)) is Reason.CONFLICT


def opened() -> Directory:
    """Ben's browser, by his key."""
    directory = company()
    carry_out(directory, msgspec.structs.replace(OPEN, opened_by=named(BEN_KEY)))
    found = entry.signed_in(directory, BROWSER, NOW_US)
    assert found is not None
    assert found.scope == Scope(ACME, BEN)
    assert entry.signed_in(directory, sign_in_stream("another cookie"), NOW_US) is None
    return directory


@table(
    "ending",
    {
        "it is signed out": [acts.EndSignIn(sign_in_id=BROWSER)],
        "its key is revoked": [acts.RevokeKey(credential_id=named(BEN_KEY))],
        "its member has left": [LEAVES],
        "they came back": [LEAVES, acts.StartMembership(organization_id=ACME, developer_id=BEN)],
    },
)
def test_a_browser_stands_no_longer_once(ending: list[acts.PeopleAct]) -> None:
    directory = opened()
    for act in ending:
        carry_out(directory, act)
    assert entry.signed_in(directory, BROWSER, NOW_US) is None


def test_an_idle_browser_is_signed_out_and_one_that_was_seen_stays() -> None:
    last_us, directory = NOW_US + entry.SIGN_IN_IDLE_DAYS * US_PER_DAY, opened()
    assert entry.signed_in(directory, BROWSER, last_us) is not None
    assert entry.signed_in(directory, BROWSER, last_us + 1) is None
    carry_out(directory, acts.SeeSignIn(sign_in_id=BROWSER), last_us)
    assert entry.signed_in(directory, BROWSER, last_us + 1) is not None
    assert entry.signed_in(directory, BROWSER, last_us + entry.SIGN_IN_IDLE_DAYS * US_PER_DAY + 1) is None


def test_an_operators_link_opens_once_and_in_time_and_a_browser_until_it_ends() -> None:
    """Only so many browsers are kept."""
    operators = entry.Operators()
    late_us = operators.offer("a", NOW_US)
    operators.offer("b", NOW_US)
    assert late_us == NOW_US + entry.OPERATOR_LINK_SECONDS * US_PER_SECOND
    assert [operators.waits(each, NOW_US) for each in ("a", "a", "unknown")] == [True, True, False]
    operators.use("a")
    assert [operators.waits("a", NOW_US), operators.waits("b", late_us)] == [False, False]
    operators.begin("a", NOW_US)
    operators.begin("b", NOW_US)
    operators.end("b")
    assert [operators.stands(each, NOW_US) for each in ("a", "b", "unknown")] == [True, False, False]
    assert not operators.stands("a", NOW_US + entry.OPERATOR_HOURS * 3_600 * US_PER_SECOND)
    for number in range(entry.KEPT_MAX + 1):
        operators.begin(str(number), NOW_US)
    assert [operators.stands(each, NOW_US) for each in ("0", "1")] == [False, True]


ANAS = named(ANA_KEY)


def _key(directory: Directory) -> Key:
    (found,) = (each for each in directory.all(Key) if each.id == ANAS)
    return found


def test_many_uses_of_a_day_are_one_event() -> None:
    uses, directory = entry.Uses(), company()
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
    ahead, behind, directory = entry.Uses(), entry.Uses(), company()
    ahead.note(ANAS, NOW_US + US_PER_DAY)
    behind.note(ANAS, NOW_US)
    (late,) = behind.due(directory)
    for command in (*ahead.due(directory), late):
        carry_out(directory, command)
    assert _key(directory).last_used_on == behind.shown(_key(directory)).last_used_on == "2026-08-02"


def test_a_browser_is_seen_once_a_day_until_it_is_signed_out() -> None:
    uses, directory, browser = entry.Uses(), company(), named("a browser")
    carry_out(directory, acts.OpenSignIn(sign_in_id=browser, organization_id=ACME, developer_id=ANA))
    uses.note(browser, NOW_US)
    assert list(uses.due(directory)) == []
    for second in range(3):
        uses.note(browser, NOW_US + US_PER_DAY + second * US_PER_SECOND)
    (command,) = uses.due(directory)
    carry_out(directory, command, NOW_US + US_PER_DAY)
    assert list(uses.due(directory)) == []
    uses.note(browser, NOW_US + 2 * US_PER_DAY)
    carry_out(directory, acts.EndSignIn(sign_in_id=browser))
    assert list(uses.due(directory)) == []
