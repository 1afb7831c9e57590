"""Why a sub-session counts as complete or not: each piece of evidence, and the fact it stands in."""

from collections.abc import Callable, Sequence

import msgspec

from aggregates.judging import outcome as rules
from aggregates.reading.verdicts import Evidence, Intent
from aggregates.sub_sessions.overrides import YES, OverrideField, Topic
from aggregates.turns.turn import Observation, Turn
from projections.derive.sessions import prompt_id
from projections.explain.facts import Told, ascending, counted, not_observed, unquoted
from projections.explain.shapes import OutcomeExplained, OverrideShown, Piece

_Shows = Callable[[Observation], bool]


def _check(ok: bool) -> _Shows:
    return lambda seen: seen.tool is not None and seen.tool.check and seen.tool.ok is ok


def _commits(seen: Observation) -> bool:
    return seen.tool is not None and seen.tool.ok is True and (seen.tool.commit or seen.tool.pull_request)


def _changes(seen: Observation) -> bool:
    return seen.tool is not None and seen.tool.effect == "edit" and seen.tool.ok is not False


def _reverts(seen: Observation) -> bool:
    return seen.tool is not None and seen.tool.revert


def _is(kind: str) -> _Shows:
    return lambda seen: seen.kind == kind


_BY_WORK: dict[str, _Shows] = {
    rules.CHECKED: _check(True),
    rules.COMMITTED: _commits,
    rules.CHANGED: _changes,
    rules.CHECK_FAILS: _check(False),
    rules.REVERTED: _reverts,
    rules.ENDED_ON_ERROR: _is("error"),
    rules.CANCELLED_LOOPING: _is("interruption"),
    rules.INTERRUPTED_LAST: _is("interruption"),
    rules.REFUSED: _is("rejection"),
}
"""What the agent did: the last report within the sub-session that shows it."""


_BY_ANSWER = {rules.UNCHALLENGED, rules.REPORTED, rules.OPEN_FAILURE}


_BY_PROMPT = {rules.MOVED_ON, rules.CORRECTED, rules.NOT_WORKING}


def outcome(told: Told) -> OutcomeExplained:
    """What speaks for and against completion."""
    row, verdict = told.row, told.row.detail.outcome
    speaks_for = [_piece(told, each) for each in verdict.evidence_for]
    against = [_piece(told, each) for each in verdict.evidence_against]
    goal = told.prompt_piece("the prompt that says what is wanted", told.goal)
    looked_at = [at for turn in told.turns for at in (turn.position, turn.response_position)]
    return OutcomeExplained(
        goal_complete=row.goal_complete if row.settled else None,
        confidence=verdict.confidence if row.settled else None,
        completion_floor=_floor(told) if row.settled else None,
        judge=verdict.judge,
        goal=goal,
        evidence_for=speaks_for,
        evidence_against=against,
        text=_sentences(told, speaks_for, against),
        not_observed=[*unquoted(goal, told.goal), *_unseen(told)],
        positions=ascending([*looked_at, *(each.position for each in (*speaks_for, *against))]),
    )


def _piece(told: Told, evidence: Evidence) -> Piece:
    what = evidence.what
    if what in _BY_WORK:
        return told.work_piece(what, _BY_WORK[what], evidence.position)
    if what in _BY_PROMPT:
        spoken = [*told.turns, *([] if told.following is None else [told.following])]
        said = next((turn for turn in spoken if turn.position == evidence.position), None)
        if said is not None:
            return told.prompt_piece(what, said)
    if what in _BY_ANSWER:
        return told.answer_piece(what, _answered(told.turns, evidence.position))
    if what == rules.ACCEPTED:
        later = [told.turns[-1], *([] if told.following is None else [told.following])]
        said = next((turn for turn in later if turn.position == evidence.position), told.turns[-1])
        return told.prompt_piece(what, said)
    return Piece(what=what, position=evidence.position, quote=None)


def _answered(turns: Sequence[Turn], position: int | None) -> Turn:
    """The turn whose answer stands at a position."""
    return next((turn for turn in reversed(turns) if turn.response_position == position), turns[-1])


def _floor(told: Told) -> float:
    """From how likely on completion holds: lower where the developer went on, since silence proves little."""
    if told.following is not None:
        return rules.FOLLOWED_FLOOR
    intent = told.row.intent
    return rules.UNCLASSIFIED_FLOOR if intent is None else rules.SILENCE_FLOORS[intent]


def _sentences(told: Told, speaks_for: Sequence[Piece], against: Sequence[Piece]) -> list[str]:
    row, verdict = told.row, told.row.detail.outcome
    if not row.settled:
        return ["It is still open; the outcome is judged when it settles."]
    done = "complete" if verdict.goal_complete else "not complete"
    likely = verdict.confidence if verdict.goal_complete else 1 - verdict.confidence
    text = [f"The judge says: {done}. For: {_listed(speaks_for)}. Against: {_listed(against)}."]
    text.append(f"By that, completion is {likely:.0%} likely; {_needed(told)}")
    if any(piece.what in (rules.ENDED_ON_ERROR, rules.CANCELLED_LOOPING) for piece in against):
        text.append("What ends on an unrecovered error, or is cancelled in a loop, is never complete.")
    if row.goal_complete != verdict.goal_complete:
        text.append(f"A person marked it as {'complete' if row.goal_complete else 'not complete'}; that counts.")
    return text


def _needed(told: Told) -> str:
    if told.following is None:
        return f"since nothing follows in its session, {_floor(told):.0%} is needed."
    return f"since the developer went on in its session, {_floor(told):.0%} is enough."


def _listed(pieces: Sequence[Piece]) -> str:
    return "; ".join(piece.what for piece in pieces) or "nothing"


def _unseen(told: Told) -> list[str]:
    silent = sum(turn.answered and turn.response is None for turn in told.turns)
    answers = [f"the text of {counted(silent, 'answer', 'answers')}: not observed"] if silent else []
    return not_observed(told) + answers


# What people said against the judges that stands for a sub-session, as the overrides they said it by.

_ACTIONS: dict[Topic, tuple[OverrideField, str, str]] = {
    "gap": ("boundary", "split_at_turn", "merge_with_previous"),
    "goal": ("completion", "mark_complete", "mark_incomplete"),
    "rework": ("rollback", "mark_rework", "mark_not_rework"),
    "intent": ("label", "set_intent", "set_intent"),
}
"""Topic → the field, and the action for yes and for no."""


def overrides(told: Told) -> list[OverrideShown]:
    """In the order they were said: the latest of each kind, and of each place for boundaries."""
    standing: dict[tuple[str, str], OverrideShown] = {}
    for topic, said, position, turn in _words(told):
        field, yes, no = _ACTIONS[topic]
        place = str(turn.turn_id) if topic == "gap" else ""
        standing[topic, place] = OverrideShown(
            field=field,
            action=yes if said == YES else no,
            prompt_id=prompt_id(turn),
            intent_class=_intent(topic, said),
            position=position,
        )
    shown = list(standing.values())
    title = told.row.detail.edited_title
    if title is not None:
        shown.append(OverrideShown(field="label", action="rename", position=title.position))
    return sorted(shown, key=lambda each: each.position)


def _words(told: Told) -> list[tuple[Topic, str, int, Turn]]:
    """(topic, what was said, position, turn) of everything said about these turns, the earliest first."""
    query = (
        "SELECT c.topic, c.said, c.position, a.turn_id FROM json_each(?) i "
        "JOIN corrections c ON c.agent_session_id = i.value JOIN turn_alias a ON a.alias_id = c.capture_id "
        "ORDER BY c.position"
    )
    turns = {str(turn.turn_id): turn for turn in told.turns}
    sessions = msgspec.json.encode(sorted({turn.agent_session_id for turn in told.turns})).decode()
    found = told.reader.db.execute(query, (sessions,))
    return [(topic, said, position, turns[name]) for topic, said, position, name in found if name in turns]


def _intent(topic: Topic, said: str) -> Intent | None:
    return msgspec.convert(said, Intent) if topic == "intent" else None
