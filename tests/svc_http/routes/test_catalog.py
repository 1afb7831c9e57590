"""The model catalog on both listeners, and its administration."""

from typing import Any
from uuid import UUID

from aggregates.prices.catalog import PublishCatalog, RequestsRepriced, Served
from tests.support.basics import ACME
from tests.support.catalogs import changing_lookup, document, lookup, snapshot
from tests.svc_http.house import Caller, House

PATH = "/v1/model-catalog"
CONTROL = "/v1/admin/control/catalog"


def body(*entries: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"document": {"exact_lookups": list(entries or (lookup(),)), **fields}, "source": "prices.json"}


async def test_the_snapshot_is_served_with_what_is_known_of_it(house: House, admin: Caller, intake: Caller) -> None:
    """The contract's fields, the same for an internal service and through intake for a developer; 503 without one."""
    for caller in (admin, intake):
        assert (await caller.get(PATH)).json == {"status": "unavailable", "reason": "no validated catalog snapshot"}
    house.prices = Served(snapshot(changing_lookup(), revision=3), house.clock_us, True)
    answer = await admin.get(PATH)
    shown = answer.json
    assert answer.status == 200
    assert (shown["schema_version"], shown["catalog_revision"], shown["stale"]) == (1, 3, True)
    assert shown["published_at"] == "1970-01-01T00:00:00Z"
    assert (await intake.get(PATH)).json == shown


async def test_publishing(house: House, admin: Caller) -> None:
    """201 with the revision; the same again is 200, and nothing new."""
    answer = await admin.post(CONTROL, body())
    assert (answer.status, answer.json["catalog_revision"], answer.json["changed"]) == (201, 1, True)
    answer = await admin.post(CONTROL, body())
    assert (answer.status, answer.json["catalog_revision"], answer.json["changed"]) == (200, 1, False)
    assert (await admin.get(PATH)).json["catalog_revision"] == 1
    assert [each["catalog_revision"] for each in (await admin.get(CONTROL)).json] == [1]
    assert len(house.events) == 1


async def test_a_faulty_document_is_refused_with_its_place(admin: Caller) -> None:
    """400, and nothing is published."""
    rate = {"effective_from": 5, "effective_to": None}
    answer = await admin.post(CONTROL, body(lookup(list_rates=[rate])))
    assert (answer.status, "$.document.exact_lookups[0].list_rates[0]" in answer.message) == (400, True)
    assert (await admin.get(PATH)).status == 503


async def test_refreshing(house: House, admin: Caller) -> None:
    """502 with the source's own fault, else the revision that holds its prices."""
    answer = await admin.post(f"{CONTROL}/refresh", {})
    assert (answer.status, answer.message) == (502, "prices.example: answered 500")
    house.newest_prices = PublishCatalog(document=document(), source="prices.example")
    answer = await admin.post(f"{CONTROL}/refresh", {})
    assert (answer.status, answer.json["catalog_revision"]) == (200, 1)


async def test_repricing(house: House, admin: Caller) -> None:
    """201 with the revision that prices; the order stands in the log."""
    order = {"organization_id": str(ACME), "from": "2026-08-01", "to": "2026-09-01T02:00:00+02:00"}
    assert (await admin.post(f"{CONTROL}/reprice", order)).status == 400
    await admin.post(CONTROL, body())
    nowhere = await admin.post(f"{CONTROL}/reprice", order | {"organization_id": str(UUID(int=9))})
    assert (nowhere.status, "no organization" in nowhere.message) == (404, True)
    never = await admin.post(f"{CONTROL}/reprice", order | {"to": "2026-01-01"})
    assert (never.status, "from must come before to" in never.message) == (400, True)
    answer = await admin.post(f"{CONTROL}/reprice", order)
    assert (answer.status, answer.json["catalog_revision"]) == (201, 1)
    event = house.events[-1]
    assert isinstance(event, RequestsRepriced)
    assert (event.organization_id, event.to_us - event.from_us) == (ACME, 31 * 86_400_000_000)
