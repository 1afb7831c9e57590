"""`/v1/admin/control/*`: the command line working through a running server."""

import msgspec
import pytest

from aggregates.capture.commands import CapturePrompt, CompleteSetup
from aggregates.capture.events import PromptCaptured
from aggregates.decide import AnyCommand
from aggregates.event import Done, Refused, Reply
from aggregates.ids import prompt_stream
from tests.support.log import named
from tests.support.people import ACME, ANA, OTHER
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
    foreign = CompleteSetup(organization_id=OTHER, developer_id=ANA, plugin_version="1")
    answer = await send(admin, a_prompt(1), foreign)
    assert (answer.status, "member" in answer.message) == (400, True)
    assert house.events == []


@pytest.mark.parametrize("body", [b"", b"\xc1", b"[]", msgspec.msgpack.encode([{"command": "unknown"}])])
async def test_bad_commands(house: House, admin: Caller, body: bytes) -> None:
    answer = await admin.post(CAPTURE, body, MSGPACK)
    assert (answer.status, "msgpack" in answer.message) == (400, True)
    assert house.events == []


async def test_commands_as_json(admin: Caller) -> None:
    """415: bytes and text do not mix in JSON."""
    assert (await admin.post(CAPTURE, [])).status == 415


async def test_a_batch_over_the_bound(admin: Caller) -> None:
    """16 MiB; more is 413."""
    answer = await admin.post(CAPTURE, b"\x00" * (16 * 1024 * 1024 + 1), MSGPACK)
    assert (answer.status, "16777216" in answer.message) == (413, True)


@pytest.mark.parametrize("body", [{}, {"rules": None}, {"rules": 2}])
async def test_a_replay(admin: Caller, body: object) -> None:
    idle = {"state": "none", "done": 0, "of": 0, "message": None}
    assert (await admin.get(REPLAY)).json == idle
    answer = await admin.post(REPLAY, body)
    assert (answer.status, answer.json) == (202, idle | {"state": "running"})
    assert (await admin.get(REPLAY)).json["state"] == "running"


@pytest.mark.parametrize(("rules", "status"), [(1, 404), (0, 400), (-1, 400), ("1", 400), (10**30, 400)])
async def test_a_replay_under_unknown_rules(admin: Caller, rules: object, status: int) -> None:
    """404 that says which there are, or 400 that says what a number is."""
    answer = await admin.post(REPLAY, {"rules": rules})
    assert (answer.status, "rule" in answer.message) == (status, True)
    assert (await admin.get(REPLAY)).json["state"] == "none"
