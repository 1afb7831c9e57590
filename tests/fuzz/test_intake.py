"""Intake takes or refuses everything as documented; what was taken can be replayed and read.

`make fuzz` tries many times as much; docs/security.md.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mill import MILL, Mill, drawn_ids
from tests.fuzz.odd import as_json, bent, damaged, examples, packed
from tests.support.otlp import SPAN, claude, log, logs, metrics, span, traces
from tests.support.people import NOW_US as CLOCK_US

DOCUMENTED = {200, 201, 204, 400, 404, 409, 413, 415}
"""What docs/wire.md says of intake, but for credentials, capacity and time."""
START_NANO = (CLOCK_US - 4 * 3_600_000_000) * 1_000
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


@examples(30)
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
