"""Links that open once, and browsers that stand for a member for as long as they may."""

from collections.abc import Callable

import pytest

from aggregates.event import Reason, Scope
from aggregates.ids import link_stream, membership_stream, sign_in_stream
from aggregates.people.acts import (
    EndMembership,
    EndSignIn,
    OfferLink,
    OpenSignIn,
    PeopleAct,
    RevokeKey,
    SeeSignIn,
    StartMembership,
    UseLink,
)
from aggregates.people.directory import Directory, Link
from aggregates.people.entry import SIGN_IN_IDLE_DAYS, signed_in
from aggregates.times import US_PER_DAY, US_PER_SECOND
from tests.support.log import named
from tests.support.people import ACME, BEN, BEN_KEY, EVE, NOW_US, carry_out, company, why

LINK, BROWSER = link_stream("digest of a link"), sign_in_stream("digest of a cookie")
END_US = NOW_US + 60 * US_PER_SECOND
OFFER = OfferLink(link_id=LINK, organization_id=ACME, developer_id=BEN, expires_at_us=END_US)
OPEN = OpenSignIn(sign_in_id=BROWSER, organization_id=ACME, developer_id=BEN)


# --- links ----------------------------------------------------------------------------------------------------


def test_a_link_is_used_once() -> None:
    directory = company()
    carry_out(directory, OFFER)
    assert isinstance(carry_out(directory, UseLink(link_id=LINK)), Link)
    assert why(carry_out(directory, UseLink(link_id=LINK))) is Reason.CONFLICT


def test_a_link_ends_at_its_very_moment() -> None:
    for at_us, opens in ((END_US - 1, True), (END_US, False)):
        directory = company()
        carry_out(directory, OFFER)
        assert isinstance(carry_out(directory, UseLink(link_id=LINK), at_us), Link) is opens


def test_a_link_that_was_never_made_opens_nothing() -> None:
    assert why(carry_out(company(), UseLink(link_id=LINK))) is Reason.NOT_FOUND


@pytest.mark.parametrize("begin", [OFFER, OPEN], ids=["a link", "a sign-in"])
def test_nobody_stands_for_who_is_no_member(begin: OfferLink | OpenSignIn) -> None:
    directory = company()
    carry_out(directory, EndMembership(membership_id=membership_stream(ACME, BEN)))
    assert why(carry_out(directory, begin)) is Reason.CONFLICT


def test_the_same_link_or_browser_is_never_given_to_another() -> None:
    directory = company()
    carry_out(directory, OFFER)
    carry_out(directory, OPEN)
    for again in (OFFER, OPEN):
        assert why(carry_out(directory, again)) is Reason.CONFLICT


# --- browsers -------------------------------------------------------------------------------------------------


def _opened(by: str | None = None) -> Directory:
    directory = company()
    opened_by = None if by is None else named(by)
    carry_out(directory, OpenSignIn(sign_in_id=BROWSER, organization_id=ACME, developer_id=BEN, opened_by=opened_by))
    return directory


def test_a_browser_stands_for_its_member_alone() -> None:
    found = signed_in(_opened(), BROWSER, NOW_US)
    assert found is not None
    assert found.scope == Scope(ACME, BEN)
    assert found.scope != Scope(ACME, EVE)
    assert signed_in(_opened(), sign_in_stream("another cookie"), NOW_US) is None


ENDINGS: dict[str, Callable[[], PeopleAct]] = {
    "it is signed out": lambda: EndSignIn(sign_in_id=BROWSER),
    "its key is revoked": lambda: RevokeKey(credential_id=named(BEN_KEY)),
    "its member has left": lambda: EndMembership(membership_id=membership_stream(ACME, BEN)),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_browser_stands_no_longer_once(ending: str) -> None:
    directory = _opened(BEN_KEY)
    assert signed_in(directory, BROWSER, NOW_US) is not None
    carry_out(directory, ENDINGS[ending]())
    assert signed_in(directory, BROWSER, NOW_US) is None


def test_whoever_comes_back_signs_in_again() -> None:
    directory = _opened()
    carry_out(directory, EndMembership(membership_id=membership_stream(ACME, BEN)))
    carry_out(directory, StartMembership(organization_id=ACME, developer_id=BEN))
    assert signed_in(directory, BROWSER, NOW_US) is None


def test_an_idle_browser_is_signed_out_and_one_that_was_seen_stays() -> None:
    last_us = NOW_US + SIGN_IN_IDLE_DAYS * US_PER_DAY
    directory = _opened()
    assert signed_in(directory, BROWSER, last_us) is not None
    assert signed_in(directory, BROWSER, last_us + 1) is None
    carry_out(directory, SeeSignIn(sign_in_id=BROWSER), last_us)
    assert signed_in(directory, BROWSER, last_us + 1) is not None
    assert signed_in(directory, BROWSER, last_us + SIGN_IN_IDLE_DAYS * US_PER_DAY + 1) is None
