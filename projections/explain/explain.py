"""Why a sub-session is what it is: each part of the conclusion with its rule, its evidence and its facts."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.event import Scope, shaped
from aggregates.judging import outcome as rules, rubric as floors
from aggregates.reading.verdicts import EMBEDDED, INTENTS, Evidence, Intent, OutcomeVerdict, kind_of
from aggregates.sub_sessions.arcs import REWORK_WINDOW_US, ReworkReason, ReworkView, jaccard, why_rework
from aggregates.sub_sessions.sub_session import CLEARED, YES, OverrideField, OverrideTopic
from aggregates.times import US_PER_DAY, iso
from aggregates.turns.turn import CHANGE, COMMIT, Observation, ToolUse, Turn
from projections.derive.sessions import answer_of, override_words, prompt_id
from projections.explain import evidence
from projections.explain.boundary import BoundaryExplained, boundary, boundary_numbers
from projections.explain.rubric import FIRST, RubricExplained, rubric
from projections.reader import Reader, bodies
from projections.sub_sessions.detail import UnsureGap, unsure_gaps
from projections.sub_sessions.rows import find, turns_in

_FLOOR_MIN = {
    "turns_min": floors.COUNTABLE_TURNS_MIN,
    "lines_min": floors.CHANGED_LINES_MIN,
    "mutating_calls_min": floors.MUTATING_CALLS_MIN,
}
_COMPLETION_FLOOR = rules.OUTCOME_BOUNDS.true_from or 1.0  # from how likely on completion is said
_Shows = Callable[[Observation], bool]


def _tool(shows: Callable[[ToolUse], bool]) -> _Shows:
    return lambda seen: seen.tool is not None and shows(seen.tool)


_CHECKS = (rules.CHECKED, rules.CHECK_FAILS)
_BY_WORK: dict[str, _Shows] = {
    rules.COMMITTED: _tool(lambda tool: tool.ok is True and (tool.commit or tool.pull_request)),
    rules.CHANGED: _tool(lambda tool: tool.effect == "edit" and tool.ok is not False),
    rules.REVERTED: _tool(lambda tool: tool.revert),
    rules.ENDED_ON_ERROR: lambda seen: seen.kind == "error",
    rules.CANCELLED_LOOPING: lambda seen: seen.kind == "interruption",
    rules.INTERRUPTED_LAST: lambda seen: seen.kind == "interruption",
    rules.REFUSED: lambda seen: seen.kind == "rejection",
}
_BY_ANSWER = {*(rules.UNCHALLENGED, rules.REPORTED, rules.STATED_FAILURE, rules.WAITS, rules.BROKE_OFF)}
_SAID: dict[str, Callable[[Sequence[Turn], Turn | None], Iterator[Turn]]] = {
    rules.ACCEPTED: rules.accepting,
    rules.SHIPPED: rules.shipping,
    rules.TAKEN_OVER: rules.taking_over,
    rules.STILL_FAILING: lambda turns, _following: iter((rules.last_real(turns),)),
}
"""The turns whose prompts say something, those first by which the judge goes."""
_WEIGHED_ONLY = {rules.UNSURE_END, rules.OPEN_FAILURE}
"""A doubt about where it ends is told where it was cut; an answer that speaks of failures may only describe some."""
_BY_HAND = {rules.REFUSED, rules.INTERRUPTED_LAST, rules.CANCELLED_LOOPING}
_BY_PROMPT = {*_SAID, rules.MOVED_ON, rules.CORRECTED, rules.NOT_WORKING}
_ACTIONS: dict[OverrideTopic, tuple[OverrideField, str, str]] = {  # topic → the field, and the action for yes and no
    "gap": ("boundary", "split_at_turn", "merge_with_previous"),
    "goal": ("completion", "mark_complete", "mark_incomplete"),
    "rework": ("rollback", "mark_rework", "mark_not_rework"),
    "intent": ("label", "set_intent", "set_intent"),
}


class FloorExplained(evidence.ExplainedPart, frozen=True, kw_only=True):
    passed: bool
    reason: str | None
    rule: str
    turns: int
    turns_min: int
    lines: int
    lines_min: int
    mutating_calls: int
    mutating_calls_min: int


class ReworkExplained(evidence.ExplainedPart, frozen=True, kw_only=True):
    """Whether it takes back or repeats earlier work. The first is None while the sub-session is open."""

    rework: bool | None
    rework_of: str | None
    reason: ReworkReason | None
    shared_files: int | None
    likeness: float | None  # of the two goals' words, 0-1


class OutcomePiece(evidence.EvidencePiece, frozen=True, kw_only=True):
    """What speaks for or against the outcome: who said or did it, and when."""

    who: Literal["you", "the agent", "the tools"]
    at: str | None  # when it was said or done; None where it is something that is not there
    next_goal: str | None  # the one that follows, where its prompt says this


class OutcomeExplained(evidence.ExplainedPart, frozen=True, kw_only=True):
    """Whether the goal was reached. The first three are None while the sub-session is open."""

    goal_complete: bool | None
    confidence: float | None
    completion_floor: float | None
    judge: str
    goal: evidence.EvidencePiece
    undecided_reason: str | None  # why nobody can say; None where somebody can, and while it is open
    evidence_for: list[OutcomePiece]
    evidence_against: list[OutcomePiece]


class OverrideShown(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said, and where: the prompt it was said about, None for a title."""

    field: OverrideField
    action: str
    prompt_id: str | None = None
    intent_class: Intent | None = None
    position: int


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    score_v3_sub_session_id: str
    agent_session_ids: list[str]
    is_preview: bool
    verdict: str  # in one sentence, with how sure it is
    rubric: RubricExplained
    outcome: OutcomeExplained
    rework: ReworkExplained
    boundary: BoundaryExplained
    unsure_gaps: list[UnsureGap]  # one goal or two? A person's click settles each
    floor: FloorExplained
    overrides: list[OverrideShown]  # those that stand, in the order they were said
    rules_version: int
    judges: list[str]
    details: list[str]  # the numbers that the judges weighed
    positions: list[int]


def explanation(
    reader: Reader, scope: Scope, sub_session_id: UUID, rules_version: int, turns: range = FIRST
) -> Explanation | None:
    """None where the developer has none of this id, present or former. `turns`: whose prompts are explained, from 0."""
    row = find(reader, scope, sub_session_id)
    if row is None:
        return None
    facts = evidence.SubSessionEvidence(reader, row)
    opening, floor, grade = boundary(facts), _floor(facts), rubric(facts, turns)
    reached, rework, overridden = _outcome(facts), _rework(facts), _overrides(facts)
    judges = {opening.judge, grade.judge, reached.judge}
    judges |= {each.body.rubric.judge for each in facts.prompts[: FIRST.stop]} | {each.judge for each in opening.kept}
    gaps, numbers = unsure_gaps(reader, row.sub_session_id), boundary_numbers(opening)
    verdict, places = _verdict(facts, grade.grade_told), [gap.split_turn_idx for gap in gaps]
    # Where nobody can tell one goal from two.
    unsure = {"begins": 0 in places, "ends": facts.arcs[-1].end_chance is not None, "within": any(places)}
    if parts := ", ".join(evidence.said("unsure", part) for part, holds in unsure.items() if holds):
        verdict += f" {evidence.said('unsure', 'said', parts=parts)}"
    if row.settled:
        needed = evidence.said("needed", "last" if facts.following is None else "followed", floor=_COMPLETION_FLOOR)
        end = f"; {needed}" if (judged := row.detail.outcome).judge == EMBEDDED and not judged.evident else "."
        numbers = [f"By the evidence, completion is {judged.chance:.0%} likely{end}", *numbers]
    positions = [at for part in (opening, floor, grade, reached, rework) for at in part.positions]
    return Explanation(
        score_v3_sub_session_id=row.sub_session_id,
        agent_session_ids=list(row.detail.agent_session_ids),
        is_preview=not row.settled,
        verdict=verdict,
        unsure_gaps=gaps,
        details=numbers,
        boundary=opening,
        floor=floor,
        rubric=grade,
        outcome=reached,
        rework=rework,
        overrides=overridden,
        rules_version=rules_version,
        judges=sorted(judge for judge in judges if judge is not None),
        positions=evidence.ascending([*positions, *(each.position for each in overridden)]),
    )


def _verdict(facts: evidence.SubSessionEvidence, grade_told: str | None) -> str:
    """One sentence: what it was, whether its goal was likely reached, and its grade."""
    row, floor, verdict = facts.row, facts.row.detail.floor, facts.row.detail.outcome
    if row.settled and not row.floor_passed:
        little = "Nobody can tell whether it counts as work" if floor.unseen else "Too little to count as work"
        return f"{little}. {_why_trivia(floor)}"
    if row.intent is None:
        language = "it is written in a language that is not judged"
        why = language if row.detail.judge_reason else "nobody can tell what for"
        return f"Work that is not classified, since {why}; it counts nowhere."
    graded = "" if grade_told is None else f"; its prompts stand {'at ' * (len(grade_told) == 1)}{grade_told}"
    done = "reached its goal" if row.goal_complete else "did not reach its goal"
    rework = ", but only repairs earlier work" if row.goal_complete and row.rework else ""
    if not row.settled:
        reached = ", still open"
    elif row.goal_complete is None:
        reached = f" of which svc cannot tell whether its goal was reached: {_undecided(verdict)}"
    elif row.goal_complete != verdict.goal_complete:
        reached = f" that {done}, as you said"
    else:
        reached = f" that likely {done}{rework}"
    return f"{kind_of(row.kind_told).capitalize()}{reached}{graded}."


def _why_trivia(floor: floors.Floor) -> str:
    """What was missing; where the agent's work was not observed, nothing is said of it."""
    unseen = "told" if floor.told else "unseen"
    return evidence.said("trivia", unseen if floor.unseen else floor.reason or "too_few_turns")


def _undecided(verdict: OutcomeVerdict) -> str:
    """Why the judge cannot tell whether it reached its goal."""
    return evidence.said("undecided", verdict.undecided or "balanced")


def _floor(facts: evidence.SubSessionEvidence) -> FloorExplained:
    floor, (turns, lines, calls) = facts.row.detail.floor, _FLOOR_MIN.values()
    rule = evidence.said("floor", "rule", turns=turns, lines=lines, calls=calls, any=floors.TOOL_CALLS_MIN)
    has = evidence.said(
        "floor",
        "seen" if floor.unseen else "has",
        turns=evidence.counted(floor.countable_turns, "such turn"),
        lines=evidence.counted(floor.changed_lines, "changed line"),
        calls=evidence.counted(floor.mutating_calls, "call"),
    )
    trivia = evidence.said("floor", "untold" if floor.unseen else "trivia", why=_why_trivia(floor))
    times = Counter(maker for turn in facts.turns for maker in turn.made)
    made = "; ".join(f"{maker} ({evidence.counted(count, 'time')})" for maker, count in sorted(times.items()))
    work = [each.position for each in facts.seen if each.observation.tool is not None]
    return shaped(
        FloorExplained,
        floor,
        rule=rule,
        turns=floor.countable_turns,
        lines=floor.changed_lines,
        **_FLOOR_MIN,
        text=[
            *(rule, has, "So it is work." if floor.passed else trivia),
            *([evidence.said("floor", "made", made=made)] if made else []),
        ],
        not_observed=facts.not_observed(),
        positions=evidence.ascending([*(turn.position for turn in facts.turns), *work]),
    )


def _rework(facts: evidence.SubSessionEvidence) -> ReworkExplained:
    row, db = facts.row, facts.reader.db
    query = "SELECT rework_view FROM sub_sessions WHERE sub_session_id IN (?, ?)"
    found = bodies(db, ReworkView, query, (row.sub_session_id, row.rework_of))
    views = {str(each.sub_session_id): each for each in found}
    mine, earlier = views[row.sub_session_id], views.get(row.rework_of or "")
    reason, shared, likeness, before = None, None, None, []
    if earlier is not None:
        reason, before = why_rework(mine, earlier), turns_in(db, str(earlier.sub_session_id))
        shared = len({*mine.changed_files} & {*earlier.changed_files})
        likeness = round(jaccard(frozenset(mine.goal_tokens), frozenset(earlier.goal_tokens)), 3)
    if not row.settled:
        sentence = "It is still open; whether it is rework is told when it settles."
    elif not row.rework and row.judged_rework_of is not None:
        sentence = f"By the rules it is rework of {row.judged_rework_of}; you said that it is none, and that counts."
    elif not row.rework:
        days = REWORK_WINDOW_US // US_PER_DAY
        sentence = f"It is no rework: it takes back or repeats no completed work of the {days} days before it."
    elif earlier is None or reason is None:
        sentence = "It is rework because you said so; no rule finds of what."
    else:
        ago, why = (mine.started_us - earlier.ended_us) / US_PER_DAY, evidence.said("rework", reason)
        sentence = f"It is rework of {earlier.sub_session_id}, which ended {ago:.1f} days before it: {why}."
    return shaped(
        ReworkExplained,
        row,
        reason=reason,
        shared_files=shared,
        likeness=likeness,
        text=[sentence],
        not_observed=evidence.missing((not any(turn.work.files for turn in facts.turns), "which files it touched")),
        positions=evidence.ascending(turn.position for turn in (*facts.turns[:1], *before[:1])),
    )


def _outcome(facts: evidence.SubSessionEvidence) -> OutcomeExplained:
    row, verdict = facts.row, facts.row.detail.outcome
    worked = any({CHANGE, COMMIT} & {*turn.work.marks} or not turn.work.observed for turn in facts.turns)
    unsaid = _WEIGHED_ONLY if worked else {*_WEIGHED_ONLY, rules.REPORTED}
    sides = (verdict.evidence_for, verdict.evidence_against)
    speaks_for, against = ([_piece(facts, each) for each in side if each.what not in unsaid] for side in sides)
    # The turn whose prompt says what is wanted; where none does, the first with a prompt, else the first.
    graded = [each for each in facts.prompts if each.body.rubric.status == "ok"]
    named = [each.turn for each in graded if each.body.rubric.intent == row.intent]
    typed = [turn for turn in facts.turns if turn.prompt is not None]
    wanting = [*named, *(each.turn for each in graded), *typed, facts.turns[0]][0]
    goal = facts.prompt_piece("the prompt that says what is wanted", wanting)
    read = [at for turn in facts.turns for at in (turn.position, turn.response_position)]
    silent = sum(turn.answered and turn.response is None for turn in facts.turns)
    text = ["It is still open; the outcome is judged when it settles."]
    if row.settled:
        text = [f"The judge cannot tell: {_undecided(verdict)}.", *facts.answered_correction()]
        if verdict.goal_complete is not None:
            done = f"{'complete' if verdict.goal_complete else 'not complete'}, {verdict.confidence:.0%} sure"
            text[0] = f"The judge says: {done}."
        if any(piece.what in (rules.ENDED_ON_ERROR, rules.CANCELLED_LOOPING) for piece in against):
            text.append("What ends on an unrecovered error, or is cancelled in a loop, is never complete.")
        elif verdict.evident:
            text.append("This ending decides by itself, before any weight.")
        if row.goal_complete != verdict.goal_complete:
            text.append(f"You said that it was {'reached' if row.goal_complete else 'not reached'}; that counts.")
    return shaped(
        OutcomeExplained,
        row,
        verdict,
        confidence=verdict.confidence if row.settled else None,
        completion_floor=_COMPLETION_FLOOR if row.settled else None,
        goal=goal,
        evidence_for=speaks_for,
        evidence_against=against,
        text=text,
        not_observed=[
            *(*evidence.unquoted(goal, wanting), *facts.not_observed()),
            *evidence.missing((silent, f"the text of {evidence.counted(silent, 'answer')}")),
        ],
        positions=evidence.ascending([*read, *(each.position for each in (*speaks_for, *against))]),
    )


def _piece(facts: evidence.SubSessionEvidence, weighed: Evidence) -> OutcomePiece:
    what, position, last, later = weighed.what, weighed.position, rules.last_real(facts.turns), False
    piece, at_us = evidence.EvidencePiece(what=what, position=position, quote=None), last.started_us
    who: Literal["you", "the agent", "the tools"] = "you" if what in _BY_PROMPT | _BY_HAND else "the tools"
    shows = _checked(facts, ok=what == rules.CHECKED) if what in _CHECKS else _BY_WORK.get(what)
    if shows is not None and (seen := next((each for each in facts.seen[::-1] if shows(each.observation)), None)):
        piece, at_us = facts.work_piece(what, seen), seen.at_us
    elif what in _BY_PROMPT and (said := [each for each in _speaking(facts, what) if each.position == position]):
        piece, at_us, later = facts.prompt_piece(what, said[0]), said[0].started_us, said[0] is facts.following
    elif what in _BY_ANSWER:
        last = next((turn for turn in facts.turns if turn.response_position == position), last)
        who, place = "the agent", last.response_position or last.position
        ref, at_us = answer_of(facts.reader.db, last) or (None, last.agent_us or at_us)
        quote = None if what == rules.REPORTED else evidence.last_line(evidence.saying(facts.text(ref), what))
        piece = evidence.EvidencePiece(what=what, position=place, quote=quote)
    at = None if piece.position is None else iso(at_us)
    return OutcomePiece(**msgspec.structs.asdict(piece), who=who, at=at, next_goal=facts.next_goal() if later else None)


def _checked(facts: evidence.SubSessionEvidence, *, ok: bool) -> _Shows:
    """What shows a check: what a prompt calls one among them, and where it passed no other than that."""
    named = {name for turn in facts.turns if turn.prompt is not None for name in turn.prompt.checks}
    # What one turn names is not asked of another one.
    asked = named if any(each.observation.tool and each.observation.tool.passes(named) for each in facts.seen) else ()
    return _tool(lambda tool: tool.passes(asked) if ok else tool.checks(named) and tool.ok is False)


def _speaking(facts: evidence.SubSessionEvidence, what: str) -> Iterator[Turn]:
    """The turns whose prompts say this, in the order in which the judge looks; those of one batch share a position."""
    everyone, count = facts.around, len(facts.turns)
    if what == rules.MOVED_ON:
        return iter(everyone[count:])
    if what in _SAID:
        return _SAID[what](facts.turns, facts.following)
    latest_first = range(len(everyone) - 1, -1, -1)
    return (everyone[at] for at in latest_first if rules.complaint(everyone[at], everyone[:at]) == what)


def _overrides(facts: evidence.SubSessionEvidence) -> list[OverrideShown]:
    """What people said against the judges, in that order: the latest of each kind, for boundaries of each place."""
    turns, title = {turn.turn_id: turn for turn in facts.turns}, facts.row.detail.edited_title
    latest: dict[tuple[str, UUID | None], OverrideShown] = {}
    for word in override_words(facts.reader.db, {turn.agent_session_id for turn in facts.turns}):
        place = (word.topic, word.turn_id if word.topic == "gap" else None)
        if word.turn_id in turns and word.said == CLEARED:
            latest.pop(place, None)
        elif word.turn_id in turns:
            field, yes, no = _ACTIONS[word.topic]
            latest[place] = OverrideShown(
                field=field,
                action=yes if word.said == YES else no,
                prompt_id=prompt_id(turns[word.turn_id]),
                # What is said of anything else names no class.
                intent_class=next((intent for intent in INTENTS if intent == word.said), None),
                position=word.position,
            )
    renamed = [] if title is None else [OverrideShown(field="label", action="rename", position=title.position)]
    return sorted([*latest.values(), *renamed], key=lambda each: each.position)
