"""How a column is worked out from noisy integers and keys: a small tree of frozen formulas.

- ``Key(i)``, ``Ref(i)``, ``Number(x)``            a key column, a measure, a public number
- ``Plus`` ``Minus`` ``Times`` ``Over`` ``Negate``  arithmetic; division by 0 gives None
- ``NearestWhole(a)``                              the count that a weighted sum stands for
- ``Function(name, args)``                          round, floor, ceil, sqrt, ln, exp, coalesce (and what 0.1 stored)
- ``Bent(name, args)``                              abs, least, greatest
- ``Mean(...)`` ``Variance(...)``                   from noisy sums and a noisy count
- ``PairStatistic(...)``                          covariance, correlation, a line: from six noisy numbers
- ``GivenIntervals(...)``                           values that bring their own intervals
- ``Thresholded(i, least)``                         a measure that is only seen where it reached a threshold

Each has ``evaluate(table)``, ``interval(table, confidence)``, ``std_dev(table)``, ``simulate(table, draws)`` and
``noises()``. ``sum_radius`` and ``fieller_interval`` work on noises alone. Start with ``base``.

>>> from hubbub.releases import Noise, NoisyColumn, NoisyTable
>>> counts = NoisyColumn("COUNT(*)", 1, Noise("gaussian", 10), (1203, -4))
>>> table = NoisyTable((), (counts,), 2)
>>> Ref(0).evaluate(table), Ref(0).interval(table, 0.95)
([1203, -4], ([1183, -24], [1223, 16]))
"""

from hubbub.releases.formulas.arithmetic import (
    Function,
    Key,
    Minus,
    NearestWhole,
    Negate,
    Number,
    Over,
    Plus,
    Ref,
    Times,
)
from hubbub.releases.formulas.base import Formula, rebuilt, walk_formula
from hubbub.releases.formulas.bent import Bent
from hubbub.releases.formulas.linear import LinearForm, normal_quantile, sum_radius
from hubbub.releases.formulas.pairs import PairStatistic
from hubbub.releases.formulas.ratios import Spread, effective_std_dev, fieller_interval, laplace_factor
from hubbub.releases.formulas.statistics import GivenIntervals, Mean, Variance
from hubbub.releases.formulas.thresholded import Thresholded
from hubbub.releases.formulas.told import lost_in_noise

__all__ = [
    "Bent",
    "Formula",
    "Function",
    "GivenIntervals",
    "Key",
    "LinearForm",
    "Mean",
    "Minus",
    "NearestWhole",
    "Negate",
    "Number",
    "Over",
    "PairStatistic",
    "Plus",
    "Ref",
    "Spread",
    "Thresholded",
    "Times",
    "Variance",
    "at_rows",
    "effective_std_dev",
    "fieller_interval",
    "laplace_factor",
    "lost_in_noise",
    "move_columns",
    "normal_quantile",
    "sum_radius",
    "walk_formula",
]


def move_columns(formula: Formula, *, measures: tuple[int, ...], keys: int) -> Formula:
    """The formula for a table where measure i is found at ``measures[i]`` and keys stand ``keys`` further on."""

    def change(part: Formula) -> Formula:
        if isinstance(part, Ref):
            return Ref(measures[part.index])
        if isinstance(part, Thresholded):
            return Thresholded(measures[part.index], part.least)
        return Key(part.index + keys) if isinstance(part, Key) else part

    return rebuilt(formula, change)


def at_rows(formula: Formula, rows: slice) -> Formula:
    """The formula for a table that holds those rows alone."""
    return rebuilt(formula, lambda part: part.at_rows(rows) if isinstance(part, GivenIntervals) else part)
