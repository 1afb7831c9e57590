"""`/v1/admin/control/*`: the command line working through a running server, the catalog and backfills among it; health,
and what a plugin asks."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from aggregates.capture.events import PromptCaptured, SetupCompleted
from aggregates.prices.catalog import PublishCatalog, RequestsRepriced, Served
from aggregates.retained import ForgetOrdered
from tests.support.basics import ACME, ANA, ANA_KEY, BEN_KEY, EVE, OTHER
from tests.support.catalogs import changing_lookup, document, lookup, snapshot
from tests.support.facts import HOUR
from tests.svc_http.house import Caller, House, bearer

REPLAY = "/v1/admin/control/replay"
CATALOG, PRICES = "/v1/model-catalog", "/v1/admin/control/catalog"
OWNER, BACKFILLS = "/v1/score_v3/admin/backfill", "/v1/admin/control/backfill"
AUGUST = {"from": "2026-08-01", "to": "2026-08-31"}


PROMPT = {"line_id": "l1", "text": "Goal 1.", "at_us": 5}
IMPORT: dict[str, Any] = {
    **{"source": "codex", "exchanges": [{"agent_session_id": "s", "prompt": PROMPT}]},
    **{"organization_id": str(ACME), "developer_id": str(ANA)},
}


async def test_an_import_is_the_developers_who_is_named(house: House, admin: Caller, intake: Caller) -> None:
    """By the same ids as with their own key."""
    answer = await admin.post("/v1/admin/control/import", IMPORT)
    assert (answer.status, answer.json["exchanges"][0]["created"]) == (200, 1)
    body = {name: IMPORT[name] for name in ("source", "exchanges")}
    assert (await intake.post("/v1/import", body)).json["exchanges"][0]["known"] == 1
    assert [event.developer_id for event in house.events if isinstance(event, PromptCaptured)] == [ANA]


async def test_a_developer_who_has_left_may_be_forgotten(house: House, admin: Caller) -> None:
    whose = {"organization_id": str(OTHER), "developer_id": str(ANA)}
    assert (await admin.post("/v1/admin/control/forget", whose)).status == 204
    assert isinstance(house.events[-1], ForgetOrdered)


async def test_a_replay(admin: Caller) -> None:
    idle = {"state": "none", "done": 0, "of": 0, "seconds_left": None, "message": None}
    assert (await admin.get(REPLAY)).json == idle
    answer = await admin.post(REPLAY, {})
    assert answer.status == 202
    assert answer.json == idle | {"state": "running"} == (await admin.get(REPLAY)).json


@pytest.mark.parametrize("writable", [True, False])
async def test_health(house: House, intake: Caller, api: Caller, writable: bool) -> None:
    """Plain text on intake, and never a Retry-After: agents' exporters look at nothing else. JSON at the API."""
    house.writable = writable
    plain, told = [await caller.using({}).get("/health") for caller in (intake, api)]
    assert plain.status == told.status == (200 if writable else 503)
    assert plain.body == (b"ok" if writable else b"event store unavailable")
    assert plain.headers["Content-Type"].startswith("text/plain")
    assert "Retry-After" not in plain.headers
    assert told.json == ({"status": "ok"} if writable else {"code": 503, "message": "event store unavailable"})


async def test_ready_waits_for_the_catalog(house: House, api: Caller) -> None:
    """Without a validated catalog snapshot the process is alive, but not ready."""
    answer = await api.using({}).get("/health/ready")
    assert answer.status == 503
    assert answer.json == {"status": "unavailable", "reason": "no validated catalog snapshot"}
    house.prices = Served(snapshot(), house.clock_us)
    answer = await api.using({}).get("/health/ready")
    assert (answer.status, answer.json) == (200, {"status": "ok"})


async def test_the_configuration(intake: Caller) -> None:
    """Where to send what, and what to capture; unset URLs are null."""
    answer = await intake.get("/v1/plugin/config")
    assert answer.status == 200
    url = "https://ingest.example"
    otlp = {f"{each}_endpoint": f"{url}/v1/{each}" for each in ("logs", "metrics", "traces")}
    urls = {"ingest_url": url, "gateway_url": None, "anthropic_base_url": None}
    assert answer.json == urls | {
        "dashboard_url": "https://dashboard.example",
        "environment": "test",
        "capture": {"prompts": True, "responses": True, "max_prompt_bytes": 524288},
        "otlp": otlp | {"protocol": "http/json"},
        "arrivals": [],
        "refusals": [],
        "arrivals_since": "1970-01-01T00:00:00Z",
    }


async def test_the_end_of_the_setup(house: House, intake: Caller) -> None:
    """204, and it is a fact; a whole key that was sent by mistake is not kept."""
    body = {"plugin_version": "0.6.0", "key_prefix": ANA_KEY}
    answer = await intake.post("/v1/setup-complete", body)
    assert (answer.status, answer.body) == (204, b"")
    (event,) = house.events
    assert isinstance(event, SetupCompleted)
    assert (event.developer_id, event.plugin_version) == (ANA, "0.6.0")
    assert event.key_prefix == ANA_KEY[:12]


# --- the model catalog on both listeners ---------------------------------------------------------------------------


def priced(*entries: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"document": {"exact_lookups": list(entries or (lookup(),)), **fields}, "source": "prices.json"}


async def test_the_snapshot_is_served_with_what_is_known_of_it(house: House, admin: Caller, intake: Caller) -> None:
    """The contract's fields, the same for an internal service and through intake for a developer; 503 without one."""
    for caller in (admin, intake):
        assert (await caller.get(CATALOG)).json == {"status": "unavailable", "reason": "no validated catalog snapshot"}
    house.prices = Served(snapshot(changing_lookup(), revision=3), house.clock_us, "no network")
    answer = await admin.get(CATALOG)
    shown = answer.json
    assert answer.status == 200
    assert (shown["schema_version"], shown["catalog_revision"], shown["stale"]) == (1, 3, True)
    assert shown["published_at"] == "1970-01-01T00:00:00Z"
    assert (await intake.get(CATALOG)).json == shown


async def test_publishing(house: House, admin: Caller) -> None:
    """201 with the revision; the same again is 200, and nothing new."""
    answer = await admin.post(PRICES, priced())
    assert (answer.status, answer.json["catalog_revision"], answer.json["changed"]) == (201, 1, True)
    answer = await admin.post(PRICES, priced())
    assert (answer.status, answer.json["catalog_revision"], answer.json["changed"]) == (200, 1, False)
    assert (await admin.get(CATALOG)).json["catalog_revision"] == 1
    assert [each["catalog_revision"] for each in (await admin.get(PRICES)).json] == [1]
    assert len(house.events) == 1


async def test_a_faulty_document_is_refused_with_its_place(admin: Caller) -> None:
    """400, and nothing is published."""
    rate = {"effective_from": 5, "effective_to": None}
    answer = await admin.post(PRICES, priced(lookup(list_rates=[rate])))
    assert (answer.status, "$.document.exact_lookups[0].list_rates[0]" in answer.message) == (400, True)
    assert (await admin.get(CATALOG)).status == 503


async def test_refreshing(house: House, admin: Caller) -> None:
    """502 with the source's own fault, else the revision that holds its prices."""
    answer = await admin.post(f"{PRICES}/refresh", {})
    assert (answer.status, answer.message) == (502, "prices.example: answered 500")
    house.newest_prices = PublishCatalog(document=document(), source="prices.example")
    answer = await admin.post(f"{PRICES}/refresh", {})
    assert (answer.status, answer.json["catalog_revision"]) == (200, 1)


async def test_repricing(house: House, admin: Caller) -> None:
    """201 with the revision that prices; the order stands in the log."""
    order = {"organization_id": str(ACME), "from": "2026-08-01", "to": "2026-09-01T02:00:00+02:00"}
    assert (await admin.post(f"{PRICES}/reprice", order)).status == 400
    await admin.post(PRICES, priced())
    nowhere = await admin.post(f"{PRICES}/reprice", order | {"organization_id": str(UUID(int=9))})
    assert (nowhere.status, "no organization" in nowhere.message) == (404, True)
    never = await admin.post(f"{PRICES}/reprice", order | {"to": "2026-01-01"})
    assert (never.status, "from must come before to" in never.message) == (400, True)
    answer = await admin.post(f"{PRICES}/reprice", order)
    assert (answer.status, answer.json["catalog_revision"]) == (201, 1)
    event = house.events[-1]
    assert isinstance(event, RequestsRepriced)
    assert (event.organization_id, event.to_us - event.from_us) == (ACME, 31 * 86_400_000_000)


# --- backfills: for owners, or with the internal secret -------------------------------------------------------------


async def worked(house: House) -> int:
    """The demo's month of work; how many sub-sessions started in August."""
    await house.has_demo()
    house.passes(house.clock_us + HOUR)
    query = "SELECT count(*) FROM sub_sessions WHERE started_us >= 1785542400000000"
    count: int = house._views.execute(query).fetchone()[0]
    return count


async def test_an_owner_begins_one_and_joins_it(house: House, api: Caller, admin: Caller, tmp_path: Path) -> None:
    """202 with its id alone: a count would tell hour by hour when a person works. The operator is told of it."""
    count = await worked(house)
    refused = await api.using(bearer(BEN_KEY)).post(OWNER, AUGUST)
    assert (refused.status, "owner" in refused.message) == (403, True)
    assert (await api.post(OWNER, AUGUST | {"developer_id": str(EVE)})).status == 404
    answer = await api.post(OWNER, AUGUST | {"developer_id": str(ANA)})
    assert (answer.status, answer.json.keys()) == (202, {"backfill_id"})
    assert (await api.post(OWNER, AUGUST | {"developer_id": str(ANA)})).json == answer.json
    assert (await api.post(OWNER, AUGUST)).status == 409
    (listed,) = (await admin.get(BACKFILLS)).json
    assert (listed["backfill_id"], listed["status"]) == (answer.json["backfill_id"], "running")
    assert (listed["from"], listed["to"]) == ("2026-08-01T00:00:00Z", "2026-09-01T00:00:00Z")
    assert (listed["developer_id"], listed["sub_sessions"], listed["done"]) == (str(ANA), count, 0)
    assert count > 5


async def test_an_administrator_begins_them_and_sees_all(api: Caller, admin: Caller) -> None:
    """For any organization that there is, the newest first."""
    first = (await api.post(OWNER, AUGUST)).json
    answer = await admin.post(BACKFILLS, AUGUST | {"organization_id": str(OTHER)})
    assert answer.status == 202
    listed = (await admin.get(BACKFILLS)).json
    assert listed[0] == answer.json
    assert [each["backfill_id"] for each in listed] == [answer.json["backfill_id"], first["backfill_id"]]
    assert (await admin.get(f"{BACKFILLS}?limit=1")).json == [answer.json]
    assert (await admin.post(BACKFILLS, AUGUST | {"organization_id": str(ANA)})).status == 404
