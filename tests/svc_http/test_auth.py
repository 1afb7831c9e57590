"""Who gets in where: keys, the internal secret, delegation; every 401 and 403 tells its reason apart."""

from collections import Counter

import pytest
import structlog
import trio
import trio.testing

from aggregates.ids import membership_stream
from aggregates.people.acts import ChangeMembership, EndMembership, RevokeKey, StartMembership
from aggregates.people.entry import WRONG_KEYS, Budgets
from svc_http.app import build_intake
from tests.support.log import named
from tests.support.people import ACME, ANA, ANA_KEY, BEN, BEN_KEY, NOW_US, carry_out, issue, key_of
from tests.svc_http.house import Caller, House, bearer, internal

SCORE = "/v1/score_v3/score"


REFUSED = {
    "nothing": ({}, "a key is needed: send Authorization: Bearer"),
    "no bearer": ({"Authorization": f"Basic {ANA_KEY}"}, "must read: Bearer KEY"),
    "a foreign key": (bearer("sk-ant-api03-something-else"), "not a key of this service"),
    "an empty key": (bearer(""), "not a key of this service"),
    "too short": (bearer(ANA_KEY[:-1]), "not a key of this service"),
    "too long": (bearer(ANA_KEY + "x"), "not a key of this service"),
    "not ascii": (bearer("svc_" + "ü" * 43), "not a key of this service"),
    "unknown": (bearer(key_of("nobody")), "unknown key"),
    "two keys": ({"Authorization": f"Bearer {ANA_KEY}", "X-API-Key": BEN_KEY}, "two different credentials"),
    "revoked": (bearer(key_of("old")), "revoked or has expired"),
    "expired": (bearer(key_of("short")), "revoked or has expired"),
    "a former member's": (bearer(BEN_KEY), "no longer a member"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_no_key_of_anybody(house: House, intake: Caller, case: str) -> None:
    """401, and the message says which kind of wrong it is; it never repeats a key."""
    for command in (
        issue(key_of("old"), ACME, ANA),
        RevokeKey(credential_id=named(key_of("old"))),
        issue(key_of("short"), ACME, ANA, expires_at_us=NOW_US + 1),
        *([EndMembership(membership_id=membership_stream(ACME, BEN))] if "former" in case else ()),
    ):
        carry_out(house.directory, command)
    house.clock_us += 1
    headers, reason = REFUSED[case]
    answer = await intake.using(headers).get("/v1/plugin/config")
    assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert reason in answer.message
    assert ANA_KEY not in answer.message


async def test_a_refusal_by_the_api_says_what_to_send(api: Caller) -> None:
    by_key, by_secret = await api.get("/v1/admin/organizations"), await api.using(internal()).get(SCORE)
    assert (by_key.status, "X-Internal-Secret" in by_key.message) == (403, True)
    assert (by_secret.status, "X-Developer-Id" in by_secret.message) == (403, True)


async def test_both_prefixes_open_every_route_until_the_key_ends(house: House, intake: Caller, api: Caller) -> None:
    """svc_ and gck_ differ in nothing but their looks. Nothing about a key is remembered between requests."""
    key = "gck_" + "A-_9" * 10 + "xyz"
    carry_out(house.directory, issue(key, ACME, ANA))
    doors = [(intake, "/v1/intelligence/prism"), (api, SCORE)]
    assert [(await door.using(bearer(key)).get(path)).status for door, path in doors] == [200, 200]
    carry_out(house.directory, RevokeKey(credential_id=named(key)))
    assert [(await door.using(bearer(key)).get(path)).status for door, path in doors] == [401, 401]


async def test_a_former_member(house: House, intake: Caller, api: Caller) -> None:
    """The key goes with the membership, and does not come back with another one; delegation does."""
    ben = intake.using(bearer(BEN_KEY))
    delegated = api.using(internal() | {"X-Org-Id": str(ACME), "X-Developer-Id": str(BEN)})
    assert (await delegated.get(SCORE)).status == 200
    carry_out(house.directory, EndMembership(membership_id=membership_stream(ACME, BEN)))
    assert [(await ben.get("/v1/plugin/config")).status, (await delegated.get(SCORE)).status] == [401, 401]
    carry_out(house.directory, StartMembership(organization_id=ACME, developer_id=BEN))
    assert [(await ben.get("/v1/plugin/config")).status, (await delegated.get(SCORE)).status] == [401, 200]


# --- wrong ones, again and again --------------------------------------------------------------------------------


async def test_wrong_keys_of_an_address_are_logged_and_slowed_down(
    house: House, autojump_clock: trio.testing.MockClock
) -> None:
    """The thousandth is 401 as well. The line has address and first characters; right keys pass all the same."""
    house.budgets = Budgets({WRONG_KEYS: 3})
    intake = Caller(build_intake(house), bearer())
    wrong = intake.using(bearer("svc_" + "w" * 43))
    with structlog.testing.capture_logs() as lines:
        answers, waits = [], []
        for _ in range(5):
            began = trio.current_time()
            answers.append(await wrong.get("/v1/plugin/config"))
            waits.append(round(trio.current_time() - began))
    assert [answer.status for answer in answers] == [401] * 5
    assert waits == [0, 0, 0, 1, 2]
    assert (await intake.get("/v1/plugin/config")).status == 200
    refused = [line for line in lines if line["event"] == "credentials refused"]
    assert len(refused) == 5
    assert {(line["address"], line["keys"]) for line in refused} == {(refused[0]["address"], "svc_wwwwwwww")}
    assert "w" * 9 not in str(lines)
    house.clock_us += 60 * 1_000_000
    assert (await wrong.get("/v1/plugin/config")).status == 401


async def test_so_many_wait_and_further_ones_are_answered_at_once(
    house: House, autojump_clock: trio.testing.MockClock
) -> None:
    """A thousand guesses hold 64 connections, for two seconds."""
    house.budgets = Budgets({WRONG_KEYS: 1})
    wrong, waits = Caller(build_intake(house), bearer("svc_" + "w" * 43)), Counter[int]()

    async def guess() -> None:
        assert (await wrong.get("/v1/plugin/config")).status == 401
        waits[round(trio.current_time())] += 1

    async with trio.open_nursery() as nursery:
        for _ in range(1_000):
            nursery.start_soon(guess)
    began = min(waits)
    assert waits == {began: 1_000 - 64, began + 1: 1, began + 2: 63}


async def test_who_sends_nothing_is_not_counted(house: House) -> None:
    house.budgets = Budgets({WRONG_KEYS: 1})
    with structlog.testing.capture_logs() as lines:
        assert [(await Caller(build_intake(house), {}).get("/v1/plugin/config")).status for _ in range(3)] == [401] * 3
    assert lines == []


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/prompts"), ("POST", "/v1/prompts/response"), ("POST", "/v1/logs")]
)
async def test_a_reader_captures_nothing(house: House, intake: Caller, method: str, path: str) -> None:
    """403 says why and what to do; reading goes on, and another role lets captures through again."""
    stream = membership_stream(ACME, BEN)
    carry_out(house.directory, ChangeMembership(membership_id=stream, role="reader"))
    reader = intake.using(bearer(BEN_KEY))
    refused = await reader.call(method, path, {})
    assert refused.status == 403
    assert "a reader captures nothing" in refused.message
    assert (await reader.get("/v1/plugin/config")).status == 200
    carry_out(house.directory, ChangeMembership(membership_id=stream, role="lead"))
    assert (await reader.call(method, path, {})).status != 403
