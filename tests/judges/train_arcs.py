"""Train the embedded boundary and outcome judges on the labelled sessions: `python -m tests.judges.train
boundary|outcome DATA_DIR`. The files hold names of signals and pieces of evidence, and thousandths of a logit."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from aggregates.judging.boundary import BoundaryModel, OpenArc, boundary_signals, cannot_shift, topic_shift
from aggregates.judging.outcome import SHIPPED_OUTCOME, SPEAKS_AGAINST, SPEAKS_FOR, OutcomeModel, judge_outcome
from aggregates.judging.prompt import judge_prompt
from aggregates.judging.rubric import sub_session_intent
from aggregates.reading.verdicts import OutcomeVerdict
from aggregates.sub_sessions.arcs import committed
from tests.judges import regression
from tests.judges.judge import before
from tests.judges.labels import FOLDS, ArcLabel, SessionItem, fold_of
from tests.judges.names import SIGNALS

PENALTY = 2.0  # of the squared weights, against the sum of the log-losses
SEEN_MIN = 8  # A signal that fewer turns show is left out
JUDGED_PER_EXPERT = 1.4
"""How many boundaries are judged on unseen developers for each that the experts see.

About there F1 is best. Where exactly is chance, of so few."""
_BY_HAND = tomllib.loads(Path(__file__).with_name("by_hand.toml").read_text(encoding="utf-8"))
GOES_ON, EITHER = frozenset(_BY_HAND["goes_on"]), frozenset(_BY_HAND["either"])
PRIOR: Mapping[str, float] = _BY_HAND["evidence"]
_PLACE = {name: place for place, name in enumerate(SIGNALS)}

Row = regression.Row  # the active signals of one turn


def train_boundary(sessions: Sequence[SessionItem]) -> BoundaryModel:
    """A boundary model of labelled sessions: of their turns as the experts cut them, and as a judge does that knows
    these only, because that is what it will have before it."""
    told = boundary_rows(sessions)
    cut = boundary_rows(sessions, _train(told))
    return _train(Rows(told.signals + cut.signals, told.opens + cut.opens, told.developers + cut.developers))


class Rows(NamedTuple):
    """Of each turn that may shift: its signals, whether it opens an arc, its developer."""

    signals: list[Row]
    opens: list[bool]
    developers: list[str]


def boundary_rows(sessions: Sequence[SessionItem], model: BoundaryModel | None = None) -> Rows:
    """With a model, the arcs before each turn are as it cuts them; else as the experts do."""
    rows = Rows([], [], [])
    for session in sessions:
        starts = {arc.start - 1 for arc in session.arcs or ()}
        arc = OpenArc(session.turns[:1])
        for place, turn in enumerate(session.turns[1:], 1):
            opens = place in starts
            if turn.opening is None and cannot_shift(arc, turn) is None:
                rows.signals.append(tuple(_PLACE[name] for name in boundary_signals(arc, turn)))
                rows.opens.append(opens)
                rows.developers.append(session.developer)
            if model is not None:
                opens = turn.opening is not None or topic_shift(arc, turn, model, after_commit=committed(arc)).shift
            if opens:
                arc = OpenArc([turn])
            else:
                arc.add(turn)
    return rows


def _train(rows: Rows) -> BoundaryModel:
    """Chances are calibrated, and the cut chosen, on developers that were not learned from."""
    parts = [fold_of(developer) for developer in rows.developers]
    unseen = [0.0] * len(parts)
    for part in sorted(set(parts)):
        kept = [place for place, of in enumerate(parts) if of != part]
        if kept:
            fitted = _fit([rows.signals[place] for place in kept], [rows.opens[place] for place in kept])
            for place in (place for place, of in enumerate(parts) if of == part):
                (unseen[place],) = fitted.logits(rows.signals[place])
    # Of one developer alone nothing was unseen.
    slope, shift = calibrated(unseen, rows.opens) if any(unseen) else (1.0, 0.0)
    even = slope * rate_cut(unseen, rows.opens) + shift
    whole = _fit(rows.signals, rows.opens)
    weights = {SIGNALS[place]: round(1000 * slope * weight) for place, (weight,) in whole.weights.items()}
    bias = round(1000 * (slope * whole.bias[0] + shift - even))
    return BoundaryModel(bias, {name: weight for name, weight in weights.items() if weight}, round(1000 * even))


def rate_cut(logits: Sequence[float], targets: Sequence[bool]) -> float:
    """The logit above which `JUDGED_PER_EXPERT` times as many lie as are true."""
    ordered = sorted(logits, reverse=True)
    count = round(JUDGED_PER_EXPERT * sum(targets))
    if not 0 < count < len(ordered):
        return ordered[0] + 1 if ordered and not count else 0.0
    return (ordered[count - 1] + ordered[count]) / 2


def calibrated(logits: Sequence[float], targets: Sequence[bool]) -> tuple[float, float]:
    """Platt's slope and shift: what makes chances of logits of unseen developers."""
    rows = np.array([(logit, 1.0) for logit in logits])
    slope, shift = regression.nearest(rows, np.array(targets, dtype=np.float64), (1.0, 0.0), (0.0, 0.0))
    return float(slope), float(shift)


def _fit(rows: Sequence[Row], targets: Sequence[bool]) -> regression.Fit:
    """One weight per signal, none of the wrong sign."""
    # A regression of two classes asks for half of what it is told, and per item.
    penalty = 2 * PENALTY / len(rows)
    classes = [not target for target in targets]
    while True:
        fit = regression.fit(rows, classes, [1.0] * len(rows), 2, penalty, seen_min=SEEN_MIN)
        seen = {place: weight for place, (weight,) in fit.weights.items() if weight and SIGNALS[place] not in EITHER}
        wrong = {place for place, weight in seen.items() if (SIGNALS[place] in GOES_ON) is (weight > 0)}
        if not wrong:
            return fit
        rows = [tuple(place for place in row if place not in wrong) for row in rows]


# The outcome judge. Each piece of evidence begins with the weight in by_hand.toml. The labelled goal arcs move it,
# as far as they can tell and never past 0: where no session shows a piece, what was set stands.

BIAS, SILENCE = 2.0, -0.3  # the same of an arc without evidence, and of one that nothing follows
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


def unseen_verdicts(sessions: Sequence[SessionItem]) -> list[tuple[bool | None, bool | None, float]]:
    """Of each arc what the experts and an unseeing judge say, None: undecided; and the judge's chance."""
    rows, arcs = arc_rows(sessions), [(session, arc) for session in sessions for arc in session.arcs or ()]
    found: list[tuple[bool | None, bool | None, float]] = []
    for part in range(FOLDS):
        model = train_outcome([row for row in rows if fold_of(row.developer) != part])
        for session, arc in arcs:
            if fold_of(session.developer) == part:
                verdict = _judged(session, arc, model)
                found.append((arc.goal_complete, verdict.goal_complete, verdict.chance))
    return found


def _judged(session: SessionItem, arc: ArcLabel, model: OutcomeModel = SHIPPED_OUTCOME) -> OutcomeVerdict:
    turns = session.turns[arc.start - 1 : arc.end]
    following = session.turns[arc.end] if arc.end < len(session.turns) else None
    rubrics = [judge_prompt(turn.prompt, before(turns[:place])) for place, turn in enumerate(turns)]
    return judge_outcome(turns, sub_session_intent(rubrics), following, model)


def train_outcome(rows: Sequence[ArcRow]) -> OutcomeModel:
    """The weights of least loss over the arcs that experts could decide."""
    told = [row for row in rows if row.complete is not None]
    seen = np.array([[1.0, row.silent, *(piece in row.pieces for piece in _PIECES)] for row in told], dtype=np.float64)
    complete = np.array([bool(row.complete) for row in told], dtype=np.float64)
    prior = [BIAS, SILENCE, *(PRIOR[piece] for piece in _PIECES)]
    fitted = list(map(float, regression.nearest(seen, complete, prior, [0.01, *[PENALTY] * (len(prior) - 1)])))
    signed = {
        piece: weight if weight * PRIOR[piece] > 0 else 0.0 for piece, weight in zip(_PIECES, fitted[2:], strict=True)
    }
    thousandths = {piece: round(1000 * weight) for piece, weight in signed.items()}
    return OutcomeModel(round(1000 * fitted[0]), round(1000 * fitted[1]), thousandths)


def source_of(model: BoundaryModel | OutcomeModel) -> str:
    """The text of the file, signals in their order."""
    told = msgspec.structs.asdict(model)
    weights = told.pop("weights")
    ordered = {name: weights[name] for name in (*SIGNALS, *_PIECES) if name in weights}
    return json.dumps({**told, "weights": ordered}, indent=2) + "\n"
