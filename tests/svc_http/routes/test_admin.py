"""`/v1/admin/*`: people, teams and keys by the internal secret."""

from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest

from aggregates.times import iso
from tests.support.basics import ACME, ANA, ANA_KEY, BEN, BEN_KEY, EVE, EVE_KEY, NOW_US, OTHER
from tests.svc_http.house import Caller, House, bearer

A = "/v1/admin"
NOBODY = "00000000-0000-4000-8000-000000000000"
KINDS = ("organizations", "developers", "memberships", "teams", "team-memberships", "keys")


async def created(admin: Caller, kind: str, **fields: object) -> Any:
    """The record of something new; asserts 201 and that the list shows it."""
    answer = await admin.post(f"{A}/{kind}", fields)
    assert answer.status == 201, answer
    record = answer.json
    assert UUID(record["id"])
    listed = (await admin.get(f"{A}/{kind}?limit=500")).json
    assert record["id"] in [each["id"] for each in listed]
    return record


@pytest.mark.parametrize("kind", KINDS)
async def test_lists(admin: Caller, kind: str) -> None:
    """Arrays of records, with limit and offset, narrowed by the ids that they carry."""
    everything = (await admin.get(f"{A}/{kind}")).json
    assert (await admin.get(f"{A}/{kind}?limit=1&offset=1")).json == everything[1:2]
    assert (await admin.get(f"{A}/{kind}?limit=x")).status == 400
    assert (await admin.get(f"{A}/{kind}?developer_id={NOBODY}")).json == []
    if kind == "keys":
        assert [each["key_start"] for each in everything] == [key[:12] for key in (ANA_KEY, BEN_KEY, EVE_KEY)]
        assert (await admin.get(f"{A}/{kind}?organization_id={ACME}")).json == everything[:2]


async def test_an_organization(admin: Caller) -> None:
    """Created with its defaults, then set; what is absent or null stays, but for a retention: null keeps for good."""
    record = await created(admin, "organizations", name="New")
    usual = {"text_leaves": True, "redaction": True, "retention_days_telemetry": None, "retention_days_text": None}
    about = {"id": record["id"], "organization_id": record["id"], "name": "New", "created_at": iso(NOW_US)}
    assert record == about | usual | {"team_minimum": 3}
    change = {"text_leaves": False, "redaction": False, "retention_days_text": 30, "retention_days_telemetry": 90}
    answer = await admin.call("PATCH", f"{A}/organizations/{record['id']}", change | {"name": None})
    assert (answer.status, answer.json) == (200, record | change)
    kept = await admin.call("PATCH", f"{A}/organizations/{record['id']}", {"retention_days_text": None})
    assert kept.json == record | change | {"retention_days_text": None}


async def test_a_developer(house: House, admin: Caller) -> None:
    """With a profile from the start, or set later; the list shows how far each has come."""
    record = await created(admin, "developers", display_name="Kim", timezone="Asia/Seoul")
    assert (record["display_name"], record["timezone"], record["report_schedules"]) == ("Kim", "Asia/Seoul", [])
    change = {"language": "ko", "report_schedules": ["daily", "weekly"], "timezone": "Europe/Berlin"}
    answer = await admin.call("PATCH", f"{A}/developers/{record['id']}", change)
    assert (answer.status, answer.json) == (200, record | change)
    house.states = {BEN: "key_configured", EVE: "first_prompt"}
    shown = [each["activation"] for each in (await admin.get(f"{A}/developers")).json]
    assert shown == ["waiting", "key_configured", "first_prompt", "waiting"]


async def test_an_email_address_is_of_one_developer(admin: Caller) -> None:
    """However it is written; an empty one is none, and free for somebody else."""
    kim = await created(admin, "developers", display_name="Kim", email="kim@example.com")
    again = await admin.post(f"{A}/developers", {"display_name": "Kim 2", "email": "KIM@example.com"})
    assert (again.status, kim["id"] in again.message) == (409, True)
    assert (await admin.call("PATCH", f"{A}/developers/{kim['id']}", {"email": ""})).json["email"] is None
    assert (await created(admin, "developers", display_name="Kim 2", email="kim@example.com"))["email"]


async def test_a_membership(admin: Caller) -> None:
    """Started, changed, ended, and started again as another one; the first stays in the list."""
    about, both = (
        {"organization_id": str(OTHER), "developer_id": str(ANA)},
        f"organization_id={OTHER}&developer_id={ANA}",
    )
    record = await created(admin, "memberships", **about)
    path = f"{A}/memberships/{record['id']}"
    assert (await admin.call("PATCH", path, {"role": "owner"})).json["role"] == "owner"
    assert [(await admin.call("DELETE", path)).status for _ in range(2)] == [204, 204]
    again = await created(admin, "memberships", **about)
    listed = (await admin.get(f"{A}/memberships?{both}")).json
    assert [(each["id"], each["ended_at"]) for each in listed] == [(record["id"], iso(NOW_US)), (again["id"], None)]
    assert (await admin.call("PATCH", path, {"role": "owner"})).status == 409


async def test_a_key(admin: Caller) -> None:
    """Its text is answered once and opens the developer's data until it is revoked. svc, unless gck is asked for; of
    the only organization, where none is named."""
    other = await created(admin, "keys", developer_id=str(BEN), prefix="gck")
    assert (other["key"][:4], other["organization_id"]) == ("gck_", str(ACME))
    record = await created(
        admin, "keys", organization_id=str(ACME), developer_id=str(BEN), name="laptop", expires_at="2027-01-01"
    )
    key = record.pop("key")
    assert (len(key), key[:4], record["key_start"]) == (47, "svc_", key[:12])
    assert record["expires_at"] == "2027-01-01T00:00:00Z"
    listed = (await admin.get(f"{A}/keys")).json
    assert listed[-1] == record
    assert key not in repr(listed)
    ben = admin.using(bearer(key))
    assert (await admin.using(bearer(BEN_KEY)).get("/v1/score_v3/score")).status == 200
    assert (await admin.get(f"{A}/keys")).json[-1]["last_used_on"] is None, "another key was used"
    assert (await ben.get("/v1/score_v3/score")).status == 200
    assert (await admin.get(f"{A}/keys")).json[-1]["last_used_on"] == "2026-08-01"
    assert (await admin.call("DELETE", f"{A}/keys/{record['id']}")).status == 204
    assert (await ben.get("/v1/score_v3/score")).status == 401
    assert (await admin.get(f"{A}/keys")).json[-1]["revoked"] is True


async def test_a_key_that_exists_is_let_in_by_its_hash(admin: Caller) -> None:
    """Its text is never sent, and so never answered; a second time it is refused."""
    key = "gck_" + "k" * 43
    existing = {"key_digest": sha256(key.encode()).hexdigest(), "key_start": key[:12]}
    record = await created(admin, "keys", developer_id=str(BEN), name="old plugin", **existing)
    assert (record["key"], record["key_start"], record["name"]) == (None, "gck_kkkkkkkk", "old plugin")
    assert (await admin.using(bearer(key)).get("/v1/score_v3/score")).status == 200
    assert (await admin.call("POST", f"{A}/keys", {"developer_id": str(BEN), **existing})).status == 409
    for half in existing:
        said = await admin.call("POST", f"{A}/keys", {"developer_id": str(BEN), half: existing[half]})
        assert (said.status, "send both" in said.message) == (400, True)
    odd = await admin.call("POST", f"{A}/keys", {"developer_id": str(BEN), **existing, "key_start": key[:20]})
    assert odd.status == 400
