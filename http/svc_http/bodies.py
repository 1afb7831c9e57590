"""Request bodies: bounded, unpacked, and decoded into typed values; every fault is a 4xx that names its place."""

import json
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple, TypeVar

import msgspec
import trio
from hypercorn.typing import ASGIReceiveCallable
from quart_trio.wrappers import TrioRequest
from quart_trio.wrappers.request import TrioBody
from werkzeug.exceptions import RequestEntityTooLarge

from svc_http.errors import HttpError, bad_request, too_large

T = TypeVar("T")

FRAME_BYTES_MAX = 4 * 1024 * 1024
"""A body as sent, and again as unpacked; the contract's figure for the prompt routes."""

EXPORT_BYTES_MAX = 16 * 1024 * 1024
"""A telemetry export as sent."""

EXPORT_UNPACKED_BYTES_MAX = 64 * 1024 * 1024
"""A telemetry export as unpacked; what OTLP recommends."""

CONTROL_BYTES_MAX = 16 * 1024 * 1024
"""Commands from the command line come in batches."""

DISCARD_BYTES_MAX = 64 * 1024 * 1024
DISCARD_SECONDS_MAX = 10.0
"""How much of a refused body is still read, and how long. A client that is answered while it sends sees its
connection reset, not the answer."""

GZIP_PIECE_BYTES = 1024 * 1024
"""How much is unpacked at once while a body is measured."""

GZIP_STREAMS_MAX = 16
"""What follows a gzip stream is copied for the next one, so many small ones would cost time without end."""

BODY_SECONDS_MAX = 60.0
"""How long a body may take to arrive."""

_GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS


class ClientGone(Exception):
    """The client hung up before its request had arrived."""


class BoundedBody(TrioBody):
    """A body that is taken in when somebody wants it, and of which no more is kept than its bound."""

    def __init__(self, expected_content_length: int | None, max_content_length: int | None) -> None:
        super().__init__(expected_content_length, max_content_length)
        self._announced_bytes = expected_content_length or 0
        self._received_bytes = 0
        self._arrived = expected_content_length is not None and expected_content_length > DISCARD_BYTES_MAX
        self._too_large = self._must_raise is not None
        self._receive: ASGIReceiveCallable | None = None
        self.ended = False
        """Whether the last piece was seen; a body that is refused unread has not ended."""

    def receive_from(self, receive: ASGIReceiveCallable) -> None:
        """Where the pieces come from."""
        self._receive = receive

    def bound(self, bytes_max: int) -> None:
        """Keep no more than this; the listener's own bound is for its largest route."""
        self._max_content_length = bytes_max
        if max(self._announced_bytes, self._received_bytes) > bytes_max:
            self._too_large = True
            self._data.clear()

    async def whole(self) -> bytes:
        """All of it. Raises `RequestEntityTooLarge`, `trio.TooSlowError` or `ClientGone`."""
        with trio.fail_after(BODY_SECONDS_MAX):
            while not self._too_large and not self._arrived:
                await self._take_next()
        if self._too_large:
            raise RequestEntityTooLarge
        return bytes(self._data)

    async def discard(self) -> None:
        """Let the rest arrive without keeping it, within bounds."""
        self._too_large = True
        self._data.clear()
        with trio.move_on_after(DISCARD_SECONDS_MAX):
            while not self._arrived:
                await self._take_next()

    async def _take_next(self) -> None:
        assert self._receive is not None, "a body is read only of a request that came in"
        message = await self._receive()
        if message["type"] != "http.request":
            self._arrived = True
            raise ClientGone
        # Both members may be left out, says ASGI, whatever the types of hypercorn say.
        self._take(message.get("body", b""))
        if not message.get("more_body", False):
            self._arrived = self.ended = True

    async def drain(self) -> None:
        """Drop whatever still comes, until the client is gone or this is cancelled."""
        with suppress(ClientGone):
            while True:
                await self._take_next()

    def _take(self, data: bytes) -> None:
        self._received_bytes += len(data)
        if self._max_content_length is not None and self._received_bytes > self._max_content_length:
            self._too_large = True
        if self._too_large:
            self._data.clear()
            self._arrived = self._received_bytes > DISCARD_BYTES_MAX
        else:
            self._data.extend(data)


class Request(TrioRequest):
    """A request whose body is bounded."""

    body_class = BoundedBody
    body: BoundedBody


async def read_json(request: Request, decoder: msgspec.json.Decoder[T]) -> T:
    """The body as a typed value. Raises `HttpError`: 415, 413 or 400, in this order."""
    check_content_type(request, "application/json")
    return decoded(decoder, await read_body(request, FRAME_BYTES_MAX))


async def read_msgpack(request: Request, decoder: msgspec.msgpack.Decoder[T]) -> T:
    """The same for msgpack, which only the command line sends."""
    check_content_type(request, "application/msgpack")
    data = await read_body(request, CONTROL_BYTES_MAX)
    try:
        value = decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_request(f"the request body is not the msgpack that was expected: {error}") from error
    if _LARGE.search(data) and _largest(msgspec.msgpack.decode(data)) >= 2**63:
        raise bad_request("the request body holds an integer of 2^63 or more; no table takes that")
    return value


_LARGE = re.compile(rb"\xcf[\x80-\xff]")
"""How msgpack begins an integer from 2^63 on; Greek letters begin so as well."""


def _largest(value: object) -> int:
    """The largest integer in a value; 0 where there is none."""
    largest, waiting = 0, [value]
    while waiting:
        match waiting.pop():
            case int() as number:
                largest = max(largest, number)
            case list() as items:
                waiting.extend(items)
            case dict() as members:
                waiting.extend(members.values())
            case _:
                pass
    return largest


def check_content_type(request: Request, expected: str) -> None:
    """Raises `HttpError` 415. None counts as the right one."""
    sent = request.headers.get("Content-Type", expected)
    if sent == expected:
        return
    if request.mimetype != expected or request.mimetype_params.get("charset", "utf-8").lower() != "utf-8":
        raise HttpError(415, f"the content type must be {expected} in UTF-8, not {sent!r}")


async def read_body(request: Request, bytes_max: int) -> bytes:
    """The body, unpacked; never more than the bound, as sent or unpacked."""
    sent = await read_sent(request, bytes_max)
    return gunzip(sent.data, bytes_max) if sent.is_gzip else sent.data


class Sent(NamedTuple):
    """A body as it was sent."""

    data: bytes
    is_gzip: bool


async def read_sent(request: Request, bytes_max: int) -> Sent:
    """The body as it was sent, and no more than the bound of it."""
    coding = request.headers.get("Content-Encoding", "identity").lower()
    if coding not in ("gzip", "identity"):
        raise HttpError(415, f"the content encoding must be gzip or identity, not {coding!r}")
    return Sent(await _arrived(request, bytes_max), coding == "gzip")


async def _arrived(request: Request, bytes_max: int) -> bytes:
    request.body.bound(bytes_max)
    try:
        data = await request.body.whole()
    except RequestEntityTooLarge as error:
        raise too_large(bytes_max) from error
    except trio.TooSlowError as error:
        raise HttpError(408, f"the request body did not arrive within {BODY_SECONDS_MAX} s") from error
    if len(data) > bytes_max:
        raise too_large(bytes_max)
    return data


def gunzip(data: bytes, bytes_max: int) -> bytes:
    """Unpack one gzip stream, or a few in a row. What would unpack to more than the bound is never held: it is measured
    first, piece by piece."""
    size = 0
    for piece in _unpacked(data):
        size += len(piece)
        if size > bytes_max:
            raise too_large(bytes_max)
    return b"".join(_unpacked(data))


def _unpacked(data: bytes) -> Iterator[bytes]:
    """What the streams hold, in pieces of a bounded size. Raises `HttpError` 400 where they are broken."""
    for _ in range(GZIP_STREAMS_MAX):
        stream = zlib.decompressobj(_GZIP_WINDOW_BITS)
        while not stream.eof:
            try:
                piece = stream.decompress(data, GZIP_PIECE_BYTES)
            except zlib.error as error:
                raise bad_request(f"the request body is no valid gzip stream: {error}") from error
            data = stream.unconsumed_tail
            if not piece and not data and not stream.eof:
                raise bad_request("the gzip stream of the request body breaks off; send it whole")
            yield piece
        data = stream.unused_data
        if not data:
            return
    raise bad_request(f"the request body is cut into more than {GZIP_STREAMS_MAX} gzip streams; send one")


def gunzip_small(data: bytes, bytes_max: int) -> bytes | None:
    """One whole gzip stream that unpacks to no more than the bound; None for anything else."""
    stream = zlib.decompressobj(_GZIP_WINDOW_BITS)
    try:
        unpacked = stream.decompress(data, bytes_max + 1)
    except zlib.error:
        return None
    return unpacked if stream.eof and not stream.unused_data and len(unpacked) <= bytes_max else None


def decoded(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """The value that JSON text holds, without NUL in any text of a known field. Raises `HttpError` 400."""
    try:
        value = _typed(decoder, data)
    except msgspec.ValidationError as error:
        raise bad_request(f"the request body does not fit: {error}") from error
    except RecursionError as error:
        raise bad_request("the request body is nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request(_unreadable(data, error)) from error
    if b"\\u0000" in data:
        _refuse_nul(value)
    return value


def _typed(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """The value, where 3.0 is an integer as 3 is: JSON knows no difference. Raises what msgspec raises."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        if "`float`" not in str(error):
            raise
    return decoder.decode(_FLOAT_OR_TEXT.sub(_as_integer, data))


_FLOAT_OR_TEXT = re.compile(
    rb'"(?:[^"\\]|\\.)*+"|-?[0-9]++(?:\.[0-9]++(?:[eE][+-]?[0-9]++)?|[eE][+-]?[0-9]++)', re.DOTALL
)
_INTEGER_END = 2.0**63


def _as_integer(found: re.Match[bytes]) -> bytes:
    """A number that is whole, written as one; anything else as it was."""
    token = found[0]
    if token.startswith(b'"') or not abs(number := float(token)) < _INTEGER_END or not number.is_integer():
        return token
    return b"%d" % int(number)


_SURROGATE = re.compile("[\ud800-\udfff]")


def _unreadable(data: bytes, error: Exception) -> str:
    """What keeps the text from being read; a lone surrogate by the name of its field."""
    try:
        texts = list(_texts(json.loads(data)))
    except (ValueError, RecursionError):
        return f"the request body is not JSON in UTF-8: {error}"
    for place, text in texts:
        if _SURROGATE.search(text):
            return f"{place} holds a lone surrogate, half of a character; send whole characters"
    return f"the request body is not JSON: {error}"


def _refuse_nul(value: object) -> None:
    """What is not known is not kept, so nothing in it does harm; what is kept raw is looked at where it is read."""
    for place, text in _texts(msgspec.to_builtins(value, enc_hook=lambda _raw: None)):
        if "\0" in text:
            raise bad_request(f"{place} holds a NUL character; send the text without it")


def _texts(value: object) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, keys too, with its place; without recursion, since depth comes from outside."""
    waiting: list[tuple[str, object]] = [("$", value)]
    while waiting:
        place, value = waiting.pop()
        match value:
            case str():
                yield place, value
            case list():
                waiting.extend((f"{place}[{index}]", each) for index, each in enumerate(value))
            case dict():
                yield from ((f"a key of {place}", key) for key in value)
                waiting.extend((f"{place}.{key}", each) for key, each in value.items())
            case _:
                pass
