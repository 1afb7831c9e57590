"""The insights of a range: what went well, what did not and why, and what it cost (scoring.md, section 10)."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope, shaped
from aggregates.judging.outcome import leading_against
from aggregates.judging.prompt import ADVICE, NO_SIGN, REWORKED, Advice, Language, weakest
from aggregates.reading.verdicts import BooleanName, Intent
from aggregates.scores.grades import Interval, Tally, median
from aggregates.scores.insights import corrected, had_friction, times_at_once
from aggregates.times import US_PER_SECOND, Period, Window, buckets, iso, local_date, sorted_into
from aggregates.turns.turn import Turn
from projections.derive.sub_session_rows import Detail
from projections.prices import NANO
from projections.reader import Reader, bound, sql, unpack
from projections.scores.activity import active_times
from projections.scores.skill import graded_prompts, insight_summary, skill

QUICK_WINS = 2
HIGHLIGHTS_MAX = 5
WORST_PROMPTS_MAX = 5


class Camel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the dashboard reads."""


class InsightsMeta(Camel, frozen=True, kw_only=True):
    period_start: str
    period_end: str  # exclusive
    timezone: str
    language: str
    total_sessions: int
    total_messages: int  # prompts of these sessions
    active_days: int  # days of the zone with a prompt


class SkillSnapshot(Camel, frozen=True, kw_only=True):
    apg_current: float | None  # the average prompt grade, 0-100
    interval: Interval | None  # of it
    skill_index: float | None
    tier: str
    per_boolean: dict[BooleanName, float]
    per_boolean_counts: dict[BooleanName, int]
    per_boolean_count: dict[BooleanName, int]
    unsure_count: int
    worst_pillar: str
    sample_count: int


class SkillPoint(Camel, frozen=True, kw_only=True):
    period_start: str
    skill_index: float | None
    sample_count: int


class QuickWin(Camel, frozen=True, kw_only=True):
    label: str


class AtAGlance(Camel, frozen=True, kw_only=True):
    quick_wins: list[QuickWin]  # the two weakest habits; none where too few prompts were graded


class ActivityDay(Camel, frozen=True, kw_only=True):
    date: str
    sessions: int
    messages: int


class Activity(Camel, frozen=True, kw_only=True):
    points: list[ActivityDay]  # every day of the range, those without work too
    total_active_seconds: float


class Stats(Camel, frozen=True, kw_only=True):
    avg_turns_per_session: float | None
    median_response_time_secs: float | None  # over the prompts whose answer was timed
    sessions: int
    first_try_rate: float | None
    multi_clauding_events: int


class HowYouUse(Camel, frozen=True, kw_only=True):
    stats: Stats


class Highlight(Camel, frozen=True, kw_only=True):
    label: str
    session_count: int


class ImpressiveThings(Camel, frozen=True, kw_only=True):
    win_rate: float | None
    interval: Interval | None  # of `win_rate`
    decided_count: int
    undecided_count: int
    total_win_sessions: int
    highlights: list[Highlight]


class Category(Camel, frozen=True, kw_only=True):
    label: str
    count: int
    mitigation: str


class WhereThingsGoWrong(Camel, frozen=True, kw_only=True):
    categories: list[Category]


class WasteAction(Camel, frozen=True, kw_only=True):
    action: str
    savings_usd: float | None


class CostOptimization(Camel, frozen=True, kw_only=True):
    """What was spent, and on what did not come to its goal. None where a part of it has no price."""

    total_cost_usd: float | None
    wasted_cost_usd: float | None
    undecided_cost_usd: float | None  # of the wasted: of sub-sessions that nobody can tell the end of
    waste_ratio: float | None
    potential_savings_usd: float | None
    model_rightsizing: list[str]  # there for its type; always empty
    waste_actions: list[WasteAction]
    unpriced_requests: int


class WorstPrompt(Camel, frozen=True, kw_only=True):
    score: float  # of the prompt by itself, 0-100; the lowest come first
    standing_score: float
    sure: bool  # whether all its booleans are: a person is shown no other
    session_id: str  # the agent session
    sub_session_id: str
    prompt_id: str
    turn_index: int  # of the sub-session, from 0
    prompt_preview: str | None  # None once it has been forgotten


class TrendPoint(Camel, frozen=True, kw_only=True):
    period_start: str
    first_try_rate: float | None
    friction_rate: float | None
    cost_usd: float | None


class Trends(Camel, frozen=True, kw_only=True):
    points: list[TrendPoint]


class Insights(Camel, frozen=True, kw_only=True):
    meta: InsightsMeta
    skill_snapshot: SkillSnapshot
    skill_trend: list[SkillPoint]
    at_a_glance: AtAGlance
    activity: Activity
    how_you_use_cc: HowYouUse
    impressive_things: ImpressiveThings
    where_things_go_wrong: WhereThingsGoWrong
    cost_optimization: CostOptimization
    worst_prompts: list[WorstPrompt]
    trends: Trends
    total_input_tokens: int | None
    total_output_tokens: int | None


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
    tokens: int | None  # None where some are unknown
    cost_usd_nano: int
    requests: int
    unpriced_requests: int
    asked: bool  # whether anything need have been asked of a model: commands and acknowledgements alone ask nothing
    turns: tuple[tuple[str, int, int], ...]  # the agent session, the first and the last moment of each
    timed_ms: tuple[int, ...]
    corrected: bool
    friction: bool
    weightiest_against: str


_Works = Sequence[SubSessionWork]


def insights(reader: Reader, scope: Scope, window: Window, zone: ZoneInfo, language: Language) -> Insights:
    found = list(_works(reader, scope, window))
    graded = skill(reader, scope, "range", (window,))
    quick_wins = weakest(graded.per_boolean, graded.per_boolean_counts, QUICK_WINS)
    days, weeks = (_periods(window, period, zone) for period in ("day", "week"))
    advice = ADVICE[language]
    weekly = [(iso(week.start_us), skill(reader, scope, "range", (week,))) for week in weeks]
    # What began in the range may go on after it: messages are those of the range, as in the days below.
    turns = [turn for work in found for turn in work.turns if turn[1] < window.end_us]
    timed = [ms for work in found for ms in work.timed_ms]
    begun = sorted_into(days, ((work.started_us, 1) for work in found))
    written = sorted_into(days, ((at_us, 1) for _, at_us, _ in turns))
    missed, told = [*_missed(found, advice)], all(work.tokens is not None or not work.asked for work in found)
    return Insights(
        meta=InsightsMeta(
            period_start=iso(window.start_us),
            period_end=iso(window.end_us),
            timezone=zone.key,
            language=language,
            total_sessions=len(found),
            total_messages=len(turns),
            active_days=len({local_date(started_us, zone) for _, started_us, _ in turns}),
        ),
        skill_snapshot=shaped(SkillSnapshot, graded, insight_summary(reader, scope, "range", (window,))),
        skill_trend=[shaped(SkillPoint, each, period_start=start) for start, each in weekly],
        at_a_glance=AtAGlance(quick_wins=[QuickWin(label=advice.habits[name].advice) for name in quick_wins]),
        activity=Activity(
            points=[
                ActivityDay(date=str(local_date(day.start_us, zone)), sessions=len(first), messages=len(second))
                for day, first, second in zip(days, begun, written, strict=True)
            ],
            total_active_seconds=sum(us for _, us in active_times(reader.db, scope, window)) / US_PER_SECOND,
        ),
        how_you_use_cc=HowYouUse(
            stats=Stats(
                avg_turns_per_session=_rate(len(turns), len(found)),
                median_response_time_secs=median(timed) / 1000 if timed else None,
                sessions=len(found),
                first_try_rate=_first_try_rate(found),
                multi_clauding_events=times_at_once(turns),
            )
        ),
        impressive_things=_impressive(found, advice),
        where_things_go_wrong=WhereThingsGoWrong(categories=[each for each, _ in missed]),
        cost_optimization=_costs(found, missed),
        worst_prompts=_worst_prompts(reader, scope, window),
        trends=Trends(
            points=[
                TrendPoint(
                    period_start=iso(week.start_us),
                    first_try_rate=_first_try_rate(some),
                    friction_rate=_rate(sum(work.friction for work in some), len(some)),
                    cost_usd=_cost_usd(some) if some else None,
                )
                for week, some in zip(weeks, sorted_into(weeks, ((w.started_us, w) for w in found)), strict=True)
            ]
        ),
        total_input_tokens=sum(work.input_tokens for work in found) if told else None,
        total_output_tokens=sum(work.output_tokens for work in found) if told else None,
    )


def _periods(cut: Window, period: Period, zone: ZoneInfo) -> list[Window]:
    """The calendar periods of a range, cut to it."""
    found = buckets(cut, period, zone)
    return [Window(max(each.start_us, cut.start_us), min(each.end_us, cut.end_us)) for each in found]


def _works(reader: Reader, scope: Scope, window: Window) -> Iterator[SubSessionWork]:
    rows = reader.db.execute(sql("work"), bound(scope, window))
    for values, parts in groupby(rows, key=lambda row: row[:-1]):
        judged, turns = unpack(values[1], Detail), [unpack(part[-1], Turn) for part in parts]
        yield SubSessionWork(
            **dict(zip(SubSessionWork.__struct_fields__, values[2:], strict=False)),
            asked=judged.floor.countable_turns > 0,
            turns=tuple((turn.agent_session_id, turn.started_us, turn.last_activity_us) for turn in turns),
            timed_ms=tuple(turn.elapsed_ms for turn in turns if turn.elapsed_ms is not None),
            corrected=corrected(turns),
            friction=had_friction(turns),
            weightiest_against=leading_against(judged.outcome) or NO_SIGN,
        )


def _worst_prompts(reader: Reader, scope: Scope, window: Window) -> list[WorstPrompt]:
    """Of the average prompt grade's prompts, those that stand lowest; of equal ones the newest."""
    order, own = "p.own_score, p.at_us DESC, p.turn_id", bound(scope, window, limit=WORST_PROMPTS_MAX, offset=0)
    return [
        shaped(
            WorstPrompt,
            each,
            score=each.own_score,
            standing_score=each.score,
            session_id=each.agent_session_id,
            turn_index=reader.db.execute(sql("turns_before"), (each.prompt_id,)).fetchone()[0],
            prompt_preview=each.preview,
        )
        for each, _ in graded_prompts(reader, order, own)
    ]


def _first_try_rate(found: _Works) -> float | None:
    """Crushed, and never corrected on the way."""
    return _rate(sum(work.crushed and not work.corrected for work in found), sum(work.qualifies for work in found))


def _impressive(found: _Works, advice: Advice) -> ImpressiveThings:
    won = [work for work in found if work.crushed]
    kinds = Counter(work.intent for work in won if work.intent is not None)
    ranked = sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))[:HIGHLIGHTS_MAX]
    unsaid = [work for work in found if work.undecided]
    tally = Tally(sum(work.qualifies for work in found), len(won), len(unsaid), sum(not work.rework for work in unsaid))
    return ImpressiveThings(
        win_rate=_rate(tally.crushed, tally.total),
        interval=tally.interval(unit=1.0),
        decided_count=tally.decided,
        undecided_count=tally.undecided,
        total_win_sessions=len(won),
        highlights=[Highlight(label=advice.reached[intent], session_count=count) for intent, count in ranked],
    )


def _missed(found: _Works, advice: Advice) -> Iterator[tuple[Category, _Works]]:
    """The sub-sessions that did not reach their goal, by what speaks against it most; the most frequent first."""
    kinds: defaultdict[str, list[SubSessionWork]] = defaultdict(list)
    for work in found:
        if work.qualifies and not work.crushed:
            kinds[REWORKED if work.rework else work.weightiest_against].append(work)
    for kind, works in sorted(kinds.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        trouble = advice.troubles[kind]
        yield Category(label=trouble.label, count=len(works), mitigation=trouble.advice), works


def _costs(found: _Works, missed: Sequence[tuple[Category, _Works]]) -> CostOptimization:
    total, wasted, undecided, rework = (
        _cost_usd(some) if found else None
        for some in (
            found,
            [work for work in found if work.qualifies and not work.crushed],
            [work for work in found if work.undecided],
            [work for work in found if work.rework],
        )
    )
    actions = [WasteAction(action=each.mitigation, savings_usd=_cost_usd(works)) for each, works in missed]
    return CostOptimization(
        total_cost_usd=total,
        wasted_cost_usd=wasted,
        undecided_cost_usd=undecided,
        waste_ratio=wasted / total if wasted is not None and total else None,
        potential_savings_usd=rework,
        model_rightsizing=[],
        waste_actions=sorted(actions, key=lambda each: -(each.savings_usd or 0.0)),
        unpriced_requests=sum(work.unpriced_requests for work in found),
    )


def _cost_usd(found: _Works) -> float | None:
    """The sum; None where what one of them cost is not known whole."""
    if any(work.unpriced_requests or (work.asked and not work.requests) for work in found):
        return None
    return sum(work.cost_usd_nano for work in found) / NANO


def _rate(part: int, whole: int) -> float | None:
    """0-1; None of nothing."""
    return part / whole if whole else None
