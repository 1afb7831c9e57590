"""The page of people: an owner looks after them, and comes no nearer to what they did."""

import re
from collections.abc import Callable
from uuid import UUID

import pytest

from aggregates.ids import membership_stream
from svc_http.routes.people import digest_of
from tests.support.facts import DAY
from tests.support.log import named
from tests.support.people import ACME, ANA, BEN, BEN_KEY, issue, key_of
from tests.svc_http.browsing import ANAS, BENS, OPERATORS, carried_out, enters, press, signs_in, words
from tests.svc_http.house import Answer, Caller, House

NORA = named("nora")
NORA_MEMBER, BEN_MEMBER, ANA_MEMBER = (membership_stream(ACME, each) for each in (NORA, BEN, ANA))


@pytest.fixture(autouse=True)
def _people(house: House) -> None:
    """Ana is an owner. Ben is a member who did nothing yet, and Nora is new."""
    enters(house, "nora")
    signs_in(house)
    house.operators.begin(digest_of("operator's"), house.now_us())


async def link_for(api: Caller, member: UUID, cookie: dict[str, str]) -> Answer:
    return await press(api, f"/operator/people/{member}/link", cookie)


def path_in(answer: Answer) -> str:
    found = re.search(r"/open/[\w-]+", answer.body.decode())
    assert found is not None, answer
    return found[0]


def uses_a_key(house: House) -> None:
    house.uses.note(named(BEN_KEY), house.now_us())


def is_signed_in(house: House) -> None:
    signs_in(house, BEN, "ben's")


def has_work(house: House) -> None:
    house.states[BEN] = "first_prompt"


def uses_a_new_key(house: House) -> None:
    key = key_of("ben's new one")
    carried_out(house, issue(key, ACME, BEN))
    house.uses.note(named(key), house.now_us())


@pytest.mark.parametrize("begins", [uses_a_key, uses_a_new_key, is_signed_in, has_work])
async def test_an_owner_makes_no_link_for_who_has_begun(
    house: House, api: Caller, begins: Callable[[House], None]
) -> None:
    """Whoever follows it reads all that its developer did. Whoever runs the server can read that anyway."""

    async def offered(cookie: dict[str, str], member: UUID = BEN_MEMBER) -> bool:
        return f"{member}/link" in (await api.using(cookie).get("/operator/people")).body.decode()

    assert await offered(ANAS)
    begins(house)
    refused = await link_for(api, BEN_MEMBER, ANAS)
    assert (refused.status, b"/open/" in refused.body) == (409, False)
    assert b"Ben has begun to use svc" in refused.body
    # Of what somebody did, the page looks at keys and browsers alone.
    assert [await offered(ANAS), await offered(ANAS, NORA_MEMBER)] == [begins is has_work, True]
    assert await offered(OPERATORS)
    assert (await link_for(api, BEN_MEMBER, OPERATORS)).status == 200


async def test_a_link_that_an_owner_kept_opens_nothing_once_its_developer_has_begun(house: House, api: Caller) -> None:
    """The first of two lets Nora in; an owner would come in by the second."""
    first, second = [path_in(await link_for(api, NORA_MEMBER, ANAS)) for _ in range(2)]
    others = path_in(await link_for(api, NORA_MEMBER, OPERATORS))
    assert (await press(api, first, {})).status == 303
    for late in (await press(api, second, {}), await api.using({}).get(second)):
        assert (late.status, b"made before you began" in late.body) == (410, True)
        assert "Set-Cookie" not in late.headers
    assert (await press(api, others, {})).status == 303
    assert (await press(api, path_in(await link_for(api, ANA_MEMBER, ANAS)), {})).status == 303, "their own phone"


@pytest.mark.parametrize(("cookie", "by"), [(ANAS, "Ana"), (OPERATORS, "operator")])
async def test_every_browser_of_a_member_is_signed_out(
    house: House, api: Caller, cookie: dict[str, str], by: str
) -> None:
    """Those that came by a link as well; the audit log tells who did it, and of whom."""
    signs_in(house, BEN, "ben's")
    signs_in(house, BEN, "phone")
    assert (await api.using({"Cookie": "svc_session=phone"}).get("/mine")).status == 200
    answer = await press(api, f"/operator/people/{BEN_MEMBER}/sign-out", cookie)
    assert answer.status == 303
    assert "Every browser of Ben is signed out" in await words(api, answer.headers["Location"], cookie)
    for name in ("ben's", "phone"):
        assert (await api.using({"Cookie": f"svc_session={name}"}).get("/mine")).status == 303
    assert (await words(api, "/operator/audit", cookie)).count(f"{by} signed a browser out Ben") == 2
    assert (await api.using(ANAS).get("/mine")).status == 200


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("", ["Ben", "Nora"]),
        ("?from=2026-08-01&to=2026-08-01", ["Ben"]),
        ("?from=2026-08-02&to=", ["Nora"]),
        ("?from=2026-08-04&to=2026-08-05", []),
    ],
)
async def test_the_audit_log_tells_of_the_days_asked_for(
    house: House, api: Caller, asked: str, told: list[str]
) -> None:
    """The page and its two files alike; the last day too. An empty date is none."""
    await press(api, f"/operator/people/{BEN_MEMBER}/role", ANAS, role="owner")
    house.clock_us += 2 * DAY
    await press(api, f"/operator/people/{NORA_MEMBER}/role", ANAS, role="owner")
    shown = await words(api, f"/operator/audit{asked}", ANAS)
    table, lines = [(await api.using(ANAS).get(f"/operator/audit.{end}{asked}")).body for end in ("csv", "ndjson")]
    for name in ("Ben", "Nora"):
        assert [name in each for each in (shown, table.decode(), lines.decode())] == [name in told] * 3
    assert (await api.using(ANAS).get("/operator/audit.csv?from=soon")).status == 400


async def test_signing_out_oneself_is_no_act_of_administration(house: House, api: Caller) -> None:
    signs_in(house, BEN, "ben's")
    await press(api, "/mine/sign-out", BENS)
    assert "signed a browser out" not in await words(api, "/operator/audit", ANAS)


@pytest.mark.parametrize(
    ("path", "said", "stay"),
    [
        (f"/operator/keys/{named(BEN_KEY)}/revoke", "The key of Ben opens nothing any more", [303, 200]),
        (f"/operator/people/{BEN_MEMBER}/end", "The membership of Ben has ended", [303, 303]),
    ],
    ids=["revoking a key", "ending a membership"],
)
async def test_what_is_ended_is_said_with_whose(
    house: House, api: Caller, path: str, said: str, stay: list[int]
) -> None:
    """A browser that came by the key goes with it; one that came by a link stays."""
    signs_in(house, BEN, "ben's", named(BEN_KEY))
    signs_in(house, BEN, "letin")
    answer = await press(api, path, ANAS)
    assert said in (await words(api, answer.headers["Location"], ANAS)).partition("Who changed what")[0]
    made_up = answer.headers["Location"].partition("about=")[0] + f"about={named('a membership of others')}"
    assert "of Ben" not in (await words(api, made_up, ANAS)).partition("Who changed what")[0]
    assert [(await api.using(each).get("/mine")).status for each in (BENS, {"Cookie": "svc_session=letin"})] == stay
