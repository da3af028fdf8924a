"""Which released numbers cannot be told from noise: from what was released, and from nothing else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hubbub.releases.formulas.arithmetic import Over
from hubbub.releases.formulas.base import Formula, walk_formula
from hubbub.releases.formulas.linear import LinearForm, normal_quantile, sum_radius
from hubbub.releases.formulas.statistics import Mean, Variance
from hubbub.releases.noisy_columns import NoisyTable

Rows = NDArray[np.bool_]

_LEVEL = Fraction(95, 100)


def lost_in_noise(formula: Formula, table: NoisyTable) -> Rows:
    """The rows in which a count, a variance or what something is divided by is within its own noise, at 95%."""
    lost = np.zeros(table.size, dtype=bool)
    for part in walk_formula(formula):
        if isinstance(part, Mean | Variance):
            lost |= _within_noise(part.count.line(), table)
        if isinstance(part, Variance):
            lost |= _spread_is_noise(part, table)
        if isinstance(part, Over):
            lost |= _within_noise(part.b.line(), table)
    return lost


def _within_noise(line: LinearForm | None, table: NoisyTable) -> Rows:
    if line is None or not line.parts(table):
        return np.zeros(table.size, dtype=bool)
    return np.asarray(np.abs(line.floats(table)) <= float(sum_radius(line.parts(table), _LEVEL)))


def _spread_is_noise(part: Variance, table: NoisyTable) -> Rows:
    """Where the variance is within its own error: what each noise moves it by, at the released mean and variance."""
    lines = [each.line() for each in (part.total, part.squares, part.count)]
    total, squares, count = (line for line in lines if line is not None)
    rows = np.maximum(count.floats(table), 1.0)
    mean, second = total.floats(table) / rows, squares.floats(table) / rows
    variance = np.zeros(table.size)
    for index in {*total.weights, *squares.weights, *count.weights}:
        of = [float(line.weights.get(index, 0)) for line in (total, squares, count)]
        moved = (of[1] - 2 * mean * of[0] + (2 * mean**2 - second) * of[2]) / rows
        measure = table.measures[index]
        variance += (moved * float(measure.step) * measure.noise.std_dev()) ** 2
    return np.asarray(second - mean**2 <= normal_quantile(float(_LEVEL)) * np.sqrt(variance))
