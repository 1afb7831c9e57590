"""Why a sub-session counts as complete or not: each piece of evidence, and the fact it stands in."""

from collections.abc import Callable, Sequence

import msgspec

from aggregates.judging import outcome as rules
from aggregates.reading.verdicts import Evidence, Intent
from aggregates.sub_sessions.overrides import YES, OverrideField, OverrideTopic
from aggregates.turns.turn import Observation, ToolUse
from projections.derive.sessions import prompt_id
from projections.explain.evidence import EvidencePiece, ExplainedPart, SubSessionEvidence, ascending, counted, unquoted

_Shows = Callable[[Observation], bool]


def _tool(shows: Callable[[ToolUse], bool]) -> _Shows:
    return lambda seen: seen.tool is not None and shows(seen.tool)


def _kind(kind: str) -> _Shows:
    return lambda seen: seen.kind == kind


_BY_WORK: dict[str, _Shows] = {
    rules.CHECKED: _tool(lambda tool: tool.check and tool.ok is True),
    rules.COMMITTED: _tool(lambda tool: tool.ok is True and (tool.commit or tool.pull_request)),
    rules.CHANGED: _tool(lambda tool: tool.effect == "edit" and tool.ok is not False),
    rules.CHECK_FAILS: _tool(lambda tool: tool.check and tool.ok is False),
    rules.REVERTED: _tool(lambda tool: tool.revert),
    rules.ENDED_ON_ERROR: _kind("error"),
    rules.CANCELLED_LOOPING: _kind("interruption"),
    rules.INTERRUPTED_LAST: _kind("interruption"),
    rules.REFUSED: _kind("rejection"),
}
"""What the agent did: the last report within the sub-session that shows it."""
_BY_ANSWER = {rules.UNCHALLENGED, rules.REPORTED, rules.OPEN_FAILURE}
_BY_PROMPT = {rules.MOVED_ON, rules.CORRECTED, rules.NOT_WORKING, rules.ACCEPTED}
_ACTIONS: dict[OverrideTopic, tuple[OverrideField, str, str]] = {
    "gap": ("boundary", "split_at_turn", "merge_with_previous"),
    "goal": ("completion", "mark_complete", "mark_incomplete"),
    "rework": ("rollback", "mark_rework", "mark_not_rework"),
    "intent": ("label", "set_intent", "set_intent"),
}
"""Topic → the field, and the action for yes and for no."""


class OutcomeExplained(ExplainedPart, frozen=True, kw_only=True):
    """Whether the goal was reached. The first three are None while the sub-session is open."""

    goal_complete: bool | None
    confidence: float | None
    completion_floor: float | None
    """From how likely on completion holds."""
    judge: str
    goal: EvidencePiece
    """The prompt whose goal it is about."""
    evidence_for: list[EvidencePiece]
    evidence_against: list[EvidencePiece]


class OverrideShown(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said, and where: the prompt it was said about, None for a title."""

    field: OverrideField
    action: str
    prompt_id: str | None = None
    intent_class: Intent | None = None
    position: int


def outcome(facts: SubSessionEvidence) -> OutcomeExplained:
    """What speaks for and against completion."""
    row, verdict = facts.row, facts.row.detail.outcome
    speaks_for = [_piece(facts, each) for each in verdict.evidence_for]
    against = [_piece(facts, each) for each in verdict.evidence_against]
    goal = facts.prompt_piece("the prompt that says what is wanted", facts.goal)
    read = [at for turn in facts.turns for at in (turn.position, turn.response_position)]
    silent = sum(turn.answered and turn.response is None for turn in facts.turns)
    unread = [f"the text of {counted(silent, 'answer', 'answers')}: not observed"] if silent else []
    return OutcomeExplained(
        goal_complete=row.goal_complete,
        confidence=verdict.confidence if row.settled else None,
        completion_floor=_floor(facts) if row.settled else None,
        judge=verdict.judge,
        goal=goal,
        evidence_for=speaks_for,
        evidence_against=against,
        text=_sentences(facts, speaks_for, against),
        not_observed=[*unquoted(goal, facts.goal), *facts.not_observed(), *unread],
        positions=ascending([*read, *(each.position for each in (*speaks_for, *against))]),
    )


def _piece(facts: SubSessionEvidence, evidence: Evidence) -> EvidencePiece:
    what, position = evidence.what, evidence.position
    if what in _BY_WORK:
        return facts.work_piece(what, _BY_WORK[what], position)
    if what in _BY_PROMPT:
        turns = facts.turns[-1:] if what == rules.ACCEPTED else facts.turns  # turns of one batch share a position
        following = [] if facts.following is None else [facts.following]
        prompts = [turn for turn in (*turns, *following) if turn.position == position]
        if prompts or what == rules.ACCEPTED:
            return facts.prompt_piece(what, [*prompts, facts.turns[-1]][0])
    if what in _BY_ANSWER:
        answered = [turn for turn in facts.turns if turn.response_position == position]
        return facts.answer_piece(what, [*facts.turns, *answered][-1])
    return EvidencePiece(what=what, position=position, quote=None)


def _floor(facts: SubSessionEvidence) -> float:
    """From how likely on completion holds: lower where the developer went on, since silence proves little."""
    if facts.following is not None:
        return rules.FOLLOWED_FLOOR
    intent = facts.row.intent
    return rules.UNCLASSIFIED_FLOOR if intent is None else rules.SILENCE_FLOORS[intent]


def _sentences(
    facts: SubSessionEvidence, speaks_for: Sequence[EvidencePiece], against: Sequence[EvidencePiece]
) -> list[str]:
    row, verdict = facts.row, facts.row.detail.outcome
    if not row.settled:
        return ["It is still open; the outcome is judged when it settles."]
    done = "complete" if verdict.goal_complete else "not complete"
    likely = verdict.confidence if verdict.goal_complete else 1 - verdict.confidence
    listed = ("; ".join(piece.what for piece in pieces) or "nothing" for pieces in (speaks_for, against))
    needed = (
        f"since nothing follows in its session, {_floor(facts):.0%} is needed."
        if facts.following is None
        else f"since the developer went on in its session, {_floor(facts):.0%} is enough."
    )
    text = ["The judge says: {}. For: {}. Against: {}.".format(done, *listed)]
    text.append(f"By that, completion is {likely:.0%} likely; {needed}")
    if any(piece.what in (rules.ENDED_ON_ERROR, rules.CANCELLED_LOOPING) for piece in against):
        text.append("What ends on an unrecovered error, or is cancelled in a loop, is never complete.")
    if row.goal_complete != verdict.goal_complete:
        text.append(f"A person marked it as {'complete' if row.goal_complete else 'not complete'}; that counts.")
    return text


def overrides(facts: SubSessionEvidence) -> list[OverrideShown]:
    """What people said against the judges, in that order: the latest of each kind, for boundaries of each place."""
    query = (
        "SELECT c.topic, c.said, c.position, a.turn_id FROM json_each(?) i "
        "JOIN corrections c ON c.agent_session_id = i.value JOIN turn_alias a ON a.alias_id = c.capture_id "
        "ORDER BY c.position"
    )
    turns = {str(turn.turn_id): turn for turn in facts.turns}
    sessions = msgspec.json.encode(sorted({turn.agent_session_id for turn in facts.turns})).decode()
    latest: dict[tuple[str, str], OverrideShown] = {}
    for topic, value, position, turn_id in facts.reader.db.execute(query, (sessions,)):
        if turn_id in turns:
            field, yes, no = _ACTIONS[topic]
            latest[topic, turn_id if topic == "gap" else ""] = OverrideShown(
                field=field,
                action=yes if value == YES else no,
                prompt_id=prompt_id(turns[turn_id]),
                intent_class=value if topic == "intent" else None,
                position=position,
            )
    shown = list(latest.values())
    title = facts.row.detail.edited_title
    if title is not None:
        shown.append(OverrideShown(field="label", action="rename", position=title.position))
    return sorted(shown, key=lambda each: each.position)
