"""What a body costs while it is refused: memory in proportion to its bytes, whatever its shape."""

import gzip
import tracemalloc
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest
from quart import Request

from svc_http.bodies import FRAME_BYTES_MAX, Body, HttpError, decoded
from tests.svc_http.house import Caller, House


class _Body(msgspec.Struct):
    text: str


_BODY = msgspec.json.Decoder(_Body)
_BROKEN: dict[str, Callable[[int], bytes]] = {
    "zeros": lambda size: b'{"text":"\\ud800x","more":[' + b"0," * (size // 2) + b"0]}",
    "zeros far down": lambda size: (
        b'{"a":' + b"[" * 900 + b"0," * (size // 2) + b"0" + b"]" * 900 + b',"text":"\\ud800x"}'
    ),
    "lists": lambda size: b"[" + b"[]," * (size // 3) + b'"\\ud800x"]',
    "objects": lambda size: b"[" + b'{"a":0},' * (size // 8) + b'"\\ud800x"]',
    "long keys": lambda size: b'{"' + b"k" * (size // 2) + b'":[' + b"0," * (size // 4) + b'"\\ud800x"]}',
    "a NUL at the end": lambda size: b'{"text":"' + b"x" * size + b'\\u0000"}',
    "no JSON": lambda size: b'{"text":' + b"[" * size,
}


def _peak_bytes(refused: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(HttpError) as error:
            refused()
        assert error.value.status == 400
        assert len(error.value.message) < 1_000, "a message does not repeat the body"
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("shape", _BROKEN)
def test_what_cannot_be_read_takes_memory_like_its_bytes(shape: str) -> None:
    small, large = _BROKEN[shape](32 * 1024), _BROKEN[shape](FRAME_BYTES_MAX)
    assert _peak_bytes(lambda: decoded(_BODY, large)) < 3 * len(large)
    assert _peak_bytes(lambda: decoded(_BODY, small)) < 40 * len(small), "a small one is built to name the field"


def test_a_lone_surrogate_is_told_by_its_field() -> None:
    with pytest.raises(HttpError) as error:
        decoded(_BODY, b'{"other":[{"a":1},{"b":["x","\\ud800y"]}],"text":"t"}')
    assert error.value.message.startswith("$.other[1].b[1] holds a lone surrogate")


@pytest.mark.parametrize("values", [b"0,", b"{},", b"null,"])
async def test_countless_values_are_413_before_they_are_built(house: House, intake: Caller, values: bytes) -> None:
    body = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[' + values * 1_200_000 + b"0]}]}]}"
    answer = await intake.post("/v1/logs", gzip.compress(body, 1), {"Content-Encoding": "gzip"})
    assert (answer.status, house.events) == (413, [])
    assert "more than 1000000 values" in answer.message


async def test_commas_in_a_text_are_no_values(house: House, intake: Caller) -> None:
    text = ",".join(["1"] * 1_100_000)
    answer = await intake.post("/v1/logs", b'{"resourceLogs":[{"x":"' + text.encode() + b'\\"","scopeLogs":[]}]}')
    assert answer.status == 200


async def test_a_body_of_countless_pieces_takes_memory_like_its_bytes() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(50_000):
            yield b"ab"

    body = Body(cast(Request, SimpleNamespace(headers={}, content_length=None, body=pieces())))
    tracemalloc.start()
    try:
        assert (await body.sent(FRAME_BYTES_MAX)).data == b"ab" * 50_000
        assert tracemalloc.get_traced_memory()[1] < 5 * 100_000
    finally:
        tracemalloc.stop()
        body.release()
