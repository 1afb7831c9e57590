"""The insights of a range: what went well, what did not and why, and what it cost (scoring.md, section 10)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope
from aggregates.judging.advice import HABITS, NO_SIGN, REACHED, REWORKED, TROUBLES, Language, weakest
from aggregates.judging.outcome import leading_against
from aggregates.reading.verdicts import Intent
from aggregates.scores.grades import median
from aggregates.scores.insights import corrected, had_friction, times_at_once
from aggregates.times import US_PER_SECOND, Period, Window, buckets, iso, local_date, sorted_into
from aggregates.turns.turn import Turn
from projections.derive.sessions import prompt_id
from projections.derive.sub_session_rows import Detail, PromptBody
from projections.reader import Reader, unpack
from projections.scores import insight_shapes as i
from projections.scores.activity import active_times
from projections.scores.skill import Skill, preview, skill
from projections.sub_sessions.listing import CRUSHED, QUALIFIES, SETTLED, TURNS, bounds, started_in

# The sub-sessions of a range with their turns, as the insights sum them up.

NANO = 1_000_000_000


Span = tuple[str, int, int]
"""A turn: its agent session, its first and its last moment."""


class Arc(msgspec.Struct, frozen=True, kw_only=True):
    """One sub-session of the range: numbers alone, since there may be many thousands."""

    agent_session_id: str
    started_us: int
    qualifies: bool
    crushed: bool
    rework: bool
    """Settled, and found to be rework."""
    intent: Intent | None
    asked: bool
    """Whether anything need have been asked of a model: commands and acknowledgements alone ask nothing."""
    input_tokens: int
    output_tokens: int
    tokens: int
    cost_usd_nano: int
    requests: int
    unpriced_requests: int
    turns: tuple[Span, ...]
    elapsed_ms: tuple[int, ...]
    """Of the turns whose answer was timed."""
    corrected: bool
    """A later prompt of it corrects what was done."""
    friction: bool
    """An error, a failed last check, a correction or an interruption."""
    leading: str
    """The weightiest evidence against its goal."""

    @property
    def priced(self) -> bool:
        """Whether what it cost is known whole."""
        return not self.unpriced_requests and (self.requests > 0 or not self.asked)

    @property
    def measured(self) -> bool:
        """Whether its tokens were reported."""
        return self.tokens > 0 or not self.asked

    @property
    def first_try(self) -> bool:
        """Crushed, and never corrected on the way."""
        return self.crushed and not self.corrected

    @property
    def trouble(self) -> str:
        """Why it is not crushed, as a key of `TROUBLES`."""
        return REWORKED if self.rework else self.leading


_ARCS = (
    f"SELECT s.sub_session_id, s.agent_session_id, s.started_us, {QUALIFIES}, {CRUSHED}, "
    f"{SETTLED} AND s.rework_of IS NOT NULL, s.intent, s.input_tokens, s.output_tokens, "
    "s.input_tokens + s.output_tokens + s.cache_read_tokens + s.cache_write_tokens, s.cost_usd_nano, s.requests, "
    f"s.unpriced_requests, s.detail, t.body {started_in(TURNS)}"
    "ORDER BY s.started_us, s.sub_session_id, t.started_us, t.turn_id"
)


_OF_ARC = slice(0, 14)


def arcs(reader: Reader, scope: Scope, window: Window) -> list[Arc]:
    """Those that started in the range, in time order."""
    found = reader.db.execute(_ARCS, bounds(scope, window))
    return [_arc(values, rows) for values, rows in groupby(found, key=itemgetter(_OF_ARC))]


def _arc(values: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Arc:
    _, session, started_us, qualifies, crushed, rework, intent, *sums, detail = values
    names = ("input_tokens", "output_tokens", "tokens", "cost_usd_nano", "requests", "unpriced_requests")
    judged, turns = unpack(detail, Detail), [unpack(row[-1], Turn) for row in rows]
    return Arc(
        agent_session_id=session,
        started_us=started_us,
        qualifies=bool(qualifies),
        crushed=bool(crushed),
        rework=bool(rework),
        intent=intent,
        asked=judged.floor.countable_turns > 0,
        turns=tuple((turn.agent_session_id, turn.started_us, turn.last_activity_us) for turn in turns),
        elapsed_ms=tuple(turn.elapsed_ms for turn in turns if turn.elapsed_ms is not None),
        corrected=corrected(turns),
        friction=had_friction(turns),
        leading=leading_against(judged.outcome) or NO_SIGN,
        **dict(zip(names, sums, strict=True)),
    )


def cost_usd(found: Iterable[Arc]) -> float | None:
    """The sum; None where what one of them cost is not known whole."""
    total = 0
    for arc in found:
        if not arc.priced:
            return None
        total += arc.cost_usd_nano
    return total / NANO


def tokens(found: Sequence[Arc], name: str) -> int | None:
    """The sum of one kind of tokens; None where a sub-session reported none at all."""
    return sum(getattr(arc, name) for arc in found) if all(arc.measured for arc in found) else None


def rate(part: int, whole: int) -> float | None:
    """0-1; None of nothing."""
    return part / whole if whole else None


QUICK_WINS = 2


HIGHLIGHTS_MAX = 5


WORST_PROMPTS_MAX = 5


_MS_PER_SECOND = 1000


class Asked(msgspec.Struct, frozen=True):
    """What the payload is to be over."""

    window: Window
    zone: ZoneInfo
    language: Language

    def periods(self, period: Period) -> list[Window]:
        """The calendar periods of the range, cut to it."""
        start_us, end_us = self.window.start_us, self.window.end_us
        found = buckets(self.window, period, self.zone)
        return [Window(max(each.start_us, start_us), min(each.end_us, end_us)) for each in found]


def insights(reader: Reader, scope: Scope, asked: Asked) -> i.Insights:
    """Of one developer, over the sub-sessions that started in the range."""
    found = arcs(reader, scope, asked.window)
    graded = skill(reader, scope, "monthly", (asked.window,))
    return i.Insights(
        meta=_meta(asked, found),
        skill_snapshot=_snapshot(graded),
        skill_trend=_skill_trend(reader, scope, asked),
        at_a_glance=_at_a_glance(graded, asked.language),
        activity=_activity(reader, scope, asked, found),
        how_you_use_cc=i.HowYouUse(stats=_stats(found)),
        impressive_things=_impressive(found, asked.language),
        where_things_go_wrong=_wrong(found, asked.language),
        cost_optimization=_costs(found, asked.language),
        worst_prompts=_worst_prompts(reader, scope, asked.window),
        trends=_trends(asked, found),
        total_input_tokens=tokens(found, "input_tokens"),
        total_output_tokens=tokens(found, "output_tokens"),
    )


def _meta(asked: Asked, found: Sequence[Arc]) -> i.Meta:
    written = [started_us for arc in found for _, started_us, _ in arc.turns]
    return i.Meta(
        period_start=iso(asked.window.start_us),
        period_end=iso(asked.window.end_us),
        timezone=asked.zone.key,
        language=asked.language,
        total_sessions=len(found),
        total_messages=len(written),
        active_days=len({local_date(at_us, asked.zone) for at_us in written}),
    )


# --- habits ---------------------------------------------------------------------------------------------------


def _snapshot(graded: Skill) -> i.SkillSnapshot:
    return i.SkillSnapshot(
        skill_index=graded.skill_index,
        tier=graded.tier,
        per_boolean=graded.per_boolean,
        per_boolean_counts=graded.per_boolean_counts,
        worst_pillar=graded.worst_pillar,
        sample_count=graded.sample_count,
    )


def _skill_trend(reader: Reader, scope: Scope, asked: Asked) -> list[i.SkillPoint]:
    weeks = asked.periods("week")
    figures = [skill(reader, scope, "weekly", (week,)) for week in weeks]
    return [
        i.SkillPoint(period_start=iso(week.start_us), skill_index=each.skill_index, sample_count=each.sample_count)
        for week, each in zip(weeks, figures, strict=True)
    ]


def _at_a_glance(graded: Skill, language: Language) -> i.AtAGlance:
    names = weakest(graded.per_boolean, graded.per_boolean_counts, QUICK_WINS)
    return i.AtAGlance(quick_wins=[i.QuickWin(label=HABITS[language][name].advice) for name in names])


_WORST = (
    "SELECT p.standing_score, p.sub_session_id, p.at_us, p.turn_id, p.body, t.body FROM prompts p "
    "JOIN turns t ON t.turn_id = p.turn_id WHERE p.organization_id = ? AND p.developer_id = ? AND p.at_us >= ? "
    "AND p.at_us < ? AND p.counted AND p.standing_score < 100 "
    "ORDER BY p.standing_score, p.at_us DESC, p.turn_id LIMIT ?"
)


_BEFORE = "SELECT count(*) FROM prompts WHERE sub_session_id = ? AND (at_us < ? OR (at_us = ? AND turn_id < ?))"


def _worst_prompts(reader: Reader, scope: Scope, window: Window) -> list[i.WorstPrompt]:
    """Of the average prompt grade's prompts, those that stand lowest; of equal ones the newest."""
    rows = reader.db.execute(_WORST, (*bounds(scope, window), WORST_PROMPTS_MAX)).fetchall()
    refs = [unpack(row[4], PromptBody).prompt for row in rows]
    texts = reader.texts(refs)
    shown = []
    for (score, sub_session_id, at_us, turn_id, _, body), ref in zip(rows, refs, strict=True):
        turn = unpack(body, Turn)
        (index,) = reader.db.execute(_BEFORE, (sub_session_id, at_us, at_us, turn_id)).fetchone()
        shown.append(
            i.WorstPrompt(
                score=score,
                session_id=turn.agent_session_id,
                sub_session_id=sub_session_id,
                prompt_id=prompt_id(turn),
                turn_index=index,
                prompt_preview=preview(texts, ref),
            )
        )
    return shown


# --- work -----------------------------------------------------------------------------------------------------


def _activity(reader: Reader, scope: Scope, asked: Asked, found: Sequence[Arc]) -> i.Activity:
    days = asked.periods("day")
    begun = sorted_into(days, ((arc.started_us, arc) for arc in found))
    end_us = asked.window.end_us
    inside = [started_us for arc in found for _, started_us, _ in arc.turns if started_us < end_us]
    written = sorted_into(days, ((at_us, at_us) for at_us in inside))
    active = sum(us for _, us in active_times(reader.db, scope, asked.window))
    return i.Activity(
        points=[
            i.ActivityDay(
                date=local_date(day.start_us, asked.zone).isoformat(), sessions=len(first), messages=len(second)
            )
            for day, first, second in zip(days, begun, written, strict=True)
        ],
        total_active_seconds=active / US_PER_SECOND,
    )


def _stats(found: Sequence[Arc]) -> i.Stats:
    turns = [turn for arc in found for turn in arc.turns]
    timed = [elapsed_ms for arc in found for elapsed_ms in arc.elapsed_ms]
    return i.Stats(
        avg_turns_per_session=rate(len(turns), len(found)),
        median_response_time_secs=median(timed) / _MS_PER_SECOND if timed else None,
        sessions=len(found),
        first_try_rate=_first_try_rate(found),
        multi_clauding_events=times_at_once(turns),
    )


def _first_try_rate(found: Sequence[Arc]) -> float | None:
    return rate(sum(arc.first_try for arc in found), sum(arc.qualifies for arc in found))


def _impressive(found: Sequence[Arc], language: Language) -> i.ImpressiveThings:
    won = [arc for arc in found if arc.crushed]
    kinds = Counter(arc.intent for arc in won if arc.intent is not None)
    ranked = sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    return i.ImpressiveThings(
        win_rate=rate(len(won), sum(arc.qualifies for arc in found)),
        total_win_sessions=len(won),
        highlights=[
            i.Highlight(label=REACHED[language][intent], session_count=count)
            for intent, count in ranked[:HIGHLIGHTS_MAX]
        ],
    )


def _not_reached(found: Sequence[Arc]) -> dict[str, list[Arc]]:
    """By what speaks against each most, the most frequent first."""
    kinds: dict[str, list[Arc]] = {}
    for arc in found:
        if arc.qualifies and not arc.crushed:
            kinds.setdefault(arc.trouble, []).append(arc)
    return dict(sorted(kinds.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def _wrong(found: Sequence[Arc], language: Language) -> i.WhereThingsGoWrong:
    said = TROUBLES[language]
    return i.WhereThingsGoWrong(
        categories=[
            i.Category(label=said[kind].label, count=len(each), mitigation=said[kind].mitigation)
            for kind, each in _not_reached(found).items()
        ]
    )


def _costs(found: Sequence[Arc], language: Language) -> i.CostOptimization:
    total = cost_usd(found) if found else None
    wasted = cost_usd([arc for arc in found if arc.qualifies and not arc.crushed]) if found else None
    actions = [
        i.WasteAction(action=TROUBLES[language][kind].mitigation, savings_usd=cost_usd(each))
        for kind, each in _not_reached(found).items()
    ]
    return i.CostOptimization(
        total_cost_usd=total,
        wasted_cost_usd=wasted,
        waste_ratio=wasted / total if wasted is not None and total else None,
        potential_savings_usd=cost_usd([arc for arc in found if arc.rework]) if found else None,
        model_rightsizing=[],
        waste_actions=sorted(actions, key=lambda each: -(each.savings_usd or 0.0)),
        unpriced_requests=sum(arc.unpriced_requests for arc in found),
    )


def _trends(asked: Asked, found: Sequence[Arc]) -> i.Trends:
    weeks = asked.periods("week")
    begun = sorted_into(weeks, ((arc.started_us, arc) for arc in found))
    return i.Trends(points=[_trend_point(week, some) for week, some in zip(weeks, begun, strict=True)])


def _trend_point(week: Window, some: Sequence[Arc]) -> i.TrendPoint:
    return i.TrendPoint(
        period_start=iso(week.start_us),
        first_try_rate=_first_try_rate(some),
        friction_rate=rate(sum(arc.friction for arc in some), len(some)),
        cost_usd=cost_usd(some) if some else None,
    )
