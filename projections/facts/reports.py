"""Reports as rows, one for each step in whatever order the steps come, and the record that follows from them."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeVar
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.people.acts import Channel
from aggregates.reports import events
from aggregates.reports.decide import Notice, ReportStatus, Try
from aggregates.times import US_PER_DAY, iso
from projections.facts.rows import Rows
from projections.reader import Reader, TextRef, bodies, bound, owner, pack, unpack

SAFE_MESSAGE = "The report could not be generated. Please try again."
"""What is said of every failure; the log says more, and nobody else is told."""


class Meta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    period: str
    period_start: str
    period_end: str  # exclusive
    timezone: str
    language: str
    rules_version: int | None  # None until it is made


class ReportState(msgspec.Struct, frozen=True, kw_only=True):
    report_id: str
    status: ReportStatus
    error_code: str | None
    error_message: str | None  # None unless it failed


class ReportListed(ReportState, frozen=True, kw_only=True):
    created_at: str
    started_at: str | None
    finished_at: str | None
    meta: Meta


class ReportRecord(ReportListed, frozen=True, kw_only=True):
    sections: msgspec.Raw | None  # None until it is made, and once its words have been forgotten
    narrative: str | None  # prose by a text model about the figures of the sections; None where there is none
    narrative_source: Literal["llm"] | None


class OpenReport(msgspec.Struct, frozen=True):
    scope: Scope
    report_id: UUID
    period: events.ReportPeriod
    language: str


class _Asked(msgspec.Struct, frozen=True, array_like=True):
    period: events.ReportPeriod
    language: str


def add_report(rows: Rows, position: int, event: events.ReportEvent) -> None:
    """The steps that a fact is; none where it concerns the slot of a period."""
    step, steps = event.TOPIC.removeprefix("report."), dict[str, object]()
    match event:
        case events.ReportRequested():
            steps = {step: _Asked(event.period, event.language), **{f"{name} wanted": 0 for name in event.notices}}
        case events.ReportCompleted():
            steps[step] = event.rules_version
        case events.ReportFailed():
            steps[step] = event.error_code or ""
        case events.ReportNoticeTried():
            number = f" {event.attempt}" if event.outcome == "failed" else ""
            outcome = Try(event.channel, event.attempt, event.outcome, event.received_at_us)
            steps[f"{event.channel} {event.outcome}{number}"] = outcome
        case events.ReportStarted() | events.ReportCancelled() | events.ReportDeleted():
            steps[step] = 0
    for name, body in steps.items():
        own = (str(event.report_id), name, *owner(event.scope), event.received_at_us, position, pack(body))
        rows.report_steps.append(own)


_S = TypeVar("_S", bound=ReportState)


class _Step(NamedTuple):
    at_us: int
    position: int
    body: bytes


class _Found(NamedTuple):
    report_id: UUID
    steps: Mapping[str, _Step]

    @property
    def end(self) -> ReportStatus | None:
        return next((status for status in _ENDS if status in self.steps), None)

    @property
    def about(self) -> _Asked:
        return unpack(self.steps["requested"].body, _Asked)

    def shown_as(self, kind: type[_S], **texts: object) -> _S:
        about, times = self.about, {step: iso(each.at_us) for step, each in self.steps.items()}
        failed = self.steps["failed"] if self.end == "failed" else None
        figures: dict[str, Any] = {
            "report_id": str(self.report_id),
            "status": self.end or ("running" if "started" in self.steps else "queued"),
            "error_code": None if failed is None else unpack(failed.body, str) or None,
            "error_message": None if failed is None else SAFE_MESSAGE,
            "created_at": times["requested"],
            "started_at": times.get("started"),
            "finished_at": times.get(self.end or ""),
            "meta": Meta(
                period=about.period.name,
                period_start=iso(about.period.start_us),
                period_end=iso(about.period.end_us),
                timezone=about.period.timezone,
                language=about.language,
                rules_version=unpack(self.steps["completed"].body, int) if self.end == "completed" else None,
            ),
            **texts,
        }
        return kind(**{name: figures[name] for name in kind.__struct_fields__})


_ENDS: tuple[ReportStatus, ...] = ("completed", "failed", "cancelled")
_OF_DEVELOPER = "organization_id = :organization AND developer_id = :developer "
_OF_REPORT = "report_id = :report AND +organization_id = :organization AND +developer_id = :developer "
"""By the report's key: without the pluses SQLite goes through all of the developer's reports."""


def _asked_for(reader: Reader, scope: Scope, narrowed: str = _OF_DEVELOPER, **values: object) -> list[_Found]:
    """Every report of the developer, the deleted ones too, newest first."""
    query = f"SELECT report_id, step, at_us, position, body FROM report_steps WHERE {narrowed}ORDER BY position"
    steps: dict[str, dict[str, _Step]] = {}
    for report_id, step, *rest in reader.db.execute(query, bound(scope, None, **values)):
        steps.setdefault(report_id, {})[step] = _Step(*rest)
    return [_Found(UUID(report_id), of_one) for report_id, of_one in reversed(steps.items())]


def _shown(reader: Reader, scope: Scope) -> list[_Found]:
    return [each for each in _asked_for(reader, scope) if "deleted" not in each.steps]


def _by_id(reader: Reader, scope: Scope, report_id: UUID) -> _Found | None:
    found = _asked_for(reader, scope, _OF_REPORT, report=str(report_id))
    return found[0] if found and "deleted" not in found[0].steps else None


def report(reader: Reader, scope: Scope, report_id: UUID) -> ReportRecord | None:
    found = _by_id(reader, scope, report_id)
    return None if found is None else _record(reader, found)


def latest_report(reader: Reader, scope: Scope) -> ReportRecord | None:
    """The one that was completed last, of any period."""
    made = [each for each in _shown(reader, scope) if each.end == "completed"]
    return _record(reader, max(made, key=lambda each: each.steps["completed"].position)) if made else None


def _record(reader: Reader, found: _Found) -> ReportRecord:
    completed = found.steps.get("completed")
    refs = [None if completed is None else TextRef(completed.position, name) for name in ("sections", "narrative")]
    texts = reader.texts(refs)
    sections, narrative = (None if ref is None else texts[ref] for ref in refs)
    return found.shown_as(
        ReportRecord,
        sections=None if sections is None else msgspec.Raw(sections.encode()),
        narrative=narrative,
        narrative_source=None if narrative is None else "llm",
    )


def report_state(reader: Reader, scope: Scope, report_id: UUID) -> ReportState | None:
    found = _by_id(reader, scope, report_id)
    return None if found is None else found.shown_as(ReportState)


def pending_report(reader: Reader, scope: Scope) -> ReportState | None:
    """The newest that is queued or running."""
    return next((each.shown_as(ReportState) for each in _shown(reader, scope) if each.end is None), None)


def reports(reader: Reader, scope: Scope, limit: int, offset: int) -> list[ReportListed]:
    """All that were not deleted, whatever became of them, newest first."""
    return [each.shown_as(ReportListed) for each in _shown(reader, scope)[offset : offset + limit]]


class AskedBefore(NamedTuple):
    number: int  # of reports of one period, the deleted ones among them
    unfinished: UUID | None  # the one of that period that is being made
    waiting: int  # of any period


def asked_before(reader: Reader, scope: Scope, period: events.ReportPeriod) -> AskedBefore:
    found = _asked_for(reader, scope)
    wanted = (period.name, period.window)
    same = [each for each in found if (each.about.period.name, each.about.period.window) == wanted]
    unfinished = next((each.report_id for each in reversed(same) if each.end is None), None)
    return AskedBefore(len(same), unfinished, sum(each.end is None for each in found))


def open_reports(reader: Reader, limit: int) -> list[OpenReport]:
    """Of everybody: the ones that are still to be made, oldest first."""
    query = (
        "SELECT organization_id, developer_id, report_id, body FROM report_steps requested "
        "WHERE step = 'requested' AND NOT EXISTS (SELECT 1 FROM report_steps e "
        "WHERE e.report_id = requested.report_id AND e.step IN ('completed', 'failed', 'cancelled')) "
        "ORDER BY position LIMIT ?"
    )
    found = []
    for organization_id, developer_id, report_id, body in reader.db.execute(query, (limit,)):
        scope, asked = Scope(UUID(organization_id), UUID(developer_id)), unpack(body, _Asked)
        found.append(OpenReport(scope, UUID(report_id), asked.period, asked.language))
    return found


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


def open_notices(reader: Reader, channels: Iterable[Channel], since_us: int, limit: int) -> list[Notice]:
    """Of everybody: who is still to be told of what was finished after that, newest first for each channel."""
    found = []
    for channel in channels:
        steps = {step: f"{channel} {step}" for step in ("wanted", "told", "given_up")}
        narrowed = {**steps, "since_us": since_us, "asked_us": since_us - _ASKED_US, "limit": limit}
        for *ids, body, ended, at_us in reader.db.execute(_WAITING, narrowed).fetchall():
            organization_id, developer_id, report_id = map(UUID, ids)
            scope = Scope(organization_id, developer_id)
            notice = Notice(
                scope=scope,
                channel=channel,
                report_id=report_id,
                period=unpack(body, _Asked).period,
                completed=ended == "completed",
                finished_us=at_us,
                tries=report_tries(reader, scope, report_id, channel),
            )
            found.append(notice)
    return found


def report_tries(reader: Reader, scope: Scope, report_id: UUID, channel: Channel) -> list[Try]:
    """What came of telling the developer of one report, the first try first."""
    query = (
        "SELECT body FROM report_steps WHERE report_id = :report AND organization_id = :organization "
        "AND developer_id = :developer AND step GLOB :steps AND step <> :wanted ORDER BY position"
    )
    narrowed = bound(scope, report=str(report_id), steps=f"{channel} *", wanted=f"{channel} wanted")
    return bodies(reader.db, Try, query, narrowed)
