"""A developer's own reports, which the service's workers make; backfills of an organization; what agents judge."""

from collections.abc import Sequence
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Done, shaped
from aggregates.people.directory import Membership, Organization
from aggregates.reports import events
from aggregates.reports.decide import BackfillRecord
from aggregates.times import WindowName, iso, time_range
from projections.facts import reports
from projections.sub_sessions.listing import count_started
from projections.sub_sessions.unjudged import judged
from svc_http.bodies import HttpError, accepted, found, unavailable
from svc_http.params import LIMIT, PAGED, ByKey, BySecret, clamped, day_sent, refusing, zone_sent
from svc_http.ports import Service
from svc_http.records import QUESTIONS_MAX, AgentAnswers, AnswersTaken, OpenQuestions
from svc_http.routing import Routes

WAITING_MAX = 32  # reports of one developer that may wait: more were asked for by a program that loops
_REPORT = "/v1/score_v3/report"
routes = Routes()


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


_NONE = "no report is completed yet; ask for one by POST /v1/score_v3/report/generate"
_NOT_YOURS = "no report {} of yours"
_HISTORY = "Every report, newest first, without what it says."
routes.reads(_REPORT, "The report that was completed last.", reports.latest_report, missing=_NONE)
routes.reads(f"{_REPORT}/<report_id>", "One report, whatever its state.", reports.report, missing=_NOT_YOURS)
routes.reads(f"{_REPORT}/history", _HISTORY, reports.reports, PAGED)
routes.reads(f"{_REPORT}/status/<report_id>", "How far a report has come.", reports.report_state, missing=_NOT_YOURS)


@routes(f"GET {_REPORT}/pending", "The newest that is queued or running; a null id where there is none.")
async def pending(call: ByKey) -> reports.ReportState | NonePending:
    return await call.read(reports.pending_report) or NonePending()


_GENERATE = "Ask for a report; the same period while one is made answers the same id."


@routes(f"POST {_REPORT}/generate", _GENERATE, status=202, body_required=False)
async def generate(call: ByKey, body: GenerateBody) -> ReportStarted:
    now_us, zone = call.service.now_us(), call.own_zone
    if body.timezone is not None:
        zone = zone_sent("$.timezone", body.timezone)
    if body.date is None:
        period = events.last_whole_period(body.period, zone, now_us)
    else:
        period = events.period_of(body.period, zone, day_sent("$.date", body.date))
    if period.start_us > now_us:
        raise HttpError(400, f"$.date names a period that begins at {iso(period.start_us)}; ask when it has begun")
    before = await call.read(reports.asked_before, period)
    if before.unfinished is not None:
        return await _known(call, before.unfinished)
    if before.waiting >= WAITING_MAX:
        raise unavailable(f"{WAITING_MAX} reports of yours wait already; try again when some are made")
    language, notices = call.language(body.language), call.profile.report_notices if call.profile else ()
    wish = events.request_report(call.scope, period, before.number, language=language, notices=notices)
    done = accepted(await call.service.send(wish))
    return ReportStarted(str(wish.report_id), "queued") if done.created else await _known(call, wish.report_id)


@routes(f"POST {_REPORT}/cancel/<report_id>", "Cancel a report, unless it is over.")
async def cancel(call: ByKey, report_id: UUID) -> ReportStarted:
    done = await _end(call, events.ReportCancelled, report_id)
    return ReportStarted(str(report_id), "cancelled") if done.created else await _known(call, report_id)


@routes(f"DELETE {_REPORT}/<report_id>", "Delete a report.")
async def delete(call: ByKey, report_id: UUID) -> None:
    await _end(call, events.ReportDeleted, report_id)


async def _end(call: ByKey, kind: type[events.ReportEvent], report_id: UUID) -> Done:
    return accepted(await call.service.send(shaped(kind, call.scope, report_id=report_id)))


async def _known(call: ByKey, report_id: UUID) -> ReportStarted:
    state = found(await call.read(reports.report_state, report_id), _NOT_YOURS.format(report_id))
    return ReportStarted(state.report_id, state.status)


# --- backfills: an owner, or an administrator, has sub-sessions of a range judged again -----------------------

_BACKFILL = "Have the sub-sessions of a range judged again; for owners."


class BackfillBody(msgspec.Struct, rename={"from_time": "from"}):
    """Times, or bare dates of the zone in the caller's profile; a bare end includes its day."""

    from_time: str
    to: str
    developer_id: UUID | None = None


class BackfillBegun(msgspec.Struct):
    """No count: asked for hour by hour, it would tell an owner when a person works."""

    backfill_id: str


class AdminBackfillBody(BackfillBody, rename={"from_time": "from"}, kw_only=True):
    """The same for an organization that is named; bare dates are UTC."""

    organization_id: UUID


@routes("POST /v1/score_v3/admin/backfill", _BACKFILL, status=202, body=BackfillBody)
async def backfill(call: ByKey) -> BackfillBegun:
    """The backfill of the caller's organization that now runs; for owners, before anything of the body is read."""
    if call.caller.role != "owner":
        raise HttpError(403, "a backfill is for owners of the organization")
    body = await call.body.json(BackfillBody)
    begun = await _begun(call.service, call.scope.organization_id, body, call.own_zone, call.scope.developer_id)
    return BackfillBegun(begun.backfill_id)


@routes("POST /v1/admin/control/backfill", "The same, for any organization.", status=202)
async def start(call: BySecret, body: AdminBackfillBody) -> BackfillRecord:
    if call.service.directory.get(Organization, body.organization_id) is None:
        raise HttpError(404, f"no organization {body.organization_id}")
    return await _begun(call.service, body.organization_id, body, ZoneInfo("UTC"))


@routes("GET /v1/admin/control/backfill", "Every backfill, newest first, and how far it has come.", (LIMIT,))
async def listed(call: BySecret) -> Sequence[BackfillRecord]:
    return (await call.service.backfills())[: LIMIT.read(call.query)]


async def _begun(
    service: Service, organization_id: UUID, body: BackfillBody, zone: ZoneInfo, by: UUID | None = None
) -> BackfillRecord:
    developer_id = body.developer_id
    with refusing("$: "):
        window = time_range(body.from_time, body.to, zone, service.now_us())
    stays = {(each.organization_id, each.developer_id) for each in service.directory.all(Membership)}
    if developer_id is not None and (organization_id, developer_id) not in stays:  # who has left has goals all the same
        raise HttpError(404, f"no developer {developer_id} in the organization")
    count = await service.read_all(lambda reader: count_started(reader, organization_id, developer_id, window))
    requested = events.BackfillRequested(
        received_at_us=service.now_us(),
        by=by,
        backfill_id=uuid4(),
        organization_id=organization_id,
        developer_id=developer_id,
        from_us=window.start_us,
        to_us=window.end_us,
        sub_sessions=count,
    )
    return accepted(await service.start_backfill(requested))


# --- what a developer's own agent is asked about their work, and what it answers --------------------------------

_QUESTIONS = clamped("limit", 20, QUESTIONS_MAX, "How many questions")


@routes("GET /v1/judge/questions", "What your own agent may judge of your work.", (_QUESTIONS,))
async def questions(call: ByKey) -> OpenQuestions:
    return OpenQuestions(accepted(await call.service.judge_questions(call.scope, _QUESTIONS.read(call.query))))


routes.reads("/v1/judge/verdicts", "How many verdicts on your work came from whom.", judged)


@routes("POST /v1/judge/answers", "What your own agent says; each answer is taken or refused by itself.")
async def answer(call: ByKey, body: AgentAnswers) -> AnswersTaken:
    return accepted(await call.service.judge_answers(call.scope, body.answers))
