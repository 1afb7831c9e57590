"""Train the embedded boundary judge: `python -m tests.judges.train boundary DATA_DIR`.

It learns from labelled, marked and written sessions (`labels.py`) by logistic regression with an L2 penalty
(`regression.py`), without randomness: the same labels give the same file. The file holds names of signals and whole
numbers, thousandths of a logit; nothing of the texts.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from aggregates.judging.boundary import BoundaryModel, OpenArc, boundary_signals, cannot_shift
from tests.judges import regression
from tests.judges.labels import WRITTEN, SessionItem, marked_sessions, written_sessions
from tests.judges.names import SIGNALS

PENALTY = 2.0
"""Of the squared weights, against the sum of the log-losses."""
SEEN_MIN = 8
"""A signal that fewer turns show is left out."""
INNER_FOLDS = 5
JUDGED_PER_EXPERT = 0.95
"""How many boundaries are judged on unseen sessions for each that the experts see.

Where F1 is best is chance, of so few."""
WRITTEN_TRUST = 0.6
"""How much a turn of a written session counts: they are plainer than people's own."""
GOES_ON: frozenset[str] = frozenset(
    {
        "says what is wrong",
        "goes back",
        "points back at once",
        "adds to what is there",
        "shares 4 words",
        "is answered in words of the sub-session",
        "is answered in words of the last answer",
        "changes the same files",
        "uses no tool",
        "the answer before was an offer",
        "the work before was interrupted",
        "the last prompt described a finding",
        "a short order after a review",
    }
)
"""Signals that speak for the topic before; every other speaks for another.

What so few sessions say against that is chance: such a signal is left out."""
_PLACE = {name: place for place, name in enumerate(SIGNALS)}

Row = regression.Row
"""The active signals of one turn."""


def train_boundary(sessions: Sequence[SessionItem], further: Sequence[SessionItem] = ()) -> BoundaryModel:
    """A boundary model of labelled and further sessions; its bias lets as many shift as the experts say."""
    rows, targets, names = boundary_rows(sessions)
    more, more_targets, more_names = boundary_rows(further)
    trust = [WRITTEN_TRUST if name.startswith(WRITTEN) else 1.0 for name in more_names]
    unseen = [0.0] * len(rows)
    for held_out in regression.folds(names, INNER_FOLDS):
        kept = [place for place in range(len(rows)) if place not in held_out]
        ones = [1.0] * len(kept)
        part = _fit([rows[p] for p in kept] + more, [targets[p] for p in kept] + more_targets, ones + trust)
        for place in held_out:
            (unseen[place],) = part.logits(rows[place])
    whole = _fit(rows + more, targets + more_targets, [1.0] * len(rows) + trust)
    bias = round(1000 * (whole.bias[0] - rate_cut(unseen, targets)))
    weights = {SIGNALS[place]: round(1000 * weight) for place, (weight,) in whole.weights.items()}
    return BoundaryModel(bias, {name: weight for name, weight in weights.items() if weight})


def boundary_rows(sessions: Sequence[SessionItem]) -> tuple[list[Row], list[bool], list[str]]:
    """For each turn that may shift: its signals, whether it opens an arc, its session."""
    rows: list[Row] = []
    targets: list[bool] = []
    names: list[str] = []
    for session in sessions:
        starts = {arc.start - 1 for arc in session.arcs or ()}
        arc = OpenArc(session.turns[:1])
        for place, turn in enumerate(session.turns[1:], 1):
            if turn.opening is None and cannot_shift(arc, turn) is None:
                rows.append(tuple(_PLACE[name] for name in boundary_signals(arc, turn)))
                targets.append(place in starts)
                names.append(session.session)
            if place in starts:
                arc = OpenArc([turn])
            else:
                arc.add(turn)
    return rows, targets, names


def rate_cut(logits: Sequence[float], targets: Sequence[bool]) -> float:
    """The logit above which `JUDGED_PER_EXPERT` times as many lie as are true."""
    ordered = sorted(logits, reverse=True)
    count = round(JUDGED_PER_EXPERT * sum(targets))
    if not 0 < count < len(ordered):
        return ordered[0] + 1 if ordered and not count else 0.0
    return (ordered[count - 1] + ordered[count]) / 2


def _fit(rows: Sequence[Row], targets: Sequence[bool], trust: Sequence[float]) -> regression.Fit:
    """One weight per signal, none of the wrong sign; `trust` says how much each row counts."""
    # A regression of two classes asks for half of what it is told, and per item.
    penalty = 2 * PENALTY / sum(trust)
    classes = [not target for target in targets]
    while True:
        fit = regression.fit(rows, classes, trust, 2, penalty, seen_min=SEEN_MIN)
        wrong = {place for place, (weight,) in fit.weights.items() if weight and _speaks_against(place, weight)}
        if not wrong:
            return fit
        rows = [tuple(place for place in row if place not in wrong) for row in rows]


def _speaks_against(place: int, weight: float) -> bool:
    return (SIGNALS[place] in GOES_ON) is (weight > 0)


def further_sessions(data_dir: Path) -> list[SessionItem]:
    """What training learns from beside the labels: never used to measure."""
    return marked_sessions(data_dir) + written_sessions()


def source_of(model: BoundaryModel) -> str:
    """The text of the weights file."""
    weights = {name: model.weights[name] for name in SIGNALS if name in model.weights}
    return json.dumps({"bias": model.bias, "weights": weights}, indent=2) + "\n"
