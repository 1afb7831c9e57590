"""What the prompts of a sub-session show together, by the verdicts on each (scoring.md, section 3).

Then what text models answered about prompts, outcomes and boundaries: their verdict counts where there is one. Two
things it cannot change: a prompt that navigates, or was not captured, is judged by nobody; and a sub-session with an
ending that is never complete stays incomplete.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple
from uuid import UUID

import msgspec

from aggregates.event import DeveloperEvent
from aggregates.judging.boundary import EXPANDED, OpenArc, as_typed, cannot_shift
from aggregates.judging.outcome import ships, tells_of_work
from aggregates.judging.prompt import LEANS
from aggregates.reading import verdicts
from aggregates.reading.readings import PromptReading
from aggregates.reading.verdicts import BooleanName, Chances, ClassChances, Intent, Rubric, applicable
from aggregates.turns.turn import CHECK_FAILED, CHECK_OK, INTERRUPTED, OTHER_OK, Turn

# A grading unit: what a person said until something was answered is one prompt.

UNIT_PROMPTS_MAX = 16  # the texts of so many prompts of a unit are joined
UNIT_CHARACTERS_MAX = 65_536  # while they have so many characters together
BLANK_LINE = "\n\n"  # stands between them


class JoinedReading(msgspec.Struct, frozen=True, array_like=True):
    prompts: tuple[tuple[int, int], ...]  # of each the position of its fact, and where it begins in the words of it
    reading: PromptReading


class Unit(NamedTuple):
    """Consecutive prompts of a sub-session with nothing answered between them, in time order."""

    turns: tuple[Turn, ...]
    reading: PromptReading | None  # of all their texts; that of the first where the others' are not at hand

    @property
    def lead(self) -> Turn:
        return self.turns[0]

    def as_turn(self) -> Turn:
        """As one turn, with the answer to the last of them."""
        if len(self.turns) == 1:
            return self.lead
        answer = {name: getattr(self.turns[-1], name) for name in ("response", "response_position", "answered")}
        return msgspec.structs.replace(self.lead, prompt=self.reading, **answer)


def unit_turns(turns: Iterable[Turn]) -> list[tuple[Turn, ...]]:
    """The turns of a sub-session by grading unit. A command is one by itself, and parts no other."""
    units: list[list[Turn]] = []
    asking: list[Turn] | None = None  # nothing was answered yet
    for turn in as_typed(tuple(turns)):
        speaks = turn.prompt is not None and turn.prompt.navigational not in ("command", "shell", EXPANDED)
        if speaks and asking is not None:
            asking.append(turn)
        else:
            units.append([turn])
            asking = units[-1] if speaks else asking
        if turn.answered or turn.work.tool_calls:
            asking = None
    return [tuple(unit) for unit in units]


def joined_turns(unit: Sequence[Turn]) -> Sequence[Turn]:
    """Those whose texts are joined: the first ones; the first alone where no other fits."""
    lengths = accumulate(0 if turn.prompt is None else turn.prompt.characters for turn in unit[:UNIT_PROMPTS_MAX])
    return unit[: max(1, sum(length <= UNIT_CHARACTERS_MAX for length in lengths))]


def joined_prompts(unit: Sequence[Turn]) -> tuple[tuple[int, int], ...]:
    """Of the prompts whose texts are joined the position of the fact, and where the text begins in its words."""
    return tuple((turn.position, turn.words_start) for turn in joined_turns(unit))


def grading_units(turns: Sequence[Turn], joined: Mapping[UUID, JoinedReading]) -> list[Unit]:
    """`joined`: what was read of all texts of a unit, by its first turn."""
    found = ((unit, joined.get(unit[0].turn_id)) for unit in unit_turns(turns))
    return [Unit(unit, unit[0].prompt if whole is None else whole.reading) for unit, whole in found]


def naming_rubric(rubrics: Sequence[Rubric]) -> Rubric | None:
    """Of the first `ok` prompt or, where that only asks, of the first later one that asks for a change."""
    classified = [rubric for rubric in rubrics if rubric.status == "ok" and rubric.intent is not None]
    if classified and classified[0].intent in ("question", "investigation"):
        return next((rubric for rubric in classified if rubric.intent in verdicts.CHANGE_INTENTS), classified[0])
    return next(iter(classified), None)


def sub_session_intent(rubrics: Sequence[Rubric]) -> Intent | None:
    naming = naming_rubric(rubrics)
    return None if naming is None else naming.intent


class Standing(NamedTuple):
    """How a prompt, or a whole sub-session, stands over the booleans that apply to the sub-session's intent."""

    earned: tuple[BooleanName, ...] = ()
    sure: tuple[BooleanName, ...] = ()  # those that are surely earned or surely missed
    chances: Chances = ()


NO_STANDING = Standing()


def goal_unit(units: Sequence[Unit], rubrics: Sequence[Rubric], intent: Intent | None) -> Unit | None:
    """The first prompt, unless it says nothing of a goal or the intent came from a later one that stands by itself."""
    asking = [
        unit for unit, rubric in zip(units, rubrics, strict=True) if rubric.status == "ok" and rubric.intent == intent
    ]
    saying = [unit for unit in units if unit.reading and countable(unit.as_turn())]
    first = [unit for unit in saying[:1] if _says_what(unit.reading, _EMPTY)]
    if first != asking[:1]:
        first = [unit for unit in asking[:1] if _says_what(unit.reading, _ASIDES)] or first
    later = (unit for unit in saying if _says_what(unit.reading, _ASIDES))
    head = next(iter(asking or saying), None)
    empty = head is not None and head.reading is not None and head.reading.shows(*_EMPTY)
    resting = (unit for unit in saying if empty and _says_what(unit.reading, _EMPTY))
    found = next(iter(first), None) or next(later, None) or next(resting, None)
    if command := _expanded_command(units, found) or found:
        return command
    # Of a text that an agent put in place of a command the command, where that stands before it.
    place = 0 if head is None else units.index(head)
    if place and head is not None and head.reading is not None and head.reading.shows("opens with a template"):
        before = units[place - 1]
        return before if before.reading is not None and before.reading.navigational == "command" else head
    return head


def _expanded_command(units: Sequence[Unit], found: Unit | None) -> Unit | None:
    """The command whose text stands behind it, where nothing else says more than what to do about its answer."""
    if found is not None and found.reading is not None and not found.reading.shows(*LEANS):
        return None
    before = units if found is None else units[: units.index(found)]
    texts = [place for place, unit in enumerate(before) if unit.reading and unit.reading.navigational == EXPANDED]
    return before[texts[0] - 1] if texts and texts[0] else None


_EMPTY = ("asks to commit or merge", "opens with a template", "no own words")
_ASIDES = (*LEANS, *_EMPTY)  # what a prompt shows that rests on another one, or on nothing of a person's own


def _says_what(reading: PromptReading | None, unless: Sequence[str]) -> bool:
    return reading is not None and reading.shows("words over 6") and not reading.shows(*unless)


def standings(rubrics: Sequence[Rubric], said: Intent | None = None) -> tuple[list[Standing], Standing]:
    """Of each `ok` prompt, with its own goal and of the rest what it or an earlier one shows; and of all together.

    `said`: of what class a person said that the sub-session is.
    """
    naming = naming_rubric(rubrics)
    intent, classes = (None, ()) if naming is None else (naming.intent, naming.chances)
    if said is not None:
        intent, classes = said, verdicts.as_said(classes, said, {}) if classes else ()
    so_far: dict[BooleanName, bool | None] = {}
    highest: Chances = ()
    found = []
    for rubric in rubrics:
        _add(so_far, rubric)
        highest = _highest(highest, rubric.chances)
        if rubric.status != "ok":
            found.append(NO_STANDING)
            continue
        own_goal = {each.name: each.value for each in rubric.booleans}.get("goal_explicit")
        found.append(_standing(intent, so_far | {"goal_explicit": own_goal}, classes, highest, rubric.chances))
    return found, _standing(intent, so_far, classes, highest)


def _highest(one: Chances, other: Chances) -> Chances:
    """Of each boolean the higher chance."""
    pairs = zip(one, other, strict=False)
    joined = (ClassChances(each.intent, 0.0, tuple(map(max, each.booleans, more.booleans))) for each, more in pairs)
    return tuple(joined) if one and other else one or other


def _add(so_far: dict[BooleanName, bool | None], rubric: Rubric) -> None:
    """True where any is; else unsure where any is."""
    for each in rubric.booleans:
        both = each.value, so_far.get(each.name, each.value)
        so_far[each.name] = True if any(both) else None if None in both else False


def _standing(
    intent: Intent | None,
    stands: Mapping[BooleanName, bool | None],
    classes: Chances,
    highest: Chances,
    own_goal: Chances = (),
) -> Standing:
    applies = () if intent is None else applicable(intent)
    sure = tuple(name for name in applies if stands.get(name) is not None)
    # The goal is the first boolean of every class.
    parts = zip(classes, own_goal or highest, highest, strict=False)
    chances = tuple(
        ClassChances(each.intent, each.chance, goal.booleans[:1] + rest.booleans[1:]) for each, goal, rest in parts
    )
    return Standing(tuple(name for name in sure if stands[name]), sure, chances)


# What text models, and developers' own agents, answered.

JudgeKind = Literal["rubric", "outcome", "boundary"]


class JudgeAnswered(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "judge.answered"
    kind: JudgeKind
    agent_session_id: str
    capture_id: UUID  # the prompt, the first of its unit; of an outcome the last one; of a boundary the one after it
    captures: tuple[UUID, ...] = ()  # of an outcome or a unit all prompts; of a boundary the one before
    model: str
    prompt_version: int
    input_digest: bytes
    input_tokens: int = 0  # as the endpoint counted; 0 where it did not
    output_tokens: int = 0
    confidence: float  # 0-1, rounded to 3 digits: of the intent, of the outcome, or of the boundary
    intent: Intent | None = None  # of a rubric; None: it cannot be said what is wanted
    earned: tuple[BooleanName, ...] = ()
    unsure: tuple[BooleanName, ...] = ()  # what it would not say; the booleans that apply and are in neither are false
    complete: bool | None = None
    undecided: bool = False  # of an outcome: it would not say
    boundary: bool | None = None  # of a boundary: whether the prompt opens another topic than those before it
    agent: str | None = None  # the developer's own one that asked the model; None: the gateway did

    @property
    def judge(self) -> str:
        return f"model:{self.model}" if self.agent is None else f"agent:{self.agent}/{self.model}"


class Answers(msgspec.Struct, frozen=True):
    rubrics: Mapping[frozenset[UUID], JudgeAnswered] = {}  # by the turns of the grading unit
    outcome: JudgeAnswered | None = None  # about just these turns; an answer about fewer or more of them does not count
    for_others: "Answers | None" = None  # without one's own agent's, where it answered: peers are compared by these


NO_ANSWERS = Answers()


def answered_rubric(embedded: Rubric, answer: JudgeAnswered | None) -> Rubric:
    if answer is None or embedded.status not in ("ok", "unclassified"):
        return embedded
    if answer.intent is None:
        return Rubric("unclassified", judge=answer.judge)
    said = answer.intent, answer.confidence, answer.earned, answer.unsure
    return verdicts.said_rubric(*said, judge=answer.judge, chances=embedded.chances)


def answered_outcome(embedded: verdicts.OutcomeVerdict, answer: JudgeAnswered | None) -> verdicts.OutcomeVerdict:
    """The outcome of a sub-session; the evidence stays what was observed."""
    if answer is None or embedded.evident:
        return embedded
    judge, complete = answer.judge, answer.complete
    if answer.undecided:
        undecided = embedded.undecided or "balanced"
        return msgspec.structs.replace(embedded, goal_complete=None, undecided=undecided, judge=judge)
    if complete is None:
        return embedded
    said = {"goal_complete": complete, "forced": complete, "confidence": answer.confidence, "judge": judge}
    return msgspec.structs.replace(embedded, undecided=None, **said)


# Such an answer counts in place of the embedded boundary judge's, after a commit too, while the two turns are
# neighbours. A clear, a session's end and a person's word go before it; a turn that cannot shift stays.


class GapAnswer(msgspec.Struct, frozen=True):
    before: UUID
    answer: JudgeAnswered
    position: int


NO_GAP_ANSWERS: Mapping[UUID, GapAnswer] = MappingProxyType({})


def answered_boundary(arc: OpenArc, turn: Turn, found: GapAnswer | None) -> verdicts.BoundaryVerdict | None:
    """The model's verdict before `turn`, which follows the open `arc`; None where the embedded judge speaks."""
    if found is None or found.before != arc.last.turn_id or found.answer.boundary is None or cannot_shift(arc, turn):
        return None
    shift, answer = found.answer.boundary, found.answer
    asked = "a text model" if answer.agent is None else "your own agent"
    what = f"{asked} was asked, and sees {'another' if shift else 'the same'} topic"
    return verdicts.BoundaryVerdict(shift, answer.confidence, (verdicts.Evidence(what, found.position),), answer.judge)


# The substance floor: whether a sub-session is work or trivia (scoring.md, section 2). Deterministic, no model.

COUNTABLE_TURNS_MIN = 3
CHANGED_LINES_MIN = 10
MUTATING_CALLS_MIN = 1
TOOL_CALLS_MIN = 5
TriviaReason = Literal["interrupted", "no_real_work", "too_few_lines", "no_mutating_calls", "too_few_turns"]


class Floor(msgspec.Struct, frozen=True, array_like=True):
    passed: bool
    countable_turns: int  # grading units that do more than navigate; a turn whose text was not captured counts
    changed_lines: int
    mutating_calls: int
    reason: TriviaReason | None
    unseen: bool = False  # whether what the agent did for one of its turns was not observed: there may be more
    told: bool = False  # whether a prompt asks to commit the work, or an answer tells that it was done


def countable(turn: Turn) -> bool:
    return turn.prompt is None or turn.prompt.navigational is None


def substance(turns: Sequence[Turn], units: Sequence[Turn]) -> Floor:
    """`units`: the grading units of these turns, each as one turn."""
    count = sum(map(countable, units))
    lines = sum(turn.work.lines_added + turn.work.lines_removed for turn in turns)
    mutating = sum(turn.work.mutating_calls for turn in turns)
    checked = any(mark in turn.work.marks for turn in turns for mark in (CHECK_OK, CHECK_FAILED, OTHER_OK))
    attempted = sum(turn.work.tool_calls for turn in turns) >= TOOL_CALLS_MIN
    passed = count >= COUNTABLE_TURNS_MIN or lines >= CHANGED_LINES_MIN or mutating >= MUTATING_CALLS_MIN
    passed = passed or checked or attempted
    reason = None if passed else _trivia_reason(turns, count, lines)
    unseen = any(turn.answered and not turn.work.observed for turn in turns)
    told = any(map(ships, turns)) or tells_of_work(turns)
    return Floor(passed, count, lines, mutating, reason, unseen, told)


def _trivia_reason(turns: Sequence[Turn], count: int, lines: int) -> TriviaReason:
    if any(INTERRUPTED in turn.work.marks for turn in turns) and not any(turn.answered for turn in turns):
        return "interrupted"
    if not count:
        return "no_real_work"
    if lines:
        return "too_few_lines"
    return "no_mutating_calls" if any(turn.work.tool_calls for turn in turns) else "too_few_turns"
