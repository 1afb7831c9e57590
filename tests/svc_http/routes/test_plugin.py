"""The plugin's configuration, the end of its setup, and the stub of an older pipeline."""

import pytest

from aggregates.capture.events import SetupCompleted
from tests.support.people import ANA, ANA_KEY
from tests.svc_http.house import Caller, House


async def test_the_configuration(intake: Caller) -> None:
    """Where to send what, and what to capture; unset URLs are null."""
    answer = await intake.get("/v1/plugin/config")
    assert answer.status == 200
    assert answer.json == {
        "ingest_url": "https://ingest.example",
        "gateway_url": None,
        "anthropic_base_url": None,
        "dashboard_url": "https://dashboard.example",
        "environment": "test",
        "capture": {"prompts": True, "responses": True, "max_prompt_bytes": 524288},
        "otlp": {
            "protocol": "http/json",
            "logs_endpoint": "https://ingest.example/v1/logs",
            "metrics_endpoint": "https://ingest.example/v1/metrics",
            "traces_endpoint": "https://ingest.example/v1/traces",
        },
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


async def test_a_setup_without_a_key_prefix(intake: Caller) -> None:
    assert (await intake.post("/v1/setup-complete", {"plugin_version": "0.6.0"})).status == 204


@pytest.mark.parametrize("value", [None, "", "  ", 5, "v" * 65])
async def test_a_setup_without_a_version(house: House, intake: Caller, value: object) -> None:
    """400 that names the field."""
    answer = await intake.post("/v1/setup-complete", {"plugin_version": value})
    assert (answer.status, "plugin_version" in answer.message) == (400, True)
    assert house.events == []


async def test_the_stub(intake: Caller) -> None:
    assert (await intake.get("/v1/intelligence/prism")).json == {"scores": [], "total": 0}
