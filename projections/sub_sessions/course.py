"""What was done in each turn of a goal."""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.turns import turn as marks
from aggregates.turns.turn import Turn
from projections.derive.sessions import prompt_id
from projections.reader import Reader
from projections.sub_sessions.rows import find, turns_in

NAMES: Mapping[str, str] = {
    marks.CHANGE: "change",
    marks.CHECK_OK: "check passed",
    marks.CHECK_FAILED: "check failed",
    marks.COMMIT: "commit",
    marks.PULL_REQUEST: "pull request",
    marks.REVERT: "taken back",
    marks.API_ERROR: "error",
    marks.INTERRUPTED: "interrupted",
    marks.REJECTED: "refused",
}
"""What is told of a turn's course; that a request was answered goes without saying."""


class TurnShown(msgspec.Struct, frozen=True, kw_only=True):
    prompt_id: str
    started_us: int
    steps: list[str]
    edits: int
    lines_added: int
    lines_removed: int
    tool_calls: int
    tool_errors: int
    answered: bool
    observed: bool  # whether anybody told of the work; else nothing above is known to be zero


def course(reader: Reader, scope: Scope, sub_session_id: UUID) -> list[TurnShown] | None:
    """The turns in time order; None where the developer has no such sub-session."""
    row = find(reader, scope, sub_session_id)
    return None if row is None else [_shown(each) for each in turns_in(reader.db, row.sub_session_id)]


def _shown(turn: Turn) -> TurnShown:
    work = turn.work
    return TurnShown(
        prompt_id=prompt_id(turn),
        started_us=turn.started_us,
        steps=[NAMES[mark] for mark in work.marks if mark in NAMES],
        edits=work.edits,
        lines_added=work.lines_added,
        lines_removed=work.lines_removed,
        tool_calls=work.tool_calls,
        tool_errors=work.tool_errors,
        answered=turn.answered,
        observed=work.observed,
    )
