"""`POST /v1/logs`, `/v1/metrics` and `/v1/traces`: what agents export, as OTLP JSON.

A small export is read on the loop, for that takes less time than a thread's start. A larger one is read piece by piece
in a thread, one piece stored before the next is read; few of them at a time, since each takes memory and the time of
everybody else. The largest go one by one, in a lane of their own, so that no ordinary one waits behind them.
"""

import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple

import trio
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.command import Refused
from aggregates.people.directory import Principal
from aggregates.telemetry.batches import Made
from aggregates.telemetry.envelope import HalfCharacter, NoOtlp, Section, Signal, split
from aggregates.telemetry.export import Export, Faults, Means
from aggregates.telemetry.walking import TooMany, walk
from svc_http.bodies import (
    EXPORT_BYTES_MAX,
    EXPORT_UNPACKED_BYTES_MAX,
    Sent,
    check_content_type,
    gunzip,
    gunzip_small,
    read_sent,
)
from svc_http.errors import HttpError, bad_request, json_reply
from svc_http.listener import ByKey
from svc_http.ports import Service, Unavailable

INLINE_BYTES_MAX = 256 * 1024
"""Exports that are read on the loop: some ten milliseconds at most."""

LARGE_BYTES_MAX = 8 * 1024 * 1024
"""Exports, unpacked, that are read beside each other; Codex's first one of a session has over a mebibyte."""

LARGE_AT_ONCE, LARGEST_AT_ONCE = 2, 1
"""Read at the same time: each takes up to twice its unpacked size of memory."""

SHORT_TURN_SECONDS = 0.001
"""How long a busy thread may hold the interpreter while one of the largest is read."""

WAITING_BYTES_MAX = 64 * 1024 * 1024
"""Large exports, as sent, that may wait for their turn; beyond, 503 at once."""

PIECE_BYTES_MAX = 512 * 1024
PIECE_COMMANDS_MAX = 64
"""How much of a large export is on its way to the store at once."""

MESSAGE_CHARACTERS_MAX = 1_000

_REJECTED: dict[Signal, str] = {
    "logs": "rejectedLogRecords",
    "metrics": "rejectedDataPoints",
    "traces": "rejectedSpans",
}


class Lane:
    """Large exports on their way, so many at a time."""

    def __init__(self, at_once: int) -> None:
        self._limit = trio.CapacityLimiter(at_once)
        self._waiting_bytes = 0

    @asynccontextmanager
    async def turn(self, size_bytes: int) -> AsyncIterator[None]:
        """Wait for a turn. Raises `Unavailable` where too many wait already."""
        if not self._limit.available_tokens and self._waiting_bytes + size_bytes > WAITING_BYTES_MAX:
            raise Unavailable(f"{self._waiting_bytes} bytes of large exports wait already; try again soon")
        self._waiting_bytes += size_bytes
        try:
            await self._limit.acquire()
        finally:
            self._waiting_bytes -= size_bytes
        try:
            yield
        finally:
            self._limit.release()


class Lanes(NamedTuple):
    """Where exports wait that are not read on the loop."""

    large: Lane
    largest: Lane


def routes() -> tuple[ByKey, ...]:
    """The three routes, which share the lanes for large exports."""
    lanes = Lanes(Lane(LARGE_AT_ONCE), Lane(LARGEST_AT_ONCE))

    def route(signal: Signal) -> ByKey:
        async def handler(service: Service, request: Request, caller: Principal, **_: Any) -> TrioResponse:
            return await _take(service, request, caller, signal, lanes)

        return ByKey("POST", f"/v1/{signal}", handler)

    return route("logs"), route("metrics"), route("traces")


async def _take(service: Service, request: Request, caller: Principal, signal: Signal, lanes: Lanes) -> TrioResponse:
    """200 once every record that can be used is on disk; what cannot be is counted in the answer."""
    _check_content_type(request)
    sent = await read_sent(request, EXPORT_BYTES_MAX)
    means = Means(
        scope=caller.scope,
        received_us=service.now_us(),
        digester=service.digester(caller.scope),
        redaction=service.directory.redaction_of(caller.scope.organization_id),
    )
    export = Export(signal, means)
    small = _small(sent)
    if small is not None:
        made = list(export.commands(_split(small, signal)))
        await _send_all(service, made, export.faults)
    else:
        await _take_large(service, sent, export, lanes)
    return json_reply(_answer(signal, export.faults))


def _check_content_type(request: Request) -> None:
    try:
        check_content_type(request, "application/json")
    except HttpError as error:
        raise HttpError(error.status, f"{error.message}; set the exporter's protocol to http/json") from error


def _small(sent: Sent) -> bytes | None:
    """The body where it can be read on the loop."""
    if sent.is_gzip:
        return gunzip_small(sent.data, INLINE_BYTES_MAX) if len(sent.data) <= INLINE_BYTES_MAX else None
    return sent.data if len(sent.data) <= INLINE_BYTES_MAX else None


def _split(data: bytes, signal: Signal) -> Sequence[Section]:
    try:
        return split(data, signal)
    except HalfCharacter:
        return _walk(data, signal)
    except NoOtlp as error:
        raise bad_request(f"{error}; send OTLP JSON") from error


def _walk(data: bytes, signal: Signal) -> Sequence[Section]:
    try:
        return walk(data, signal)
    except NoOtlp as error:
        raise bad_request(f"{error}; send OTLP JSON") from error
    except TooMany as error:
        raise HttpError(413, str(error)) from error


async def _take_large(service: Service, sent: Sent, export: Export, lanes: Lanes) -> None:
    """In the lane for its unpacked size, which only unpacking tells."""
    if len(sent.data) <= LARGE_BYTES_MAX:
        async with lanes.large.turn(len(sent.data)):
            data = (
                await trio.to_thread.run_sync(gunzip_small, sent.data, LARGE_BYTES_MAX) if sent.is_gzip else sent.data
            )
            if data is not None:
                return await _take_in_pieces(service, data, export)
    async with lanes.largest.turn(len(sent.data)):
        with _short_turns():
            await _take_largest(service, sent, export)


async def _take_largest(service: Service, sent: Sent, export: Export) -> None:
    data = sent.data
    if sent.is_gzip:
        data = await trio.to_thread.run_sync(gunzip, data, EXPORT_UNPACKED_BYTES_MAX)
    await _take_in_pieces(service, data, export)


@contextmanager
def _short_turns() -> Iterator[None]:
    """For a while no busy thread keeps the interpreter for long from another that wants it. At the usual 5 ms a request
    that goes through three threads would wait for the export at each of them; for good, it costs captures a tenth."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SHORT_TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


async def _take_in_pieces(service: Service, data: bytes, export: Export) -> None:
    """Nothing is stored before the whole body was seen to be JSON."""
    made = export.commands(await trio.to_thread.run_sync(_walk, data, export.signal))
    while piece := await trio.to_thread.run_sync(_piece, made):
        await _send_all(service, piece, export.faults)


def _piece(made: Iterator[Made]) -> list[Made]:
    """The next commands, as many as may be on their way together."""
    piece: list[Made] = []
    size_bytes = 0
    for each in made:
        piece.append(each)
        size_bytes += len(each.command.raw or "")
        if size_bytes >= PIECE_BYTES_MAX or len(piece) >= PIECE_COMMANDS_MAX:
            break
    return piece


async def _send_all(service: Service, made: Sequence[Made], faults: Faults) -> None:
    """Every command is on disk or was refused. Raises `Unavailable` where one is neither: the client sends it again,
    and what is on disk is known then."""
    for start in range(0, len(made), PIECE_COMMANDS_MAX):
        piece = made[start : start + PIECE_COMMANDS_MAX]
        if len(piece) == 1:
            await _send(service, piece[0], faults)
            continue
        failures: list[Unavailable] = []
        async with trio.open_nursery() as nursery:
            for each in piece:
                nursery.start_soon(_send_or_note, service, each, faults, failures)
        if failures:
            raise failures[0]


async def _send_or_note(service: Service, made: Made, faults: Faults, failures: list[Unavailable]) -> None:
    try:
        await _send(service, made, faults)
    except Unavailable as error:
        failures.append(error)


async def _send(service: Service, made: Made, faults: Faults) -> None:
    reply = await service.send(made.command)
    if isinstance(reply, Refused):
        session = made.command.agent_session_id
        faults.add(f"agent session {session!r}", _FOREIGN, made.records)


_FOREIGN = (
    "it belongs to another developer, and nothing of it was stored. Agent session ids are unique: check that the agent "
    "is set up with its own key"
)


def _answer(signal: Signal, faults: Faults) -> dict[str, Any]:
    """OTLP's response message; `partialSuccess` is there only where something was rejected."""
    if not faults.records:
        return {}
    message = f"{faults.records} rejected, the rest is stored; the first: {faults.message}"
    return {
        "partialSuccess": {
            _REJECTED[signal]: str(faults.records),
            "errorMessage": message[:MESSAGE_CHARACTERS_MAX],
        }
    }
