"""Sub-sessions as they are listed, what an override is about, and how often there is one."""

from typing import Any
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.scores.grades import Interval
from aggregates.sub_sessions.sub_session import OVERRIDE_FIELDS, OverrideField
from aggregates.times import Window
from projections.derive.sessions import arcs_of, neighbour, session_gaps
from projections.reader import Reader, bound, sql
from projections.sub_sessions import rows as goal_rows


class SubSession(goal_rows.Brief, frozen=True, kw_only=True):
    """One sub-session in any list of the API. What is judged at settling is None while it is open."""

    sub_session_id: str  # the same as `score_v3_sub_session_id`
    agent_session_id: str
    is_preview: bool
    substance_floor_passed: bool
    score: float | None  # as it is expected of all that its prompts show
    score_interval: Interval | None
    letter_grade: str | None  # of `score`
    goal_explicit: bool | None  # the seven booleans: each None where it does not apply or nothing was judged
    scope_bounded: bool | None
    references_concrete: bool | None
    context_sufficient: bool | None
    verification_requested: bool | None
    root_cause_oriented: bool | None
    plan_first: bool | None
    unsure_count: int  # how many booleans apply and nobody could surely say; they are null
    applicability: goal_rows.Applicabilities
    confidence: float | None  # of the judge of its kind
    judge_status: str
    judge_reason: str | None  # why it is unclassified, where that is known: `language`
    ended_at: str | None
    unmeasured_requests: int
    lower_bound_requests: int  # of the requests in `cost_usd`, those that may have cost more
    upper_bound_requests: int  # … and those that may have cost less
    failed_requests: int  # beside the others: these have neither tokens nor a price
    goal_complete: bool | None  # None also where the outcome is undecided; `undecided_reason` then says why
    undecided_reason: str | None
    outcome_confidence: float | None
    rework: bool | None
    rework_of: str | None  # the earlier sub-session that it takes back or repeats
    crushed: bool | None


class TriviaItem(msgspec.Struct, frozen=True, kw_only=True):
    score_v3_sub_session_id: str
    reason: str
    created_at: str
    title: str | None
    summary: str | None


_WORK = "AND {settled} AND s.floor_passed "


def rubric_items(
    reader: Reader, scope: Scope, limit: int, offset: int, window: Window | None = None
) -> list[SubSession]:
    """Settled sub-sessions above the floor, newest started first; of a range, those that started in it."""
    where = _WORK + ("" if window is None else "{in_range}")
    return goal_rows.listed(SubSession, reader, scope, where, window, limit=limit, offset=offset)


def speed_rows(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[SubSession]:
    """The scored sub-sessions that started in the window: as many as its `total_count`, newest first."""
    where = _WORK + "AND s.intent IS NOT NULL {in_range}"
    return goal_rows.listed(SubSession, reader, scope, where, window, limit=limit, offset=offset)


def trivia(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[TriviaItem]:
    """Settled sub-sessions below the floor that started in the window, newest first."""
    where = "AND {settled} AND NOT s.floor_passed {in_range}"
    return goal_rows.listed(TriviaItem, reader, scope, where, window, limit=limit, offset=offset)


def realtime(
    reader: Reader, scope: Scope, limit: int, offset: int, from_us: int | None, agent_session_id: str | None
) -> list[SubSession]:
    """Open and settled sub-sessions, newest started first, of a time and an agent session where given."""
    where = "" if from_us is None else "AND s.started_us >= :start "
    where += "" if agent_session_id is None else "AND s.agent_session_id = :session "
    more: dict[str, Any] = {"start": from_us, "session": agent_session_id, "limit": limit, "offset": offset}
    return goal_rows.listed(SubSession, reader, scope, where, **more)


def count_started(reader: Reader, organization_id: UUID, developer_id: UUID | None, window: Window) -> int:
    """How many sub-sessions of an organization, or of one of its developers, started in a range."""
    asked = {"organization": str(organization_id), "developer": None if developer_id is None else str(developer_id)}
    return int(reader.db.execute(sql("count_started"), asked | msgspec.structs.asdict(window)).fetchone()[0])


# Overrides: what one is about, found among the sub-sessions as they are now, and how often there are any.


class TurnPlace(msgspec.Struct, frozen=True):
    """A turn as overrides name it: by the capture whose text is read."""

    agent_session_id: str
    capture_id: UUID


class Overridable(msgspec.Struct, frozen=True):
    """One sub-session as it is now, as far as an override must know it."""

    sub_session_id: UUID
    turns: tuple[TurnPlace, ...]  # in time order; the first opens it
    joins_at: TurnPlace | None
    """The turn before which a boundary would have to go for it to join the one before; None where nothing is before.

    Where the id that was asked for names a part that was joined already, the turn that opens that part.
    """
    spoken: tuple[TurnPlace, ...]  # the turns of whose gaps a person spoke, with that of the turn after the last one
    unsure: tuple[TurnPlace, ...]  # turns before which the judge hardly saw no boundary, and nobody has spoken


def overridable(reader: Reader, scope: Scope, sub_session_id: UUID) -> Overridable | None:
    """The sub-session under its present or any former id; None where the developer has none of it."""
    current = goal_rows.resolve(reader, scope, sub_session_id)
    if current is None:
        return None
    turns, arcs = goal_rows.turns_in(reader.db, str(current)), arcs_of(reader.db, str(current))
    following, query = neighbour(reader.db, turns[-1], ">"), "SELECT turn_id FROM turn_alias WHERE alias_id = ?"
    (named,) = reader.db.execute(query, (str(sub_session_id),)).fetchone()
    # The arc that holds this turn; a sub-session that was joined of several is called by its first.
    part = next((arc.arc_id for arc in arcs if UUID(named) in arc.turn_ids), None)
    if part == current:
        opening = bound(scope, started=turns[0].started_us, turn=str(turns[0].turn_id))
        part = current if reader.db.execute(sql("any_arc_before"), opening).fetchone() is not None else None
    around = [*turns, *([] if following is None else [following])]
    places = {turn.turn_id: TurnPlace(turn.agent_session_id, turn.capture_id) for turn in around}
    said = session_gaps(reader.db, {turn.agent_session_id for turn in turns})
    unsure = {turn_id for arc in arcs for turn_id, _ in arc.unsure}.difference(said)
    return Overridable(
        current,
        tuple(places[turn.turn_id] for turn in turns),
        joins_at=None if part is None else places.get(part),
        spoken=tuple(places[turn.turn_id] for turn in around if turn.turn_id in said),
        unsure=tuple(places[turn.turn_id] for turn in turns if turn.turn_id in unsure),
    )


class Agreement(msgspec.Struct, frozen=True, rename="camel"):
    """How often people let stand what was judged, of one field."""

    field: OverrideField
    overrides: int
    reviewed: int  # how many of them their owner confirmed by an explicit click, or overrode
    sub_sessions: int
    agreement_rate: float | None  # None without any sub-session


class Accuracy(msgspec.Struct, frozen=True, rename="camel"):
    """Over the sub-sessions that started in the last days."""

    rows: list[Agreement]
    window_days: int


def accuracy(reader: Reader, scope: Scope, window_days: int, from_us: int) -> Accuracy:
    """All four fields, over the sub-sessions that started from a time on, open or settled, above the floor or below."""
    bits = ", ".join(
        f"coalesce(sum(overridden >> {bit} & 1), 0), coalesce(sum(reviewed >> {bit} & 1), 0)"
        for bit, _ in enumerate(OVERRIDE_FIELDS)
    )
    count, *sums = reader.db.execute(sql("overridden", bits=bits), bound(scope, start=from_us)).fetchone()
    rows = [
        Agreement(field, overridden, reviewed, count, 1 - overridden / count if count else None)
        for field, overridden, reviewed in zip(OVERRIDE_FIELDS, sums[::2], sums[1::2], strict=True)
    ]
    return Accuracy(rows, window_days)
