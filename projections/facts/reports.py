"""Reports as they are listed and read: what happened to each, as rows, and the record that follows from them.

One row for each step of a report, so that no row hangs on the order in which facts are applied.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.people.events import Channel
from aggregates.reports.decide import ReportStatus
from aggregates.reports.events import (
    ReportCancelled,
    ReportCompleted,
    ReportDeleted,
    ReportEvent,
    ReportFailed,
    ReportNoticeTried,
    ReportPeriod,
    ReportRequested,
    ReportStarted,
)
from aggregates.reports.notices import Try
from aggregates.times import US_PER_DAY, iso
from projections.facts.rows import Rows
from projections.reader import Reader, TextRef, pack, unpack

SAFE_MESSAGE = "The report could not be generated. Please try again."
"""What is said of every failure; the log says more, and nobody else is told."""


class Meta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a report is about."""

    period: str
    period_start: str
    period_end: str  # exclusive
    timezone: str
    language: str
    rules_version: int | None  # None until it is made


class ReportState(msgspec.Struct, frozen=True, kw_only=True):
    """How far a report has come."""

    report_id: str
    status: ReportStatus
    error_code: str | None
    error_message: str | None  # None unless it failed


class ReportListed(ReportState, frozen=True, kw_only=True):
    """A report without what it says."""

    created_at: str
    started_at: str | None
    finished_at: str | None
    meta: Meta


class ReportRecord(ReportListed, frozen=True, kw_only=True):
    """A report."""

    sections: msgspec.Raw | None  # None until it is made, and once its words have been forgotten
    narrative: str | None  # prose by a text model about the figures of the sections; None where there is none
    narrative_source: Literal["llm"] | None


class OpenReport(msgspec.Struct, frozen=True):
    """A report that is still to be made."""

    scope: Scope
    report_id: UUID
    period: ReportPeriod
    language: str


class OpenNotice(msgspec.Struct, frozen=True, kw_only=True):
    """A developer who waits to be told that a report is finished."""

    scope: Scope
    channel: Channel
    report_id: UUID
    period: ReportPeriod
    completed: bool
    finished_us: int
    tries: Sequence[Try]


class _Asked(msgspec.Struct, frozen=True, array_like=True):
    period: ReportPeriod
    language: str


def add_report(rows: Rows, position: int, event: ReportEvent) -> None:
    """The steps that a fact is; none where it concerns the slot of a period."""
    owner = (str(event.organization_id), str(event.developer_id))
    for step, body in _steps(event):
        rows.report_steps.append((str(event.report_id), step, *owner, event.received_at_us, position, pack(body)))


def _steps(event: ReportEvent) -> Iterator[tuple[str, object]]:
    step = event.TOPIC.removeprefix("report.")
    match event:
        case ReportRequested():
            yield step, _Asked(event.period, event.language)
            for channel in event.notices:
                yield f"{channel} wanted", 0
        case ReportCompleted():
            yield step, event.rules_version
        case ReportFailed():
            yield step, event.error_code or ""
        case ReportNoticeTried():
            number = f" {event.attempt}" if event.outcome == "failed" else ""
            yield f"{event.channel} {event.outcome}{number}", _try(event)
        case ReportStarted() | ReportCancelled() | ReportDeleted():
            yield step, 0
        case _:
            pass


def _try(event: ReportNoticeTried) -> Try:
    return Try(channel=event.channel, attempt=event.attempt, outcome=event.outcome, at_us=event.received_at_us)


_STEPS = ("requested", "started", "completed", "failed", "cancelled")
_ENDS = "('completed', 'failed', 'cancelled')"
_JOINED = "".join(
    f"LEFT JOIN report_steps {step} ON {step}.report_id = requested.report_id AND {step}.step = '{step}' "
    for step in _STEPS[1:]
)
_COLUMNS = ", ".join(f"{step}.at_us, {step}.position, {step}.body" for step in _STEPS)
_GONE = "NOT EXISTS (SELECT 1 FROM report_steps d WHERE d.report_id = requested.report_id AND d.step = 'deleted') "
_UNFINISHED = (
    f"NOT EXISTS (SELECT 1 FROM report_steps e WHERE e.report_id = requested.report_id AND e.step IN {_ENDS}) "
)
_OWN = (
    "requested.step = 'requested' AND requested.organization_id = :organization "
    "AND requested.developer_id = :developer "
)
_SELECT = f"SELECT requested.report_id, {_COLUMNS} FROM report_steps requested {_JOINED}WHERE {_OWN}AND {_GONE}"


class _Step(msgspec.Struct, frozen=True):
    at_us: int
    position: int
    body: bytes


class _Found(msgspec.Struct, frozen=True):
    report_id: str
    asked: _Step
    started: _Step | None
    completed: _Step | None
    failed: _Step | None
    cancelled: _Step | None

    @property
    def status(self) -> ReportStatus:
        if self.completed is not None:
            return "completed"
        if self.failed is not None:
            return "failed"
        if self.cancelled is not None:
            return "cancelled"
        return "queued" if self.started is None else "running"

    @property
    def about(self) -> _Asked:
        return unpack(self.asked.body, _Asked)


def report(reader: Reader, scope: Scope, report_id: UUID) -> ReportRecord | None:
    """One report of the developer; None where there is none, or it was deleted."""
    found = _by_id(reader, scope, report_id)
    return None if found is None else _record(reader, found)


def latest_report(reader: Reader, scope: Scope) -> ReportRecord | None:
    """The one that was completed last, of any period."""
    found = _one(reader, scope, "AND completed.at_us IS NOT NULL ORDER BY completed.position DESC LIMIT 1")
    return None if found is None else _record(reader, found)


def report_state(reader: Reader, scope: Scope, report_id: UUID) -> ReportState | None:
    """How far one report has come."""
    found = _by_id(reader, scope, report_id)
    return None if found is None else ReportState(**_state(found))


def pending_report(reader: Reader, scope: Scope) -> ReportState | None:
    """The newest that is queued or running."""
    found = _one(reader, scope, f"AND {_UNFINISHED}ORDER BY requested.position DESC LIMIT 1")
    return None if found is None else ReportState(**_state(found))


def reports(reader: Reader, scope: Scope, limit: int, offset: int) -> list[ReportListed]:
    """All that were not deleted, whatever became of them, newest first."""
    page = "ORDER BY requested.position DESC LIMIT :limit OFFSET :offset"
    return [ReportListed(**_listed(each)) for each in _found(reader, scope, page, limit=limit, offset=offset)]


class AskedBefore(msgspec.Struct, frozen=True):
    """The reports of one period."""

    number: int  # the deleted ones among them
    unfinished: UUID | None


def asked_before(reader: Reader, scope: Scope, period: ReportPeriod) -> AskedBefore:
    query = f"SELECT report_id, body, {_UNFINISHED}FROM report_steps requested WHERE {_OWN}"
    rows = reader.db.execute(query, _owner(scope)).fetchall()
    same = [(report_id, unfinished) for report_id, body, unfinished in rows if _is_of(period, unpack(body, _Asked))]
    return AskedBefore(len(same), next((UUID(report_id) for report_id, unfinished in same if unfinished), None))


def _is_of(period: ReportPeriod, asked: _Asked) -> bool:
    return (asked.period.name, asked.period.window) == (period.name, period.window)


def waiting_reports(reader: Reader, scope: Scope) -> int:
    """How many of the developer's reports are queued or running."""
    query = f"SELECT count(*) FROM report_steps requested WHERE {_OWN}AND {_UNFINISHED}"
    count: int = reader.db.execute(query, _owner(scope)).fetchone()[0]
    return count


def open_reports(reader: Reader, limit: int) -> list[OpenReport]:
    """Of everybody: the ones that are still to be made, oldest first."""
    query = (
        "SELECT organization_id, developer_id, report_id, body FROM report_steps requested "
        f"WHERE step = 'requested' AND {_UNFINISHED}ORDER BY position LIMIT ?"
    )
    return [_open(*row) for row in reader.db.execute(query, (limit,))]


def _open(organization_id: str, developer_id: str, report_id: str, body: bytes) -> OpenReport:
    asked = unpack(body, _Asked)
    scope = Scope(UUID(organization_id), UUID(developer_id))
    return OpenReport(scope, UUID(report_id), asked.period, asked.language)


_ASKED_US = 30 * US_PER_DAY
"""A report takes seconds; whoever asked for it so long before is looked for no more. Without a bound a look would read
every report there ever was: 1.7 s for 110,000 of them, where it is 0.01 s now."""
_WAITING = (
    "SELECT wanted.organization_id, wanted.developer_id, wanted.report_id, asked.body, ended.step, ended.at_us "
    "FROM report_steps wanted JOIN report_steps asked ON asked.report_id = wanted.report_id "
    "JOIN report_steps ended ON ended.report_id = wanted.report_id "
    "WHERE wanted.step = :wanted AND asked.step = 'requested' AND ended.step IN ('completed', 'failed') "
    "AND wanted.position > coalesce((SELECT old.position FROM report_steps old WHERE old.step = :wanted "
    "AND old.at_us < :asked_us ORDER BY old.position DESC LIMIT 1), 0) "
    "AND ended.at_us > :since_us AND NOT EXISTS (SELECT 1 FROM report_steps closed "
    "WHERE closed.report_id = wanted.report_id AND closed.step IN (:told, :given_up, 'deleted')) "
    "ORDER BY wanted.position DESC LIMIT :limit"
)


def open_notices(reader: Reader, channels: Iterable[Channel], since_us: int, limit: int) -> list[OpenNotice]:
    """Of everybody: who is still to be told of what was finished after that, newest first for each channel."""
    return [found for channel in channels for found in _open_notices(reader, channel, since_us, limit)]


def _open_notices(reader: Reader, channel: Channel, since_us: int, limit: int) -> Iterator[OpenNotice]:
    steps = {step: f"{channel} {step}" for step in ("wanted", "told", "given_up")}
    for organization_id, developer_id, report_id, body, ended, at_us in reader.db.execute(
        _WAITING, {**steps, "since_us": since_us, "asked_us": since_us - _ASKED_US, "limit": limit}
    ).fetchall():
        scope = Scope(UUID(organization_id), UUID(developer_id))
        yield OpenNotice(
            scope=scope,
            channel=channel,
            report_id=UUID(report_id),
            period=unpack(body, _Asked).period,
            completed=ended == "completed",
            finished_us=at_us,
            tries=report_tries(reader, scope, UUID(report_id), channel),
        )


def report_tries(reader: Reader, scope: Scope, report_id: UUID, channel: Channel) -> list[Try]:
    """What came of telling the developer of one report, the first try first."""
    query = (
        "SELECT body FROM report_steps WHERE report_id = :report AND organization_id = :organization "
        "AND developer_id = :developer AND step GLOB :steps AND step <> :wanted ORDER BY position"
    )
    bound = {"report": str(report_id), "steps": f"{channel} *", "wanted": f"{channel} wanted"}
    return [unpack(body, Try) for (body,) in reader.db.execute(query, _owner(scope) | bound)]


def _by_id(reader: Reader, scope: Scope, report_id: UUID) -> _Found | None:
    return _one(reader, scope, "AND requested.report_id = :report", report=str(report_id))


def _one(reader: Reader, scope: Scope, where: str, **bound: object) -> _Found | None:
    return next(iter(_found(reader, scope, where, **bound)), None)


def _found(reader: Reader, scope: Scope, where: str, **bound: object) -> Iterable[_Found]:
    for row in reader.db.execute(_SELECT + where, _owner(scope) | bound):
        report_id, *values = row
        steps = [_step(*values[place : place + 3]) for place in range(0, len(values), 3)]
        asked = steps[0]
        assert asked is not None, "whatever happened to a report, it was asked for"
        yield _Found(report_id, asked, *steps[1:])


def _step(at_us: int | None, position: int | None, body: bytes | None) -> _Step | None:
    return None if at_us is None or position is None or body is None else _Step(at_us, position, body)


def _owner(scope: Scope) -> dict[str, object]:
    return {"organization": str(scope.organization_id), "developer": str(scope.developer_id)}


def _state(found: _Found) -> dict[str, Any]:
    failed = found.status == "failed" and found.failed is not None
    return {
        "report_id": found.report_id,
        "status": found.status,
        "error_code": unpack(found.failed.body, str) or None if failed and found.failed is not None else None,
        "error_message": SAFE_MESSAGE if failed else None,
    }


def _listed(found: _Found) -> dict[str, Any]:
    ended = found.completed or found.failed or found.cancelled
    return {
        **_state(found),
        "created_at": iso(found.asked.at_us),
        "started_at": None if found.started is None else iso(found.started.at_us),
        "finished_at": None if ended is None else iso(ended.at_us),
        "meta": _meta(found),
    }


def _meta(found: _Found) -> Meta:
    about = found.about
    return Meta(
        period=about.period.name,
        period_start=iso(about.period.start_us),
        period_end=iso(about.period.end_us),
        timezone=about.period.timezone,
        language=about.language,
        rules_version=None if found.completed is None else unpack(found.completed.body, int),
    )


def _record(reader: Reader, found: _Found) -> ReportRecord:
    sections, narrative = _texts(reader, found.completed)
    return ReportRecord(
        **_listed(found),
        sections=None if sections is None else msgspec.Raw(sections.encode()),
        narrative=narrative,
        narrative_source=None if narrative is None else "llm",
    )


def _texts(reader: Reader, completed: _Step | None) -> tuple[str | None, str | None]:
    if completed is None:
        return None, None
    refs = TextRef(completed.position, "sections"), TextRef(completed.position, "narrative")
    texts = reader.texts(refs)
    return texts[refs[0]], texts[refs[1]]
