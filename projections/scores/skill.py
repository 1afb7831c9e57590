"""Average prompt grade and skill index over the prompts of a window (scoring.md, section 3), and the habits shown."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from aggregates.event import Scope
from aggregates.judging.prompt import how_to_earn, rests_on_words, rubric_evidence
from aggregates.reading.verdicts import BOOLEANS, BooleanName, kind_told
from aggregates.scores import grades
from aggregates.scores.insights import Decided
from aggregates.times import AskedWindow, Window, iso
from aggregates.turns.turn import Turn
from projections.derive.sessions import prompt_id
from projections.derive.sub_session_rows import Detail, PromptDetail, mask, unmask
from projections.reader import Reader, bodies, bound, filled, json_array, sql, unpack
from projections.scores.score import OfWindow, newest_at, of_window, window_counts
from projections.sub_sessions.rows import one_line

PREVIEW_CHARS_MAX = 140
_PREVIEW_READ_MAX = 4 * PREVIEW_CHARS_MAX
"""So much of a prompt is brought onto one line; a prompt may be half a megabyte."""


class Skill(OfWindow, frozen=True, kw_only=True):
    skill_index: float | None
    tier: str
    delta_apg: None = None
    per_boolean: dict[BooleanName, float]  # as it is expected of those prompts that it applies to
    per_boolean_counts: dict[BooleanName, int]  # how many prompts each share is over; one over none is not shown
    per_boolean_count: dict[BooleanName, int]  # the same under its other name
    per_boolean_unsure: dict[BooleanName, int]  # of how many prompts nobody can surely say it
    unsure_count: int  # the sum of those
    worst_pillar: str
    sample_count: int  # prompts


class GradeCount(msgspec.Struct, frozen=True):
    grade: str
    count: int


class ApgPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The average prompt grade of one period; None without any graded prompt."""

    period_start: str
    apg: float | None
    interval: grades.Interval | None
    sample_count: int


class InsightSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The headline: the average prompt grade, and where it comes from."""

    window: AskedWindow
    newest_at: str | None
    apg_current: float | None
    interval: grades.Interval | None  # of `apg_current`
    apg_previous: float | None
    sample_count: int  # prompts
    unsure_count: int  # how many booleans of the window's prompts nobody could surely say
    grade_distribution: list[GradeCount]
    points: list[ApgPoint]


class TopPrompt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One graded prompt. Intent class and `crushed` are those of its sub-session."""

    prompt_id: str  # as in the list of its sub-session's prompts
    sub_session_id: str
    agent_session_id: str
    submitted_at: str
    preview: str | None  # None once it has been forgotten
    grade: str  # of the standing score
    grade_told: str | None  # `B`, or `between C and B`; None where it may be nearly any
    score: float  # the standing score, 0-100, as it is expected
    own_grade: str
    own_score: float  # of the prompt by itself, 0-100; lists are ordered by it
    sure: bool  # whether all its booleans are: a person is shown no other as best or worst
    unsure_count: int  # how many of its own booleans nobody could surely say
    intent_class: str
    kind_told: str | None
    crushed: bool | None  # None while the sub-session is open, and where its outcome is undecided


_PER_HABIT = (
    "coalesce(sum({0}), 0)",  # thousandths
    "count({0})",
    "count(*) FILTER (WHERE {0} IS NOT NULL AND NOT standing_sure & {1})",
)
_COUNT = len(BOOLEANS)
_HABITS = ", ".join(each.format(name, 1 << bit) for each in _PER_HABIT for bit, name in enumerate(BOOLEANS))


class HabitCounts(NamedTuple):
    """Of each habit, how many prompts of a window are expected to show it, and to how many it applies."""

    hits: dict[BooleanName, float]
    applied: dict[BooleanName, int]
    unsure: dict[BooleanName, int]  # of those it applies to, the ones of which nobody can surely say it
    sample_count: int

    def of(self, name: BooleanName) -> tuple[float, int, int]:
        return self.hits[name], self.applied[name], self.unsure[name]


def habit_counts(reader: Reader, scope: Scope, window: Window) -> HabitCounts:
    *found, prompts = reader.db.execute(sql("habits", habits=_HABITS), bound(scope, window)).fetchone()
    hits, applied, unsure = (dict(zip(BOOLEANS, found[place:], strict=False)) for place in (0, _COUNT, 2 * _COUNT))
    return HabitCounts({name: each / 1_000 for name, each in hits.items()}, applied, unsure, prompts)


def skill(reader: Reader, scope: Scope, name: AskedWindow, windows: Sequence[Window]) -> Skill:
    hits, applied, unsure, sample_count = habit_counts(reader, scope, windows[-1])
    index = grades.skill_index(hits, applied)
    return Skill(
        skill_index=index,
        tier=grades.skill_tier(index),
        per_boolean=grades.per_boolean(hits, applied),
        per_boolean_counts=applied,
        per_boolean_count=applied,
        per_boolean_unsure=unsure,
        unsure_count=sum(unsure.values()),
        worst_pillar=grades.worst_pillar(hits, applied),
        sample_count=sample_count,
        **of_window(reader, scope, name, window_counts(reader, scope, windows[-1])),
    )


def insight_summary(reader: Reader, scope: Scope, name: AskedWindow, windows: Sequence[Window]) -> InsightSummary:
    """The average prompt grade of the last window given, the one before, and a point for each."""
    points, query = list[ApgPoint](), filled("SELECT standing_score, variance {counted}")
    for window in windows:
        spreads = reader.db.execute(query, bound(scope, window)).fetchall()
        scores, variances = ([row[place] for row in spreads] for place in (0, 1))
        apg = math.fsum(scores) / len(scores) if scores else None
        interval = grades.mean_interval(scores, variances)
        points.append(ApgPoint(period_start=iso(window.start_us), apg=apg, interval=interval, sample_count=len(scores)))
    letters = bodies(reader.db, tuple[float, ...], filled("SELECT letters {counted}"), bound(scope, windows[-1]))
    likely = [math.fsum(each) for each in zip(*letters, strict=True)]
    counts = grades.whole_counts(likely, points[-1].sample_count) or [0] * len(grades.RUBRIC_LADDER)
    return InsightSummary(
        window=name,
        newest_at=newest_at(reader, scope),
        apg_current=points[-1].apg,
        interval=points[-1].interval,
        apg_previous=points[-2].apg if len(points) > 1 else None,
        sample_count=points[-1].sample_count,
        unsure_count=sum(habit_counts(reader, scope, windows[-1]).unsure.values()),
        grade_distribution=list(map(GradeCount, grades.RUBRIC_LADDER, counts)),
        points=points,
    )


def top_prompts(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[TopPrompt]:
    """The best by themselves first; of equal ones those that stand higher, of the newest goal, the earliest in it."""
    order = "p.own_score DESC, p.standing_score DESC, s.started_us DESC, s.sub_session_id, p.at_us, p.turn_id"
    return [prompt for prompt, _ in graded_prompts(reader, order, bound(scope, window, limit=limit, offset=offset))]


def graded_prompts(
    reader: Reader,
    order: str,
    page: dict[str, object],
    narrowed: str = "",
    fits: Callable[[PromptDetail], bool] = lambda _: True,
) -> Iterator[tuple[TopPrompt, PromptDetail]]:
    """A page of the graded prompts of a range, by their own time as for the average grade; each with its judgement."""
    query = sql("graded_prompts", narrowed=narrowed, order=order)
    judged = ((unpack(row[1], PromptDetail), row) for row in reader.db.execute(query, page))
    rows = [(body, row) for body, row in judged if fits(body)]
    texts = reader.texts(body.prompt for body, _ in rows)
    for body, (turn, _, sub_session_id, session, at_us, own, intent, detail, crushed) in rows:
        standing = body.standing
        assert standing is not None, "every counted prompt has a score"
        prompt = TopPrompt(
            prompt_id=prompt_id(unpack(turn, Turn)),
            sub_session_id=sub_session_id,
            agent_session_id=session,
            submitted_at=iso(at_us),
            preview=one_line(texts, body.prompt, PREVIEW_CHARS_MAX, _PREVIEW_READ_MAX),
            grade=standing.letter,
            grade_told=standing.told,
            score=standing.score,
            own_grade=grades.rubric_letter(own),
            own_score=own,
            sure=not body.rubric.unsure,
            unsure_count=len(body.rubric.unsure),
            intent_class=intent,
            kind_told=unpack(detail, Detail).kind_told,
            crushed=None if crushed is None else bool(crushed),
        )
        yield prompt, body


# One's own habits: prompts that show each and prompts that miss it, and goals reached with and without.

BEST_READ, MISSED_READ = 5, 20  # so many are looked at for one that fits, and whose text is still there
MARKED_CHARACTERS_MAX = 20_000  # in a longer prompt no words are looked for
AROUND_CHARACTERS = 70  # so much is shown on either side of the words
WORDS_CHARACTERS = 140
DECIDED_READ_MAX = 5_000  # so many decided goals are looked at, the newest


class ShownHabit(msgspec.Struct, frozen=True):
    """A prompt of one's own that shows a habit, or misses it."""

    prompt: TopPrompt
    before: str
    words: str = ""  # those that show it; empty where no words stand out, and of one that misses it
    after: str = ""
    advice: str | None = None  # how this very prompt would show it, where it does not


ShownHabits = Mapping[BooleanName, ShownHabit | None]  # None where no prompt is one, or its words are gone


def _surely_misses(name: BooleanName, body: PromptDetail) -> bool:
    """By its own kind, not by that of its goal: to commit a fix calls for no cause."""
    own = body.rubric
    return name in own.missed and kind_told(own.chances) == own.intent


def best_shown(reader: Reader, scope: Scope, window: Window) -> ShownHabits:
    """Of each habit the developer's best prompt that shows it."""
    order = ("own_score DESC", "at_us DESC", "turn_id")
    return _examples(reader, scope, window, "standing_sure & standing_earned & own_earned", order, BEST_READ)


def newest_missed(reader: Reader, scope: Scope, window: Window) -> ShownHabits:
    """Of each habit the newest prompt that surely calls for it and misses it, as its whole goal does."""
    order = ("at_us DESC", "turn_id DESC")
    return _examples(reader, scope, window, "standing_sure & ~standing_earned", order, MISSED_READ, _surely_misses)


def _examples(
    reader: Reader,
    scope: Scope,
    window: Window,
    bits: str,
    order: Sequence[str],
    read: int,
    fits: Callable[[BooleanName, PromptDetail], bool] = lambda *_: True,
) -> ShownHabits:
    """Of each habit the first of the prompts with its bit that fits and whose text is still there."""
    found: dict[BooleanName, list[int]] = {name: [] for name in BOOLEANS}
    query, wanted = filled(f"SELECT rowid, {bits} {{counted}} ORDER BY {', '.join(order[:-1])}"), mask(BOOLEANS)
    for rowid, has in reader.db.execute(query, bound(scope, window)):
        for name in unmask(has & wanted):
            found[name].append(rowid)
            if len(found[name]) == read:
                wanted &= ~mask((name,))
        if not wanted:
            break
    shown: dict[BooleanName, ShownHabit | None] = dict.fromkeys(found)
    for name, rowids in found.items():
        page = bound(scope, window, rows=json_array(rowids), bit=mask((name,)), limit=read, offset=0)
        narrowed = (  # sure is what the page of the goal calls so: of all its prompts together
            "AND p.rowid IN (SELECT value FROM json_each(:rows)) "
            "AND s.sure & :bit AND s.earned & :bit = p.standing_earned & :bit"
        )
        joined = ", ".join(f"p.{column}" for column in order)
        for prompt, body in graded_prompts(reader, joined, page, narrowed, partial(fits, name)) if rowids else ():
            example = _shown(reader, name, prompt, body)
            if prompt.preview is not None and (example.words or name in body.rubric.missed or not rests_on_words(name)):
                shown[name] = example
                break
    return shown


def _shown(reader: Reader, name: BooleanName, prompt: TopPrompt, body: PromptDetail) -> ShownHabit:
    preview = prompt.preview or ""
    whole = ShownHabit(prompt, preview + "…" * (len(preview) == PREVIEW_CHARS_MAX))
    text = None if body.prompt is None else reader.texts([body.prompt])[body.prompt]
    if text is None or len(text) > MARKED_CHARACTERS_MAX:
        return whole
    if name not in body.rubric.earned:
        return msgspec.structs.replace(whole, advice=how_to_earn(name, text))
    evidence = rubric_evidence(text, body.rubric, 0).get(name)
    if evidence is None or evidence.span is None:
        return whole
    start, end = evidence.span.start, min(evidence.span.end, evidence.span.start + WORDS_CHARACTERS)
    before, after = text[max(0, start - AROUND_CHARACTERS) : start], text[end : end + AROUND_CHARACTERS]
    before = ("… " if start > AROUND_CHARACTERS else "") + before.lstrip()
    after = after.rstrip() + (" …" if end + AROUND_CHARACTERS < len(text) else "")
    return ShownHabit(prompt, before, text[start:end], after)


def decided_goals(reader: Reader, scope: Scope) -> list[Decided]:
    """The decided goals of all time, by the habits that they surely show."""
    return [
        Decided(frozenset(unmask(sure & earned)), frozenset(unmask(sure)), goals, reached)
        for sure, earned, goals, reached in reader.db.execute(sql("decided_goals"), bound(scope, most=DECIDED_READ_MAX))
    ]
