"""`POST /v1/logs`, `/v1/metrics` and `/v1/traces`: what agents export, as OTLP JSON.

A small export is cut on the loop, for that takes less time than a thread's start. All others are cut in one worker
thread, one after the other.
"""

from collections.abc import Sequence
from typing import Any

import trio
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.event import Refused
from aggregates.people.directory import Principal
from aggregates.telemetry.batches import PreparedCommand
from aggregates.telemetry.envelope import NoOtlp, Signal, split
from aggregates.telemetry.export import Export, ExportContext, Faults
from svc_http.bodies import EXPORT_BYTES_MAX, Sent, check_content_type, gunzip, gunzip_small, read_sent
from svc_http.errors import HttpError, bad_request, json_reply
from svc_http.listener import ByKey, Plain
from svc_http.ports import Service, Unavailable

INLINE_BYTES_MAX = 64 * 1024
"""Exports, unpacked, that are cut on the loop: some 5 ms at most."""

WAITING_BYTES_MAX = 64 * 1024 * 1024
"""Large exports, as sent, that may wait for the worker; beyond, 503 at once."""

RECORDS_MAX = 100_000
"""Records of one export. Real ones have 500 to 10,000; the smallest possible ones would need gigabytes."""

COMMANDS_AT_ONCE = 64
"""How many commands of an export are on their way to the store."""

MESSAGE_CHARACTERS_MAX = 1_000
_REJECTED: dict[Signal, str] = {
    "logs": "rejectedLogRecords",
    "metrics": "rejectedDataPoints",
    "traces": "rejectedSpans",
}
_EXPORTS: dict[Signal, tuple[str, str, str, str]] = {
    "logs": ("log records", "resourceLogs", "scopeLogs", "logRecords"),
    "metrics": ("metric points", "resourceMetrics", "scopeMetrics", "metrics"),
    "traces": ("spans", "resourceSpans", "scopeSpans", "spans"),
}
"""What an export holds, and the names of its three levels."""


class Worker:
    """The one thread that cuts large exports."""

    def __init__(self) -> None:
        self._limiter = trio.CapacityLimiter(1)
        self._waiting_bytes = 0

    async def made(self, export: Export, sent: Sent) -> list[PreparedCommand]:
        """Wait for a turn and cut an export. Raises `Unavailable` where too much waits already."""
        size_bytes = len(sent.data)
        if self._waiting_bytes + size_bytes > WAITING_BYTES_MAX:
            raise Unavailable(f"{self._waiting_bytes} bytes of large exports wait already; try again soon")
        self._waiting_bytes += size_bytes
        try:
            return await trio.to_thread.run_sync(_made_of_large, export, sent, limiter=self._limiter)
        finally:
            self._waiting_bytes -= size_bytes


def routes() -> tuple[ByKey, ...]:
    """The three routes, which share the worker for large exports."""
    worker = Worker()

    def route(signal: Signal) -> ByKey:
        async def handler(service: Service, request: Request, caller: Principal, **_: Any) -> TrioResponse:
            return await _take(service, request, caller, signal, worker)

        what, *levels = _EXPORTS[signal]
        about = f"Take in {what} as OTLP JSON."
        return ByKey("POST", f"/v1/{signal}", handler, about, _partial(signal), body=_export(*levels))

    return route("logs"), route("metrics"), route("traces")


def _export(envelope: str, groups: str, records: str) -> Plain:
    """An export as far as it must be understood to be cut into records.

    Any item is taken as a record: one that is none is counted as rejected, and keeps no other from being stored.
    """
    scope = {"type": ["object", "null"], "properties": {records: {"type": ["array", "null"], "items": {}}}}
    group = {"type": ["object", "null"], "properties": {groups: {"type": ["array", "null"], "items": scope}}}
    whole = {"type": "object", "properties": {envelope: {"type": ["array", "null"], "items": group}}}
    return Plain("application/json", whole)


def _partial(signal: Signal) -> Plain:
    fields = (_REJECTED[signal], "errorMessage")
    told = {"type": "object", "properties": {name: {"type": "string"} for name in fields}, "required": list(fields)}
    return Plain("application/json", {"type": "object", "properties": {"partialSuccess": told}})


async def _take(service: Service, request: Request, caller: Principal, signal: Signal, worker: Worker) -> TrioResponse:
    """200 once every record that can be used is on disk; what cannot be is counted in the answer."""
    _check_content_type(request)
    sent = await read_sent(request, EXPORT_BYTES_MAX)
    means = ExportContext(
        scope=caller.scope,
        received_us=service.now_us(),
        digester=service.digester(caller.scope),
        redaction=service.directory.redaction_of(caller.scope.organization_id),
    )
    export = Export(signal, means)
    small = _small(sent)
    made = await worker.made(export, sent) if small is None else _made(export, small)
    await _send_all(service, made, export.faults)
    return json_reply(_answer(signal, export.faults))


def _check_content_type(request: Request) -> None:
    try:
        check_content_type(request, "application/json")
    except HttpError as error:
        raise HttpError(error.status, f"{error.message}; set the exporter's protocol to http/json") from error


def _small(sent: Sent) -> bytes | None:
    """The body where it can be cut on the loop."""
    if len(sent.data) > INLINE_BYTES_MAX:
        return None
    return gunzip_small(sent.data, INLINE_BYTES_MAX) if sent.is_gzip else sent.data


def _made_of_large(export: Export, sent: Sent) -> list[PreparedCommand]:
    return _made(export, gunzip(sent.data, EXPORT_BYTES_MAX) if sent.is_gzip else sent.data)


def _made(export: Export, data: bytes) -> list[PreparedCommand]:
    """The commands of an export. Nothing is stored before the whole body was seen to be JSON."""
    try:
        sections = split(data, export.signal)
    except NoOtlp as error:
        raise bad_request(f"{error}; send OTLP JSON") from error
    records = sum(len(section.items) for section in sections)
    if records > RECORDS_MAX:
        raise HttpError(
            413, f"the request body holds {records} records, and may hold {RECORDS_MAX}; send smaller batches"
        )
    return export.commands(sections)


async def _send_all(service: Service, made: Sequence[PreparedCommand], faults: Faults) -> None:
    """Every command is on disk or was refused. Raises `Unavailable` where one is neither: the client sends it again,
    and what is on disk is known then."""
    for start in range(0, len(made), COMMANDS_AT_ONCE):
        piece = made[start : start + COMMANDS_AT_ONCE]
        if len(piece) == 1:
            await _send(service, piece[0], faults)
            continue
        failures: list[Unavailable] = []
        async with trio.open_nursery() as nursery:
            for each in piece:
                nursery.start_soon(_send_or_note, service, each, faults, failures)
        if failures:
            raise failures[0]


async def _send_or_note(service: Service, made: PreparedCommand, faults: Faults, failures: list[Unavailable]) -> None:
    try:
        await _send(service, made, faults)
    except Unavailable as error:
        failures.append(error)


async def _send(service: Service, made: PreparedCommand, faults: Faults) -> None:
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
        "partialSuccess": {_REJECTED[signal]: str(faults.records), "errorMessage": message[:MESSAGE_CHARACTERS_MAX]}
    }
