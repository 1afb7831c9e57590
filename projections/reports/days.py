"""What a team did in one day: counts of the whole team, and the abstract labels that a narrative is written from."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.people.directory import Stay
from aggregates.reading.verdicts import INTENTS, Intent
from aggregates.reports.prose import Narrative
from aggregates.scores.insights import NO_WORK, Labelled, label, labelled
from aggregates.times import US_PER_SECOND, Window, iso
from aggregates.turns.turn import Turn
from projections.derive.sub_session_rows import Detail, PromptBody
from projections.reader import Reader, TextRef, unpack
from projections.scores.activity import active_times
from projections.scores.score import Counts, score
from projections.scores.skill import insight_summary
from projections.scores.throttle import personal_throttle
from projections.sub_sessions.listing import CRUSHED, SETTLED, bounds, started_in
from projections.sub_sessions.shown import NANO, UNCLASSIFIED

LABELLED_MAX = 500
"""Sub-sessions of a day that are labelled, the newest first: each takes a look at its prompts."""


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
    """What is counted, and what a narrative may be written from."""

    members_active: int
    sub_sessions: int
    crushed: int
    trivia: int
    by_intent: ByIntent
    work: Labelled


class TeamSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One day of a team."""

    team_id: UUID
    date: str
    timezone: str
    language: str
    members_active: int
    """Members with a sub-session that started on the day."""
    sub_sessions: int
    """Every one that started, settled or not."""
    crushed: int
    trivia: int
    by_intent: ByIntent
    narrative: str | None
    """Plain text, to be shown as it is; None where there is no model, no work, or no usable answer."""
    structured_narrative: None = None
    """Kept for the wire: nothing but null is supported."""
    narrative_source: str | None
    """`llm` where there is a narrative."""
    generated_at: str | None
    narrative_input_clipped: bool
    """Whether the narrative covers only the busiest members or tasks."""


class _Seen(msgspec.Struct):
    """Sums over the sub-sessions of a day, and who had any."""

    active: set[UUID] = msgspec.field(default_factory=set)
    sub_sessions: int = 0
    crushed: int = 0
    trivia: int = 0
    intents: Counter[str] = msgspec.field(default_factory=Counter)
    named: list[tuple[UUID, str, Intent]] = msgspec.field(default_factory=list)
    """Member, sub-session, intent of what qualifies."""


def team_day(reader: Reader, scope: Scope, stays: Sequence[Stay], *, labels: bool) -> TeamDay:
    """The days of a team's stays, which are of the scope's organization. `labels`: whether anybody will read them."""
    seen = _Seen()
    for stay in stays:
        _count(reader, Scope(scope.organization_id, stay.developer_id), Window(stay.start_us, stay.end_us), seen)
    return TeamDay(
        len(seen.active),
        seen.sub_sessions,
        seen.crushed,
        seen.trivia,
        ByIntent(**seen.intents),
        _labelled(reader, seen.named) if labels else NO_WORK,
    )


def own_work(reader: Reader, scope: Scope, day: Window) -> Labelled:
    """The labels of a developer's own day."""
    seen = _Seen()
    _count(reader, scope, day, seen)
    return _labelled(reader, seen.named)


def team_summary(
    team_id: UUID, date: str, timezone: str, language: str, day: TeamDay, narrative: Narrative | None
) -> TeamSummary:
    """The counts, which are always there, and the narrative where there is one."""
    return TeamSummary(
        team_id=team_id,
        date=date,
        timezone=timezone,
        language=language,
        members_active=day.members_active,
        sub_sessions=day.sub_sessions,
        crushed=day.crushed,
        trivia=day.trivia,
        by_intent=day.by_intent,
        narrative=None if narrative is None else narrative.text,
        narrative_source=None if narrative is None else "llm",
        generated_at=None if narrative is None else iso(narrative.generated_at_us),
        narrative_input_clipped=narrative is not None and narrative.clipped,
    )


def _count(reader: Reader, member: Scope, window: Window, seen: _Seen) -> None:
    query = (
        f"SELECT s.sub_session_id, {SETTLED}, s.floor_passed, s.intent, coalesce({CRUSHED}, 0) {started_in()}"
        "ORDER BY s.started_us DESC, s.sub_session_id"
    )
    for name, settled, passed, intent, crushed in reader.db.execute(query, bounds(member, window)):
        seen.active.add(member.developer_id)
        seen.sub_sessions += 1
        seen.crushed += crushed
        seen.trivia += bool(settled and not passed)
        if settled and passed:
            seen.intents[intent or UNCLASSIFIED] += 1
            if intent in INTENTS:
                seen.named.append((member.developer_id, name, intent))


def _labelled(reader: Reader, named: Sequence[tuple[UUID, str, Intent]]) -> Labelled:
    wanted = named[:LABELLED_MAX]
    goals = {name: _goal(reader, name) for _, name, _ in wanted}
    texts = reader.texts(goals.values())
    labels: defaultdict[UUID, list[str]] = defaultdict(list)
    for member, name, intent in wanted:
        goal = goals[name]
        text = None if goal is None else texts[goal]
        labels[member].append(label(intent, text, _marks(reader, name)))
    found = labelled(labels.values())
    return msgspec.structs.replace(found, clipped=found.clipped or len(named) > len(wanted))


def _goal(reader: Reader, name: str) -> TextRef | None:
    """The prompt whose title the sub-session bears; None where its text was not captured."""
    row = reader.db.execute("SELECT detail FROM sub_sessions WHERE sub_session_id = ?", (name,)).fetchone()
    title = unpack(row[0], Detail).goal_title
    if title is None:
        return None
    bodies = reader.db.execute("SELECT body FROM prompts WHERE sub_session_id = ? ORDER BY at_us, turn_id", (name,))
    prompts = _refs(body for (body,) in bodies)
    return next((each for each in prompts if _holds(each, title)), title)


def _refs(bodies: Iterable[bytes]) -> list[TextRef]:
    found = (unpack(body, PromptBody).prompt for body in bodies)
    return [each for each in found if each is not None]


def _holds(whole: TextRef, part: TextRef) -> bool:
    if (whole.position, whole.field) != (part.position, part.field):
        return False
    return whole.span is None or part.span is None or whole.span.start <= part.span.start < whole.span.end


def _marks(reader: Reader, name: str) -> str:
    query = "SELECT t.body FROM prompts p JOIN turns t ON t.turn_id = p.turn_id WHERE p.sub_session_id = ?"
    return "".join(unpack(body, Turn).work.marks for (body,) in reader.db.execute(query, (name,)))


# What one day came to: the sub-sessions that started in it, the prompts that were written in it.


class TodaySummary(Counts, frozen=True, kw_only=True):
    """One day of one developer. A sum is None where a part of it is not known; a count beside it says how much."""

    date: str
    timezone: str
    svc_score: float
    trivia_count: int
    apg: float | None
    sample_count: int
    """How many prompts the average is over."""
    prompts: int
    """Every prompt that was captured, commands and acknowledgements too."""
    tokens: int | None
    """Of all kinds, over the sub-sessions that started."""
    unreported_sub_sessions: int
    """How many of them have tokens that nobody reported."""
    cost_usd: float | None
    unpriced_requests: int
    lower_bound_requests: int
    active_seconds: float
    throttle_hours: float | None
    """None where the day holds more requests than one read may look at."""
    narrative: str | None
    """None without a text model."""


class _Spent(msgspec.Struct):
    """Sums over the sub-sessions of the day."""

    trivia: int = 0
    tokens: int = 0
    unreported: int = 0
    unseen: int = 0
    """Sub-sessions of which no request is known."""
    cost_usd_nano: int = 0
    unpriced: int = 0
    lower_bound: int = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """One more sub-session."""
        settled, passed, tokens, requests, cost_usd_nano, unpriced, lower_bound, detail = row
        self.trivia += bool(settled and not passed)
        self.tokens += tokens
        # Where there were only commands and acknowledgements, nothing need have been asked of a model.
        asked = unpack(detail, Detail).floor.countable_turns > 0
        self.unreported += asked and not tokens
        self.unseen += asked and not requests
        self.cost_usd_nano += cost_usd_nano
        self.unpriced += unpriced
        self.lower_bound += lower_bound


def today_summary(reader: Reader, scope: Scope, date: str, timezone: str, day: Window) -> TodaySummary:
    """The day that the bounds are of, in the zone that they were made in."""
    rate, graded = score(reader, scope, "daily", (day,)), insight_summary(reader, scope, "daily", (day,))
    spent, throttled = _spent(reader, scope, day), personal_throttle(reader, scope, day)
    return TodaySummary(
        date=date,
        timezone=timezone,
        svc_score=rate.svc_score,
        trivia_count=spent.trivia,
        apg=graded.apg_current,
        sample_count=graded.sample_count,
        prompts=_prompts(reader, scope, day),
        tokens=None if spent.unreported else spent.tokens,
        unreported_sub_sessions=spent.unreported,
        cost_usd=None if spent.unpriced or spent.unseen else spent.cost_usd_nano / NANO,
        unpriced_requests=spent.unpriced,
        lower_bound_requests=spent.lower_bound,
        active_seconds=sum(us for _, us in active_times(reader.db, scope, day)) / US_PER_SECOND,
        throttle_hours=None if throttled is None else throttled.summary.estimated_hours_lost,
        narrative=None,
        **{name: getattr(rate, name) for name in Counts.__struct_fields__},
    )


def _spent(reader: Reader, scope: Scope, day: Window) -> _Spent:
    query = (
        f"SELECT {SETTLED}, s.floor_passed, "
        "s.input_tokens + s.output_tokens + s.cache_read_tokens + s.cache_write_tokens, s.requests, s.cost_usd_nano, "
        f"s.unpriced_requests, s.lower_bound_requests, s.detail {started_in()}"
    )
    spent = _Spent()
    for row in reader.db.execute(query, bounds(scope, day)):
        spent.add(row)
    return spent


def _prompts(reader: Reader, scope: Scope, day: Window) -> int:
    query = "SELECT count(*) FROM prompts WHERE organization_id = ? AND developer_id = ? AND at_us >= ? AND at_us < ?"
    count: int = reader.db.execute(query, bounds(scope, day)).fetchone()[0]
    return count
