"""Train the embedded outcome judge: `python -m tests.judges.train outcome DATA_DIR`.

Each piece of evidence begins with a weight that was set by hand. The labelled goal arcs move it by logistic regression,
as far as they can tell and never past 0: where no session shows a piece, what was set stands.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from aggregates.judging import outcome as rules
from aggregates.judging.outcome import SHIPPED_OUTCOME, SPEAKS_AGAINST, SPEAKS_FOR, OutcomeModel, judge_outcome
from aggregates.judging.prompt import judge_prompt
from aggregates.judging.rubric import sub_session_intent
from aggregates.reading.verdicts import OutcomeVerdict
from tests.judges.labels import FOLDS, ArcLabel, SessionItem, fold_of
from tests.judges.regression import nearest

PRIOR: Mapping[str, float] = {
    rules.ACCEPTED: 1.2,
    rules.CHECKED: 1.2,
    rules.COMMITTED: 1.6,
    rules.SHIPPED: 1.0,
    rules.MOVED_ON: 1.5,
    rules.UNCHALLENGED: 0.8,
    rules.CHANGED: 0.6,
    rules.REPORTED: 0.4,
    rules.ENDED_ON_ERROR: -6.0,
    rules.CANCELLED_LOOPING: -6.0,
    rules.INTERRUPTED_LAST: -3.0,
    rules.CHECK_FAILS: -3.0,
    rules.REVERTED: -5.0,
    rules.REFUSED: -4.5,
    rules.UNANSWERED: -4.5,
    rules.LAST_UNANSWERED: -2.5,
    rules.NO_CHANGE: -1.0,
    rules.OPEN_FAILURE: -1.2,
    rules.WAITS: -1.0,
    rules.BROKE_OFF: -1.5,
    rules.STILL_FAILING: -1.5,
    rules.TAKEN_OVER: -1.5,
    rules.CORRECTED: -2.5,
    rules.NOT_WORKING: -3.0,
}
"""Logits, set by hand."""
BIAS, SILENCE = 2.0, -0.3  # the same of an arc without evidence, and of one that nothing follows
PENALTY = 2.0  # of the squared distances from what was set, against the sum of the log-losses
_PIECES = (*SPEAKS_FOR, *SPEAKS_AGAINST)


class ArcRow(NamedTuple):
    """A labelled arc: its evidence, whether nothing follows, and whether experts call it complete."""

    developer: str
    pieces: frozenset[str]
    silent: bool
    complete: bool | None


def arc_rows(sessions: Sequence[SessionItem]) -> list[ArcRow]:
    """The arcs as the experts cut them; their intents are those that the shipped rubric sees."""
    rows = []
    for session in sessions:
        for arc in session.arcs or ():
            verdict = _judged(session, arc)
            shown = frozenset(each.what for each in (*verdict.evidence_for, *verdict.evidence_against))
            rows.append(ArcRow(session.developer, shown, arc.end == len(session.turns), arc.goal_complete))
    return rows


def unseen_verdicts(sessions: Sequence[SessionItem]) -> list[tuple[bool | None, bool | None]]:
    """Of each arc what the experts say, and a judge that has seen nothing of its developer; None: undecided."""
    rows, arcs = arc_rows(sessions), [(session, arc) for session in sessions for arc in session.arcs or ()]
    found: list[tuple[bool | None, bool | None]] = []
    for part in range(FOLDS):
        model = train_outcome([row for row in rows if fold_of(row.developer) != part])
        for session, arc in arcs:
            if fold_of(session.developer) == part:
                found.append((arc.goal_complete, _judged(session, arc, model).goal_complete))
    return found


def _judged(session: SessionItem, arc: ArcLabel, model: OutcomeModel = SHIPPED_OUTCOME) -> OutcomeVerdict:
    turns = session.turns[arc.start - 1 : arc.end]
    following = session.turns[arc.end] if arc.end < len(session.turns) else None
    rubrics = [judge_prompt(turn.prompt, turns[:place]) for place, turn in enumerate(turns)]
    return judge_outcome(turns, sub_session_intent(rubrics), following, model)


def train_outcome(rows: Sequence[ArcRow]) -> OutcomeModel:
    """The weights of least loss over the arcs that experts could decide."""
    told = [row for row in rows if row.complete is not None]
    seen = np.array([[1.0, row.silent, *(piece in row.pieces for piece in _PIECES)] for row in told], dtype=np.float64)
    complete = np.array([bool(row.complete) for row in told], dtype=np.float64)
    prior = [BIAS, SILENCE, *(PRIOR[piece] for piece in _PIECES)]
    fitted = list(map(float, nearest(seen, complete, prior, [0.01, *[PENALTY] * (len(prior) - 1)])))
    signed = {
        piece: weight if weight * PRIOR[piece] > 0 else 0.0 for piece, weight in zip(_PIECES, fitted[2:], strict=True)
    }
    thousandths = {piece: round(1000 * weight) for piece, weight in signed.items()}
    return OutcomeModel(round(1000 * fitted[0]), round(1000 * fitted[1]), thousandths)


def source_of(model: OutcomeModel) -> str:
    told = {"bias": model.bias, "silence": model.silence, "weights": dict(model.weights)}
    return json.dumps(told, indent=2) + "\n"
