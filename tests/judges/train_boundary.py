"""Train the embedded boundary judge: `python -m tests.judges.train boundary DATA_DIR`.

It learns from the labelled sessions (`labels.py`) by logistic regression with an L2 penalty (`regression.py`), without
randomness: the same labels give the same file. The file holds names of signals and whole numbers, thousandths of a
logit; nothing of the texts.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from aggregates.judging.boundary import BoundaryModel, OpenArc, boundary_signals, cannot_shift, topic_shift
from aggregates.sub_sessions.arcs import committed
from tests.judges import regression
from tests.judges.labels import SessionItem, fold_of
from tests.judges.names import SIGNALS

PENALTY = 2.0  # of the squared weights, against the sum of the log-losses
SEEN_MIN = 8  # A signal that fewer turns show is left out
JUDGED_PER_EXPERT = 1.4
"""How many boundaries are judged on unseen developers for each that the experts see.

About there F1 is best. Where exactly is chance, of so few."""
GOES_ON: frozenset[str] = frozenset(
    {
        "says what is wrong",
        "goes back",
        "points back at once",
        "adds to what is there",
        "speaks of the agent's work",
        "changes the same files",
        "the last prompt described a finding",
        "a short order after a review",
        "the answer before asks something",
        "the answer before broke off",
        "hardly an answer before",
        "the work before was interrupted",
    }
)
"""Signals that speak for the topic before; every other speaks for another.

What so few sessions say against that is chance: such a signal is left out."""
EITHER: frozenset[str] = frozenset({"is a command", "the turn before was a command"})
"""Signals that may speak for either."""
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


def source_of(model: BoundaryModel) -> str:
    weights = {name: model.weights[name] for name in SIGNALS if name in model.weights}
    return json.dumps({"bias": model.bias, "even": model.even, "weights": weights}, indent=2) + "\n"
