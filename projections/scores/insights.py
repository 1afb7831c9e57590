"""The insights of a range: what went well, what did not and why, and what it cost (scoring.md, section 10)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope
from aggregates.judging.evidence import HABITS, NO_SIGN, REACHED, REWORKED, TROUBLES, Language, weakest
from aggregates.judging.outcome import leading_against
from aggregates.reading.verdicts import Intent
from aggregates.scores.grades import median
from aggregates.scores.insights import corrected, had_friction, times_at_once
from aggregates.times import US_PER_SECOND, Period, Window, buckets, iso, local_date, sorted_into
from aggregates.turns.turn import Turn
from projections.derive.sub_session_rows import Detail
from projections.reader import Reader, bound, unpack
from projections.scores import insight_shapes as i
from projections.scores.activity import active_times
from projections.scores.skill import Skill, graded_prompts, skill
from projections.sub_sessions.rows import CRUSHED, NANO, QUALIFIES, SETTLED, TOKENS, TURNS, started_in

QUICK_WINS = 2
HIGHLIGHTS_MAX = 5
WORST_PROMPTS_MAX = 5
_MS_PER_SECOND = 1000


class InsightsQuery(msgspec.Struct, frozen=True):
    """What the payload is to be over."""

    window: Window
    zone: ZoneInfo
    language: Language

    def periods(self, period: Period) -> list[Window]:
        """The calendar periods of the range, cut to it."""
        start_us, end_us = self.window.start_us, self.window.end_us
        found = buckets(self.window, period, self.zone)
        return [Window(max(each.start_us, start_us), min(each.end_us, end_us)) for each in found]


class SubSessionWork(msgspec.Struct, frozen=True):
    """One sub-session of the range: numbers alone, since there may be many thousands."""

    started_us: int
    qualifies: int
    crushed: int
    rework: int
    """Settled, and found to be rework."""
    intent: Intent | None
    input_tokens: int
    output_tokens: int
    tokens: int
    cost_usd_nano: int
    requests: int
    unpriced_requests: int
    asked: bool
    """Whether anything need have been asked of a model: commands and acknowledgements alone ask nothing."""
    turns: tuple[tuple[str, int, int], ...]
    """The agent session, the first and the last moment of each."""
    elapsed_ms: tuple[int, ...]
    """Of the turns whose answer was timed."""
    corrected: bool
    """A later prompt of it corrects what was done."""
    friction: bool
    """An error, a failed last check, a correction or an interruption."""
    leading: str
    """The weightiest evidence against its goal."""


_WORK = (
    f"SELECT s.sub_session_id, s.detail, s.started_us, {QUALIFIES}, {CRUSHED}, {SETTLED} AND s.rework_of IS NOT NULL, "
    f"s.intent, s.input_tokens, s.output_tokens, {TOKENS}, s.cost_usd_nano, s.requests, s.unpriced_requests, t.body "
    f"{started_in(TURNS)} ORDER BY s.started_us, s.sub_session_id, t.started_us, t.turn_id"
)


def insights(reader: Reader, scope: Scope, asked: InsightsQuery) -> i.Insights:
    """Of one developer, over the sub-sessions that started in the range."""
    rows = reader.db.execute(_WORK, bound(scope, asked.window))
    found = [_work(values, (row[-1] for row in turns)) for values, turns in groupby(rows, key=lambda row: row[:-1])]
    graded = skill(reader, scope, "monthly", (asked.window,))
    quick_wins = weakest(graded.per_boolean, graded.per_boolean_counts, QUICK_WINS)
    return i.Insights(
        meta=_meta(asked, found),
        skill_snapshot=i.SkillSnapshot(**{name: getattr(graded, name) for name in i.SkillSnapshot.__struct_fields__}),
        skill_trend=[_skill_point(reader, scope, week) for week in asked.periods("week")],
        at_a_glance=i.AtAGlance(
            quick_wins=[i.QuickWin(label=HABITS[asked.language][name].advice) for name in quick_wins]
        ),
        activity=_activity(reader, scope, asked, found),
        how_you_use_cc=i.HowYouUse(stats=_stats(found)),
        impressive_things=_impressive(found, asked.language),
        where_things_go_wrong=_wrong(found, asked.language),
        cost_optimization=_costs(found, asked.language),
        worst_prompts=_worst_prompts(reader, scope, asked.window),
        trends=_trends(asked, found),
        total_input_tokens=_tokens(found, "input_tokens"),
        total_output_tokens=_tokens(found, "output_tokens"),
    )


def _work(values: Sequence[Any], bodies: Iterable[bytes]) -> SubSessionWork:
    judged, turns = unpack(values[1], Detail), [unpack(body, Turn) for body in bodies]
    return SubSessionWork(
        **dict(zip(SubSessionWork.__struct_fields__, values[2:], strict=False)),
        asked=judged.floor.countable_turns > 0,
        turns=tuple((turn.agent_session_id, turn.started_us, turn.last_activity_us) for turn in turns),
        elapsed_ms=tuple(turn.elapsed_ms for turn in turns if turn.elapsed_ms is not None),
        corrected=corrected(turns),
        friction=had_friction(turns),
        leading=leading_against(judged.outcome) or NO_SIGN,
    )


def _meta(asked: InsightsQuery, found: Sequence[SubSessionWork]) -> i.InsightsMeta:
    written = [started_us for work in found for _, started_us, _ in work.turns]
    return i.InsightsMeta(
        period_start=iso(asked.window.start_us),
        period_end=iso(asked.window.end_us),
        timezone=asked.zone.key,
        language=asked.language,
        total_sessions=len(found),
        total_messages=len(written),
        active_days=len({local_date(at_us, asked.zone) for at_us in written}),
    )


def _skill_point(reader: Reader, scope: Scope, week: Window) -> i.SkillPoint:
    found: Skill = skill(reader, scope, "weekly", (week,))
    return i.SkillPoint(period_start=iso(week.start_us), skill_index=found.skill_index, sample_count=found.sample_count)


def _worst_prompts(reader: Reader, scope: Scope, window: Window) -> list[i.WorstPrompt]:
    """Of the average prompt grade's prompts, those that stand lowest; of equal ones the newest."""
    order, own = "p.standing_score, p.at_us DESC, p.turn_id", bound(scope, window, limit=WORST_PROMPTS_MAX, offset=0)
    before = (
        "SELECT count(*) FROM turn_alias a JOIN prompts mine ON mine.turn_id = a.turn_id "
        "JOIN prompts p ON p.sub_session_id = mine.sub_session_id "
        "AND (p.at_us, p.turn_id) < (mine.at_us, mine.turn_id) WHERE a.alias_id = ?"
    )
    return [
        i.WorstPrompt(
            score=each.score,
            session_id=each.agent_session_id,
            sub_session_id=each.sub_session_id,
            prompt_id=each.prompt_id,
            turn_index=reader.db.execute(before, (each.prompt_id,)).fetchone()[0],
            prompt_preview=each.preview,
        )
        for each in graded_prompts(reader, order, own, "AND p.standing_score < 100")
    ]


def _activity(reader: Reader, scope: Scope, asked: InsightsQuery, found: Sequence[SubSessionWork]) -> i.Activity:
    days = asked.periods("day")
    begun = sorted_into(days, ((work.started_us, work) for work in found))
    inside = [at_us for work in found for _, at_us, _ in work.turns if at_us < asked.window.end_us]
    written = sorted_into(days, ((at_us, at_us) for at_us in inside))
    return i.Activity(
        points=[
            i.ActivityDay(
                date=local_date(day.start_us, asked.zone).isoformat(), sessions=len(first), messages=len(second)
            )
            for day, first, second in zip(days, begun, written, strict=True)
        ],
        total_active_seconds=sum(us for _, us in active_times(reader.db, scope, asked.window)) / US_PER_SECOND,
    )


def _stats(found: Sequence[SubSessionWork]) -> i.Stats:
    turns = [turn for work in found for turn in work.turns]
    timed = [elapsed_ms for work in found for elapsed_ms in work.elapsed_ms]
    return i.Stats(
        avg_turns_per_session=_rate(len(turns), len(found)),
        median_response_time_secs=median(timed) / _MS_PER_SECOND if timed else None,
        sessions=len(found),
        first_try_rate=_first_try_rate(found),
        multi_clauding_events=times_at_once(turns),
    )


def _first_try_rate(found: Sequence[SubSessionWork]) -> float | None:
    """Crushed, and never corrected on the way."""
    return _rate(sum(work.crushed and not work.corrected for work in found), sum(work.qualifies for work in found))


def _impressive(found: Sequence[SubSessionWork], language: Language) -> i.ImpressiveThings:
    won = [work for work in found if work.crushed]
    kinds = Counter(work.intent for work in won if work.intent is not None)
    ranked = sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))[:HIGHLIGHTS_MAX]
    return i.ImpressiveThings(
        win_rate=_rate(len(won), sum(work.qualifies for work in found)),
        total_win_sessions=len(won),
        highlights=[i.Highlight(label=REACHED[language][intent], session_count=count) for intent, count in ranked],
    )


def _not_reached(found: Sequence[SubSessionWork]) -> dict[str, list[SubSessionWork]]:
    """By what speaks against each most, a key of `TROUBLES`; the most frequent first."""
    kinds: dict[str, list[SubSessionWork]] = {}
    for work in found:
        if work.qualifies and not work.crushed:
            kinds.setdefault(REWORKED if work.rework else work.leading, []).append(work)
    return dict(sorted(kinds.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def _wrong(found: Sequence[SubSessionWork], language: Language) -> i.WhereThingsGoWrong:
    kinds = [(TROUBLES[language][kind], len(each)) for kind, each in _not_reached(found).items()]
    return i.WhereThingsGoWrong(
        categories=[i.Category(label=said.label, count=count, mitigation=said.mitigation) for said, count in kinds]
    )


def _costs(found: Sequence[SubSessionWork], language: Language) -> i.CostOptimization:
    total = _cost_usd(found) if found else None
    wasted = _cost_usd([work for work in found if work.qualifies and not work.crushed]) if found else None
    actions = [
        i.WasteAction(action=TROUBLES[language][kind].mitigation, savings_usd=_cost_usd(each))
        for kind, each in _not_reached(found).items()
    ]
    return i.CostOptimization(
        total_cost_usd=total,
        wasted_cost_usd=wasted,
        waste_ratio=wasted / total if wasted is not None and total else None,
        potential_savings_usd=_cost_usd([work for work in found if work.rework]) if found else None,
        model_rightsizing=[],
        waste_actions=sorted(actions, key=lambda each: -(each.savings_usd or 0.0)),
        unpriced_requests=sum(work.unpriced_requests for work in found),
    )


def _trends(asked: InsightsQuery, found: Sequence[SubSessionWork]) -> i.Trends:
    weeks = asked.periods("week")
    begun = sorted_into(weeks, ((work.started_us, work) for work in found))
    return i.Trends(
        points=[
            i.TrendPoint(
                period_start=iso(week.start_us),
                first_try_rate=_first_try_rate(some),
                friction_rate=_rate(sum(work.friction for work in some), len(some)),
                cost_usd=_cost_usd(some) if some else None,
            )
            for week, some in zip(weeks, begun, strict=True)
        ]
    )


def _cost_usd(found: Sequence[SubSessionWork]) -> float | None:
    """The sum; None where what one of them cost is not known whole."""
    if any(work.unpriced_requests or (work.asked and not work.requests) for work in found):
        return None
    return sum(work.cost_usd_nano for work in found) / NANO


def _tokens(found: Sequence[SubSessionWork], name: str) -> int | None:
    """The sum of one kind of tokens; None where a sub-session reported none at all."""
    known = all(work.tokens or not work.asked for work in found)
    return sum(getattr(work, name) for work in found) if known else None


def _rate(part: int, whole: int) -> float | None:
    """0-1; None of nothing."""
    return part / whole if whole else None
