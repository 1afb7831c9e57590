"""Every batch that the command line's types allow is taken or refused as documented, then derived and read."""

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from aggregates.capture.events import (
    CaptureMetrics,
    CapturePrompt,
    CaptureRecords,
    CaptureResponse,
    CompleteSetup,
)
from aggregates.decide import AnyCommand
from aggregates.event import Reply
from aggregates.records.record import Point
from aggregates.sub_sessions.sub_session import EditTitle
from tests.fuzz.mill import MILL, Mill
from tests.fuzz.odd import examples, values
from tests.support.log import named
from tests.support.people import ACME, ANA, NOW_US

KINDS: tuple[type[AnyCommand], ...] = (
    *(CapturePrompt, CaptureResponse, CaptureRecords, CaptureRecords, CaptureMetrics, EditTitle, CompleteSetup),
)
_MSGPACK = {"Content-Type": "application/msgpack"}
_HOUR_US = 3_600_000_000
_INTEGERS = st.sampled_from([0, 1, 5, 900, 2**31, 2**53, 2**63 - 1, -1, -(2**63), 2**64 - 1]) | st.integers(0, 40)
_TIMES = st.integers(0, 20).map(lambda step: NOW_US - 6 * _HOUR_US + step * _HOUR_US // 4) | _INTEGERS
_TEXTS = st.sampled_from(
    ["s1", "s1", "s2", "p1", "", "x", "\0", "<b>", "Fix src/app.py and run pytest", "thanks", "m", "{}", "[", "é" * 80]
)
_LEAVES: dict[type[inspect.Type], st.SearchStrategy[Any]] = {
    inspect.BoolType: st.booleans(),
    inspect.BytesType: st.binary(max_size=20),
    inspect.FloatType: st.sampled_from([0.0, -1.0, 2.5, 1e300, float("inf"), float("nan")]),
    inspect.IntType: _INTEGERS,
    inspect.NoneType: st.none(),
    inspect.StrType: _TEXTS,
    inspect.UUIDType: st.sampled_from([named("one"), named("two")]),
}


def _leaf(kind: inspect.Type, name: str) -> st.SearchStrategy[Any] | None:
    """Odd ones among them."""
    return _TIMES if name.endswith("_us") and isinstance(kind, inspect.IntType) else _LEAVES.get(type(kind))


def _of_ana(command: Any) -> AnyCommand:
    found: AnyCommand = msgspec.structs.replace(command, organization_id=ACME, developer_id=ANA)
    return found


COMMANDS = st.one_of(*(values(inspect.type_info(kind), _leaf) for kind in KINDS)).map(_of_ana)


@examples(20)
@given(st.lists(COMMANDS, min_size=1, max_size=6), st.randoms(use_true_random=False))
async def test_what_the_command_line_may_send_can_be_replayed(commands: list[AnyCommand], chance: Random) -> None:
    """200 with a reply to each, or 400."""
    mill = MILL.empty()
    body = msgspec.msgpack.encode(commands)
    answer = await mill.admin.post("/v1/admin/control/capture", body, _MSGPACK)
    assert answer.status in (200, 400), answer
    await mill.check(chance)


@pytest.mark.parametrize("text", ["\u03c0\u03d1 in Greek", "plain"])
async def test_an_integer_that_no_table_takes_is_refused(text: str) -> None:
    """With the whole batch; letters whose bytes look like one are none."""
    mill = MILL.empty()
    common: dict[str, Any] = {"organization_id": ACME, "developer_id": ANA, "prompt_id": named("one"), "source": text}
    command = CapturePrompt(agent_session_id="s1", text=text, original_char_count=2**63 - 1, **common)
    large = msgspec.structs.replace(command, original_char_count=2**63)
    for sent, status in ((large, 400), (command, 200)):
        body = msgspec.msgpack.encode([sent])
        assert (await mill.admin.post("/v1/admin/control/capture", body, _MSGPACK)).status == status
        assert bool(mill.events) == (status == 200)


async def replies(mill: Mill, *commands: AnyCommand) -> list[Reply]:
    answer = await mill.admin.post("/v1/admin/control/capture", msgspec.msgpack.encode(commands), _MSGPACK)
    assert answer.status == 200, answer
    return msgspec.msgpack.decode(answer.body, type=list[Reply])


@pytest.mark.parametrize("content", [{"output_tokens": 2**53}, {"elapsed_ms": 1e300}, {"cost_usd": 1e300}], ids=str)
async def test_a_figure_no_response_can_have_is_refused(content: dict[str, float]) -> None:
    """With the whole batch: rounded to a whole number, it would fit no event."""
    mill = MILL.empty()
    common = {"organization_id": ACME, "developer_id": ANA, "prompt_id": named("one"), "type": "capture-response"}
    body = msgspec.msgpack.encode([{**common, "content": content}])
    assert (await mill.admin.post("/v1/admin/control/capture", body, _MSGPACK)).status == 400
    assert not mill.events


@pytest.mark.parametrize("origin", [-1, 0, 7])
async def test_a_point_whose_export_does_not_hold_it_is_shown_without_attributes(origin: int) -> None:
    point = Point(record_id="r", at_us=NOW_US - _HOUR_US, name="lines", kind="sum", origin=origin, value=1.0)
    command = CaptureMetrics(
        organization_id=ACME,
        developer_id=ANA,
        agent_session_id=None,
        source="claude-code",
        decoder_version=1,
        points=(point,),
        raw="{}",
    )
    mill = MILL.empty()
    await replies(mill, command)
    (shown,) = (await mill.api.get("/v1/telemetry/metrics")).json["records"]
    assert shown["attributes_json"] in (None, "{}")
