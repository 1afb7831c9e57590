"""Backfills by their routes: for owners, or with the internal secret; nobody else, nothing out of bounds."""

from pathlib import Path

from tests.support.basics import ACME, ANA, ANA_SCOPE, BEN_KEY, EVE, OTHER
from tests.support.facts import DAY, HOUR
from tests.support.household import import_demo
from tests.svc_http.house import DIGESTER, Caller, House, bearer

OWNER = "/v1/score_v3/admin/backfill"
CONTROL = "/v1/admin/control/backfill"
AUGUST = {"from": "2026-08-01", "to": "2026-08-31"}


async def worked(house: House, folder: Path) -> int:
    """The demo's month of work; how many sub-sessions started in August."""
    house.clock_us += 20 * DAY
    await import_demo(folder, house.send, ANA_SCOPE, DIGESTER, house.clock_us)
    house.passes(house.clock_us + HOUR)
    query = "SELECT count(*) FROM sub_sessions WHERE started_us >= 1785542400000000"
    count: int = house._views.execute(query).fetchone()[0]
    return count


async def test_an_owner_begins_one_and_joins_it(house: House, api: Caller, admin: Caller, tmp_path: Path) -> None:
    """202 with its id alone: a count would tell hour by hour when a person works. The operator is told of it."""
    count = await worked(house, tmp_path)
    refused = await api.using(bearer(BEN_KEY)).post(OWNER, AUGUST)
    assert (refused.status, "owner" in refused.message) == (403, True)
    assert (await api.post(OWNER, AUGUST | {"developer_id": str(EVE)})).status == 404
    answer = await api.post(OWNER, AUGUST | {"developer_id": str(ANA)})
    assert (answer.status, answer.json.keys()) == (202, {"backfill_id"})
    assert (await api.post(OWNER, AUGUST | {"developer_id": str(ANA)})).json == answer.json
    assert (await api.post(OWNER, AUGUST)).status == 409
    (listed,) = (await admin.get(CONTROL)).json
    assert listed == {
        "backfill_id": answer.json["backfill_id"],
        "status": "running",
        "organization_id": str(ACME),
        "developer_id": str(ANA),
        "from": "2026-08-01T00:00:00Z",
        "to": "2026-09-01T00:00:00Z",
        "sub_sessions": count,
        "done": 0,
        "requested_at": listed["requested_at"],
    }
    assert count > 5


async def test_what_makes_no_sense_is_refused(api: Caller) -> None:
    """400, with what to mend."""
    wrong = {"to": {"from": "2026-08-01"}, "days": {"from": "1990-01-01", "to": "2026-08-01"}}
    for named, body in (wrong | {"developer_id": AUGUST | {"developer_id": "ana"}}).items():
        answer = await api.post(OWNER, body)
        assert (answer.status, named in answer.message) == (400, True)


async def test_an_administrator_begins_them_and_sees_all(api: Caller, admin: Caller) -> None:
    """For any organization that there is, the newest first."""
    first = (await api.post(OWNER, AUGUST)).json
    answer = await admin.post(CONTROL, AUGUST | {"organization_id": str(OTHER)})
    assert answer.status == 202
    listed = (await admin.get(CONTROL)).json
    assert listed[0] == answer.json
    assert [each["backfill_id"] for each in listed] == [answer.json["backfill_id"], first["backfill_id"]]
    assert (await admin.get(f"{CONTROL}?limit=1")).json == [answer.json]
    assert (await admin.post(CONTROL, AUGUST | {"organization_id": str(ANA)})).status == 404
