"""The page of people, and what comes by somebody else's link: an owner looks after people, and comes no nearer."""

import re
from collections.abc import Callable
from uuid import UUID

import pytest

from aggregates.event import Scope
from aggregates.ids import membership_stream
from aggregates.people.directory import Membership
from aggregates.people.entry import Account
from svc_http.routes.people import digest_of
from tests.support.basics import ACME, ANA, ANA_KEY, ANA_SCOPE, BEN, BEN_KEY, NOW_US, issue, key_of, named
from tests.support.facts import DAY, MINUTE
from tests.svc_http.browsing import ANAS, BENS, FORM, OPERATORS, carried_out, core, enters, press, signs_in, words
from tests.svc_http.house import Answer, Caller, House, bearer
from tests.svc_http.isolation_world import Elsewhere

NORA = named("nora")
Cookie = dict[str, str]


@pytest.fixture(autouse=True)
def _people(house: House) -> None:
    """Ana is an owner. Ben is a member who did nothing yet, and Nora is new."""
    enters(house, "nora")
    signs_in(house)
    house.operator_browsers.begin(digest_of("operator's"), house.now_us())


def member(developer_id: UUID) -> UUID:
    return membership_stream(ACME, developer_id)


async def offer_link(api: Caller, developer_id: UUID, by: Cookie) -> Answer:
    return await press(api, f"/administration/people/{member(developer_id)}/link", by)


def path_in(answer: Answer) -> str:
    found = re.search(r"/open/[\w-]+", answer.body.decode())
    assert found is not None, answer
    return found[0]


async def link_for(api: Caller, developer_id: UUID, by: Cookie) -> str:
    return path_in(await offer_link(api, developer_id, by))


def uses_a_new_key(house: House) -> None:
    key = key_of("ben's new one")
    carried_out(house, issue(key, ACME, BEN))
    house.uses.note(named(key), house.now_us())


BEGINS: dict[str, Callable[[House], object]] = {
    "uses a key": lambda house: house.uses.note(named(BEN_KEY), house.now_us()),
    "uses a new key": uses_a_new_key,
    "is signed in": lambda house: signs_in(house, BEN, "ben's"),
    "has work": lambda house: house.states.update({BEN: "first_prompt"}),
}


@pytest.mark.parametrize("begins", BEGINS)
async def test_an_owner_makes_no_link_for_who_has_begun(house: House, api: Caller, begins: str) -> None:
    """Whoever follows it reads all that its developer did. Whoever runs the server can read that anyway."""

    async def offered(cookie: Cookie, developer_id: UUID = BEN) -> bool:
        return f"{member(developer_id)}/link" in (await api.using(cookie).get("/administration/people")).body.decode()

    assert await offered(ANAS)
    BEGINS[begins](house)
    refused = await offer_link(api, BEN, ANAS)
    assert (refused.status, b"/open/" in refused.body) == (409, False)
    assert b"Ben has signed in or has work" in refused.body
    assert [await offered(ANAS), await offered(ANAS, NORA)] == [False, True]
    assert await offered(OPERATORS)
    warned = "Ben has signed in or has work, so whoever follows the link reads all of their work."
    assert warned in await words(api, "/administration/people", OPERATORS)
    assert (await offer_link(api, BEN, OPERATORS)).status == 200


async def test_a_link_that_an_owner_kept_opens_nothing_once_its_developer_has_begun(house: House, api: Caller) -> None:
    kept = await link_for(api, NORA, ANAS)
    house.states[NORA] = "first_prompt"
    for late in (await press(api, kept, {}), await api.using({}).get(kept)):
        assert (late.status, b"older than what you have here" in late.body) == (410, True)
        assert "Set-Cookie" not in late.headers
    assert (await press(api, await link_for(api, NORA, OPERATORS), {})).status == 303
    assert (await press(api, await link_for(api, ANA, ANAS), {})).status == 303, "their own phone"


async def test_what_is_shown_once_is_not_made_again_by_loading_the_page_anew(house: House, api: Caller) -> None:
    """The form tells how many there were before. What was made first stays, and the button makes another one."""
    signs_in(house, BEN, "ben's")
    nora, people = member(NORA), "/administration/people"
    for page, path, cookie, said in (
        (people, f"{people}/{nora}/link", OPERATORS, f"{people}?said=link-made&about={nora}"),
        ("/settings", "/settings/keys", BENS, "/settings?said=key-made"),
    ):
        for _ in range(2):
            body = (await api.using(cookie).get(page)).body.decode()
            (sent,) = re.findall(rf'action="{path}"[^§]*?name="after" value="(\d+)"', body)
            assert b"shown this once" in (await press(api, path, cookie, after=sent)).body
            assert (await press(api, path, cookie, after=sent)).headers["Location"] == said
        assert "was made since this form was opened, and is shown no more." in await words(api, said, cookie)


@pytest.mark.parametrize(("cookie", "by"), [(ANAS, "Ana"), (OPERATORS, "operator")])
async def test_every_browser_of_a_member_is_signed_out(house: House, api: Caller, cookie: Cookie, by: str) -> None:
    """Those that came by a link as well; the audit log tells who did it, and of whom."""
    signs_in(house, BEN, "ben's")
    signs_in(house, BEN, "phone")
    assert (await api.using({"Cookie": "svc_session=phone"}).get("/settings")).status == 200
    answer = await press(api, f"/administration/people/{member(BEN)}/sign-out", cookie)
    assert answer.status == 303
    assert "Every browser of Ben is signed out" in await words(api, answer.headers["Location"], cookie)
    for name in ("ben's", "phone"):
        assert (await api.using({"Cookie": f"svc_session={name}"}).get("/settings")).status == 303
    assert (await words(api, "/administration/audit", cookie)).count(f"{by} signed a browser out Ben") == 2
    assert (await api.using(ANAS).get("/settings")).status == 200


@pytest.mark.parametrize(
    ("path", "said", "stay"),
    [
        (f"/administration/keys/{named(BEN_KEY)}/revoke", "The key of Ben no longer works", [303, 200]),
        (f"/administration/people/{member(BEN)}/end", "The membership of Ben has ended", [303, 303]),
    ],
    ids=["revoking a key", "ending a membership"],
)
async def test_what_ends_is_said_with_whose(house: House, api: Caller, path: str, said: str, stay: list[int]) -> None:
    """A browser that came by the key goes with it; one that came by a link stays."""
    signs_in(house, BEN, "ben's", named(BEN_KEY))
    signs_in(house, BEN, "letin")
    answer = await press(api, path, ANAS)
    assert said in (await words(api, answer.headers["Location"], ANAS)).partition("Nothing here tells")[0]
    made_up = answer.headers["Location"].partition("about=")[0] + f"about={named('a membership of others')}"
    assert "of Ben" not in (await words(api, made_up, ANAS)).partition("Nothing here tells")[0]
    assert [(await api.using(each).get("/settings")).status for each in (BENS, {"Cookie": "svc_session=letin"})] == stay


@pytest.mark.parametrize("cookie", [ANAS, OPERATORS], ids=["an owner", "the operator"])
async def test_who_left_is_listed_and_taken_back_in(house: House, api: Caller, cookie: Cookie) -> None:
    """In the role of before, without the keys and teams of before. The name is taken, and the page says by whom."""
    core(house, ANA_SCOPE, Scope(ACME, BEN), at_us=NOW_US)
    page = (await api.using(cookie).get("/administration/people")).body.decode()
    assert re.search(r"<details class=.once.><summary>End the membership<.*?They can be taken back in", page)
    await press(api, f"/administration/people/{member(BEN)}/end", cookie)
    shown = await words(api, "/administration/people", cookie)
    assert "1 ended membership" in shown
    assert "Ben member until 1 August Take back in Ben" in shown
    form = {"name": "ben", "role": "member", "organization": str(ACME)}
    refused = await press(api, "/administration/people", cookie, **form)
    assert (refused.status, b'role="alert">Somebody is called ben already. Where it is' in refused.body) == (409, True)
    assert b"<details open><summary>1 ended membership" in refused.body

    house.clock_us += MINUTE
    back = await press(api, f"/administration/people/{_membership(house, BEN).id}/start", cookie)
    assert "organization again, with the role member" in await words(api, back.headers["Location"], cookie)
    assert "ended membership" not in await words(api, "/administration/people", cookie)
    assert b"already. They are a member;" in (await press(api, "/administration/people", cookie, **form)).body
    assert "took back in as a member (role member) Ben" in await words(api, "/administration/audit", cookie)
    assert (_membership(house, BEN).active, _membership(house, BEN).role) == (True, "member")
    assert house.directory.teams_of(Scope(ACME, BEN)) == []
    assert (await api.using(bearer(BEN_KEY)).get("/v1/score_v3/score")).status == 401
    again = await press(api, f"/administration/people/{_membership(house, BEN).id}/start", cookie)
    assert again.status == 409


@pytest.mark.parametrize(
    ("came", "back"),
    [
        ("http://localhost/administration/people?said=saved", "/administration/people?said=saved"),
        ("http://evil.example/administration/people", "/"),
        ("http://localhost//evil.example", "/"),
        ("", "/"),
    ],
)
async def test_a_refusal_leads_back_to_where_the_button_was(api: Caller, came: str, back: str) -> None:
    answer = await press(
        api, f"/administration/people/{member(ANA)}/start", OPERATORS | {"Referer": came, "Accept": "text/html"}
    )
    assert (answer.status, b"is a member already" in answer.body) == (409, True)
    assert f'<a href="{back}">' in answer.body.decode()


def _membership(house: House, developer_id: UUID) -> Membership:
    found = house.directory.get(Membership, membership_stream(ACME, developer_id))
    assert found is not None
    return found


def cookie_in(answer: Answer) -> Cookie:
    assert answer.status == 303, answer
    found = re.match(r"(\w+=[\w-]+);", answer.headers["Set-Cookie"])
    assert found is not None
    return {"Cookie": found[1]}


async def let_in(api: Caller, developer_id: UUID, by: Cookie) -> Cookie:
    """The browser that followed a link for somebody."""
    return cookie_in(await press(api, await link_for(api, developer_id, by), {}))


async def make_key(api: Caller, cookie: Cookie) -> str:
    made = re.search(rb"svc_[\w-]{43}", (await press(api, "/settings/keys", cookie, label="laptop")).body)
    assert made is not None
    return made[0].decode()


async def sign_in(api: Caller, key: str) -> Cookie:
    return cookie_in(await press(api, "/sign-in", {}, key=key))


async def asked(api: Caller, path: str, cookie: Cookie) -> list[tuple[str, str]]:
    """What a page asks about, each with its address."""
    body = (await api.using(cookie).get(path)).body.decode()
    found = re.findall(
        r'<li><span>([^<]+) <span class="hint">since [^<]+ by a link of Ana</span></span>\s*<form.*?"(\S+)/keep"', body
    )
    return [(what, at) for what, at in found]


# --- a link is used by its button -----------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["an owner", "the operator", "the operator for themself"])
async def test_who_only_looks_uses_no_link_up(house: House, api: Caller, by: str) -> None:
    """A scanner of mails, a preview, a crawler that presses buttons of other sites. The button opens, once."""
    path = "/open/opens"
    house.operator_links.begin(digest_of("opens"), house.now_us())
    if not by.endswith("themself"):
        path = await link_for(api, BEN, ANAS if by == "an owner" else OPERATORS)
    before = len(house.administered)
    for method in ("HEAD", "GET", "HEAD", "GET"):
        seen = await api.using({"User-Agent": "preview"}).call(method, path)
        assert (seen.status, "Set-Cookie" in seen.headers) == (200, False)
    assert (b"Sign in as Ben" if path != "/open/opens" else b"Open them") in seen.body
    origins = ({"Origin": "null"}, {"Origin": "http://["})
    for site in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "none"}, *origins, {}):
        assert (await api.using({}).call("POST", path, b"", FORM | {"Sec-Fetch-Site": ""} | site)).status == 403, site
    assert len(house.administered) == before
    first, *later = [await press(api, path, {}) for _ in range(2)]
    page = "/administration/server" if path == "/open/opens" else "/settings"
    assert (await api.using(cookie_in(first)).get(page)).status == 200
    none = [await api.using({}).get(each) for each in (path, f"/open/{'x' * 65}")]
    assert [each.status for each in (*later, *none)] == [410, 410, 410]


async def test_a_link_is_gone_with_its_time(house: House, api: Caller) -> None:
    path = await link_for(api, BEN, ANAS)
    house.clock_us += 4 * DAY
    assert [(await api.using({}).get(path)).status, (await press(api, path, {})).status] == [410, 410]


@pytest.mark.parametrize("to", ["//evil.example/", "https://evil.example/", "/\\evil.example"])
async def test_signing_in_leads_nowhere_else(api: Caller, to: str) -> None:
    answer = await press(api, "/sign-in", {"Sec-Fetch-Site": "same-origin"}, key=ANA_KEY, next=to)
    assert (answer.status, answer.headers["Location"]) == (303, "/")


# --- an invitation that somebody else opened --------------------------------------------------------------------


async def test_what_came_by_an_owners_link_is_asked_about_until_it_is_answered(house: House, api: Caller) -> None:
    """Ana opens Ben's link herself, makes a key, and gives it to Ben, whose agent uses it."""
    anas = await let_in(api, BEN, ANAS)
    key = await make_key(api, anas)
    bens = await sign_in(api, key)
    for path in ("/", "/settings"):
        shown = [what for what, _ in await asked(api, path, bens)]
        assert shown == ["This browser", "A browser", f"The key {key[:12]}… laptop"]

    (_, this), (_, hers), (_, keys) = await asked(api, "/", bens)
    assert (await press(api, f"{hers}/end", bens)).headers["Location"].startswith("/settings?said=signed-out")
    assert (await api.using(anas).get("/")).status == 303
    assert (await api.using(bearer(key)).get("/v1/score_v3/score")).status == 200  # nothing ends by itself
    for each in (this, keys):
        assert (await press(api, f"{each}/keep", bens)).headers["Location"] == "/?said=kept-here"
    assert await asked(api, "/", bens) == []
    assert len(await asked(api, "/settings", bens)) == 2
    told = await words(api, "/administration/audit", OPERATORS)
    assert told.count("Ben said that it is theirs") == 2
    assert "Ben signed a browser out Ben" in told


async def test_mine_said_by_who_opened_the_link_hides_nothing_from_its_developer(house: House, api: Caller) -> None:
    """Nor from the browser of the key that was made there."""
    anas = await let_in(api, BEN, ANAS)
    key = await make_key(api, anas)
    for _, at in await asked(api, "/", anas):
        await press(api, f"{at}/keep", anas)
    assert await asked(api, "/", anas) == []
    bens = cookie_in(await press(api, await link_for(api, BEN, OPERATORS), {}))
    assert len(await asked(api, "/", bens)) == 2
    (_, key_at) = (await asked(api, "/", bens))[-1]
    assert (await press(api, f"{key_at}/end", bens)).status == 303
    assert (await api.using(bearer(key)).get("/v1/score_v3/score")).status == 401
    assert "Ben revoked a key Ben" in await words(api, "/administration/audit", OPERATORS)


async def test_mine_said_by_a_browser_of_ones_own_counts_everywhere(house: House, api: Caller) -> None:
    """And what is made there afterwards is no question any more."""
    anas = await let_in(api, BEN, ANAS)
    bens = await let_in(api, BEN, OPERATORS)
    ((_, at),) = await asked(api, "/", bens)
    assert (await press(api, f"{at}/keep", bens)).headers["Location"] == "/?said=kept"
    assert (await press(api, f"{at}/keep", bens)).status == 404
    await make_key(api, anas)
    for cookie in (bens, anas):
        for path in ("/", "/settings"):
            assert await asked(api, path, cookie) == []


async def test_a_link_of_ones_own_is_no_question(house: House, api: Caller) -> None:
    """Nor one of whoever runs the server. A link of one's own that was made in a doubtful browser is one."""
    for by in (OPERATORS, await let_in(api, ANA, ANAS)):
        assert await asked(api, "/", await let_in(api, ANA, by)) == []
    enters(house, "lena", "owner")
    doubtful = await let_in(api, named("lena"), ANAS)
    assert len(await asked(api, "/", await let_in(api, named("lena"), doubtful))) == 2


class AnyAccount(Elsewhere):
    """A provider at which whoever comes is the same account."""

    state = ""

    async def address(self, redirect_uri: str, state: str, nonce: str, verifier: str) -> str:
        self.state = state
        return await super().address(redirect_uri, state, nonce, verifier)

    async def account(self, redirect_uri: str, code: str, nonce: str, verifier: str) -> Account:
        return Account(issuer="https://login.example", subject="hers", email=None)


async def test_an_account_that_was_linked_there_is_asked_about_too(house: House, api: Caller) -> None:
    """And so is each browser that it lets in. Not mine: it lets nobody in any more."""
    house.provider = provider = AnyAccount()

    async def by_account(at: str, cookie: Cookie) -> Answer:
        went = await press(api, at, cookie)
        errand = {"Cookie": went.headers["Set-Cookie"].partition(";")[0], "Sec-Fetch-Site": "cross-site"}
        return await api.using(errand).get(f"/sign-in/back?code=c&state={provider.state}")

    assert (await by_account("/settings/provider", await let_in(api, BEN, ANAS))).status == 200
    assert (await by_account("/sign-in/provider", {})).status == 200
    bens = await let_in(api, BEN, OPERATORS)
    found = dict(await asked(api, "/", bens))
    assert len(await asked(api, "/", bens)) == 4
    assert (await press(api, f"{found['The account of the sign-in provider']}/end", bens)).status == 303
    assert (await by_account("/sign-in/provider", {})).status == 403
    assert "Ben unlinked an account" in await words(api, "/administration/audit", OPERATORS)
