"""Logistic and softmax regression with an L2 penalty over rows of binary features. L-BFGS, without randomness. Sums run
over the present features in a fixed order, not in a BLAS library, so threads and kernels do not change them."""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

SEEN_MIN = 3  # A feature that fewer rows show is left out
USUAL = 200  # A feature that as many rows show costs the plain penalty
STEPS_MAX, NEWTON_STEPS = 200, 50
FLAT = 3e-6  # where no slope is steeper, the minimum is reached
_REMEMBERED = 8
_HALVINGS_MAX = 20

Row = tuple[int, ...]  # the active features of one item
_Floats = NDArray[np.float64]
_Places = NDArray[np.intp]


class Fit(msgspec.Struct, frozen=True):
    """One weight per class and feature, and a bias per class, in logits. Of two classes only the lead of the first over
    the second is kept, as if the second were always 0."""

    bias: tuple[float, ...]
    weights: Mapping[int, tuple[float, ...]]

    def logits(self, row: Row) -> list[float]:
        columns = [self.weights[number] for number in row if number in self.weights]
        return [sum(values) for values in zip(self.bias, *columns, strict=True)]


def fit(
    rows: Sequence[Row],
    targets: Sequence[int],
    shares: Sequence[float],
    classes: int,
    penalty: float,
    *,
    by_count: float = 0.0,
    seen_min: int = SEEN_MIN,
    flat: float = FLAT,
) -> Fit:
    """The weights of least loss. `shares` say how much each row counts; `penalty` is the L2 factor per item, multiplied
    by (the rows that show a feature / `USUAL`) to the power of `by_count`: with 0 all weights cost alike."""
    counts = Counter(number for row in rows for number in row)
    columns = sorted(number for number, count in counts.items() if count >= seen_min)
    place = {number: index for index, number in enumerate(columns, 1)}
    packed = [[0, *(place[number] for number in row if number in place)] for row in rows]
    penalties = [0.0, *(penalty * (counts[number] / USUAL) ** by_count for number in columns)]
    problem = _Problem(packed, targets, shares, classes, penalties)
    found = (
        _least(problem.loss, np.zeros(problem.free * problem.width), flat).reshape(problem.free, problem.width).tolist()
    )
    weights = {number: tuple(part[index] for part in found) for number, index in place.items()}
    return Fit(tuple(part[0] for part in found), weights)


class _Problem:
    """The loss to be minimised; column 0 is the bias, which every row shows and which is not penalised."""

    def __init__(
        self,
        rows: Sequence[Sequence[int]],
        targets: Sequence[int],
        shares: Sequence[float],
        classes: int,
        penalties: Sequence[float],
    ) -> None:
        self.width = width = len(penalties)
        self.free = classes if classes > 2 else 1
        # What two classes would weigh apart, one weighs twice as far from the other: half as dear.
        self._penalty: _Floats = np.array(penalties) / (1 if classes > 2 else 2)
        self._classes = classes
        self._targets: _Places = np.array(targets, dtype=np.intp)
        self._shares: _Floats = np.array(shares, dtype=np.float64) / sum(shares)
        lengths = [len(row) for row in rows]
        self._columns: _Places = np.array([number for row in rows for number in row], dtype=np.intp)
        self._row_starts: _Places = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.intp)
        by_column = np.argsort(self._columns, kind="stable")
        self._rows: _Places = np.repeat(np.arange(len(rows)), lengths)[by_column]
        self._column_starts: _Places = np.searchsorted(self._columns[by_column], np.arange(width)).astype(np.intp)

    def loss(self, weights: _Floats) -> tuple[float, _Floats]:
        """The loss at these weights, class after class, and its slope."""
        parts = weights.reshape(self.free, self.width)
        logits = np.zeros((self._classes, len(self._targets)))
        for place, part in enumerate(parts):
            logits[place] = np.add.reduceat(part[self._columns], self._row_starts)
        logits -= logits.max(axis=0)
        powers = np.exp(logits)
        whole = powers.sum(axis=0)
        every = np.arange(len(self._targets))
        loss = float((self._shares * (np.log(whole) - logits[self._targets, every])).sum())
        errors = powers / whole
        errors[self._targets, every] -= 1
        errors *= self._shares
        slopes = self._penalty * parts
        loss += float((slopes * parts).sum()) / 2
        for place in range(self.free):
            slopes[place] += np.add.reduceat(errors[place][self._rows], self._column_starts)
        return loss, slopes.ravel()


_Loss = Callable[[_Floats], tuple[float, _Floats]]


def _least(loss_at: _Loss, start: _Floats, flat: float) -> _Floats:
    """L-BFGS from `start`, until no slope is steeper than `flat`."""
    point, (loss, slope) = start, loss_at(start)
    steps: deque[tuple[_Floats, _Floats, float]] = deque(maxlen=_REMEMBERED)
    for _ in range(STEPS_MAX):
        steepest = float(np.abs(slope).max())
        if steepest < flat:
            break
        way = _way(slope, steps)
        length, falls = 1.0 if steps else 1 / steepest, _dot(way, slope)
        for _ in range(_HALVINGS_MAX):
            there = point + length * way
            loss_there, slope_there = loss_at(there)
            if loss_there <= loss + 1e-4 * length * falls:
                break
            length /= 2
        moved, turned = length * way, slope_there - slope
        curve = _dot(moved, turned)
        if curve > 0:
            steps.append((moved, turned, curve))
        point, loss, slope = there, loss_there, slope_there
    return point


def _way(slope: _Floats, steps: Sequence[tuple[_Floats, _Floats, float]]) -> _Floats:
    """Downhill, bent by what the last steps told of the curvature (the two-loop recursion)."""
    way = -slope
    shares = []
    for moved, turned, curve in reversed(steps):
        share = _dot(moved, way) / curve
        shares.append(share)
        way = way - share * turned
    if steps:
        _, turned, curve = steps[-1]
        way = curve / _dot(turned, turned) * way
    for (moved, turned, curve), share in zip(steps, reversed(shares), strict=True):
        way = way + (share - _dot(turned, way) / curve) * moved
    return way


def _dot(a: _Floats, b: _Floats) -> float:
    return float((a * b).sum())


def nearest(rows: _Floats, targets: _Floats, prior: Sequence[float], pull: Sequence[float]) -> _Floats:
    """A logistic regression of a few columns, each weight held near its `prior` by its `pull`. Newton's method."""
    held, tied = np.array(prior), np.array(pull)
    weights = held.copy()
    for _ in range(NEWTON_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (likely - targets) + tied * (weights - held)
        spread = likely * (1 - likely) + 1e-6
        bend = (rows * spread[:, None]).T @ rows + np.diag(tied + 1e-6)
        weights = weights - np.clip(np.linalg.solve(bend, slope), -0.5, 0.5)
    return weights
