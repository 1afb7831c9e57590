"""What agents export as OTLP JSON: a small export is cut on the loop, all others beside it."""

import time
from contextlib import suppress
from functools import partial
from threading import Event
from typing import Any

from aggregates.event import Refused
from aggregates.telemetry.batches import ExportContext, PreparedCommand
from aggregates.telemetry.envelope import NoOtlp, Signal, split, values_in, without_rest
from aggregates.telemetry.export import Export, Faults
from svc_http.bodies import EXPORT_BYTES_MAX, HttpError, Sent, check_content_type, gunzip
from svc_http.params import ByKey
from svc_http.ports import beside
from svc_http.routing import Plain, Routes

INLINE_BYTES_MAX = 16 * 1024  # unpacked, cut on the loop: one of e-mail addresses alone takes 15 ms, a usual one 1 ms
RECORDS_MAX = 50_000  # of one export; real ones have 500 to 10,000, and the smallest possible ones need gigabytes
VALUES_MAX = 1_000_000  # of one export, each some 70 bytes while it is cut; real ones have one for 30 bytes
UNBROKEN_SECONDS = 0.03  # so long an export is cut without a rest: nearly all are done by then
SLICE_SECONDS = 0.005
REST_SECONDS = 0.004  # between slices: with it a capture beside exports of 16 MiB takes 70 ms, not 195
MESSAGE_CHARACTERS_MAX = 1_000
_EXPORTS: dict[Signal, tuple[str, str, str, str, str]] = {
    "logs": ("log records", "rejectedLogRecords", "resourceLogs", "scopeLogs", "logRecords"),
    "metrics": ("metric points", "rejectedDataPoints", "resourceMetrics", "scopeMetrics", "metrics"),
    "traces": ("spans", "rejectedSpans", "resourceSpans", "scopeSpans", "spans"),
}
"""What an export holds, how the answer counts what was rejected, and the names of its three levels."""
routes = Routes("intake")


class Slices:
    """The rests of one long cutting in a thread."""

    def __init__(self) -> None:
        self._ends: float | None = None

    def __call__(self) -> None:
        now = time.monotonic()
        if self._ends is None:
            self._ends = now + UNBROKEN_SECONDS
        if now < self._ends:
            return
        _NEVER.wait(REST_SECONDS)
        self._ends = time.monotonic() + SLICE_SECONDS


_NEVER = Event()  # waiting for it is a rest, also under a faked clock (docs/faults.md), under which `time.sleep` fails


async def _take(call: ByKey, signal: Signal) -> Faults:
    """What cannot be used; all else is on disk then."""
    service, scope = call.service, call.scope
    try:
        check_content_type(call.request, "application/json")
    except HttpError as error:
        raise HttpError(error.status, f"{error.message}; set the exporter's protocol to http/json") from error
    sent = await call.body.sent(EXPORT_BYTES_MAX)
    means = ExportContext(
        scope=scope,
        received_us=service.now_us(),
        digester=service.digester(scope),
        redaction=service.directory.redaction_of(scope.organization_id),
    )
    if sent.is_gzip and len(sent.data) <= INLINE_BYTES_MAX:
        with suppress(HttpError):  # what is larger, or broken, is told of beside the loop
            sent = Sent(gunzip(sent.data, INLINE_BYTES_MAX), is_gzip=False)
    is_small = not sent.is_gzip and len(sent.data) <= INLINE_BYTES_MAX
    export = Export(signal, means, without_rest if is_small else Slices())
    if is_small:
        with call.body.cpu:
            made = _cut(export, sent)
    else:
        rough_bytes = EXPORT_BYTES_MAX if sent.is_gzip else len(sent.data)
        made = await beside(call.body.cpu, rough_bytes, partial(_cut, export, sent))
    # After a 503 the client sends it again, and what is on disk is known then.
    for each, reply in zip(made, await service.send_all([each.command for each in made]), strict=True):
        if isinstance(reply, Refused):
            export.faults.add(f"agent session {each.command.agent_session_id!r}", _FOREIGN, each.records)
    for source in sorted(export.senders):
        service.arrivals.took(scope.developer_id, source, signal, means.received_us)
    return export.faults


def _cut(export: Export, sent: Sent) -> list[PreparedCommand]:
    """The commands of an export. Nothing is stored before the whole body was seen to be JSON."""
    data = sent.unpacked(EXPORT_BYTES_MAX)
    if len(data) > VALUES_MAX and values_in(data, VALUES_MAX) > VALUES_MAX:  # a value has at least a byte
        raise HttpError(413, f"the request body holds more than {VALUES_MAX} values; send smaller batches")
    try:
        sections = split(data, export.signal, export.rest)
    except NoOtlp as error:
        raise HttpError(400, f"{error}; send OTLP JSON") from error
    if (records := sum(len(section.items) for section in sections)) > RECORDS_MAX:
        why = f"the request body holds {records} records, and may hold {RECORDS_MAX}; send smaller batches"
        raise HttpError(413, why)
    return export.commands(sections)


_FOREIGN = (
    "it belongs to another developer, and nothing of it was stored. Agent session ids are unique: check that the agent "
    "is set up with its own key"
)


def _enter(signal: Signal) -> None:
    """The route of one signal; an item that is no record is counted as rejected, and keeps no other out."""
    what, rejected, *levels = _EXPORTS[signal]
    sent: dict[str, Any] = {}
    for name in reversed(levels):
        sent = {"type": ["object", "null"], "properties": {name: {"type": ["array", "null"], "items": sent}}}
    counts: dict[str, Any] = {name: {"type": "string"} for name in (rejected, "errorMessage")}
    told = {"type": "object", "properties": counts, "required": [*counts]}
    answer = Plain("application/json", {"type": "object", "properties": {"partialSuccess": told}})
    body = Plain("application/json", sent | {"type": "object"})

    @routes(f"POST /v1/{signal}", f"Take in {what} as OTLP JSON.", answers=answer, body=body)
    async def handler(call: ByKey) -> dict[str, Any]:
        """OTLP's response message; `partialSuccess` is there only where something could not be used."""
        faults = await _take(call, signal)
        if faults.message is None:
            return {}
        kept = f"{faults.records} rejected, the rest is stored" if faults.records else "all are stored, less a number"
        message = f"{kept}; the first: {faults.message}"
        now_us = call.service.now_us()
        call.service.arrivals.refused(call.scope.developer_id, f"/v1/{signal}", 200, message, now_us)
        return {"partialSuccess": {rejected: str(faults.records), "errorMessage": message[:MESSAGE_CHARACTERS_MAX]}}


for _signal in _EXPORTS:
    _enter(_signal)
