"""How far each class is from the whole table: earth mover's distances of t-closeness [LLV07], for all classes at once.

With p the shares of a class and q those of the table over m values:

- equal: all values are 1 apart, so half the sum of |p - q|;
- ordered: neighbours are 1/(m - 1) apart, so the sum of |P - Q| / (m - 1) with P and Q the shares up to each value;
- hierarchical: two values are as far apart as one climbs until they meet, as a share of the height H. What moves along
  the edge above a node is the difference of the shares below it, so the distance is the mean over the H levels below
  the top of the equal distance between the shares of that level's nodes.
"""

from __future__ import annotations

import numpy as np

from hubbub.publish.anonymize.coded_columns import Codes, Floats, run_starts
from hubbub.publish.anonymize.equivalence_classes import ClassCounts
from hubbub.publish.anonymize.hierarchies import HierarchyLevels


def equal_distance(cells: ClassCounts, sizes: Codes, shares: Floats) -> Floats:
    """All values are equally far apart."""
    own, theirs = cells.count / sizes[cells.owner], shares[cells.value]
    moved = np.bincount(cells.owner, weights=np.abs(own - theirs) - theirs, minlength=sizes.size)
    return np.maximum((moved + 1.0) / 2, 0.0)


def hierarchical_distance(cells: ClassCounts, sizes: Codes, shares: Floats, levels: HierarchyLevels) -> Floats:
    """Values are as far apart as one has to climb to meet."""
    total = np.zeros(sizes.size)
    for codes in levels.codes[:-1]:
        total += equal_distance(
            _merge_cells(cells, codes), sizes, np.asarray(np.bincount(codes, weights=shares), dtype=np.float64)
        )
    return total / levels.height


def _merge_cells(cells: ClassCounts, codes: Codes) -> ClassCounts:
    """The cells with values replaced by the nodes above them."""
    keys = cells.owner * (int(codes.max()) + 1) + codes[cells.value]
    distinct, back = np.unique(keys, return_inverse=True)
    owner = distinct // (int(codes.max()) + 1)
    count = np.bincount(back, weights=cells.count).astype(np.int64)
    return ClassCounts(owner, distinct % (int(codes.max()) + 1), count, run_starts(owner))


def ordered_distance(cells: ClassCounts, sizes: Codes, shares: Floats) -> Floats:
    """Values are as far apart as their ranks.

    Between two values that occur in a class, its P stands still while Q rises: where Q overtakes P is found by
    bisection, and the areas on both sides come from running sums of Q. So values that a class lacks cost nothing.
    """
    if shares.size < 2:
        return np.zeros(sizes.size)
    upto = np.cumsum(shares)
    area = np.concatenate(([0.0], np.cumsum(upto)))  # area[i] is the sum of Q below value i
    run = np.cumsum(cells.count)
    before = run - cells.count - (run[cells.starts] - cells.count[cells.starts])[cells.owner]
    share = (before + cells.count) / sizes[cells.owner]
    until = np.append(cells.value[1:], shares.size)
    until[cells.ends() - 1] = shares.size
    gaps = _area_between(cells.value, until, share, upto, area)
    first = area[cells.value[cells.starts]]  # before the first value of the class P is 0
    return (np.bincount(cells.owner, weights=gaps, minlength=sizes.size) + first) / (shares.size - 1)


def _area_between(low: Codes, high: Codes, share: Floats, upto: Floats, area: Floats) -> Floats:
    """The sum of |share - Q| over the values from ``low`` up to before ``high``."""
    cross = np.clip(np.searchsorted(upto, share), low, high)
    below = share * (cross - low) - (area[cross] - area[low])
    above = (area[high] - area[cross]) - share * (high - cross)
    return np.asarray(below + above)
