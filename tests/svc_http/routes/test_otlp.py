"""`POST /v1/logs`, `/v1/metrics`, `/v1/traces`: what agents export is taken in, or refused with a reason."""

import gzip
import tracemalloc
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from aggregates.capture.events import ForeignSessionAttempted, MetricsCaptured, RecordsCaptured, TracesCaptured
from aggregates.decide import AnyCommand
from aggregates.event import Reply, Unavailable
from svc_http import bodies
from svc_http.app import build_intake
from svc_http.bodies import EXPORT_BYTES_MAX, GZIP_PIECE_BYTES, INLINE_BYTES_MAX, HttpError, gunzip
from svc_http.routes import otlp
from tests.support.basics import ANA_KEY, EVE_KEY
from tests.support.otlp import claude, counter, logs, metrics, span, traces
from tests.support.tables import each_of
from tests.svc_http.house import Caller, House, bearer, over
from tests.svc_http.test_sockets import listening

GZIP = {"Content-Encoding": "gzip"}
BAD = {"traceId": "soon"}


def captured(house: House) -> list[RecordsCaptured | MetricsCaptured]:
    return [event for event in house.events if isinstance(event, RecordsCaptured | MetricsCaptured)]


def large(*records: object) -> bytes:
    """An export that is not read on the loop."""
    filler = [claude("tool_decision", {"filler": "x" * 2_000, "n": number}) for number in range(200)]
    return msgspec.json.encode(logs(*filler, *records))


# --- taken ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "export", "kind"),
    [
        ("/v1/logs", logs(claude("user_prompt", {"prompt": "Fix it"})), RecordsCaptured),
        ("/v1/traces", traces(span("chat", {"gen_ai.conversation.id": "v1"})), TracesCaptured),
        (
            "/v1/metrics",
            metrics(counter("claude_code.commit.count", {"asInt": 1}, {"session.id": "s1"})),
            MetricsCaptured,
        ),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
async def test_an_export_is_on_disk_once_it_is_answered(
    house: House, intake: Caller, path: str, export: dict[str, Any], kind: type, packed: bool
) -> None:
    """And the answer is an empty object; a retry adds nothing."""
    body = msgspec.json.encode(export)
    for _ in range(2):
        answer = await intake.post(path, gzip.compress(body) if packed else body, GZIP if packed else {})
        assert (answer.status, answer.body) == (200, b"{}")
        assert answer.headers["Content-Type"] == "application/json"
    assert [type(event) for event in captured(house)] == [kind]


@pytest.mark.parametrize("body", [b"{}", b' {"other": [1]} ', b'{"resourceLogs": null, "resourceSpans": []}'])
async def test_an_empty_export_is_fine(house: House, intake: Caller, body: bytes) -> None:
    for path in ("/v1/logs", "/v1/traces", "/v1/metrics"):
        answer = await intake.post(path, body)
        assert (answer.status, answer.body, house.events) == (200, b"{}", [])


async def test_a_large_export_is_taken_like_a_small_one(house: House, intake: Caller) -> None:
    """In the worker; its single faults are counted, and a retry adds nothing."""
    sessions = [claude("api_request", {"session.id": f"s{number}"}) for number in range(2, 70)]
    body = large(BAD, *sessions, claude("user_prompt", {"prompt": "Fix it"}))
    assert len(body) > otlp.INLINE_BYTES_MAX
    for packed in (False, True):
        answer = await intake.post("/v1/logs", gzip.compress(body) if packed else body, GZIP if packed else {})
        assert (answer.status, answer.json["partialSuccess"]["rejectedLogRecords"]) == (200, "1")
        message = answer.json["partialSuccess"]["errorMessage"]
        assert "resourceLogs[0].scopeLogs[0].logRecords[200]: Expected" in message
        assert "at `$.traceId`; in OTLP JSON ids are hexadecimal digits and not base64" in message
    assert {event.agent_session_id for event in captured(house)} == {f"s{number}" for number in range(1, 70)}
    event = next(each for each in captured(house) if each.agent_session_id == "s1")
    assert isinstance(event, RecordsCaptured)
    assert (len(event.records), event.records[-1].kind) == (201, "prompt")


# --- partly taken ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "export", "rejected", "place"),
    [
        ("/v1/logs", logs({"timeUnixNano": "soon"}, BAD, None), {"rejectedLogRecords": "2"}, "logRecords[1]"),
        ("/v1/traces", traces(span("a", {}), {"traceId": "x"}), {"rejectedSpans": "1"}, "spans[1]"),
        (
            "/v1/metrics",
            metrics(counter("a", {"asInt": 1}), counter("b", {"attributes": 5})),
            {"rejectedDataPoints": "1"},
            "metrics[1].sum.dataPoints[0]",
        ),
        ("/v1/metrics", metrics(counter("a", {"asInt": 1.5})), {"rejectedDataPoints": "0"}, "sum.dataPoints[0]"),
    ],
)
async def test_single_faults_are_counted_in_the_answer(
    house: House, intake: Caller, path: str, export: dict[str, Any], rejected: dict[str, str], place: str
) -> None:
    """200, for no client may send it again; the first fault is named by its place."""
    answer = await intake.post(path, export)
    assert answer.status == 200
    (name,) = rejected
    assert answer.json == {"partialSuccess": rejected | {"errorMessage": answer.json["partialSuccess"]["errorMessage"]}}
    message = answer.json["partialSuccess"]["errorMessage"]
    kept = (
        f"{rejected[name]} rejected, the rest is stored" if rejected[name] != "0" else "all are stored, less a number"
    )
    assert message.startswith(f"{kept}; the first: resource")
    assert place in message
    assert len(captured(house)) == 1


async def test_a_session_of_another_scope_is_refused_and_the_rest_kept(house: House, intake: Caller) -> None:
    """It is flagged once; nothing of it is stored."""
    eve = Caller(over(house, build_intake), bearer(EVE_KEY))
    assert (await eve.post("/v1/logs", logs(claude("user_prompt", {"session.id": "eves"})))).body == b"{}"
    mixed = logs(*[claude("api_request", {"session.id": "eves", "n": n}) for n in range(3)], claude("user_prompt"))
    for _ in range(2):
        answer = await intake.post("/v1/logs", mixed)
        assert answer.json["partialSuccess"]["rejectedLogRecords"] == "3"
        assert "agent session 'eves': it belongs to another developer" in answer.json["partialSuccess"]["errorMessage"]
    assert [event.agent_session_id for event in captured(house)] == ["eves", "s1"]
    assert sum(isinstance(event, ForeignSessionAttempted) for event in house.events) == 1


# --- refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff{}", b'{"resourceLogs": {}}', large()[:-1]])
async def test_what_is_no_otlp_json_is_400(house: House, intake: Caller, body: bytes) -> None:
    """As a whole, and for good: what breaks off is seen whole before any of it is stored."""
    answer = await intake.post("/v1/logs", body)
    assert (answer.status, house.events) == (400, [])
    assert "send OTLP JSON" in answer.message


async def test_protobuf_is_told_what_to_set(intake: Caller) -> None:
    answer = await intake.post("/v1/logs", b"{}", {"Content-Type": "application/x-protobuf"})
    assert (answer.status, "http/json" in answer.message) == (415, True)


@pytest.mark.parametrize("packed", [False, True])
async def test_a_body_beyond_its_bound_is_413(house: House, intake: Caller, packed: bool) -> None:
    """16 MiB, as sent and unpacked, for good, so without Retry-After; what is just within is taken."""
    for more, status in ((b"", 200), (b" ", 413)):
        body = b"{}" + b" " * (EXPORT_BYTES_MAX - 2) + more
        answer = await intake.post("/v1/logs", gzip.compress(body, 1) if packed else body, GZIP if packed else {})
        assert (answer.status, "Retry-After" in answer.headers) == (status, False)
    assert (str(EXPORT_BYTES_MAX) in answer.message, house.events) == (True, [])


async def test_too_many_records_are_413(house: House, intake: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of them is stored."""
    monkeypatch.setattr(otlp, "RECORDS_MAX", 3)
    records = [claude("api_request", {"n": number}) for number in range(4)]
    answer = await intake.post("/v1/logs", logs(*records))
    assert (answer.status, house.events) == (413, [])
    assert "holds 4 records, and may hold 3" in answer.message
    assert (await intake.post("/v1/logs", logs(*records[:3]))).body == b"{}"


@each_of([(256, EXPORT_BYTES_MAX, 3 * EXPORT_BYTES_MAX), (8, INLINE_BYTES_MAX, GZIP_PIECE_BYTES)])
def test_a_bomb_is_not_unpacked_whole(mebibytes: int, bytes_max: int, peak_bytes_max: int) -> None:
    """A quarter of a gibibyte of nothing takes no more memory than the largest body that is allowed."""
    mebibyte = bytes(1024 * 1024)
    packer = gzip.zlib.compressobj(1, gzip.zlib.DEFLATED, 31)  # type: ignore[attr-defined]
    bomb = b"".join(packer.compress(mebibyte) for _ in range(mebibytes)) + packer.flush()
    tracemalloc.start()
    try:
        with pytest.raises(HttpError) as refused:
            gunzip(bomb, bytes_max)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refused.value.status == 413
    assert peak_bytes < peak_bytes_max


# --- capacity -------------------------------------------------------------------------------------------------


class Tired(House):
    """Takes some commands, and then no more until it is asked again."""

    def __init__(self, takes: int) -> None:
        super().__init__()
        self.left = takes

    async def send(self, command: AnyCommand) -> Reply:
        if self.left == 0:
            raise Unavailable("tired")
        self.left -= 1
        return await super().send(command)


@pytest.mark.parametrize("padding", [b"", b" " * otlp.INLINE_BYTES_MAX])
async def test_what_was_stored_before_a_503_is_stored_once(padding: bytes) -> None:
    """The retry stores the rest."""
    tired = Tired(takes=5)
    caller = Caller(over(tired, build_intake), bearer())
    export = logs(*(claude("api_request", {"session.id": f"s{number}"}) for number in range(9)))
    body = msgspec.json.encode(export) + padding
    assert (await caller.post("/v1/logs", body)).status == 503
    assert len(captured(tired)) == 5
    tired.left = -1
    assert (await caller.post("/v1/logs", body)).body == b"{}"
    assert sorted(str(event.agent_session_id) for event in captured(tired)) == [f"s{number}" for number in range(9)]


async def test_of_many_large_exports_few_wait(house: House, intake: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond, 503 at once, with the time after which to try again; what was given back is there for the next."""
    body = large()
    monkeypatch.setattr(bodies, "BODIES_BYTES_MAX", 2 * (len(body) - bodies.SMALL_BYTES_MAX))
    statuses: list[int] = []

    async def post() -> None:
        statuses.append((await intake.post("/v1/logs", body)).status)

    for _ in range(2):
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(post)
    assert sorted(statuses) == [200] * 4 + [503] * 6
    assert bodies.Body.all_held_bytes == 0
    monkeypatch.setattr(bodies, "BODIES_BYTES_MAX", 0)
    assert (await intake.post("/v1/logs", body)).status == 503
    assert (await intake.post("/v1/logs", logs(claude("user_prompt")))).status == 200, "a small one passes"


@pytest.mark.parametrize("end", ["whole", "late", "broken"])
async def test_what_arrives_counts_until_done(house: House, autojump_clock: trio.testing.MockClock, end: str) -> None:
    """However it ends: answered, too slow, or not to be read."""
    app = over(house, build_intake)
    sizes: list[int] = []
    piece = b" " * (bodies.SMALL_BYTES_MAX + 1_000)
    async with app.test_client().request("/v1/logs", method="POST", headers=bearer()) as connection:
        await connection.send(piece)
        await trio.sleep(1)  # of the test's clock: large bodies arrive at a pace
        sizes.append(bodies.Body.all_held_bytes)
        if end == "late":
            await trio.sleep(bodies.BODY_SECONDS_MAX + 1)
        else:
            await connection.send(b"{}" if end == "whole" else b"{")
            await connection.send_complete()
    assert sizes == [1_000]
    assert bodies.Body.all_held_bytes == 0


async def test_a_chunked_body_without_its_length_is_normal(house: House, nursery: trio.Nursery) -> None:
    """So JavaScript's exporters send it; the connection serves the next one, too."""
    head = f"POST /v1/logs HTTP/1.1\r\nHost: svc\r\nAuthorization: Bearer {ANA_KEY}\r\nContent-Type: application/json"
    async with listening(house, nursery) as address, await trio.open_tcp_stream(*address) as stream:
        for number, body in enumerate((msgspec.json.encode(logs(claude("user_prompt"))), large())):
            await stream.send_all(f"{head}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            for start in range(0, len(body), 1_000):
                piece = body[start : start + 1_000]
                await stream.send_all(b"%x\r\n%b\r\n" % (len(piece), piece))
            await stream.send_all(b"0\r\n\r\n")
            answer = b""
            while not answer.endswith(b"{}"):
                answer += await stream.receive_some()
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert len(captured(house)) == number + 1
