"""Who gets in where: keys, the internal secret, delegation; every 401 and 403 tells its reason apart."""

from collections import Counter
from collections.abc import Mapping
from uuid import UUID

import pytest
import structlog
import trio
import trio.testing

from aggregates.ids import membership_stream
from aggregates.people.acts import ChangeMembership, EndMembership, RevokeKey, StartMembership
from aggregates.people.entry import WRONG_KEYS, Budgets
from svc_http.app import build_intake
from tests.support.log import named
from tests.support.people import ACME, ANA, ANA_KEY, BEN, BEN_KEY, EVE, NOW_US, OTHER, carry_out, issue, key_of
from tests.svc_http.house import SECRET, Caller, House, bearer, internal

SCORE = "/v1/score_v3/score"


def on_behalf(organization: object = ACME, developer: object = ANA) -> dict[str, str]:
    """An internal caller that speaks for a developer."""
    return internal() | {"X-Org-Id": str(organization), "X-Developer-Id": str(developer)}


async def test_a_refusal_says_what_to_send(intake: Caller, api: Caller) -> None:
    """`isolation_table.py` has the status of every route."""
    nobody = await intake.using({}).get("/v1/plugin/config")
    assert (nobody.status, nobody.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert "Authorization: Bearer" in nobody.message
    by_key, by_secret = await api.get("/v1/admin/organizations"), await api.using(internal()).get(SCORE)
    assert (by_key.status, "X-Internal-Secret" in by_key.message) == (403, True)
    assert (by_secret.status, "X-Developer-Id" in by_secret.message) == (403, True)


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {ANA_KEY}"},
        {"Authorization": f"bearer  {ANA_KEY} "},
        {"X-API-Key": ANA_KEY},
        {"X-API-Key": ANA_KEY, "Authorization": f"Bearer {ANA_KEY}"},
    ],
)
async def test_a_key_in_either_header(intake: Caller, headers: Mapping[str, str]) -> None:
    """The same key twice is one credential."""
    assert (await intake.using(headers).get("/v1/intelligence/prism")).status == 200


async def test_both_prefixes_open_every_route(house: House, intake: Caller, api: Caller) -> None:
    """svc_ and gck_ differ in nothing but their looks."""
    key = "gck_" + "A-_9" * 10 + "xyz"
    carry_out(house.directory, issue(key, ACME, ANA))
    assert (await intake.using(bearer(key)).get("/v1/intelligence/prism")).status == 200
    assert (await api.using(bearer(key)).get(SCORE)).status == 200


REFUSED = {
    "no bearer": ({"Authorization": f"Basic {ANA_KEY}"}, "Bearer"),
    "a foreign key": (bearer("sk-ant-api03-something-else"), "not a key of this service"),
    "an empty key": (bearer(""), "not a key of this service"),
    "too short": (bearer(ANA_KEY[:-1]), "not a key of this service"),
    "too long": (bearer(ANA_KEY + "x"), "not a key of this service"),
    "not ascii": (bearer("svc_" + "ü" * 43), "not a key of this service"),
    "unknown": (bearer(key_of("nobody")), "unknown key"),
    "two keys": ({"Authorization": f"Bearer {ANA_KEY}", "X-API-Key": BEN_KEY}, "two different credentials"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_no_key_of_anybody(intake: Caller, case: str) -> None:
    """401, and the message says which kind of wrong it is; it never repeats a key."""
    headers, named_reason = REFUSED[case]
    answer = await intake.using(headers).get("/v1/plugin/config")
    assert answer.status == 401
    assert named_reason in answer.message
    assert ANA_KEY not in answer.message


async def test_a_revoked_key_fails_on_the_next_request(house: House, intake: Caller) -> None:
    """Nothing about a key is remembered between requests."""
    assert (await intake.get("/v1/plugin/config")).status == 200
    carry_out(house.directory, RevokeKey(credential_id=named(ANA_KEY)))
    answer = await intake.get("/v1/plugin/config")
    assert (answer.status, "revoked" in answer.message) == (401, True)


async def test_an_expired_key(house: House, intake: Caller) -> None:
    """From its last instant on it opens nothing."""
    key = key_of("short-lived")
    carry_out(house.directory, issue(key, ACME, ANA, expires_at_us=NOW_US + 1_000_000))
    caller = intake.using(bearer(key))
    assert (await caller.get("/v1/plugin/config")).status == 200
    house.clock_us = NOW_US + 1_000_000
    answer = await caller.get("/v1/plugin/config")
    assert (answer.status, "expired" in answer.message) == (401, True)


async def test_a_former_member(house: House, intake: Caller, api: Caller) -> None:
    """The key goes with the membership, and does not come back with another one; delegation does."""
    ben, delegated = intake.using(bearer(BEN_KEY)), api.using(on_behalf(developer=BEN))
    assert (await delegated.get(SCORE)).status == 200
    carry_out(house.directory, EndMembership(membership_id=membership_stream(ACME, BEN)))
    answer = await ben.get("/v1/plugin/config")
    assert (answer.status, "no longer a member" in answer.message) == (401, True)
    assert (await delegated.get(SCORE)).status == 401
    carry_out(house.directory, StartMembership(organization_id=ACME, developer_id=BEN))
    assert (await ben.get("/v1/plugin/config")).status == 401
    assert (await delegated.get(SCORE)).status == 200


async def test_all_reasons_differ(house: House, intake: Caller) -> None:
    """Five kinds of 401, five messages."""
    carry_out(house.directory, RevokeKey(credential_id=named(ANA_KEY)))
    carry_out(house.directory, EndMembership(membership_id=membership_stream(ACME, BEN)))
    callers = [{}, bearer("sk-1"), bearer(key_of("nobody")), bearer(ANA_KEY), bearer(BEN_KEY)]
    messages = {(await intake.using(headers).get("/v1/plugin/config")).message for headers in callers}
    assert len(messages) == len(callers)


async def test_delegation(api: Caller) -> None:
    """An internal caller reads as the developer it names."""
    assert (await api.using(on_behalf()).get(SCORE)).status == 200


@pytest.mark.parametrize(
    ("organization", "developer"), [(ACME, EVE), (OTHER, ANA), (named("nowhere"), ANA), (ACME, named("nobody"))]
)
async def test_delegation_to_a_non_member(api: Caller, organization: UUID, developer: UUID) -> None:
    """401: a delegated developer must be a current member of just that organization."""
    answer = await api.using(on_behalf(organization, developer)).get(SCORE)
    assert (answer.status, "member" in answer.message) == (401, True)


@pytest.mark.parametrize("left_out", ["X-Org-Id", "X-Developer-Id"])
async def test_half_a_delegation(api: Caller, left_out: str) -> None:
    """400: both headers or neither."""
    headers = {name: value for name, value in on_behalf().items() if name != left_out}
    answer = await api.using(headers).get(SCORE)
    assert (answer.status, "both or neither" in answer.message) == (400, True)


async def test_a_wrong_secret(api: Caller) -> None:
    """401, on personal routes and on administration, and its length or script does not matter."""
    for wrong in ("x", SECRET + "x", SECRET.upper(), "ü", ""):
        for path in (SCORE, "/v1/admin/keys"):
            answer = await api.using(on_behalf() | {"X-Internal-Secret": wrong}).get(path)
            assert (answer.status, SECRET in answer.message) == (401, False)


async def test_a_key_beside_the_secret(api: Caller) -> None:
    answer = await api.using(internal() | bearer()).get("/v1/admin/keys")
    assert (answer.status, "two different credentials" in answer.message) == (401, True)


async def test_the_secret_means_nothing_on_intake(intake: Caller) -> None:
    """Neither alone nor with delegation does it open anything; beside a key it is ignored."""
    assert (await intake.using(on_behalf()).get("/v1/plugin/config")).status == 401
    wrong = {"X-Internal-Secret": "wrong", "X-Org-Id": str(OTHER)}
    assert (await intake.using(bearer() | wrong).get("/v1/plugin/config")).status == 200


async def test_delegation_headers_mean_nothing_beside_a_key(api: Caller, intake: Caller) -> None:
    """A developer cannot speak for another one."""
    await intake.post("/v1/prompts", {"prompt_text": "Mine.", "tool_session_id": "anas"})
    as_ben = bearer(BEN_KEY) | {"X-Org-Id": str(ACME), "X-Developer-Id": str(ANA)}
    assert (await api.using(as_ben).get("/v1/score_v3/realtime/sub-sessions")).json == []


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


async def test_an_address_that_used_up_its_budget_is_told_so_with_a_right_key_alone(house: House) -> None:
    house.budgets = Budgets({"address_requests_per_minute": 1})
    intake = Caller(build_intake(house), bearer())
    asked = [await intake.get("/v1/plugin/config") for _ in range(2)]
    assert [each.status for each in asked] == [200, 429]
    assert (await intake.using(bearer("svc_" + "w" * 43)).get("/v1/plugin/config")).status == 401


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
