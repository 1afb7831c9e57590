"""What a range holds: tasks and their time, files, models, flags and trivia; and one day in figures."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, partial
from heapq import merge
from operator import itemgetter
from typing import get_args

import msgspec

from aggregates.event import Scope, Span, shaped
from aggregates.judging.rubric import TriviaReason
from aggregates.reports.prose import NarrativeStatus
from aggregates.scores.grades import Interval, Tally, score_of
from aggregates.scores.integrity import KINDS, FlagKind
from aggregates.times import US_PER_SECOND, Window, iso, sorted_into
from aggregates.turns.turn import IDLE_US, Observation, Turn, active_us
from aggregates.turns.turns import NO_ACTIVITY
from projections.derive.sessions import copied_to
from projections.derive.sub_session_rows import Detail, ModelTotals
from projections.prices import NANO, Spent
from projections.reader import Reader, TextRef, bound, sql, sum_in_halves, unpack, whole_sums
from projections.scores.score import Counts, score
from projections.scores.skill import insight_summary
from projections.scores.throttle import personal_throttle
from projections.sub_sessions import rows as goals

REASONS: tuple[TriviaReason, ...] = get_args(TriviaReason)


class TaskTime(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How long one sub-session was worked on. What is judged at settling is None while it is open."""

    sub_session_id: str
    title: str | None  # None once it has been forgotten
    intent_class: str
    kind_told: str | None
    started_at: str
    ended_at: str | None
    active_seconds: float
    crushed: bool | None


class TaskTimes(msgspec.Struct, frozen=True, rename="camel"):
    items: list[TaskTime]
    total_active_seconds: float


class TouchedFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    path: str | None  # None once it has been forgotten
    sub_sessions: int  # how many looked at it or changed it
    edits: int  # 0: only looked at
    lines_added: int | None  # None where some edit came without its lines
    lines_removed: int | None
    edits_without_lines: int  # in turns that reported no changed line of this file: their lines are unknown
    last_touched_at: str


class ModelTask(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One model on one kind of task. A sub-session that several models worked on counts for each of them."""

    model: str | None  # None where nobody said which model, or whether any, was asked
    intent_class: str
    sub_sessions: int
    qualifying: int  # settled, above the floor and classified
    crushed: int
    undecided: int  # of the qualifying ones, those of which nobody can say whether the goal was reached
    completion_rate: float | None  # 100 x crushed / qualifying; None where nothing qualifies
    interval: Interval | None  # of the completion rate
    total_tokens: int | None  # this model's own; None where some of it is unknown
    unreported_sub_sessions: int  # how many have tokens of this model that nobody reported
    cost_usd: float | None  # this model's own; None where some of it is unknown
    lower_bound_cost_usd: float | None  # what is known of it then
    unpriced_requests: int
    lower_bound_requests: int  # how many of the priced requests may have cost more
    upper_bound_requests: int  # … and how many less


def task_time(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> TaskTimes:
    """The sub-sessions that started in the range, newest first."""
    active = dict(active_times(reader.db, scope, window))
    items = [
        row.shown_as(TaskTime, active_seconds=active[row.sub_session_id] / US_PER_SECOND)
        for row in goals.select(reader, scope, "{in_range} {newest_first}", window, limit=limit, offset=offset)
    ]
    return TaskTimes(items, sum(active.values()) / US_PER_SECOND)


def active_times(db: sqlite3.Connection, scope: Scope, window: Window) -> Iterator[tuple[str, int]]:
    for name, active in db.execute(sql("active_times"), bound(scope, window)):
        # Where a turn was long: more may be seen within a turn that stays as it is, so it is not stored.
        if active is not None:
            yield name, active
            continue
        seen_us: list[int] = []
        for turn in goals.turns_in(db, name):
            seen_us += (turn.started_us, turn.last_activity_us)
            if turn.last_activity_us - turn.started_us > IDLE_US:
                seen_us += (at_us for at_us, seen in _observations(db, turn) if seen.kind not in NO_ACTIVITY)
        yield name, active_us(seen_us)


def _observations(db: sqlite3.Connection, turn: Turn) -> Iterator[tuple[int, Observation]]:
    """What was seen while a turn lasted, the latest first."""
    copied = sorted(((each.at_us, each.observation) for each in copied_to(db, turn)), key=itemgetter(0), reverse=True)
    rows = db.execute(sql("observations_of_turn"), (turn.agent_session_id, turn.started_us, turn.last_activity_us))
    own = ((at_us, unpack(body, Observation)) for at_us, body in rows)
    return merge(own, copied, key=itemgetter(0), reverse=True)


def files(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[TouchedFile]:
    """The files that sub-sessions of the range touched, those edited most often first."""
    query = sql("files", lines=f"{sum_in_halves('lines_added')}, {sum_in_halves('lines_removed')}")
    rows = reader.db.execute(query, bound(scope, window, limit=limit, offset=offset)).fetchall()
    paths = [TextRef(row[4], "words", Span(row[5], row[6])) for row in rows]
    texts = reader.texts(paths)
    turns = cache(partial(goals.turns_in, reader.db))  # the files of a page lie mostly in the same few sub-sessions
    shown = []
    for path, (digest, count, edits, without_lines, _, _, _, seen, *halves) in zip(paths, rows, strict=True):
        added, removed = (None, None) if without_lines else whole_sums(halves)
        last_us = 0
        for seen_us, name in sorted(msgspec.json.decode(seen), reverse=True):
            if seen_us <= last_us:
                break
            last_us = max((last_us, *(_touched_us(reader.db, turn, digest, last_us) for turn in turns(name))))
        file = TouchedFile(
            path=texts[path],
            sub_sessions=count,
            edits=edits,
            lines_added=added,
            lines_removed=removed,
            edits_without_lines=without_lines,
            last_touched_at=iso(last_us),
        )
        shown.append(file)
    return shown


def _touched_us(db: sqlite3.Connection, turn: Turn, digest: int, since_us: int) -> int:
    """When a turn's last tool call on a file was seen, 0 where not since then. A turn does not say, so look."""
    if turn.last_activity_us <= since_us or digest not in turn.work.touched_files:
        return 0
    for at_us, seen in _observations(db, turn):
        if seen.tool is not None and seen.tool.file_digest == digest:
            return at_us
    return turn.started_us  # told before its prompt, and here by the prompt's name: the nearest time that is known


def model_task(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[ModelTask]:
    """One row for each pair of model and intent class, the most frequent first."""
    pairs: defaultdict[tuple[str | None, str], list[tuple[Tally, ModelTotals]]] = defaultdict(list)
    for intent, qualifies, crushed, rework, models in reader.db.execute(sql("models_by_kind"), bound(scope, window)):
        undecided = bool(qualifies) and crushed is None
        one = Tally(bool(qualifies), bool(crushed), undecided, undecided and not rework)
        for totals in unpack(models, list[ModelTotals]):
            pairs[totals.model, intent or goals.UNCLASSIFIED].append((one, totals))
    ranked = sorted(pairs.items(), key=lambda pair: (-len(pair[1]), pair[0][0] or "", pair[0][1]))
    shown = []
    for (model, intent_class), rows in ranked[offset : offset + limit]:
        tally = Tally(*(sum(getattr(one, field) for one, _ in rows) for field in Tally.__struct_fields__))
        asked = [each for _, each in rows]
        unreported, spent = sum(not each.reported for each in asked), sum(map(Spent.of_model, asked), Spent())
        known_usd = spent.cost_usd_nano / NANO
        exact = not spent.upper_bound_requests
        task = spent.shown_as(
            ModelTask,
            model=model,
            intent_class=intent_class,
            sub_sessions=len(rows),
            qualifying=tally.total,
            crushed=tally.crushed,
            undecided=tally.undecided,
            completion_rate=score_of(tally.crushed, tally.total),
            interval=tally.interval(),
            total_tokens=None if unreported else spent.total_tokens,
            unreported_sub_sessions=unreported,
            cost_usd=spent.cost_usd if any(each.requests or each.reported for each in asked) else None,
            lower_bound_cost_usd=(known_usd or None) if spent.unpriced_requests and exact else None,
        )
        shown.append(task)
    return shown


# Integrity flags and trivia: counted by kind, over periods, and one by one.


class KindCount(msgspec.Struct, frozen=True):
    kind: FlagKind
    count: int


class Integrity(msgspec.Struct, frozen=True):
    """The kinds that were flagged in a window, in the order of scoring.md."""

    by_kind: list[KindCount]


class IntegrityPoint(msgspec.Struct, frozen=True):
    """One period; every kind is listed."""

    period_start: str
    total: int
    by_kind: list[KindCount]


class FlagRow(msgspec.Struct, frozen=True):
    flag_id: str
    kind: FlagKind
    detected_at: str
    agent_session_id: str | None
    score_v3_sub_session_id: str | None  # which holds the turn by which it fired; None: about no turn
    count: int
    window_seconds: int
    details: dict[str, int | str]


class ReasonCount(msgspec.Struct, frozen=True):
    reason: TriviaReason
    count: int


class TriviaPoint(msgspec.Struct, frozen=True):
    """One period; every reason is listed, in the order in which they are looked at."""

    period_start: str
    total: int
    by_reason: list[ReasonCount]


def integrity(reader: Reader, scope: Scope, window: Window) -> Integrity:
    kinds = [kind for _, kind in reader.db.execute(sql("flags"), bound(scope, window))]
    return Integrity([KindCount(kind, kinds.count(kind)) for kind in KINDS if kind in kinds])


def integrity_trend(reader: Reader, scope: Scope, window: Window, periods: Sequence[Window]) -> list[IntegrityPoint]:
    """What was flagged in the range, by the period in which it was; empty periods are there with zeros."""
    placed = reader.db.execute(sql("flags"), bound(scope, window))
    return [
        IntegrityPoint(iso(period.start_us), len(kinds), [KindCount(kind, kinds.count(kind)) for kind in KINDS])
        for period, kinds in zip(periods, sorted_into(periods, placed), strict=True)
    ]


def recent_flags(reader: Reader, scope: Scope, from_us: int, limit: int, offset: int) -> list[FlagRow]:
    """The flags from a time on, newest first."""
    rows = reader.db.execute(sql("recent_flags"), bound(scope, start=from_us, limit=limit, offset=offset))
    return [
        FlagRow(flag_id, kind, iso(at_us), session, sub_session, count, seconds, unpack(details, dict[str, int | str]))
        for flag_id, kind, at_us, session, sub_session, count, seconds, details in rows
    ]


def trivia_trend(reader: Reader, scope: Scope, window: Window, periods: Sequence[Window]) -> list[TriviaPoint]:
    """Settled sub-sessions below the floor that started in the range, by the period they started in."""
    placed = reader.db.execute(sql("trivia"), bound(scope, window))
    return [
        TriviaPoint(iso(period.start_us), len(found), [ReasonCount(each, found.count(each)) for each in REASONS])
        for period, found in zip(periods, sorted_into(periods, placed), strict=True)
    ]


# One day of one developer.


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
    upper_bound_requests: int
    active_seconds: float
    throttle_hours: float | None  # None where the day holds more requests than one read may look at
    narrative: str | None  # of a text model; else `narrative_status` says why there is none
    narrative_status: NarrativeStatus
    unknown_agents: tuple[str, ...] = ()  # what svc cannot read, and counts nowhere above, since the server started


def today_summary(reader: Reader, scope: Scope, date: str, timezone: str, day: Window) -> TodaySummary:
    """The day that the bounds are of, in the zone that they were made in."""
    rate, graded = score(reader, scope, "daily", (day,)), insight_summary(reader, scope, "daily", (day,))
    throttled = personal_throttle(reader, scope, day)
    rows = reader.db.execute(sql("day"), bound(scope, day)).fetchall()
    trivia, tokens, _, cost_usd_nano, unpriced, lower, upper = (sum(row[n] or 0 for row in rows) for n in range(7))
    # Where there were only commands and acknowledgements, nothing need have been asked of a model.
    asked = [row for row in rows if unpack(row[7], Detail).floor.countable_turns > 0]
    unreported, priced = sum(row[1] is None for row in asked), not unpriced and all(row[2] for row in asked)
    return shaped(
        TodaySummary,
        rate,
        graded,
        date=date,
        timezone=timezone,
        trivia_count=trivia,
        apg=graded.apg_current,
        apg_interval=graded.interval,
        prompts=reader.db.execute(sql("prompts_of_day"), bound(scope, day)).fetchone()[0],
        tokens=None if unreported else tokens,
        unreported_sub_sessions=unreported,
        cost_usd=cost_usd_nano / NANO if priced else None,
        unpriced_requests=unpriced,
        lower_bound_requests=lower,
        upper_bound_requests=upper,
        active_seconds=sum(us for _, us in active_times(reader.db, scope, day)) / US_PER_SECOND,
        throttle_hours=None if throttled is None else throttled.summary.estimated_hours_lost,
        narrative=None,
        narrative_status="off",
    )
