"""The insights of a range: what went well, what did not and why, and what it cost (scoring.md, section 10).

A session of the payload is a sub-session; what has no observation is null.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope
from aggregates.judging.outcome import leading_against
from aggregates.judging.prompt import ADVICE, NO_SIGN, REWORKED, Language, Trouble, weakest
from aggregates.reading.verdicts import Intent
from aggregates.scores.grades import Tally, median
from aggregates.scores.insights import corrected, had_friction, times_at_once
from aggregates.times import US_PER_SECOND, Period, Window, buckets, iso, local_date, sorted_into
from aggregates.turns.turn import Turn
from projections.derive.sub_session_rows import Detail
from projections.reader import Reader, bound, unpack
from projections.scores import insights_payload as shown
from projections.scores.activity import active_times
from projections.scores.skill import graded_prompts, insight_summary, skill
from projections.sub_sessions.rows import CRUSHED, NANO, QUALIFIES, SETTLED, TURNS, WHOLE_TOKENS, started_in

QUICK_WINS = 2
HIGHLIGHTS_MAX = 5
WORST_PROMPTS_MAX = 5


class InsightsQuery(msgspec.Struct, frozen=True):
    window: Window
    zone: ZoneInfo
    language: Language

    def periods(self, period: Period) -> list[Window]:
        """The calendar periods of the range, cut to it."""
        cut = self.window
        found = buckets(cut, period, self.zone)
        return [Window(max(each.start_us, cut.start_us), min(each.end_us, cut.end_us)) for each in found]


class SubSessionWork(msgspec.Struct, frozen=True):
    """One sub-session of the range: numbers alone, since there may be many thousands."""

    started_us: int
    qualifies: int
    crushed: int
    undecided: int
    rework: int
    intent: Intent | None
    input_tokens: int
    output_tokens: int
    tokens: int  # 0 where some are unknown
    cost_usd_nano: int
    requests: int
    unpriced_requests: int
    asked: bool  # whether anything need have been asked of a model: commands and acknowledgements alone ask nothing
    turns: tuple[tuple[str, int, int], ...]  # the agent session, the first and the last moment of each
    timed_ms: tuple[int, ...]
    corrected: bool
    friction: bool
    weightiest_against: str


_Missed = list[tuple[Trouble, list[SubSessionWork]]]
_WORK = (
    f"SELECT s.sub_session_id, s.detail, s.started_us, {QUALIFIES}, coalesce({CRUSHED}, 0), "
    f"{QUALIFIES} AND s.goal_complete IS NULL, {SETTLED} AND s.rework_of IS NOT NULL, "
    f"s.intent, s.input_tokens, s.output_tokens, coalesce({WHOLE_TOKENS}, 0), s.cost_usd_nano, s.requests, "
    f"s.unpriced_requests, t.body {started_in(TURNS)} ORDER BY s.started_us, s.sub_session_id, t.started_us, t.turn_id"
)


def insights(reader: Reader, scope: Scope, asked: InsightsQuery) -> shown.Insights:
    """Of one developer, over the sub-sessions that started in the range."""
    rows = reader.db.execute(_WORK, bound(scope, asked.window))
    found = [_work(values, (row[-1] for row in turns)) for values, turns in groupby(rows, key=lambda row: row[:-1])]
    graded = skill(reader, scope, "range", (asked.window,))
    average = insight_summary(reader, scope, "range", (asked.window,))
    quick_wins = weakest(graded.per_boolean, graded.per_boolean_counts, QUICK_WINS)
    weekly = [(week, skill(reader, scope, "range", (week,))) for week in asked.periods("week")]
    # What began in the range may go on after it: messages are those of the range, as in the days below.
    turns = [turn for work in found for turn in work.turns if turn[1] < asked.window.end_us]
    timed = [ms for work in found for ms in work.timed_ms]
    missed = _missed(found, asked.language)
    return shown.Insights(
        meta=shown.InsightsMeta(
            period_start=iso(asked.window.start_us),
            period_end=iso(asked.window.end_us),
            timezone=asked.zone.key,
            language=asked.language,
            total_sessions=len(found),
            total_messages=len(turns),
            active_days=len({local_date(started_us, asked.zone) for _, started_us, _ in turns}),
        ),
        skill_snapshot=shown.SkillSnapshot(
            apg_current=average.apg_current,
            interval=average.interval,
            **{name: getattr(graded, name) for name in shown.SkillSnapshot.__struct_fields__[2:]},
        ),
        skill_trend=[
            shown.SkillPoint(
                period_start=iso(week.start_us), skill_index=each.skill_index, sample_count=each.sample_count
            )
            for week, each in weekly
        ],
        at_a_glance=shown.AtAGlance(
            quick_wins=[shown.QuickWin(label=ADVICE[asked.language].habits[name].advice) for name in quick_wins]
        ),
        activity=_activity(reader, scope, asked, found, [at_us for _, at_us, _ in turns]),
        how_you_use_cc=shown.HowYouUse(
            stats=shown.Stats(
                avg_turns_per_session=_rate(len(turns), len(found)),
                median_response_time_secs=median(timed) / 1000 if timed else None,
                sessions=len(found),
                first_try_rate=_first_try_rate(found),
                multi_clauding_events=times_at_once(turns),
            )
        ),
        impressive_things=_impressive(found, asked.language),
        where_things_go_wrong=shown.WhereThingsGoWrong(
            categories=[
                shown.Category(label=each.label, count=len(w), mitigation=each.mitigation) for each, w in missed
            ]
        ),
        cost_optimization=_costs(found, missed),
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
        timed_ms=tuple(turn.elapsed_ms for turn in turns if turn.elapsed_ms is not None),
        corrected=corrected(turns),
        friction=had_friction(turns),
        weightiest_against=leading_against(judged.outcome) or NO_SIGN,
    )


def _worst_prompts(reader: Reader, scope: Scope, window: Window) -> list[shown.WorstPrompt]:
    """Of the average prompt grade's prompts, those that stand lowest; of equal ones the newest."""
    order, own = "p.own_score, p.at_us DESC, p.turn_id", bound(scope, window, limit=WORST_PROMPTS_MAX, offset=0)
    before = (
        "SELECT count(*) FROM turn_alias a JOIN prompts mine ON mine.turn_id = a.turn_id "
        "JOIN prompts p ON p.sub_session_id = mine.sub_session_id "
        "AND (p.at_us, p.turn_id) < (mine.at_us, mine.turn_id) WHERE a.alias_id = ?"
    )
    return [
        shown.WorstPrompt(
            score=each.own_score,
            standing_score=each.score,
            session_id=each.agent_session_id,
            sub_session_id=each.sub_session_id,
            prompt_id=each.prompt_id,
            turn_index=reader.db.execute(before, (each.prompt_id,)).fetchone()[0],
            prompt_preview=each.preview,
        )
        for each in graded_prompts(reader, order, own, "AND p.own_score < 100")
    ]


def _activity(
    reader: Reader,
    scope: Scope,
    asked: InsightsQuery,
    found: Sequence[SubSessionWork],
    written_us: Sequence[int],
) -> shown.Activity:
    days = asked.periods("day")
    begun = sorted_into(days, ((work.started_us, work) for work in found))
    written = sorted_into(days, ((at_us, at_us) for at_us in written_us))
    return shown.Activity(
        points=[
            shown.ActivityDay(date=str(local_date(day.start_us, asked.zone)), sessions=len(first), messages=len(second))
            for day, first, second in zip(days, begun, written, strict=True)
        ],
        total_active_seconds=sum(us for _, us in active_times(reader.db, scope, asked.window)) / US_PER_SECOND,
    )


def _first_try_rate(found: Sequence[SubSessionWork]) -> float | None:
    """Crushed, and never corrected on the way."""
    return _rate(sum(work.crushed and not work.corrected for work in found), sum(work.qualifies for work in found))


def _impressive(found: Sequence[SubSessionWork], language: Language) -> shown.ImpressiveThings:
    won = [work for work in found if work.crushed]
    kinds = Counter(work.intent for work in won if work.intent is not None)
    ranked = sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))[:HIGHLIGHTS_MAX]
    unsaid = [work for work in found if work.undecided]
    tally = Tally(sum(work.qualifies for work in found), len(won), len(unsaid), sum(not work.rework for work in unsaid))
    words = ADVICE[language].reached
    return shown.ImpressiveThings(
        win_rate=_rate(tally.crushed, tally.total),
        interval=tally.interval(unit=1.0),
        decided_count=tally.decided,
        undecided_count=tally.undecided,
        total_win_sessions=len(won),
        highlights=[shown.Highlight(label=words[intent], session_count=count) for intent, count in ranked],
    )


def _missed(found: Sequence[SubSessionWork], language: Language) -> _Missed:
    """The sub-sessions that did not reach their goal, by what speaks against it most; the most frequent first."""
    kinds: defaultdict[str, list[SubSessionWork]] = defaultdict(list)
    for work in found:
        if work.qualifies and not work.crushed:
            kinds[REWORKED if work.rework else work.weightiest_against].append(work)
    ranked = sorted(kinds.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return [(ADVICE[language].troubles[kind], works) for kind, works in ranked]


def _costs(found: Sequence[SubSessionWork], missed: _Missed) -> shown.CostOptimization:
    total = _cost_usd(found) if found else None
    wasted = _cost_usd([work for work in found if work.qualifies and not work.crushed]) if found else None
    actions = [shown.WasteAction(action=each.mitigation, savings_usd=_cost_usd(works)) for each, works in missed]
    return shown.CostOptimization(
        total_cost_usd=total,
        wasted_cost_usd=wasted,
        undecided_cost_usd=_cost_usd([work for work in found if work.undecided]) if found else None,
        waste_ratio=wasted / total if wasted is not None and total else None,
        potential_savings_usd=_cost_usd([work for work in found if work.rework]) if found else None,
        model_rightsizing=[],
        waste_actions=sorted(actions, key=lambda each: -(each.savings_usd or 0.0)),
        unpriced_requests=sum(work.unpriced_requests for work in found),
    )


def _trends(asked: InsightsQuery, found: Sequence[SubSessionWork]) -> shown.Trends:
    weeks = asked.periods("week")
    begun = sorted_into(weeks, ((work.started_us, work) for work in found))
    return shown.Trends(
        points=[
            shown.TrendPoint(
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
