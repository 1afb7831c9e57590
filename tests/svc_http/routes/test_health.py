"""Health and readiness, on both listeners."""

import pytest

from aggregates.prices.catalog import Served
from tests.support.catalogs import snapshot
from tests.svc_http.house import Caller, House


async def test_intake_health_is_plain_text(intake: Caller) -> None:
    """Agents' exporters get `ok` and nothing else, without a key."""
    answer = await intake.using({}).get("/health")
    assert (answer.status, answer.body) == (200, b"ok")
    assert answer.headers["Content-Type"].startswith("text/plain")


async def test_intake_health_tells_of_an_unwritable_store(house: House, intake: Caller) -> None:
    """503 in plain text, and never a Retry-After."""
    house.writable = False
    answer = await intake.using({}).get("/health")
    assert (answer.status, answer.body) == (503, b"event store unavailable")
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert "Retry-After" not in answer.headers


async def test_api_health(house: House, api: Caller) -> None:
    """The API answers in JSON, and 503 in the shape of every error."""
    assert (await api.using({}).get("/health")).json == {"status": "ok"}
    house.writable = False
    answer = await api.using({}).get("/health")
    assert (answer.status, answer.message) == (503, "event store unavailable")


async def test_ready_waits_for_the_catalog(house: House, api: Caller) -> None:
    """Without a validated catalog snapshot the process is alive, but not ready."""
    answer = await api.using({}).get("/health/ready")
    assert answer.status == 503
    assert answer.json == {"status": "unavailable", "reason": "no validated catalog snapshot"}
    house.prices = Served(snapshot(), house.clock_us, False)
    answer = await api.using({}).get("/health/ready")
    assert (answer.status, answer.json) == (200, {"status": "ok"})


@pytest.mark.parametrize("path", ["/health/ready", "/v1/score_v3/score", "/v1/admin/keys"])
async def test_private_routes_are_not_on_intake(intake: Caller, path: str) -> None:
    """Only what the contract names as proxied answers on the public listener."""
    assert (await intake.get(path)).status == 404
