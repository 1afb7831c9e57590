"""One day, of a team and of a developer: its counts, and the abstract labels that a narrative is written from."""

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.people.directory import Stay
from aggregates.reading.verdicts import INTENTS, Intent
from aggregates.reports.prose import Narration, NarrativeStatus
from aggregates.scores.grades import Interval
from aggregates.scores.insights import NO_WORK, WorkLabels, label, work_labels
from aggregates.times import US_PER_SECOND, Window, iso
from projections.derive.sub_session_rows import Detail, PromptDetail
from projections.reader import Reader, TextRef, bodies, bound, unpack
from projections.scores.activity import active_times
from projections.scores.score import Counts, score
from projections.scores.skill import insight_summary
from projections.scores.throttle import personal_throttle
from projections.sub_sessions.rows import (
    CRUSHED,
    NANO,
    QUALIFIES,
    SETTLED,
    UNCLASSIFIED,
    WHOLE_TOKENS,
    started_in,
    turns_in,
)

LABELLED_MAX = 500  # sub-sessions of a day that are labelled, the newest first: each takes a look at its prompts


class ByIntent(msgspec.Struct, frozen=True, kw_only=True):
    """Settled sub-sessions above the floor, by what they were after."""

    question: int = 0
    investigation: int = 0
    review: int = 0
    plan: int = 0
    small_change: int = 0
    bug_fix: int = 0
    feature: int = 0
    refactor: int = 0
    unclassified: int = 0


class TeamDay(msgspec.Struct, frozen=True):
    members_active: int
    sub_sessions: int
    crushed: int
    undecided: int
    trivia: int
    by_intent: ByIntent
    work: WorkLabels


class TeamSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One day of a team."""

    team_id: UUID
    date: str
    timezone: str
    language: str
    members_active: int
    sub_sessions: int
    crushed: int | None
    undecided: int | None  # of how many nobody can say whether the goal was reached
    trivia: int | None
    by_intent: ByIntent | None
    withheld: str | None  # why how the day came out is not told; None where it is
    narrative: str | None  # plain text, to be shown as it is; else `narrative_status` says why there is none
    narrative_status: NarrativeStatus
    structured_narrative: None = None  # kept for the wire: nothing but null is supported
    narrative_source: str | None
    generated_at: str | None
    narrative_input_clipped: bool  # whether the narrative covers only the busiest members or tasks


def team_day(reader: Reader, scope: Scope, stays: Sequence[Stay], *, labels: bool) -> TeamDay:
    """The days of a team's stays, which are of the scope's organization. `labels`: whether anybody will read them."""
    days = [
        _sub_sessions(reader.db, Scope(scope.organization_id, stay.developer_id), Window(stay.start_us, stay.end_us))
        for stay in stays
    ]
    found = [each for day in days for each in day]
    intents = [each.intent for each in found if each.settled and each.floor_passed]
    return TeamDay(
        len({each.developer_id for each in found}),
        len(found),
        sum(each.crushed for each in found),
        sum(each.undecided for each in found),
        sum(each.settled and not each.floor_passed for each in found),
        ByIntent(**{name: intents.count(name) for name in ByIntent.__struct_fields__}),
        _labelled(reader, found) if labels else NO_WORK,
    )


def own_work(reader: Reader, scope: Scope, day: Window) -> WorkLabels:
    return _labelled(reader, _sub_sessions(reader.db, scope, day))


class _SubSession(msgspec.Struct, frozen=True):
    developer_id: UUID
    name: str
    settled: int
    floor_passed: int
    intent: str
    crushed: int
    undecided: int


def _sub_sessions(db: sqlite3.Connection, member: Scope, window: Window) -> list[_SubSession]:
    query = (
        f"SELECT s.sub_session_id, {SETTLED}, s.floor_passed, coalesce(s.intent, '{UNCLASSIFIED}'), "
        f"coalesce({CRUSHED}, 0), {QUALIFIES} AND s.goal_complete IS NULL "
        f"{started_in()} ORDER BY s.started_us DESC, s.sub_session_id"
    )
    return [_SubSession(member.developer_id, *row) for row in db.execute(query, bound(member, window))]


def withheld(day: TeamDay, team_minimum: int) -> str | None:
    """Why how a day came out is not told: of one or two members it would be about a person."""
    if day.members_active == 0 or day.members_active >= team_minimum:
        return None
    return f"fewer than {team_minimum} members were active: how it came out would tell on one of them"


def team_summary(
    team_id: UUID,
    date: str,
    timezone: str,
    language: str,
    day: TeamDay,
    reason: str | None,
    narration: Narration,
) -> TeamSummary:
    """Who was active and on how much; how it came out, and the narrative, where there are any and `reason` is None."""
    told, narrative = reason is None, narration.narrative
    return TeamSummary(
        team_id=team_id,
        date=date,
        timezone=timezone,
        language=language,
        members_active=day.members_active,
        sub_sessions=day.sub_sessions,
        crushed=day.crushed if told else None,
        undecided=day.undecided if told else None,
        trivia=day.trivia if told else None,
        by_intent=day.by_intent if told else None,
        withheld=reason,
        narrative=None if narrative is None else narrative.text,
        narrative_status=narration.status,
        narrative_source=None if narrative is None else "llm",
        generated_at=None if narrative is None else iso(narrative.generated_at_us),
        narrative_input_clipped=narrative is not None and narrative.clipped,
    )


def _labelled(reader: Reader, found: Sequence[_SubSession]) -> WorkLabels:
    named = [each for each in found if each.settled and each.floor_passed and each.intent in INTENTS]
    wanted = named[:LABELLED_MAX]
    goals = [_goal(reader.db, each.name) for each in wanted]
    texts = reader.texts(goals)
    labels: defaultdict[UUID, list[str]] = defaultdict(list)
    for each, goal in zip(wanted, goals, strict=True):
        marks = "".join(turn.work.marks for turn in turns_in(reader.db, each.name))
        intent = msgspec.convert(each.intent, Intent)
        labels[each.developer_id].append(label(intent, None if goal is None else texts[goal], marks))
    work = work_labels(labels.values())
    return msgspec.structs.replace(work, clipped=work.clipped or len(named) > len(wanted))


def _goal(db: sqlite3.Connection, name: str) -> TextRef | None:
    """The prompt whose title the sub-session bears; None where its text was not captured."""
    (detail,) = bodies(db, Detail, "SELECT detail FROM sub_sessions WHERE sub_session_id = ?", (name,))
    title, query = detail.goal_title, "SELECT body FROM prompts WHERE sub_session_id = ? ORDER BY at_us, turn_id"
    if title is None:
        return None
    for whole in (each.prompt for each in bodies(db, PromptDetail, query, (name,))):
        if whole is None or (whole.position, whole.field) != (title.position, title.field):
            continue
        if whole.span is None or title.span is None or whole.span.start <= title.span.start < whole.span.end:
            return whole
    return title


class TodaySummary(Counts, frozen=True, kw_only=True):
    """One day of one developer. A sum is None where a part of it is not known; a count beside it says how much."""

    date: str
    timezone: str
    svc_score: float
    interval: Interval | None  # of `svc_score` and of `decided_rate`
    trivia_count: int
    apg: float | None
    apg_interval: Interval | None
    sample_count: int
    unsure_count: int
    prompts: int
    tokens: int | None  # of all kinds, over the sub-sessions that started
    unreported_sub_sessions: int  # how many of them have tokens that nobody reported
    cost_usd: float | None
    unpriced_requests: int
    lower_bound_requests: int
    active_seconds: float
    throttle_hours: float | None  # None where the day holds more requests than one read may look at
    narrative: str | None  # of a text model; else `narrative_status` says why there is none
    narrative_status: NarrativeStatus
    unknown_agents: tuple[str, ...] = ()
    """What svc cannot read, and therefore counts nowhere above: as it came since the server started."""


class _Started(msgspec.Struct, frozen=True):
    trivia: int
    tokens: int  # 0 where some are unknown
    requests: int
    cost_usd_nano: int
    unpriced: int
    lower_bound: int
    detail: bytes


def today_summary(reader: Reader, scope: Scope, date: str, timezone: str, day: Window) -> TodaySummary:
    """The day that the bounds are of, in the zone that they were made in."""
    rate, graded = score(reader, scope, "daily", (day,)), insight_summary(reader, scope, "daily", (day,))
    query = (
        f"SELECT {SETTLED} AND NOT s.floor_passed, coalesce({WHOLE_TOKENS}, 0), s.requests, s.cost_usd_nano, "
        f"s.unpriced_requests, s.lower_bound_requests, s.detail {started_in()}"
    )
    started = [_Started(*row) for row in reader.db.execute(query, bound(scope, day))]
    # Where there were only commands and acknowledgements, nothing need have been asked of a model.
    asked = [each for each in started if unpack(each.detail, Detail).floor.countable_turns > 0]
    unreported = sum(not each.tokens for each in asked)
    unpriced = sum(each.unpriced for each in started)
    priced = not unpriced and all(each.requests for each in asked)
    throttled = personal_throttle(reader, scope, day)
    prompts = (
        "SELECT count(*) FROM prompts WHERE organization_id = :organization AND developer_id = :developer "
        "AND at_us >= :start AND at_us < :end"
    )
    return TodaySummary(
        date=date,
        timezone=timezone,
        svc_score=rate.svc_score,
        interval=rate.interval,
        trivia_count=sum(each.trivia for each in started),
        apg=graded.apg_current,
        apg_interval=graded.interval,
        unsure_count=graded.unsure_count,
        sample_count=graded.sample_count,
        prompts=reader.db.execute(prompts, bound(scope, day)).fetchone()[0],
        tokens=None if unreported else sum(each.tokens for each in started),
        unreported_sub_sessions=unreported,
        cost_usd=sum(each.cost_usd_nano for each in started) / NANO if priced else None,
        unpriced_requests=unpriced,
        lower_bound_requests=sum(each.lower_bound for each in started),
        active_seconds=sum(us for _, us in active_times(reader.db, scope, day)) / US_PER_SECOND,
        throttle_hours=None if throttled is None else throttled.summary.estimated_hours_lost,
        narrative=None,
        narrative_status="off",
        **{name: getattr(rate, name) for name in Counts.__struct_fields__},
    )
