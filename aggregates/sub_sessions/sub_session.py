"""A sub-session: what its turns amount to, as a conclusion (scoring.md, 1 to 5), and what people say against it.

The value holds no clock. It says from when it is settled; whether it is, is decided by whoever asks. An override
(wire.md, Overrides) names a capture, never a turn or a sub-session: those may be drawn anew. The later one wins.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Literal
from uuid import UUID

import msgspec

from aggregates.event import Command, DeveloperEvent, SentEvent, Words
from aggregates.judging import rubric as judging
from aggregates.judging.boundary import as_typed
from aggregates.judging.outcome import judge_outcome
from aggregates.judging.prompt import judge_prompt
from aggregates.judging.rubric import Floor, substance
from aggregates.reading.readings import PromptReading
from aggregates.reading.verdicts import INTENTS, Intent, OutcomeVerdict, Rubric
from aggregates.sub_sessions.arcs import Arc
from aggregates.turns.turn import CHANGE, REVERT, ModelUsage, Parts, Turn, taken_back

# Commands about a sub-session: its title, and overrides of what was judged.


class EditTitle(Command, frozen=True, kw_only=True):
    """Name the sub-session that holds this turn; no automatic title replaces it again."""

    turn_id: UUID
    title: str
    summary: str | None = None


class Override(Command, frozen=True, kw_only=True):
    """A person says how it was, against what was judged."""

    facts: tuple["OverrideEvent", ...]


# Events about a sub-session: its title, and overrides of what was judged.


class TitleEdited(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A person named the sub-session that holds this turn. None leaves a text as it was."""

    TOPIC: ClassVar[str] = "title.edited"
    turn_id: UUID
    title: Words
    summary: Words | None = None


class GapOverridden(SentEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A person said that the turn of this capture opens a sub-session, or that it goes on with the one before."""

    TOPIC: ClassVar[str] = "gap.corrected"
    agent_session_id: str
    before_capture: UUID
    boundary: bool


class _OfCapture(SentEvent, frozen=True, kw_only=True, omit_defaults=True):
    agent_session_id: str
    capture_id: UUID


class GoalOverridden(_OfCapture, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "goal.corrected"
    complete: bool


class ReworkOverridden(_OfCapture, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "rework.corrected"
    rework: bool


class IntentOverridden(_OfCapture, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "intent.corrected"
    intent_class: Intent


class OverrideCleared(_OfCapture, frozen=True, kw_only=True, omit_defaults=True):
    """A person took back what they had said in one field of the turn of this capture, before this fact."""

    TOPIC: ClassVar[str] = "override.cleared"
    field: "OverrideField"


OverrideField = Literal["boundary", "completion", "rollback", "label"]
OVERRIDE_FIELDS: tuple[OverrideField, ...] = ("boundary", "completion", "rollback", "label")
OverrideTopic = Literal["gap", "goal", "rework", "intent", "title"]  # a title is an edit; here it is only taken back
TOPICS_OF: dict[OverrideField, tuple[OverrideTopic, ...]] = {
    "boundary": ("gap",),
    "completion": ("goal",),
    "rollback": ("rework",),
    "label": ("intent", "title"),
}
YES, NO, CLEARED = "yes", "no", "cleared"  # of a gap, a goal or a rework; of any topic that nothing is said any more
OverrideEvent = GapOverridden | GoalOverridden | ReworkOverridden | IntentOverridden | OverrideCleared


class OverrideWord(msgspec.Struct, frozen=True):
    """One thing that somebody said, about the turn that a capture is part of now."""

    turn_id: UUID
    topic: OverrideTopic
    said: str  # `YES` or `NO`; of an intent, the class; `CLEARED` of any
    position: int


class Overrides(msgspec.Struct, frozen=True):
    """What people said of one sub-session; None where nobody did."""

    boundary: bool = False  # somebody said otherwise than was cut
    drawn: bool = False  # somebody drew where it begins, is joined or ends: peers leave it out
    gaps_reviewed: bool = False  # somebody spoke of a gap of it at all
    complete: bool | None = None
    rework: bool | None = None
    intent: Intent | None = None


def override_words_of(event: OverrideEvent) -> tuple[UUID, list[tuple[OverrideTopic, str]]]:
    match event:
        case GapOverridden():
            return event.before_capture, [("gap", YES if event.boundary else NO)]
        case GoalOverridden():
            return event.capture_id, [("goal", YES if event.complete else NO)]
        case ReworkOverridden():
            return event.capture_id, [("rework", YES if event.rework else NO)]
        case IntentOverridden():
            return event.capture_id, [("intent", event.intent_class)]
        case OverrideCleared():
            return event.capture_id, [(topic, CLEARED) for topic in TOPICS_OF[event.field]]


def gap_overrides(words: Iterable[OverrideWord]) -> dict[UUID, bool]:
    """Turn → whether there is a boundary before it, as the last person to speak of it said."""
    latest = sorted((word for word in words if word.topic == "gap"), key=lambda word: word.position)
    said = {word.turn_id: word.said for word in latest}
    return {turn_id: word == YES for turn_id, word in said.items() if word != CLEARED}


def overrides_of(words: Sequence[OverrideWord], openings: Container[UUID] = (), *, parted: bool = False) -> Overrides:
    """The last word in each respect, of turns where `openings` open arcs; `parted`: a person drew its end."""
    spoken = sorted(words, key=lambda word: word.position)
    latest = {word.topic: word.said for word in spoken}
    latest = {topic: said for topic, said in latest.items() if said != CLEARED}
    gaps = gap_overrides(words)
    boundary = any(said or turn_id in openings for turn_id, said in gaps.items())
    return Overrides(
        boundary=boundary,
        drawn=boundary or parted,
        gaps_reviewed=bool(gaps),
        complete=latest["goal"] == YES if "goal" in latest else None,
        rework=latest["rework"] == YES if "rework" in latest else None,
        intent=next((intent for intent in INTENTS if intent == latest.get("intent")), None),
    )


# The conclusion.


class JudgedPrompt(msgspec.Struct, frozen=True, array_like=True):
    turn: Turn
    rubric: Rubric  # of a prompt that is part of a grading unit which another one leads: skipped
    standing: judging.Standing  # empty unless its rubric is ok and the sub-session is classified
    lead: Turn | None = None  # the first prompt of its grading unit, where that is another one
    joined: judging.JoinedReading | None = None  # of the prompt that leads a unit of several: what was read of them all


# What is added up over a sub-session; `cost_usd_nano` counts the priced requests only.
SUMMED = tuple(name for name in ModelUsage.__struct_fields__ if name not in ("model", "response_requests"))


class SubSession(msgspec.Struct, frozen=True):
    sub_session_id: UUID
    agent_session_ids: tuple[str, ...]
    started_us: int
    last_activity_us: int
    ended_us: int  # when the agent last did something; a prompt that it never answered ends nothing later
    settles_at_us: int
    opened_by: str
    closed_by: str | None
    floor: Floor
    prompts: tuple[JudgedPrompt, ...]
    intent: Intent | None  # as a person said, else as judged
    judged_intent: Intent | None
    standing: judging.Standing
    outcome: OutcomeVerdict
    judged_complete: bool | None  # none: undecided
    said: Overrides
    totals: dict[str, int]  # of each of `SUMMED`
    changed_files: frozenset[int]
    goal: Turn | None  # the turn whose prompt says what is wanted: it gives the intent and the title
    asked: PromptReading | None  # what was read of that prompt and the others of its grading unit
    reverts: bool  # whether it takes earlier work back before doing anything else
    reverted: tuple[Parts, ...]  # which files and folders then, where all were named

    @property
    def goal_complete(self) -> bool | None:
        """As a person said, else as judged; None: undecided."""
        return self.outcome.goal_complete if self.said.complete is None else self.said.complete

    @property
    def qualifies(self) -> bool:
        """Above the floor and classified; it counts once it has settled."""
        return self.floor.passed and self.intent is not None


NO_OVERRIDES = Overrides()
NO_JOINED: Mapping[UUID, judging.JoinedReading] = MappingProxyType({})


def conclude(
    arcs: Sequence[Arc],
    turns: Sequence[Turn],
    following: Turn | None,
    said: Overrides = NO_OVERRIDES,
    answers: judging.Answers = judging.NO_ANSWERS,
    joined: Mapping[UUID, judging.JoinedReading] = NO_JOINED,
) -> SubSession:
    """Judge the turns of one sub-session, in time order. `following` is the next turn of the last one's session.

    `joined`: what was read of the grading units of several prompts, by their first turns.
    """
    if answers.for_others is not None:
        plain = conclude(arcs, turns, following, said, answers.for_others, joined)
        found = conclude(arcs, turns, following, said, msgspec.structs.replace(answers, for_others=None), joined)
        return msgspec.structs.replace(found, judged_intent=plain.judged_intent, judged_complete=plain.judged_complete)
    captured = {turn.turn_id: turn for turn in turns}
    turns = as_typed(turns)
    units = judging.grading_units(turns, joined)
    asking = [unit.as_turn() for unit in units]
    before = [None, *((each.prompt, each.response) for each in asking)]
    own = (judge_prompt(each.prompt, past) for each, past in zip(asking, before, strict=False))
    told = (answers.rubrics.get(frozenset(turn.turn_id for turn in unit.turns)) for unit in units)
    rubrics = [judging.answered_rubric(each, answer) for each, answer in zip(own, told, strict=True)]
    judged_intent = judging.sub_session_intent(rubrics)
    intent = said.intent or judged_intent
    stand, standing = judging.standings(rubrics, said.intent)
    goal = judging.goal_unit(units, rubrics, judged_intent)
    unsure_end = any(arc.end_chance is not None and arc.turn_ids[-1] == turns[-1].turn_id for arc in arcs)
    judged = judging.answered_outcome(
        judge_outcome(turns, judged_intent, following, unsure_end=unsure_end), answers.outcome
    )
    meant = judged if intent == judged_intent else judge_outcome(turns, intent, following, unsure_end=unsure_end)
    asked = None if goal is None else goal.reading
    # A person who asks to undo, or an agent whose first lasting act is a git revert.
    lasting = (mark for turn in turns for mark in turn.work.marks if mark in (REVERT, CHANGE))
    reverts = (asked is not None and asked.asks_to_revert) or next(lasting, None) == REVERT
    named = [turn.work.reverted for turn in turns if turn.work.reverted is not None]
    usage = [row for turn in turns for row in turn.work.usage]
    last = max(reversed(arcs), key=lambda arc: arc.settles_at_us)
    return SubSession(
        sub_session_id=arcs[0].arc_id,
        agent_session_ids=tuple(dict.fromkeys(arc.agent_session_id for arc in arcs)),
        started_us=arcs[0].started_us,
        last_activity_us=max(arc.last_activity_us for arc in arcs),
        ended_us=max(arcs[0].started_us, *(turn.agent_us for turn in turns)),
        settles_at_us=last.settles_at_us,
        opened_by=arcs[0].opened_by,
        closed_by=last.closed_by,
        floor=substance(turns, asking),
        prompts=_prompts(zip(units, rubrics, stand, strict=True), joined, captured),
        intent=intent,
        judged_intent=judged_intent,
        standing=standing,
        outcome=judging.answered_outcome(meant, answers.outcome),
        judged_complete=judged.goal_complete,
        said=said,
        totals={name: sum(getattr(row, name) for row in usage) for name in SUMMED}
        | {"failed_requests": sum(turn.work.failed_requests for turn in turns)},
        changed_files=frozenset().union(*(turn.work.changed_files for turn in turns)),
        goal=None if goal is None else captured[goal.lead.turn_id],
        asked=asked,
        reverts=reverts,
        reverted=taken_back(named) if reverts else (),
    )


def _prompts(
    judged: Iterable[tuple[judging.Unit, Rubric, judging.Standing]],
    joined: Mapping[UUID, judging.JoinedReading],
    captured: Mapping[UUID, Turn],
) -> tuple[JudgedPrompt, ...]:
    """In time order. What a unit shows is told of its first prompt."""
    found = []
    for unit, own, stands in judged:
        lead, *later = (captured[turn.turn_id] for turn in unit.turns)
        found.append(JudgedPrompt(lead, own, stands, joined=joined.get(lead.turn_id)))
        found += [JudgedPrompt(turn, Rubric("skipped"), judging.NO_STANDING, lead) for turn in later]
    return tuple(sorted(found, key=lambda each: (each.turn.started_us, each.turn.turn_id)))
