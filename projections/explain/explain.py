"""Why a sub-session is what it is: each part of the conclusion with its rule, its evidence and its facts."""

from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.judging.outcome import CHANGED_LINES_MIN, COUNTABLE_TURNS_MIN, MUTATING_CALLS_MIN
from aggregates.sub_sessions.arcs import REWORK_WINDOW_US, ReworkReason, ReworkView, jaccard, why_rework
from aggregates.times import US_PER_DAY
from projections.explain.boundary import BoundaryExplained, boundary
from projections.explain.evidence import ExplainedPart, SubSessionEvidence, ascending, counted
from projections.explain.outcome import OutcomeExplained, OverrideShown, outcome, overrides
from projections.explain.rubric import RubricExplained, rubric
from projections.reader import Reader, unpack
from projections.sub_sessions.rows import find, turns_in

FLOOR_RULE = (
    f"Work has {COUNTABLE_TURNS_MIN} turns or more that do more than navigate, or {CHANGED_LINES_MIN} changed lines or "
    f"more, or {MUTATING_CALLS_MIN} tool call or more that changes something."
)
_REASONS = {
    "interrupted": "It was interrupted before any answer.",
    "no_real_work": "No turn of it does more than navigate.",
    "too_few_lines": "Fewer lines were changed than the floor asks for, by no call that changes something.",
    "no_mutating_calls": "Tools ran, and none of them changed anything.",
    "too_few_turns": "There were too few turns, and no tool ran.",
}
_REWORKS: dict[ReworkReason, str] = {
    "reverts": "it takes that work back",
    "corrects": "it changes at least half of the same files and says that the earlier work is wrong",
    "repeats": "it changes at least half of the same files and asks for the same again",
}


class FloorExplained(ExplainedPart, frozen=True, kw_only=True):
    """Whether it is work or trivia."""

    passed: bool
    reason: str | None
    rule: str
    turns: int
    turns_min: int
    lines: int
    lines_min: int
    mutating_calls: int
    mutating_calls_min: int


class ReworkExplained(ExplainedPart, frozen=True, kw_only=True):
    """Whether it takes back or repeats earlier work. The first is None while the sub-session is open."""

    rework: bool | None
    rework_of: str | None
    reason: ReworkReason | None
    shared_files: int | None
    """How many of the earlier one's changed files this one changed, too."""
    likeness: float | None
    """Of the two goals' words, 0-1."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    score_v3_sub_session_id: str
    agent_session_ids: list[str]
    is_preview: bool
    boundary: BoundaryExplained
    floor: FloorExplained
    rubric: RubricExplained
    outcome: OutcomeExplained
    rework: ReworkExplained
    overrides: list[OverrideShown]
    """Those that stand, in the order they were said."""
    rules_version: int
    judges: list[str]
    positions: list[int]
    """All of the parts' together."""


def explanation(reader: Reader, scope: Scope, sub_session_id: UUID, rules_version: int) -> Explanation | None:
    """Of one sub-session, under its present or any former id; None where the developer has none of it.

    `rules_version`: the rule set that made the conclusions.
    """
    row = find(reader, scope, sub_session_id)
    if row is None:
        return None
    facts = SubSessionEvidence(reader, row)
    opening, floor, grade = boundary(facts), _floor(facts), rubric(facts)
    reached, rework, overridden = outcome(facts), _rework(facts), overrides(facts)
    judges = {opening.judge, grade.judge, reached.judge, *(each.judge for each in grade.prompts)}
    judges |= {each.judge for each in opening.kept}
    parts = (opening, floor, grade, reached, rework)
    return Explanation(
        score_v3_sub_session_id=row.sub_session_id,
        agent_session_ids=list(row.detail.agent_session_ids),
        is_preview=not row.settled,
        boundary=opening,
        floor=floor,
        rubric=grade,
        outcome=reached,
        rework=rework,
        overrides=overridden,
        rules_version=rules_version,
        judges=sorted(judge for judge in judges if judge is not None),
        positions=ascending(
            [*(at for part in parts for at in part.positions), *(each.position for each in overridden)]
        ),
    )


def _floor(facts: SubSessionEvidence) -> FloorExplained:
    floor = facts.row.detail.floor
    has = (
        f"It has {counted(floor.countable_turns, 'such turn', 'such turns')}, "
        f"{counted(floor.changed_lines, 'changed line', 'changed lines')} and "
        f"{counted(floor.mutating_calls, 'call', 'calls')} that changed something."
    )
    end = "So it is work." if floor.passed else f"So it is trivia. {_REASONS[floor.reason or 'too_few_turns']}"
    work = [each.position for each in facts.seen if each.observation.tool is not None]
    return FloorExplained(
        passed=floor.passed,
        reason=floor.reason,
        rule=FLOOR_RULE,
        turns=floor.countable_turns,
        turns_min=COUNTABLE_TURNS_MIN,
        lines=floor.changed_lines,
        lines_min=CHANGED_LINES_MIN,
        mutating_calls=floor.mutating_calls,
        mutating_calls_min=MUTATING_CALLS_MIN,
        text=[FLOOR_RULE, has, end],
        not_observed=facts.not_observed(),
        positions=ascending([*(turn.position for turn in facts.turns), *work]),
    )


def _rework(facts: SubSessionEvidence) -> ReworkExplained:
    row = facts.row
    mine, earlier = _view(facts.reader, row.sub_session_id), _view(facts.reader, row.rework_of)
    both = None if mine is None or earlier is None else (mine, earlier)
    reason = None if both is None else why_rework(*both)
    before = [] if earlier is None else turns_in(facts.reader.db, str(earlier.sub_session_id))
    pathless = not any(turn.work.files for turn in facts.turns)
    return ReworkExplained(
        rework=row.rework,
        rework_of=row.rework_of,
        reason=reason,
        shared_files=None if both is None else len({*both[0].changed_files} & {*both[1].changed_files}),
        likeness=None if both is None else _likeness(*both),
        text=[_rework_sentence(facts, both, reason)],
        not_observed=["which files it touched: not observed"] if pathless else [],
        positions=ascending(turn.position for turn in (*facts.turns[:1], *before[:1])),
    )


def _likeness(mine: ReworkView, earlier: ReworkView) -> float:
    return round(jaccard(frozenset(mine.goal_tokens), frozenset(earlier.goal_tokens)), 3)


def _rework_sentence(
    facts: SubSessionEvidence, both: tuple[ReworkView, ReworkView] | None, reason: ReworkReason | None
) -> str:
    row = facts.row
    if not row.settled:
        return "It is still open; whether it is rework is told when it settles."
    if not row.rework and row.judged_rework_of is not None:
        return f"By the rules it is rework of {row.judged_rework_of}; a person said that it is none, and that counts."
    if not row.rework:
        days = REWORK_WINDOW_US // US_PER_DAY
        return f"It is no rework: it takes back or repeats no completed work of the {days} days before it."
    if both is None or reason is None:
        return "It is rework because a person said so; no rule finds of what."
    mine, earlier = both
    ago = (mine.started_us - earlier.ended_us) / US_PER_DAY
    return f"It is rework of {earlier.sub_session_id}, which ended {ago:.1f} days before it: {_REWORKS[reason]}."


def _view(reader: Reader, sub_session_id: str | None) -> ReworkView | None:
    query = "SELECT rework_view FROM sub_sessions WHERE sub_session_id = ?"
    row = reader.db.execute(query, (sub_session_id,)).fetchone()
    return None if row is None else unpack(row[0], ReworkView)
