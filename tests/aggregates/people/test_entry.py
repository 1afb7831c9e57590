"""Who comes in: links, browsers, the last use of a key or a browser, and budgets that forget nobody who matters."""

from contextlib import suppress
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, strategies as st

from aggregates.event import NewEvent, Reason, Scope
from aggregates.ids import link_stream, membership_stream, sign_in_stream
from aggregates.people import acts, entry
from aggregates.people.decide import decide_people
from aggregates.people.directory import Directory, Key, Link, Membership, Organization, SignIn
from aggregates.people.entry import DEVELOPER, USERS_MAX, Budgets, Exhausted
from aggregates.times import US_PER_DAY, US_PER_MINUTE, US_PER_SECOND
from tests.support.basics import (
    ACME,
    ANA,
    ANA_KEY,
    BEN,
    BEN_KEY,
    EVE,
    EVE_KEY,
    FOUNDING,
    NOW_US,
    OTHER,
    carry_out,
    company,
    named,
    why,
)
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


BACK = acts.StartMembership(organization_id=ACME, developer_id=BEN)
NEWER = msgspec.structs.replace(OFFER, link_id=link_stream("digest of another"))
BENS_LINK_FOR_ANA = msgspec.structs.replace(NEWER, developer_id=ANA)


@table(
    ("then", "offer", "by"),
    {
        "its member has left and came back": ([LEAVES, BACK], OFFER, ANA),
        "who made it has left and came back": ([LEAVES, BACK], BENS_LINK_FOR_ANA, BEN),
        "there is a newer one": ([NEWER], OFFER, ANA),
    },
)
def test_a_link_opens_nothing_any_more_once(then: list[acts.PeopleAct], offer: acts.OfferLink, by: UUID) -> None:
    directory = company()
    carry_out(directory, offer, by=by)
    for act in then:
        carry_out(directory, act)
    assert why(carry_out(directory, acts.UseLink(link_id=offer.link_id))) is Reason.CONFLICT
    if NEWER in then:
        assert isinstance(carry_out(directory, acts.UseLink(link_id=NEWER.link_id)), Link)


def test_a_link_of_somebody_else_is_left_alone() -> None:
    directory = company()
    carry_out(directory, BENS_LINK_FOR_ANA, by=ANA)
    for act in (OFFER, LEAVES):
        carry_out(directory, act)
    assert isinstance(carry_out(directory, acts.UseLink(link_id=NEWER.link_id)), Link)


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
        "they came back": [LEAVES, BACK],
    },
)
def test_a_browser_stands_no_longer_once(ending: list[acts.PeopleAct]) -> None:
    directory = opened()
    for act in ending:
        carry_out(directory, act)
    assert entry.signed_in(directory, BROWSER, NOW_US) is None


def test_a_browser_that_a_link_opened_stands_no_longer_once_its_member_left_and_came_back() -> None:
    directory = company()
    for act in (OPEN, LEAVES, BACK):
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
    links = entry.Passes(entry.OPERATOR_LINK_SECONDS)
    late_us = links.begin("a", NOW_US)
    links.begin("b", NOW_US)
    assert late_us == NOW_US + entry.OPERATOR_LINK_SECONDS * US_PER_SECOND
    assert [links.stands(each, NOW_US) for each in ("a", "a", "unknown")] == [True, True, False]
    links.pop("a")
    assert [links.stands("a", NOW_US), links.stands("b", late_us)] == [False, False]
    for number in range(entry.KEPT_MAX + 1):
        links.begin(str(number), NOW_US)
    assert [links.stands(each, NOW_US) for each in ("0", "1")] == [False, True]


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


# --- budgets: a whole window's use at once, then as much as leaks away ----------------------------------------


REQUESTS, SESSIONS = DEVELOPER[0], "sessions_per_day"
START_US = 1_000 * US_PER_DAY


def admitted(budgets: Budgets, at_us: int) -> bool:
    """Whether one more request of Ana's passes; it counts if it does."""
    if budgets.exhausted((REQUESTS,), ANA, at_us) is not None:
        return False
    budgets.use(REQUESTS, ANA, 1, at_us)
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
    budgets.use(SESSIONS, ANA, 11, START_US)
    told = budgets.exhausted((REQUESTS, SESSIONS), ANA, START_US)
    assert told == Exhausted(SESSIONS, 10, 8_641, is_new=True)
    again = budgets.exhausted((REQUESTS, SESSIONS), ANA, START_US + 41 * US_PER_SECOND)
    assert again == Exhausted(SESSIONS, 10, 8_600, is_new=False)
    assert budgets.exhausted((REQUESTS,), ANA, START_US) is None, "another budget"
    assert budgets.exhausted((SESSIONS,), BEN, START_US) is None, "another developer"
    assert budgets.refused == {SESSIONS: 2}


def test_one_request_keeps_nobody_waiting_for_longer_than_a_window() -> None:
    budgets = Budgets({SESSIONS: 10})
    budgets.use(SESSIONS, ANA, 10**9, START_US)
    assert budgets.exhausted((SESSIONS,), ANA, START_US + US_PER_DAY - 1) is not None
    assert budgets.exhausted((SESSIONS,), ANA, START_US + US_PER_DAY + 1) is None


def test_a_clock_that_is_set_back_makes_nobody_wait_for_longer() -> None:
    budgets, back_us = Budgets({REQUESTS: 60}), START_US - US_PER_DAY
    budgets.use(REQUESTS, ANA, 61, START_US)
    assert (admitted(budgets, back_us), admitted(budgets, back_us + 2 * US_PER_SECOND)) == (False, True)


def test_what_has_no_bound_is_not_counted() -> None:
    budgets = Budgets({REQUESTS: 0})
    budgets.use(REQUESTS, ANA, 10**9, START_US)
    assert budgets.exhausted(DEVELOPER, ANA, START_US) is None
    assert {(each.most, each.used, each.used_by) for each in budgets.shown(START_US)} == {(0, 0.0, None)}


def test_it_shows_who_has_used_most() -> None:
    budgets = Budgets({REQUESTS: 60})
    budgets.use(REQUESTS, ANA, 30, START_US)
    budgets.use(REQUESTS, BEN, 45, START_US)
    (shown,) = (each for each in budgets.shown(START_US) if each.name == REQUESTS)
    assert (shown.used, shown.used_by) == (0.75, str(BEN))
    (later,) = (each for each in budgets.shown(START_US + US_PER_MINUTE) if each.name == REQUESTS)
    assert (later.used, later.used_by) == (0.0, None)


def test_only_so_many_are_remembered_of_each_budget() -> None:
    name = "address_requests_per_minute"
    budgets = Budgets({name: 1, REQUESTS: 1})
    budgets.use(REQUESTS, ANA, 1, START_US)
    for number in range(2 * USERS_MAX):
        budgets.use(name, f"192.0.2.{number}", 1, START_US)
    assert budgets.exhausted((name,), f"192.0.2.{2 * USERS_MAX - 1}", START_US) is not None
    assert budgets.exhausted((name,), "192.0.2.0", START_US) is None, "the first were forgotten"
    assert budgets.exhausted((REQUESTS,), ANA, START_US) is not None, "addresses push out no developer"


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


# --- where an event cannot be read ---------------------------------------------------------------------------------

FIRST, SECOND, BY_ADDRESS = (entry.Account(issuer="https://x.test", subject=s, email=s) for s in ("1", "c@x", "b@x"))
STORY = (
    *FOUNDING,
    acts.ChangeOrganization(organization_id=ACME, redaction=False),
    acts.ChangeOrganization(organization_id=ACME, redaction=True, text_leaves=False, team_minimum=5),
    acts.ChangeDeveloper(developer_id=BEN, email=BY_ADDRESS.email),
    *(
        acts.LinkIdentity(identity_id=each.identity_id, issuer=each.issuer, developer_id=BEN)
        for each in (FIRST, SECOND)
    ),
    acts.CreateDeveloper(developer_id=named("kim"), display_name="Kim", email=SECOND.email),  # now, and Ben's before
    *(OFFER, NEWER, OPEN),
    acts.OfferLink(link_id=named("for eve"), organization_id=OTHER, developer_id=EVE, expires_at_us=END_US),
    acts.NoteKeyUse(credential_id=named(EVE_KEY), last_used_on="2026-08-01"),
    acts.OfferLink(link_id=named("for ana"), organization_id=ACME, developer_id=ANA, expires_at_us=END_US),
    LEAVES,
    acts.StartMembership(organization_id=ACME, developer_id=BEN, role="owner"),
    acts.ChangeMembership(membership_id=membership_stream(ACME, ANA), role="member"),
    acts.CreateTeam(team_id=named("team"), organization_id=ACME, name="Core"),
    acts.AddTeamMember(team_membership_id=named("stay"), team_id=named("team"), developer_id=ANA),
    acts.RemoveTeamMember(team_membership_id=named("stay")),
    acts.RevokeKey(credential_id=named(ANA_KEY)),
)


def has(directory: Directory) -> set[Any]:
    """What is open, and to whom, and what organizations let happen."""
    found, begun = set[Any](), entry.begun(directory, entry.Uses())
    for each in directory.all(Organization):
        let = (each.id, each.text_leaves), (each.id, "unredacted", not each.redaction)
        found |= {one for one in let if one[-1]} | {(each.id, most) for most in range(each.team_minimum, 9)}
    for scope in {each.scope for each in directory.all(Membership)}:
        if (who := entry.principal(directory, scope)) is not None:
            links = [link for link in directory.all(Link, scope=scope) if link.opens(NOW_US)]
            found |= {who, *((scope, team.id) for team in directory.teams_of(scope))}
            found |= {key.id for key in directory.all(Key, scope=scope, revoked=False)}
            found |= {link.id for link in links if link.by == link.developer_id or link.developer_id not in begun}
    found |= {each.id for each in directory.all(SignIn) if entry.signed_in(directory, each.id, NOW_US)}
    for account in (FIRST, SECOND, BY_ADDRESS):
        with suppress(entry.NotProven):
            found.add((account.subject, entry.developer_behind(account, directory)))
    return found


def test_an_event_that_cannot_be_read_opens_nothing_to_anybody() -> None:
    """Whichever it is, nobody has more than if it had been read, then and after what follows."""
    directory, told = Directory(), list[NewEvent]()
    for act in STORY:
        told += decide_people(act, directory, NOW_US, BEN)[0]
        carry_out(directory, act, by=BEN)
    for lost in told:
        whole, rest = Directory(), Directory()
        for each in told:
            whole.apply(each.stream_id, each.event)
            if each is lost:
                rest.lose(each.stream_id, each.event.TOPIC)
            else:
                rest.apply(each.stream_id, each.event)
            assert has(rest) <= has(whole), (lost.event, each.event)
            assert rest.version(each.stream_id) == whole.version(each.stream_id)


def test_what_is_lost_of_one_takes_nothing_from_the_others() -> None:
    directory, use = company(), acts.NoteKeyUse(credential_id=named(ANA_KEY), last_used_on="2026-08-01")
    carry_out(directory, BENS_LINK_FOR_ANA, by=ANA)
    directory.lose(key := directory.stream_of(Key, use.credential_id) or ACME, use.TOPIC)
    directory.apply(key, use)
    directory.lose(membership_stream(ACME, BEN), LEAVES.TOPIC)
    assert directory.doubtful == {ANA}
    assert isinstance(carry_out(directory, acts.UseLink(link_id=BENS_LINK_FOR_ANA.link_id)), Link)


def test_a_member_is_somebody_also_where_what_began_them_stands_as_if_about_another() -> None:
    directory = Directory()
    directory.apply(membership_stream(ACME, BEN), BACK)
    assert (directory.name_of(BEN), directory.text_leaves(ACME)) == ("(unreadable)", False)
