"""A developer's own reports, which the service's workers make, and backfills of an organization."""

import uuid
from typing import TypedDict
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.event import Done
from aggregates.people.directory import Membership, Organization, Principal
from aggregates.reports.commands import (
    CancelReport,
    DeleteReport,
    ReportPeriod,
    RequestReport,
    last_whole_period,
    period_of,
)
from aggregates.reports.decide import BackfillRecord, ReportStatus
from aggregates.reports.events import BackfillRequested
from aggregates.times import RangeRefused, Window, WindowName, bare_date, iso, time_range, zone_named
from projections.facts import reports
from projections.facts.reports import ReportState
from projections.sub_sessions.listing import count_started
from svc_http.bodies import FRAME_BYTES_MAX, check_content_type, decoded, decoder, json_body, read_body
from svc_http.errors import HttpError, accepted, bad_request, forbidden, json_reply, no_content, not_found, unavailable
from svc_http.listener import ByKey, BySecret, OneOf
from svc_http.params import LIMIT, PAGE, SHOWN_CHARACTERS, language_asked, limit, page, path_id, zone_of
from svc_http.ports import Service

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


async def latest(service: Service, request: Request, caller: Principal) -> TrioResponse:
    found = await service.read(caller.scope, reports.latest_report)
    if found is None:
        raise not_found("no report is completed yet; ask for one by POST /v1/score_v3/report/generate")
    return json_reply(found)


async def one(service: Service, request: Request, caller: Principal, report_id: str) -> TrioResponse:
    wanted = path_id(report_id, "report")
    found = await service.read(caller.scope, reports.report, wanted)
    if found is None:
        raise _unknown(wanted)
    return json_reply(found)


async def history(service: Service, request: Request, caller: Principal) -> TrioResponse:
    return json_reply(await service.read(caller.scope, reports.reports, *page(request.args)))


async def pending(service: Service, request: Request, caller: Principal) -> TrioResponse:
    return json_reply(await service.read(caller.scope, reports.pending_report) or NonePending())


async def status(service: Service, request: Request, caller: Principal, report_id: str) -> TrioResponse:
    return json_reply(await _state(service, caller, path_id(report_id, "report")))


async def generate(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """202: it is queued, or the one of the same period that is being made already."""
    asked = await _asked(request)
    period = _period(service, caller, asked)
    if await service.read(caller.scope, reports.waiting_reports) >= WAITING_MAX:
        raise unavailable(f"{WAITING_MAX} reports of yours wait already; try again when some are made")
    done = accepted(
        await service.send(
            RequestReport(
                organization_id=caller.scope.organization_id,
                developer_id=caller.scope.developer_id,
                report_id=uuid.uuid4(),
                period=period,
                language=language_asked(service, caller, asked.language),
            )
        )
    )
    assert done.id is not None, "whoever asks for a report is told which it is"
    return json_reply(await _started(service, caller, done, done.id, "queued"), 202)


async def cancel(service: Service, request: Request, caller: Principal, report_id: str) -> TrioResponse:
    """200 with the state it is in then: of a report that was over, the one it ended in."""
    wanted = path_id(report_id, "report")
    done = accepted(await service.send(CancelReport(**await _about(service, caller, wanted))))
    return json_reply(await _started(service, caller, done, wanted, "cancelled"))


async def delete(service: Service, request: Request, caller: Principal, report_id: str) -> TrioResponse:
    accepted(await service.send(DeleteReport(**await _about(service, caller, path_id(report_id, "report")))))
    return no_content()


# --- what was asked for ---------------------------------------------------------------------------------------


async def _asked(request: Request) -> GenerateBody:
    """Everything may be left out, the body as a whole too."""
    check_content_type(request, "application/json")
    body = await read_body(request, FRAME_BYTES_MAX)
    return decoded(decoder(GenerateBody), body) if body else GenerateBody()


def _period(service: Service, caller: Principal, asked: GenerateBody) -> ReportPeriod:
    """The last whole period, or the one that holds the date; the current one is reported on as far as it has come."""
    zone = _zone(service, caller, asked.timezone)
    if asked.date is None:
        return last_whole_period(asked.period, zone, service.now_us())
    day = bare_date(asked.date)
    if day is None:
        raise bad_request(
            f"$.date must be a date of the years 1970 to 9998, like 2026-08-01, not {asked.date[:SHOWN_CHARACTERS]!r}"
        )
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
        raise bad_request(f"$.timezone: {error}, not {name[:SHOWN_CHARACTERS]!r}") from error


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


def _unknown(report_id: UUID) -> HttpError:
    return not_found(f"no report {report_id} of yours")


# --- backfills: an owner, or an administrator, has sub-sessions of a range judged again -----------------------


class BackfillBody(msgspec.Struct, rename={"from_time": "from"}):
    """Times, or bare dates of the zone in the caller's profile; a bare end includes its day."""

    from_time: str
    to: str
    developer_id: UUID | None = None


class AdminBackfillBody(BackfillBody, rename={"from_time": "from"}, kw_only=True):
    """The same for an organization that is named; bare dates are UTC."""

    organization_id: UUID


async def backfill(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """202 with the backfill of the caller's organization that now runs; for owners."""
    if caller.role != "owner":
        raise forbidden("a backfill is for owners of the organization")
    body = await json_body(request, BackfillBody)
    record = await _begun(service, caller.scope.organization_id, body, zone_of(service, caller))
    return json_reply(record, 202)


async def start(service: Service, request: Request) -> TrioResponse:
    body = await json_body(request, AdminBackfillBody)
    if service.directory.get(Organization, body.organization_id) is None:
        raise not_found(f"no organization {body.organization_id}")
    return json_reply(await _begun(service, body.organization_id, body, ZoneInfo("UTC")), 202)


async def listed(service: Service, request: Request) -> TrioResponse:
    return json_reply((await service.backfills())[: limit(request.args)])


async def _begun(service: Service, organization_id: UUID, body: BackfillBody, zone: ZoneInfo) -> BackfillRecord:
    window = _window(service, body, zone)
    if body.developer_id is not None and not _ever_member(service, organization_id, body.developer_id):
        raise not_found(f"no developer {body.developer_id} in the organization")
    count = await service.read_all(lambda reader: count_started(reader, organization_id, body.developer_id, window))
    return accepted(
        await service.start_backfill(
            BackfillRequested(
                received_at_us=service.now_us(),
                backfill_id=uuid.uuid4(),
                organization_id=organization_id,
                developer_id=body.developer_id,
                from_us=window.start_us,
                to_us=window.end_us,
                sub_sessions=count,
            )
        )
    )


def _window(service: Service, body: BackfillBody, zone: ZoneInfo) -> Window:
    found = time_range(body.from_time, body.to, zone, service.now_us())
    if isinstance(found, RangeRefused):
        raise bad_request(f"$: {found.message}")
    return found


def _ever_member(service: Service, organization_id: UUID, developer_id: UUID) -> bool:
    """Who has left has sub-sessions all the same."""
    stays = service.directory.all(Membership)
    return any((each.organization_id, each.developer_id) == (organization_id, developer_id) for each in stays)


# --- routes ---------------------------------------------------------------------------------------------------

_REPORT = "/v1/score_v3/report"
_NOT_YOURS = {404: "No report of that id is the caller's."}
_NO_MEMBER = {404: "There is no such organization, or nobody of that id in it.", 409: "Too many run already."}
ROUTES = (
    ByKey(
        "GET",
        _REPORT,
        latest,
        "The report that was completed last.",
        reports.latest_report,
        refuses={404: "No report is completed yet."},
    ),
    ByKey(
        "POST",
        f"{_REPORT}/generate",
        generate,
        "Ask for a report; the same period while one is made answers the same id.",
        {202: ReportStarted},
        body=GenerateBody,
        body_required=False,
    ),
    ByKey(
        "GET", f"{_REPORT}/history", history, "Every report, newest first, without what it says.", reports.reports, PAGE
    ),
    ByKey(
        "GET",
        f"{_REPORT}/pending",
        pending,
        "The newest that is queued or running; a null id where there is none.",
        OneOf((ReportState, NonePending)),
    ),
    ByKey(
        "GET", f"{_REPORT}/status/<report_id>", status, "How far a report has come.", ReportState, refuses=_NOT_YOURS
    ),
    ByKey(
        "POST",
        f"{_REPORT}/cancel/<report_id>",
        cancel,
        "Cancel a report; one that is over stays as it ended.",
        ReportStarted,
        refuses=_NOT_YOURS,
    ),
    ByKey("GET", f"{_REPORT}/<report_id>", one, "One report, whatever its state.", reports.report, refuses=_NOT_YOURS),
    ByKey(
        "DELETE",
        f"{_REPORT}/<report_id>",
        delete,
        "Delete a report.",
        {204: None},
        refuses=_NOT_YOURS | {409: "It is queued or running; cancel it first."},
    ),
    ByKey(
        "POST",
        "/v1/score_v3/admin/backfill",
        backfill,
        "Have the sub-sessions of a range judged again; for owners.",
        {202: BackfillRecord},
        body=BackfillBody,
        refuses=_NO_MEMBER,
    ),
    BySecret(
        "POST",
        "/v1/admin/control/backfill",
        start,
        "The same, for any organization.",
        {202: BackfillRecord},
        body=AdminBackfillBody,
        refuses=_NO_MEMBER,
    ),
    BySecret(
        "GET",
        "/v1/admin/control/backfill",
        listed,
        "Every backfill, newest first, and how far it has come.",
        list[BackfillRecord],
        (LIMIT,),
    ),
)
