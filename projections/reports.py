"""What a report says, by the queries of the live pages in one look; and what is told of one day, and of a team."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal, get_args
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope
from aggregates.judging.prompt import ADVICE, GRADED_MIN, Language, weakest
from aggregates.people.directory import Stay
from aggregates.reading.verdicts import INTENTS, BooleanName, Intent
from aggregates.reports.events import ReportPeriod
from aggregates.reports.prose import Narration, NarrativeStatus
from aggregates.scores.insights import NO_WORK, WorkLabels, label, work_labels
from aggregates.times import Window, iso
from projections.cost import CostQuery, cost
from projections.derive.sub_session_rows import Detail, PromptDetail
from projections.prices import Reading, Spending, team_cost
from projections.reader import Reader, TextRef, bodies
from projections.scores import activity, score
from projections.scores.skill import Skill, TopPrompt, best_shown, insight_summary, newest_missed, skill, top_prompts
from projections.scores.throttle import personal_throttle
from projections.sub_sessions.goals import Wanted, goals
from projections.sub_sessions.listing import trivia
from projections.sub_sessions.rows import GoalOutcome, turns_in
from projections.teams import Begun, begun, members_in
from projections.telemetry.usage import rightsizing

ROWS_MAX = 200
HABITS_SHOWN = 3
LABELLED_MAX = 500  # sub-sessions of a day that are labelled, the newest first: each takes a look at its prompts
_WINDOWS_SHOWN = 4  # a sparkline has this many points; the last is the period


class CoachedHabit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    boolean: BooleanName
    label: str
    habit: str
    share: float  # of the prompts that called for it, 0-1
    prompt_count: int
    example: TopPrompt | None  # that surely misses it, nor did an earlier one of its sub-session show it
    best_example: TopPrompt | None  # the developer's own best prompt that shows it; None where none does


class Coaching(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The weakest habits, the weakest first; where there are none, the note says why."""

    items: list[CoachedHabit]
    note: str | None


class ReportInput(msgspec.Struct, frozen=True, dict=True):
    reader: Reader
    scope: Scope
    period: ReportPeriod
    language: Language
    spending: Reading

    @property
    def window(self) -> Window:
        return self.period.window

    @property
    def echo(self) -> dict[str, object]:
        """The range, as the live reads of a range repeat it."""
        return {"fromUs": self.window.start_us, "toUs": self.window.end_us, "timezone": self.period.timezone}

    @cached_property
    def skill(self) -> Skill:
        """Asked for by two sections."""
        return skill(self.reader, self.scope, self.period.name, self.period.windows(_WINDOWS_SHOWN))


def _of_windows(query: Callable[..., object]) -> Callable[[ReportInput], object]:
    return lambda look: query(look.reader, look.scope, look.period.name, look.period.windows(_WINDOWS_SHOWN))


def _listed(query: Callable[..., object]) -> Callable[[ReportInput], object]:
    return lambda look: {"range": look.echo, "items": query(look.reader, look.scope, look.window, ROWS_MAX, 0)}


def _task_time(look: ReportInput) -> object:
    found = activity.task_time(look.reader, look.scope, look.window, ROWS_MAX, 0)
    return {"range": look.echo} | msgspec.to_builtins(found)


def _throttle(look: ReportInput) -> object:
    """None where the period holds more requests than one read may look at; of many events the newest."""
    found = personal_throttle(look.reader, look.scope, look.window)
    return None if found is None else msgspec.structs.replace(found, events=found.events[:ROWS_MAX])


def _model_usage(look: ReportInput) -> object:
    found = rightsizing(look.reader, look.scope, look.window, ZoneInfo(look.period.timezone))
    cost = team_cost({}, look.spending, look.spending)
    return {**msgspec.to_builtins(found), "spending": msgspec.convert(cost, Spending, from_attributes=True)}


def _coaching(look: ReportInput) -> Coaching:
    """The habits that showed least, each with one of the developer's own prompts that missed it."""
    shares, counts, advice = look.skill.per_boolean, look.skill.per_boolean_counts, ADVICE[look.language]
    named = weakest(shares, counts, HABITS_SHOWN)
    found = [query(look.reader, look.scope, look.window) if named else {} for query in (newest_missed, best_shown)]
    missed, best = ({name: each.prompt for name, each in some.items() if each} for some in found)
    items = [
        CoachedHabit(
            boolean=name,
            label=advice.habits[name].label,
            habit=advice.habits[name].advice,
            share=shares[name],
            prompt_count=counts[name],
            example=missed.get(name),
            best_example=best.get(name),
        )
        for name in named
    ]
    enough = any(count >= GRADED_MIN for count in counts.values())
    why_none = advice.nothing_missed if enough else advice.not_enough.format(least=GRADED_MIN)
    return Coaching(items=items, note=None if items else why_none)


SECTIONS: dict[str, Callable[[ReportInput], object]] = {
    "goals": lambda look: goals(look.reader, look.scope, Wanted(window=look.window), ROWS_MAX),
    "score": _of_windows(score.score),
    "speed": _of_windows(score.speed),
    "tokens": _of_windows(score.tokens),
    "skill": lambda look: look.skill,
    "insightSummary": _of_windows(insight_summary),
    "integrity": lambda look: activity.integrity(look.reader, look.scope, look.window),
    "trivia": lambda look: trivia(look.reader, look.scope, look.window, ROWS_MAX, 0),
    "files": _listed(activity.files),
    "topPrompts": _listed(lambda *asked: [each for each in top_prompts(*asked) if each.sure]),
    "taskTime": _task_time,
    "modelTask": _listed(activity.model_task),
    "throttle": _throttle,
    "modelUsage": _model_usage,
    "cost": lambda look: cost(look.reader, look.scope, CostQuery(look.window, "model", ZoneInfo(look.period.timezone))),
    "coaching": _coaching,
}
"""Name on the wire → what it is made of, in the order of the contract."""


def report_sections(look: ReportInput, breathe: Callable[[], None]) -> str:
    """The sections as a JSON object. `breathe` is called before each and may raise, to give up."""
    sections: dict[str, object] = {}
    for name, section in SECTIONS.items():
        breathe()
        sections[name] = section(look)
    return msgspec.json.encode(sections).decode()


# One day: its counts, and the abstract labels that a narrative is written from.


_Kind = Literal[Intent, "unclassified"]
ByIntent = dict[_Kind, int]
"""Settled sub-sessions above the floor, by what they were after."""


class TeamSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    team_id: UUID
    date: str
    timezone: str
    language: str
    members_active: int
    sub_sessions: int
    crushed: int | None
    not_reached: int | None
    repeated: int | None  # done again, for an earlier one's work did not hold
    undecided: int | None  # of how many nobody can say whether the goal was reached
    going_on: int | None
    not_counted: int | None  # trivia, and what is of no known kind; these six add up to `subSessions`
    trivia: int | None
    by_intent: ByIntent | None
    withheld: str | None  # why how the day came out is not told; None where it is
    narrative: str | None  # plain text, to be shown as it is; else `narrative_status` says why there is none
    narrative_status: NarrativeStatus
    structured_narrative: None = None  # kept for the wire: nothing but null is supported
    narrative_source: str | None
    generated_at: str | None
    narrative_input_clipped: bool  # whether the narrative covers only the busiest members or tasks


OUTCOMES: dict[str, GoalOutcome] = {"crushed" if each == "reached" else each: each for each in get_args(GoalOutcome)}


def team_day(reader: Reader, scope: Scope, stays: Sequence[Stay], *, labels: bool) -> tuple[list[Begun], WorkLabels]:
    """What was begun in the stays of a day, which are of the scope's organization. `labels`: whether any are read."""
    found = begun(reader, scope, stays)
    return found, _labelled(reader, found) if labels else NO_WORK


def own_work(reader: Reader, scope: Scope, day: Window) -> WorkLabels:
    return _labelled(reader, begun(reader, scope, [Stay(scope.developer_id, day.start_us, day.end_us)]))


def _labelled(reader: Reader, found: Sequence[Begun]) -> WorkLabels:
    named = [each for each in found if each.settled and each.floor_passed and each.intent in INTENTS]
    wanted = named[:LABELLED_MAX]
    goals = [_goal(reader.db, each.sub_session_id) for each in wanted]
    texts = reader.texts(goals)
    labels: defaultdict[UUID, list[str]] = defaultdict(list)
    for each, goal in zip(wanted, goals, strict=True):
        marks = "".join(turn.work.marks for turn in turns_in(reader.db, each.sub_session_id))
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


def withheld(found: Sequence[Begun], team_minimum: int) -> str | None:
    """Why how a day came out is not told: of one or two members it would be about a person."""
    active = members_in(found)
    if active == 0 or active >= team_minimum:
        return None
    return f"fewer than {team_minimum} members were active: how it came out would tell on one of them"


def team_summary(
    team_id: UUID,
    date: str,
    timezone: str,
    language: str,
    found: Sequence[Begun],
    reason: str | None,
    narration: Narration,
) -> TeamSummary:
    """Who was active and on how much; how it came out, and the narrative, where there are any and `reason` is None."""
    narrative, outcomes = narration.narrative, Counter(each.outcome for each in found)
    settled = [each for each in found if each.settled]
    told: dict[str, Any] = {name: outcomes[outcome] for name, outcome in OUTCOMES.items()}
    told["trivia"] = sum(not each.floor_passed for each in settled)
    intents = Counter(each.intent for each in settled if each.floor_passed)
    told["by_intent"] = {name: intents[name] for name in get_args(_Kind)}
    return TeamSummary(
        team_id=team_id,
        date=date,
        timezone=timezone,
        language=language,
        members_active=members_in(found),
        sub_sessions=len(found),
        withheld=reason,
        narrative=None if narrative is None else narrative.text,
        narrative_status=narration.status,
        narrative_source=None if narrative is None else "llm",
        generated_at=None if narrative is None else iso(narrative.generated_at_us),
        narrative_input_clipped=narrative is not None and narrative.clipped,
        **(told if reason is None else dict.fromkeys(told)),
    )
