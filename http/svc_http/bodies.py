"""Bodies of requests, bounded and decoded; answers; errors as `{code, message}` that never carry internals."""

import json
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple, TypeVar
from urllib.parse import parse_qs

import msgspec
import trio
from quart import Request
from quart_trio.wrappers import TrioResponse
from werkzeug.exceptions import RequestEntityTooLarge

from aggregates.event import Reason, Refused
from svc_http.ports import CpuTime, beside

T = TypeVar("T")
Form = Mapping[str, str]

RETRY_AFTER_SECONDS = 5  # what a full mailbox or an unwritable store asks a client to wait; the contract's figure
FRAME_BYTES_MAX = 4 * 1024 * 1024  # a body as sent, and again as unpacked; the contract's figure for the prompt routes
EXPORT_BYTES_MAX = 16 * 1024 * 1024  # a telemetry export as sent, and again as unpacked; the largest seen has 1.3 MB
INLINE_BYTES_MAX = 64 * 1024  # bodies that are decoded on the loop: a few milliseconds at most
BODIES_BYTES_MAX = 48 * 1024 * 1024  # all together while they arrive and are worked on: slow senders fill no memory
SMALL_BYTES_MAX = 64 * 1024  # of each body, uncounted and at its own pace: captures pass while exports wait for room
GZIP_PIECE_BYTES = 1024 * 1024  # how much is unpacked at once, at most
GZIP_STREAMS_MAX = 16  # what follows one is copied for the next, so many small ones would cost time without end
AT_ONCE_MAX = 8  # POST requests of one developer that are worked at together; further ones wait in line
FORM_BYTES_MAX = 256 * 1024  # a form of a page holds names, dates and at most one prompt
FORM_FIELDS_MAX = 32
BODY_SECONDS_MAX = 60.0  # how long a body may take to arrive
_GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS


# --- answers and errors ---------------------------------------------------------------------------------------


class HttpError(Exception):
    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers or {}


class ErrorBody(msgspec.Struct):
    code: int
    message: str


_ENCODER = msgspec.json.Encoder()
_STATUS_OF = {
    Reason.NOT_FOUND: 404,
    Reason.CONFLICT: 409,
    Reason.FOREIGN_SESSION: 409,
    Reason.INVALID: 400,
    Reason.WITHHELD: 403,
}


def accepted(reply: T | Refused) -> T:
    if isinstance(reply, Refused):
        raise HttpError(_STATUS_OF[reply.reason], reply.message)
    return reply


def found(value: T | None, missing: str) -> T:
    """What is there. Raises `HttpError` 404 where nothing is, with the message."""
    if value is None:
        raise HttpError(404, missing)
    return value


def unauthorized(message: str) -> HttpError:
    return HttpError(401, message, {"WWW-Authenticate": "Bearer"})


def too_large(bytes_max: int) -> HttpError:
    """413: for good, so without Retry-After."""
    return HttpError(413, f"the request body is larger than {bytes_max} bytes, as sent or unpacked; send less")


def unavailable(message: str) -> HttpError:
    """503: the same request may succeed soon."""
    return HttpError(503, message, {"Retry-After": str(RETRY_AFTER_SECONDS)})


def json_reply(value: object, status: int = 200) -> TrioResponse:
    """None has no content."""
    if value is not None:
        return TrioResponse(_ENCODER.encode(value), status, content_type="application/json")
    response = TrioResponse(b"", 204)
    response.headers.clear()
    return response


# --- request bodies -------------------------------------------------------------------------------------------


@cache
def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(kind)


def check_content_type(request: Request, expected: str) -> None:
    """Raises `HttpError` 415. None counts as the right one."""
    sent = request.headers.get("Content-Type", expected)
    if sent == expected:
        return
    if request.mimetype != expected or request.mimetype_params.get("charset", "utf-8").lower() != "utf-8":
        raise HttpError(415, f"the content type must be {expected} in UTF-8, not {sent!r}")


class Sent(NamedTuple):
    data: bytes
    is_gzip: bool

    def unpacked(self, bytes_max: int) -> bytes:
        """Without a byte order mark, which some programs begin a text with."""
        return (gunzip(self.data, bytes_max) if self.is_gzip else self.data).removeprefix(BOM_UTF8)


class Body:
    """The body of one request: read within bounds, and counted until the request is answered."""

    all_held_bytes = 0  # of large bodies in the process, those that arrive and those that are worked on

    def __init__(self, request: Request, turns: trio.CapacityLimiter | None = None) -> None:
        """`turns`: the line of whoever sends it, where it waits once it is whole."""
        self._request, self._turns = request, turns
        self._has_turn = False
        self._held_bytes = self.sent_bytes = 0
        self.cpu = CpuTime()  # what work on it is counted with

    async def json(self, kind: type[T], absent: bytes = b"") -> T:
        """As a value of the type; `absent` is what no body stands for. Raises `HttpError`: 415, 413 or 400."""
        check_content_type(self._request, "application/json")
        of_kind: msgspec.json.Decoder[T] = decoder(kind)  # type: ignore[arg-type]  # mypy takes a type for unhashable
        sent = await self.sent(FRAME_BYTES_MAX)

        def of_sent() -> T:
            return decoded(of_kind, sent.unpacked(FRAME_BYTES_MAX) or absent)

        if sent.is_gzip or len(sent.data) > INLINE_BYTES_MAX:
            return await beside(self.cpu, len(sent.data), of_sent)
        with self.cpu:
            return of_sent()

    async def form(self) -> Form:
        """The fields of a form. Raises `HttpError`: 415, 413 or 400."""
        check_content_type(self._request, "application/x-www-form-urlencoded")
        data = (await self.sent(FORM_BYTES_MAX)).unpacked(FORM_BYTES_MAX)
        try:
            fields = parse_qs(data.decode(), keep_blank_values=True, max_num_fields=FORM_FIELDS_MAX, errors="strict")
        except ValueError as error:
            raise HttpError(400, "the form cannot be read; load the page again") from error
        if any("\0" in text for texts in fields.values() for text in texts):
            raise HttpError(400, "the form holds a NUL character; send the text without it")
        return {name: texts[-1] for name, texts in fields.items()}

    async def sent(self, bytes_max: int) -> Sent:
        """As it was sent, and no more than the bound of it. Raises `HttpError`."""
        coding = self._request.headers.get("Content-Encoding", "identity").lower()
        if coding not in ("gzip", "identity"):
            raise HttpError(415, f"the content encoding must be gzip or identity, not {coding!r}")
        if (self._request.content_length or 0) > bytes_max:
            raise too_large(bytes_max)
        pieces: list[bytearray] = []  # one long array would be moved as it grows, and leave holes in the memory
        try:
            with trio.move_on_after(BODY_SECONDS_MAX) as arriving:
                async for piece in self._request.body:
                    if pieces and len(pieces[-1]) < SMALL_BYTES_MAX:
                        pieces[-1] += piece
                    else:
                        pieces.append(bytearray(piece))
                    self.sent_bytes += len(piece)
                    self._hold(self.sent_bytes - SMALL_BYTES_MAX - self._held_bytes)
                    if self.sent_bytes > bytes_max:
                        raise too_large(bytes_max)
        except RequestEntityTooLarge as error:
            raise too_large(bytes_max) from error
        if arriving.cancelled_caught:
            raise HttpError(408, f"the request body did not arrive within {BODY_SECONDS_MAX} s")
        if self._turns is not None:  # with a whole body, for one that nobody reads piles up uncounted
            await self._turns.acquire_on_behalf_of(self)
            self._has_turn = True
        return Sent(b"".join(pieces), coding == "gzip")

    def _hold(self, more_bytes: int) -> None:
        if more_bytes > 0:
            if Body.all_held_bytes + more_bytes > BODIES_BYTES_MAX:
                held = f"{Body.all_held_bytes} bytes of large bodies"
                raise unavailable(f"{held} are being received already; try again soon")
            Body.all_held_bytes += more_bytes
            self._held_bytes += more_bytes

    def release(self) -> None:
        """Count it no longer, and let the next one in its line begin."""
        Body.all_held_bytes -= self._held_bytes
        self._held_bytes = 0
        if self._turns is not None and self._has_turn:
            self._turns.release_on_behalf_of(self)
            self._has_turn = False


def gunzip(data: bytes, bytes_max: int) -> bytes:
    """Unpack gzip streams, no further than to the bound. Raises `HttpError` 400 where they are broken."""
    whole, piece_bytes = bytearray(), min(GZIP_PIECE_BYTES, bytes_max + 1)
    for _ in range(GZIP_STREAMS_MAX):
        stream = zlib.decompressobj(_GZIP_WINDOW_BITS)
        while not stream.eof:
            try:
                piece = stream.decompress(data, piece_bytes)
            except zlib.error as error:
                raise HttpError(400, f"the request body is no valid gzip stream: {error}") from error
            data = stream.unconsumed_tail
            if not piece and not data and not stream.eof:
                raise HttpError(400, "the gzip stream of the request body breaks off; send it whole")
            whole += piece
            if len(whole) > bytes_max:
                raise too_large(bytes_max)
        data = stream.unused_data
        if not data:
            return bytes(whole)
    raise HttpError(400, f"the request body is cut into more than {GZIP_STREAMS_MAX} gzip streams; send one")


def decoded(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """JSON without NUL in any known text; 3.0 is an integer as 3 is. Raises `HttpError` 400."""
    try:
        try:
            value = decoder.decode(data)
        except msgspec.ValidationError as error:
            if "`float`" not in str(error):
                raise
            value = decoder.decode(_FLOAT_OR_TEXT.sub(_as_integer, data))
    except msgspec.ValidationError as error:
        raise HttpError(400, f"the request body does not fit: {error}") from error
    except RecursionError as error:
        raise HttpError(400, "the request body is nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HttpError(400, _unreadable(data, error)) from error
    if b"\\u0000" in data:
        # What is not known is not kept, so nothing in it does harm; what is kept raw is looked at where it is read.
        for place, leaf in _leaves(msgspec.to_builtins(value, enc_hook=lambda _raw: None)):
            if isinstance(leaf, str) and "\0" in leaf:
                raise HttpError(400, f"{place} holds a NUL character; send the text without it")
    return value


_FLOAT_OR_TEXT = re.compile(  # a text that does not end is one, too: it is looked at once
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|(?<![0-9])-?[0-9]++(?:\.[0-9]++(?:[eE][+-]?[0-9]++)?|[eE][+-]?[0-9]++)',
    re.DOTALL,
)
_INTEGER_END = 2.0**63


def _as_integer(found: re.Match[bytes]) -> bytes:
    """A number that is whole, written as one; anything else as it was."""
    token = found[0]
    if token.startswith(b'"') or not abs(number := float(token)) < _INTEGER_END or not number.is_integer():
        return token
    return b"%d" % int(number)


_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMED_BYTES_MAX = 64 * 1024  # of a text whose field is named: all its values make up to thirty times its bytes


def _unreadable(data: bytes, error: Exception) -> str:
    """What keeps the text from being read; a lone surrogate by the name of its field."""
    if len(data) <= _NAMED_BYTES_MAX:
        try:
            for place, leaf in _leaves(json.loads(data)):
                if isinstance(leaf, str) and _SURROGATE.search(leaf):
                    return f"{place} holds a lone surrogate, half of a character; send whole characters"
        except (ValueError, RecursionError):
            pass
    return f"the request body is not JSON in UTF-8: {error}"


_PLACE_CHARACTERS_MAX = 200


def _leaves(value: object) -> Iterator[tuple[str, object]]:
    """Every text and number in a JSON value, keys too, each with its place; only the way down is held."""
    way: list[tuple[str, Iterator[tuple[object, object]]]] = [("", iter([("$", value)]))]
    while way:
        above, members = way[-1]
        for name, each in members:
            place = f"{above}{name}"
            if len(place) > _PLACE_CHARACTERS_MAX:
                place = f"{place[:_PLACE_CHARACTERS_MAX]}…"
            if isinstance(each, dict):
                yield from ((f"a key of {place}", key) for key in each)
                way.append((f"{place}.", iter(each.items())))
                break
            if isinstance(each, list):
                way.append((f"{place}[", ((f"{number}]", inner) for number, inner in enumerate(each))))
                break
            yield place, each
        else:
            way.pop()
