"""`/v1/score_v3/report…`: a developer's own reports, from asking for one to deleting it.

A report is made by the service's workers; these routes ask, look and decide, and never wait for one.
"""

import uuid
from typing import TypedDict
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.commands import CancelReport, DeleteReport, Done, Refused, Reply, RequestReport
from aggregates.habits import language_of
from aggregates.people import Principal
from aggregates.people_records import Developer
from aggregates.report_period import ReportPeriod, last_whole_period, period_of
from aggregates.report_state import ReportStatus
from aggregates.times import bare_date, iso
from aggregates.windows import WindowName, zone_named
from projections import reports
from projections.reports import ReportState
from svc_http.bodies import FRAME_BYTES_MAX, Request, check_content_type, decoded, read_body
from svc_http.errors import HttpError, bad_request, not_found, refusal, unavailable
from svc_http.params import limit, offset, path_id, zone_of
from svc_http.ports import Service
from svc_http.replies import json_reply, no_content

WAITING_MAX = 32
"""Reports of one developer that may be queued or running: more than that were asked for by a program that loops."""


class GenerateBody(msgspec.Struct):
    period: WindowName = "daily"
    date: str | None = None
    timezone: str | None = None
    language: str | None = None


class ReportStarted(msgspec.Struct):
    report_id: str
    status: str


class NonePending(msgspec.Struct):
    report_id: None = None


_DECODER = msgspec.json.Decoder(GenerateBody)


async def latest(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The report that was completed last; 404 where there is none."""
    found = await service.read(caller.scope, reports.latest_report)
    if found is None:
        raise not_found("no report is completed yet; ask for one by POST /v1/score_v3/report/generate")
    return json_reply(found)


async def one(service: Service, request: Request, caller: Principal, report_id: str) -> TrioResponse:
    """One report, whatever its state."""
    wanted = path_id(report_id, "report")
    found = await service.read(caller.scope, reports.report, wanted)
    if found is None:
        raise _unknown(wanted)
    return json_reply(found)


async def history(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Every report that was not deleted, newest first, without what it says."""
    rows, skipped = limit(request.args), offset(request.args)
    return json_reply(await service.read(caller.scope, reports.reports, rows, skipped))


async def pending(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The newest that is queued or running; a null id where there is none."""
    return json_reply(await service.read(caller.scope, reports.pending_report) or NonePending())


async def status(service: Service, request: Request, caller: Principal, report_id: str) -> TrioResponse:
    """How far one has come."""
    return json_reply(await _state(service, caller, path_id(report_id, "report")))


async def generate(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """202: it is queued, or the one of the same period that is being made already."""
    asked = await _asked(request)
    period = _period(service, caller, asked)
    if await service.read(caller.scope, reports.waiting_reports) >= WAITING_MAX:
        raise unavailable(f"{WAITING_MAX} reports of yours wait already; try again when some are made")
    reply = await service.send(
        RequestReport(
            organization_id=caller.scope.organization_id,
            developer_id=caller.scope.developer_id,
            report_id=uuid.uuid4(),
            period=period,
            language=language_of(asked.language or _language(service, caller)),
        )
    )
    done = _carried_out(reply)
    assert done.id is not None, "whoever asks for a report is told which it is"
    return json_reply(await _started(service, caller, done, done.id, "queued"), 202)


async def cancel(service: Service, request: Request, caller: Principal, report_id: str) -> TrioResponse:
    """200 with the state it is in then: of a report that was over, the one it ended in."""
    wanted = path_id(report_id, "report")
    done = _carried_out(await service.send(CancelReport(**await _about(service, caller, wanted))))
    return json_reply(await _started(service, caller, done, wanted, "cancelled"))


async def delete(service: Service, request: Request, caller: Principal, report_id: str) -> TrioResponse:
    """204; of one that is queued or running 409."""
    _carried_out(await service.send(DeleteReport(**await _about(service, caller, path_id(report_id, "report")))))
    return no_content()


# --- what was asked for ---------------------------------------------------------------------------------------


async def _asked(request: Request) -> GenerateBody:
    """Everything may be left out, the body as a whole too."""
    check_content_type(request, "application/json")
    body = await read_body(request, FRAME_BYTES_MAX)
    return decoded(_DECODER, body) if body else GenerateBody()


def _period(service: Service, caller: Principal, asked: GenerateBody) -> ReportPeriod:
    """The last whole period, or the one that holds the date; the current one is reported on as far as it has come."""
    zone = _zone(service, caller, asked.timezone)
    if asked.date is None:
        return last_whole_period(asked.period, zone, service.now_us())
    day = bare_date(asked.date)
    if day is None:
        raise bad_request(f"$.date must be a date of the years 1970 to 9998, like 2026-08-01, not {asked.date[:40]!r}")
    period = period_of(asked.period, zone, day)
    if period.start_us > service.now_us():
        raise bad_request(f"$.date names a period that begins at {iso(period.start_us)}; ask when it has begun")
    return period


def _zone(service: Service, caller: Principal, name: str | None) -> ZoneInfo:
    if name is None:
        return zone_of(service, caller)
    try:
        return zone_named(name)
    except ValueError as error:
        raise bad_request(f"$.timezone: {error}, not {name[:40]!r}") from error


def _language(service: Service, caller: Principal) -> str | None:
    developer = service.directory.get(Developer, caller.scope.developer_id)
    return None if developer is None else developer.language


# --- shared ---------------------------------------------------------------------------------------------------


class _About(TypedDict):
    organization_id: UUID
    developer_id: UUID
    report_id: UUID
    period: ReportPeriod


async def _about(service: Service, caller: Principal, report_id: UUID) -> _About:
    period = await service.read(caller.scope, reports.report_period, report_id)
    if period is None:
        raise _unknown(report_id)
    return {
        "organization_id": caller.scope.organization_id,
        "developer_id": caller.scope.developer_id,
        "report_id": report_id,
        "period": period,
    }


async def _started(
    service: Service, caller: Principal, done: Done, report_id: UUID, new: ReportStatus
) -> ReportStarted:
    """What was just decided is known, however far behind the views are; only what was so before is looked up."""
    if done.created:
        return ReportStarted(str(report_id), new)
    found = await _state(service, caller, report_id)
    return ReportStarted(found.report_id, found.status)


async def _state(service: Service, caller: Principal, report_id: UUID) -> ReportState:
    found = await service.read(caller.scope, reports.report_state, report_id)
    if found is None:
        raise _unknown(report_id)
    return found


def _carried_out(reply: Reply) -> Done:
    if isinstance(reply, Refused):
        raise refusal(reply.reason, reply.message)
    return reply


def _unknown(report_id: UUID) -> HttpError:
    return not_found(f"no report {report_id} of yours")
