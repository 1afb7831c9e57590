"""Softmax regression with an L2 penalty over rows of features that are there or not.

Minimised by L-BFGS: no library and no randomness, so the same rows give the same weights.
"""

import math
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from operator import mul

import msgspec

SEEN_MIN = 3
"""A feature that fewer rows show is left out."""
STEPS_MAX = 60
FLAT = 1e-5
"""Where no slope is steeper, the minimum is reached."""
_REMEMBERED = 6
_HALVINGS_MAX = 20

Row = tuple[int, ...]
"""The active features of one item."""
_Vector = list[float]


class Fit(msgspec.Struct, frozen=True):
    """One weight per class and feature, and a bias per class, in logits."""

    bias: tuple[float, ...]
    weights: Mapping[int, tuple[float, ...]]

    def logits(self, row: Row) -> list[float]:
        columns = [self.weights[number] for number in row if number in self.weights]
        return [sum(values) for values in zip(self.bias, *columns, strict=True)]


def fit(rows: Sequence[Row], targets: Sequence[int], shares: Sequence[float], classes: int, penalty: float) -> Fit:
    """The weights of least loss. `shares` say how much each row counts; `penalty` is the L2 factor per item."""
    counts = Counter(number for row in rows for number in row)
    columns = sorted(number for number, count in counts.items() if count >= SEEN_MIN)
    place = {number: index for index, number in enumerate(columns, 1)}
    packed = [[0, *(place[number] for number in row if number in place)] for row in rows]
    problem = _Problem(packed, targets, shares, classes, len(columns) + 1, penalty)
    found = _least(problem.loss, [0.0] * (classes * problem.width))
    parts = [found[c * problem.width : (c + 1) * problem.width] for c in range(classes)]
    weights = {number: tuple(part[index] for part in parts) for number, index in place.items()}
    return Fit(tuple(part[0] for part in parts), weights)


class _Problem(msgspec.Struct, frozen=True):
    """The loss to be minimised; column 0 is the bias, which is not penalised."""

    rows: Sequence[Sequence[int]]
    targets: Sequence[int]
    shares: Sequence[float]
    classes: int
    width: int
    penalty: float

    def loss(self, weights: _Vector) -> tuple[float, _Vector]:
        """The loss at these weights, class after class, and its slope."""
        width, total = self.width, sum(self.shares)
        parts = [weights[c * width : (c + 1) * width] for c in range(self.classes)]
        slopes = [[self.penalty * weight for weight in part] for part in parts]
        loss = self.penalty / 2 * sum(sum(map(mul, part, part)) - part[0] ** 2 for part in parts)
        for part, slope in zip(parts, slopes, strict=True):
            slope[0] -= self.penalty * part[0]
        for row, target, share in zip(self.rows, self.targets, self.shares, strict=True):
            logits = [sum(map(part.__getitem__, row)) for part in parts]
            top = max(logits)
            powers = [math.exp(value - top) for value in logits]
            whole = sum(powers)
            loss -= share / total * math.log(powers[target] / whole + 1e-300)
            for c, slope in enumerate(slopes):
                error = share / total * (powers[c] / whole - (c == target))
                for index in row:
                    slope[index] += error
        return loss, [value for slope in slopes for value in slope]


_Loss = Callable[[_Vector], tuple[float, _Vector]]


def _least(loss_at: _Loss, start: _Vector) -> _Vector:
    """L-BFGS from `start`."""
    point, (loss, slope) = start, loss_at(start)
    steps: deque[tuple[_Vector, _Vector, float]] = deque(maxlen=_REMEMBERED)
    for _ in range(STEPS_MAX):
        if max(map(abs, slope)) < FLAT:
            break
        way = _way(slope, steps)
        length, falls = 1.0 if steps else 1 / max(map(abs, slope)), _dot(way, slope)
        for _ in range(_HALVINGS_MAX):
            there = [a + length * b for a, b in zip(point, way, strict=True)]
            loss_there, slope_there = loss_at(there)
            if loss_there <= loss + 1e-4 * length * falls:
                break
            length /= 2
        moved = [length * b for b in way]
        turned = [a - b for a, b in zip(slope_there, slope, strict=True)]
        curve = _dot(moved, turned)
        if curve > 0:
            steps.append((moved, turned, curve))
        point, loss, slope = there, loss_there, slope_there
    return point


def _way(slope: _Vector, steps: Sequence[tuple[_Vector, _Vector, float]]) -> _Vector:
    """Downhill, bent by what the last steps told of the curvature (the two-loop recursion)."""
    way = [-value for value in slope]
    shares = []
    for moved, turned, curve in reversed(steps):
        share = _dot(moved, way) / curve
        shares.append(share)
        way = [a - share * b for a, b in zip(way, turned, strict=True)]
    if steps:
        _, turned, curve = steps[-1]
        scale = curve / _dot(turned, turned)
        way = [scale * value for value in way]
    for (moved, turned, curve), share in zip(steps, reversed(shares), strict=True):
        rest = share - _dot(turned, way) / curve
        way = [a + rest * b for a, b in zip(way, moved, strict=True)]
    return way


def _dot(a: _Vector, b: _Vector) -> float:
    total: float = sum(map(mul, a, b))
    return total
