"""`/v1/admin/control/*`: the command line working through a running server; health, and what a plugin asks."""

import msgspec
import pytest

from aggregates.capture.events import CapturePrompt, CompleteSetup, PromptCaptured, SetupCompleted
from aggregates.decide import AnyCommand
from aggregates.event import Done, Refused, Reply
from aggregates.ids import prompt_stream
from aggregates.prices.catalog import Served
from tests.support.basics import ACME, ANA, ANA_KEY, OTHER, named
from tests.support.catalogs import snapshot
from tests.svc_http.house import Answer, Caller, House

CAPTURE = "/v1/admin/control/capture"
REPLAY = "/v1/admin/control/replay"
MSGPACK = {"Content-Type": "application/msgpack"}


def a_prompt(number: int, text: str | None = None) -> CapturePrompt:
    event_id = named(str(number))
    return CapturePrompt(
        organization_id=ACME,
        developer_id=ANA,
        prompt_id=prompt_stream(ANA, event_id),
        agent_session_id="s",
        source="claude-code",
        text=text or f"Goal {number}.",
        client_event_id=event_id,
    )


async def send(admin: Caller, *commands: AnyCommand) -> Answer:
    return await admin.post(CAPTURE, msgspec.msgpack.encode(commands), MSGPACK)


def replies(answer: Answer) -> list[Reply]:
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/msgpack")
    return msgspec.msgpack.decode(answer.body, type=list[Reply])


async def test_commands_are_carried_out_in_order(house: House, admin: Caller) -> None:
    """A reply for each, refusals among them; sent again, nothing is added."""
    commands = [a_prompt(number) for number in range(100)]
    assert replies(await send(admin, *commands)) == [Done(True, each.prompt_id) for each in commands]
    kept = [event.prompt_id for event in house.events if isinstance(event, PromptCaptured)]
    assert kept == [each.prompt_id for each in commands]
    again, refused = replies(await send(admin, commands[0], a_prompt(1, "Other.")))
    assert again == Done(False, commands[0].prompt_id)
    assert isinstance(refused, Refused)


async def test_a_developer_who_is_no_member(house: House, admin: Caller) -> None:
    """400, and nothing of the batch is stored."""
    answer = await send(admin, a_prompt(1), CompleteSetup(organization_id=OTHER, developer_id=ANA, plugin_version="1"))
    assert (answer.status, "member" in answer.message, house.events) == (400, True, [])


@pytest.mark.parametrize("body", [b"", b"\xc1", b"[]", msgspec.msgpack.encode([{"command": "unknown"}])])
async def test_bad_commands(house: House, admin: Caller, body: bytes) -> None:
    answer = await admin.post(CAPTURE, body, MSGPACK)
    assert (answer.status, "msgpack" in answer.message) == (400, True)
    assert house.events == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        *(({}, 202), ({"rules": None}, 202), ({"rules": 2}, 202), ({"rules": 1}, 404)),
        *(({"rules": each}, 400) for each in (0, -1, "1", 10**30)),
    ],
)
async def test_a_replay(admin: Caller, body: object, status: int) -> None:
    """404 says which rules there are, 400 what a number of them is."""
    idle = {"state": "none", "done": 0, "of": 0, "message": None}
    assert (await admin.get(REPLAY)).json == idle
    answer = await admin.post(REPLAY, body)
    assert answer.status == status
    if status == 202:
        assert answer.json == idle | {"state": "running"} == (await admin.get(REPLAY)).json
    else:
        assert "rule" in answer.message
        assert (await admin.get(REPLAY)).json == idle


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
    house.prices = Served(snapshot(), house.clock_us, False)
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
    """204, and it is a fact; a whole key that was sent by mistake is not kept. Without a version it is a 400."""
    for value in (None, "", "  ", 5, "v" * 65):
        refused = await intake.post("/v1/setup-complete", {"plugin_version": value})
        assert (refused.status, "plugin_version" in refused.message) == (400, True)
    body = {"plugin_version": "0.6.0", "key_prefix": ANA_KEY}
    answer = await intake.post("/v1/setup-complete", body)
    assert (answer.status, answer.body) == (204, b"")
    (event,) = house.events
    assert isinstance(event, SetupCompleted)
    assert (event.developer_id, event.plugin_version) == (ANA, "0.6.0")
    assert event.key_prefix == ANA_KEY[:12]
