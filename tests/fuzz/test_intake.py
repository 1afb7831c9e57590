"""Intake, and the command line's batches, are taken or refused as documented; what was taken can be replayed and read.
`make fuzz` tries many times as much; docs/security.md."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec import inspect

from aggregates.capture.events import MetricsCaptured
from aggregates.event import Words
from aggregates.records.record import Point
from aggregates.telemetry.draft import Exchange
from svc.hook.captures import AGENTS, captured
from svc.hook.machine import Connection, OpenPrompt
from tests.fuzz.mill import MILL, Mill, drawn_ids
from tests.fuzz.odd import as_json, bent, damaged, examples, packed, values
from tests.support.basics import ACME, ANA, NOW_US, named
from tests.support.otlp import SPAN, claude, log, logs, metrics, span, traces

DOCUMENTED = {200, 201, 204, 400, 404, 409, 413, 415}
"""What docs/wire.md says of intake, but for credentials, capacity and time."""
START_NANO = (NOW_US - 4 * 3_600_000_000) * 1_000
GIVEN: dict[str, list[Any]] = json.loads(Path(__file__).with_name("bodies.json").read_text(encoding="utf-8"))


def _at(minutes: float) -> str:
    return str(START_NANO + int(minutes * 60e9))


def _timed(metric: dict[str, Any]) -> dict[str, Any]:
    """With the times of its points."""
    (container,) = (each for each in metric.values() if isinstance(each, dict))
    times = {"timeUnixNano": _at(5), "startTimeUnixNano": _at(0)}
    points = [times | point for point in container["dataPoints"]]
    return {key: each | {"dataPoints": points} if each is container else each for key, each in metric.items()}


def _logs() -> Iterator[Any]:
    events = list(enumerate(GIVEN["events of Claude Code"]))
    yield logs(*[claude(event, each, timeUnixNano=_at(number)) for number, (event, each) in events])
    for number, (event, each) in events:
        yield logs(claude(event, each, timeUnixNano=_at(number * 7)))
    for number, (event, each) in enumerate(GIVEN["events of others"]):
        record = log({"event.name": event} | each, timeUnixNano=_at(number), traceId="5b" * 16)
        yield logs(record, service=event.split(".")[0])


def _traces() -> Iterator[Any]:
    chat, tool = GIVEN["spans"]
    called = {"spanId": "aa" * 8, "parentSpanId": SPAN, "status": {"code": 2, "message": "no"}}
    yield traces(span("chat", chat, startTimeUnixNano=_at(3), endTimeUnixNano=_at(4)), span("tool", tool, **called))


KINDS: dict[str, list[Any]] = {
    **{path: GIVEN[path] for path in ("/v1/prompts", "/v1/prompts/response", "override", "title")},
    "/v1/logs": list(_logs()),
    "/v1/metrics": [metrics(_timed(metric)) for metric in GIVEN["metrics"]],
    "/v1/traces": list(_traces()),
}


class Move(NamedTuple):
    """One request; an override or title is about the newest sub-session there is."""

    path: str
    body: bytes
    headers: dict[str, str]


@st.composite
def moves(draw: st.DrawFn) -> Move:
    """One request of any kind, more or less as it should be."""
    paths = ("/v1/prompts", "/v1/prompts/response", "/v1/logs", "/v1/logs", "/v1/metrics", "/v1/traces", "override")
    path = draw(st.sampled_from((*paths, "title")))
    body = as_json(draw(bent(KINDS[path])), escaped=draw(st.booleans()))
    return Move(path, *draw(packed(draw(damaged(body)))))


async def sent(mill: Mill, move: Move) -> int:
    """The status of the answer; what is about a sub-session where there is none is not sent."""
    headers = {"Content-Type": "application/json"} | move.headers
    if move.path.startswith("/"):
        return (await mill.intake.post(move.path, move.body, headers)).status
    rows = (await mill.api.get("/v1/score_v3/realtime/sub-sessions")).json
    if not rows:
        return 200
    name = rows[0]["sub_session_id"]
    if move.path == "title":
        return (await mill.api.call("PATCH", f"/v1/score_v3/sub-sessions/{name}", move.body, headers)).status
    return (await mill.api.post(f"/v1/sub-sessions/{name}/override", move.body, headers)).status


@examples(15)
@given(st.lists(moves(), min_size=1, max_size=6), st.randoms(use_true_random=False))
async def test_what_is_taken_can_be_derived_replayed_and_read(history: list[Move], chance: Random) -> None:
    """Odd shapes, damaged bodies and torn gzip among requests as they should be."""
    mill = MILL.empty()
    with drawn_ids(chance):
        found = [await sent(mill, move) for move in history]
    assert set(found) <= DOCUMENTED
    await mill.check(chance)


async def test_the_examples_are_taken_as_they_stand() -> None:
    """Else there would be nothing to bend."""
    mill = MILL.empty()
    for path, bodies in KINDS.items():
        for body in bodies[:-1] if path == "/v1/prompts/response" else bodies:
            status = await sent(mill, Move(path, as_json(body), {}))
            assert status in (200, 201, 204) or path == "override", (path, body, status)
    await mill.check(Random(0))


# --- what a hook makes of a changed message --------------------------------------------------------------

AT = NOW_US / 1e6
CONNECTION = Connection("claude-code", "http://127.0.0.1:9", "svc_key")
_COMMON = {"session_id": "s1", "cwd": "/home/ana/shop", "prompt_id": "p1", "timestamp": "2026-08-01T09:00:00Z"}
TOLD: list[Any] = [call | _COMMON for call in GIVEN["calls of hooks"]]


@examples(20)
@given(st.lists(st.tuples(st.sampled_from(AGENTS), bent(TOLD)), min_size=1, max_size=4), st.randoms())
async def test_what_a_hook_sends_is_taken(calls: list[tuple[str, Any]], chance: Random) -> None:
    """No call breaks, and nothing is sent that intake would refuse for good, which would lose it."""
    mill = MILL.empty()
    remembered: dict[str, OpenPrompt] = {}
    for number, (agent, told) in enumerate(calls):
        if not isinstance(told, dict):
            continue
        with drawn_ids(chance):
            found = captured(CONNECTION, agent, told, remembered.get, AT + number)
        if found is None:
            continue
        known = remembered.get(found.session, OpenPrompt(str(UUID(int=1)), AT))
        remembered[found.session], letter = found.prompt or known, found.letter
        if letter is None:
            continue
        answer = await mill.intake.post(letter.path, json.dumps(letter.body).encode())
        refused = answer.status == 404 and found.kind == "response"
        assert answer.status in (200, 201, 204) or refused, (letter, answer)
        assert b"partialSuccess" not in answer.body, (letter, answer)
    if chance.random() < 0.2:
        await mill.check(chance)


@pytest.mark.parametrize("session", ["\0", "half \ud83d", "\ufffd"])
def test_a_session_of_a_broken_name_is_none(session: str) -> None:
    """Mended it would be taken for another one that is broken elsewhere, and what it sends would be refused."""
    assert captured(CONNECTION, "claude-code", TOLD[5] | {"session_id": session}, lambda session: None, AT) is None


@pytest.mark.parametrize("duration", [float("nan"), float("inf"), -1, 10**40, "12", None])
async def test_a_duration_that_is_none_is_left_out(duration: object) -> None:
    """The tool call is told all the same."""
    found = captured(CONNECTION, "claude-code", TOLD[4] | {"duration_ms": duration}, lambda session: None, AT)
    assert found is not None
    assert found.letter is not None
    assert "duration_ms" not in str(found.letter.body)
    assert (await MILL.empty().intake.post(found.letter.path, found.letter.body)).json == {}


# --- every exchange that the importer's types allow --------------------------------------------------------

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


EXCHANGES = st.lists(values(inspect.type_info(Exchange), _leaf), min_size=1, max_size=3)


@examples(30)
@given(EXCHANGES, st.randoms(use_true_random=False))
async def test_what_the_importer_may_send_can_be_replayed(exchanges: list[Any], chance: Random) -> None:
    """200 with what became of each, or 400."""
    mill = MILL.empty()
    answer = await mill.intake.post("/v1/import", msgspec.json.encode({"source": "codex", "exchanges": exchanges}))
    assert answer.status in (200, 400)
    await mill.check(chance)


@pytest.mark.parametrize("origin", [-1, 0, 7])
async def test_a_point_whose_export_does_not_hold_it_is_shown_without_attributes(origin: int) -> None:
    point = Point(record_id="r", at_us=NOW_US - _HOUR_US, name="lines", kind="sum", origin=origin, value=1.0)
    command = MetricsCaptured(
        organization_id=ACME,
        developer_id=ANA,
        agent_session_id=None,
        source="claude-code",
        decoder_version=1,
        points=(point,),
        raw=Words("{}"),
    )
    mill = MILL.empty()
    await mill.send(command)
    (shown,) = (await mill.api.get("/v1/telemetry/metrics")).json["records"]
    assert shown["attributes_json"] in (None, "{}")
