"""Questions that a table should answer: how many rows lie in these ranges and lists of values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.publish.cells import CategoryCells, Coding
from hubbub.publish.marginal_counts import Columns
from hubbub.publish.metrics.candidates import Numbers
from hubbub.publish.metrics.comparison_cells import ComparisonCells
from hubbub.publish.metrics.generalized_values import Floats, cell_shares
from hubbub.publish.tables.noisy_counts import labels_of
from hubbub.terms import OutOfRange

Mask = NDArray[np.bool_]
QUESTIONS = 200
_WIDEST = 3  # columns of one question
_LARGEST = 0.99  # of a column that a range covers, at most


@dataclass(frozen=True, slots=True, eq=False)
class RangeQuery:
    """How many rows lie in the given cells of each of these columns."""

    columns: Columns
    masks: tuple[Mask, ...]

    def answer(self, counts: Numbers) -> Numbers:
        """From the counts of its columns; exact if these are integers."""
        inside = counts[np.ix_(*self.masks)]
        return inside.sum()  # type: ignore[no-any-return]


def random_questions(cells: ComparisonCells, count: int = QUESTIONS) -> list[RangeQuery]:
    """Questions about one to three columns: ranges of numbers and dates, lists of values. The same in every run."""
    chance, sizes = np.random.default_rng(2007), cells.sizes  # public, and fixed
    orders = [coding.ordered for coding in cells.codings.values()]
    questions = []
    for _ in range(count):
        width = int(chance.integers(1, min(_WIDEST, len(sizes)) + 1))
        columns = tuple(sorted(chance.choice(len(sizes), width, replace=False).tolist()))
        masks = tuple(_random_mask(sizes[c], chance, ordered=orders[c]) for c in columns)
        questions.append(RangeQuery(columns, masks))
    return questions


def given_questions(workload: Sequence[Mapping[str, Any]], cells: ComparisonCells) -> list[RangeQuery]:
    """Questions that were typed: column -> values, or (lower, upper). A cell is asked about if half of it lies in."""
    return [_read_question(rule, cells) for rule in workload]


def _random_mask(size: int, chance: np.random.Generator, *, ordered: bool) -> Mask:
    mask = np.zeros(size, dtype=bool)
    if ordered:
        length = max(1, round(float(chance.uniform(0, _LARGEST)) * size))
        start = int(chance.integers(0, size - length + 1))
        mask[start : start + length] = True
    else:
        mask[chance.permutation(size)[: max(1, round(float(chance.uniform(0, _LARGEST)) * size))]] = True
    return mask


def _read_question(rule: Mapping[str, Any], cells: ComparisonCells) -> RangeQuery:
    names = cells.names
    if not rule or not set(rule) <= set(names) or len(rule) > _WIDEST:
        raise OutOfRange(
            f"{dict(rule)!r} is no question about one to {_WIDEST} compared columns.",
            why="A question names values, or the lower and upper end, of a few columns.",
            fix='Write workload=[{"age": (30, 39), "sex": ["f"]}].',
        )
    columns = tuple(sorted(names.index(name) for name in rule))
    masks = []
    for column in columns:
        inside, whole = _asked_part(cells.codings[names[column]], rule[names[column]])
        group = cells.groups[column]
        masks.append((np.bincount(group, inside) * 2 >= np.bincount(group, whole)) & (np.bincount(group, inside) > 0))
    return RangeQuery(columns, tuple(masks))


def _asked_part(coding: Coding, rule: Any) -> tuple[Floats, Floats]:
    """How much of each declared cell is asked about, and how much there is of it."""
    if isinstance(coding, CategoryCells):
        listed = {rule} if isinstance(rule, str) or not isinstance(rule, Collection) else set(rule)
        return np.array([value in listed for value in labels_of(coding)], dtype=np.float64), np.ones(coding.cells)
    low, high = rule
    whole = np.append(np.diff([float(edge) for edge in coding.edges]), [1.0] * coding.missing)
    part = cell_shares(f"[{low}, {high}]", coding, None)
    asked = _span_length(low, high) + (coding.kind != "float")
    return np.minimum(part * max(asked, 1e-300), whole), whole


def _span_length(low: Any, high: Any) -> float:
    try:
        return float(high) - float(low)
    except (TypeError, ValueError):
        return float((np.datetime64(str(high)) - np.datetime64(str(low))).astype(np.int64))


def relative_errors(answers: Floats, truth: Floats, sanity: float) -> Floats:
    """How far off each answer is, as a share of the true one or of ``sanity`` rows if that is more; 1 at most.

    >>> relative_errors(np.array([90.0, 5.0, 9.0]), np.array([100.0, 0.0, 1.0]), 10.0).round(2).tolist()
    [0.1, 0.5, 0.8]
    """
    return np.minimum(1.0, np.abs(answers - truth) / np.maximum(truth, sanity))
