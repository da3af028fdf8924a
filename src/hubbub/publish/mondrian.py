"""Mondrian: halve the table along one column after another while every part keeps at least k rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hubbub.engines.sources import arrow_of
from hubbub.terms import EmptyInput, OutOfRange, whole

if TYPE_CHECKING:
    import pyarrow

    from hubbub.publish._codes import Coded

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Metrics:
    """What the generalisation cost: 0 would be the table itself, 1 (of ``gcp``) a table of stars."""

    classes: int
    smallest: int
    average_size: float  # of a class, over k
    discernibility: int  # sum of squared class sizes
    gcp: float  # global certainty penalty: mean width of the published ranges, as a share of each column's own


@dataclass(frozen=True, slots=True)
class Anonymised:
    """A k-anonymous table, row by row the one given.

    Not covered: k-anonymity is no guarantee about a person. Who knows that somebody is in the table learns what
    all rows of a class share (homogeneity) and what is left after what they know (background knowledge).
    ``hubbub.attacks.homogeneity`` shows how much that is.
    """

    table: pyarrow.Table
    classes: Codes
    k: int
    quasi_identifiers: tuple[str, ...]
    metrics: Metrics


def mondrian(table: Any, *, quasi_identifiers: Sequence[str], k: int) -> Anonymised:
    """Generalise the quasi-identifiers until every combination has at least ``k`` rows [LDR06].

    Strict: equal values stay together. Each part is cut along its widest column (as a share of the column's
    range) at the cut nearest to the middle; ties go to the column named first, so the result is always the same.

    >>> import pyarrow
    >>> people = pyarrow.table({"age": [21, 24, 25, 60, 61, 65], "ill": ["flu", "flu", "flu", "flu", "hay", "hay"]})
    >>> mondrian(people, quasi_identifiers=["age"], k=3).table["age"].to_pylist()
    ['21 to 25', '21 to 25', '21 to 25', '60 to 65', '60 to 65', '60 to 65']
    """
    from hubbub.publish._codes import coded

    rows, names = arrow_of(table), _names(quasi_identifiers)
    least = whole(k, name="k", least=2)
    _check(rows, names, least)
    columns = [coded(name, rows[name]) for name in names]
    codes = np.stack([column.codes for column in columns])
    classes = partition(codes, spans=[column.span for column in columns], k=least)
    low, high = _extremes(codes, classes)
    return Anonymised(
        _generalised(rows, columns, classes, low, high),
        classes,
        least,
        names,
        _metrics(classes, low, high, columns, least),
    )


def partition(codes: Codes, *, spans: Sequence[int], k: int) -> Codes:
    """The class of each row; ``codes`` has a row per column. All parts of one depth are cut at once."""
    classes = np.zeros(codes.shape[1], dtype=np.int64)
    active, made = np.arange(codes.shape[1]), 1
    while active.size:
        parts = np.unique(classes[active], return_inverse=True)[1]
        order = _widest_first(codes[:, active], parts, np.asarray(spans))
        upper = _cut(codes[:, active], parts, order, k)
        split = np.zeros(order.shape[1], dtype=bool)
        split[parts[upper]] = True
        numbers = np.cumsum(split) - 1 + made
        classes[active[upper]] = numbers[parts[upper]]
        made += int(split.sum())
        active = active[split[parts]]
    return classes


def _widest_first(codes: Codes, parts: Codes, spans: Codes) -> Codes:
    """For each part the columns from the widest to the narrowest; ties to the column that comes first."""
    low, high = _extremes(codes, parts)
    width = (high - low) / spans[:, None]
    return np.argsort(-width, axis=0, kind="stable")


def _cut(codes: Codes, parts: Codes, order: Codes, k: int) -> NDArray[np.bool_]:
    """Which rows go to the upper half of their part; none of a part that cannot be cut along any column."""
    upper = np.zeros(parts.size, dtype=bool)
    rows = np.arange(parts.size)
    for column in order:
        if not rows.size:
            break
        values = codes[column[parts[rows]], rows]
        done, above = _halves(values, parts[rows], order.shape[1], k)
        upper[rows[above]] = True
        rows = rows[~done[parts[rows]]]
    return upper


def _halves(values: Codes, parts: Codes, count: int, k: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which parts can be cut between two different values so that k rows are on both sides, and the rows above."""
    sizes = np.bincount(parts, minlength=count)
    starts = np.cumsum(sizes) - sizes
    ordered = np.sort(parts * (values.max() + 1) + values)  # by part, then by value
    present = sizes > 0
    middle = ordered[(starts + sizes // 2)[present]]
    cuts = np.zeros((2, count), dtype=np.int64)
    for row, side in zip(cuts, ("left", "right"), strict=True):
        row[present] = np.searchsorted(ordered, middle, side=side) - starts[present]  # type: ignore[call-overload]
    smaller = np.minimum(cuts, sizes - cuts)
    best = smaller.argmax(axis=0)
    can = present & (smaller[best, np.arange(count)] >= k)
    first = np.where(can, starts + cuts[best, np.arange(count)], 0)
    bound = ordered[np.minimum(first, ordered.size - 1)] - np.arange(count) * (values.max() + 1)
    return can, can[parts] & (values >= bound[parts])


def _extremes(codes: Codes, classes: Codes) -> tuple[Codes, Codes]:
    """The lowest and highest code of each class, a row per column."""
    order = np.argsort(classes, kind="stable")
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    ordered = codes[:, order]
    return np.minimum.reduceat(ordered, starts, axis=1), np.maximum.reduceat(ordered, starts, axis=1)


def _generalised(
    rows: pyarrow.Table, columns: Sequence[Coded], classes: Codes, low: Codes, high: Codes
) -> pyarrow.Table:
    """The table with each quasi-identifier replaced by the range of its class."""
    import pyarrow

    for column, bottom, top in zip(columns, low, high, strict=True):
        ranges, which = np.unique(np.stack([bottom, top]), axis=1, return_inverse=True)
        words = pyarrow.array([column.words(int(a), int(b)) for a, b in ranges.T])
        published = words.take(pyarrow.array(which[classes]))
        rows = rows.set_column(rows.schema.get_field_index(column.name), column.name, published)
    return rows


def _metrics(classes: Codes, low: Codes, high: Codes, columns: Sequence[Coded], k: int) -> Metrics:
    sizes = np.bincount(classes)
    spans = np.array([column.span for column in columns])
    penalty = float(((high - low) / spans[:, None] * sizes).sum() / (classes.size * len(columns)))
    return Metrics(
        sizes.size, int(sizes.min()), float(sizes.mean()) / k, int((sizes.astype(object) ** 2).sum()), penalty
    )


def _names(quasi_identifiers: Sequence[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(quasi_identifiers))
    if not names or isinstance(quasi_identifiers, str):
        raise EmptyInput(
            "there is no list of quasi-identifiers.",
            why="k-anonymity is about the columns that somebody outside may know.",
            fix='Name them: quasi_identifiers=["age", "zip"].',
        )
    return names


def _check(rows: pyarrow.Table, names: Sequence[str], k: int) -> None:
    """The table belongs to who anonymises it, so its size may be told."""
    for name in names:
        if name not in rows.column_names:
            raise OutOfRange(
                f"the table has no column {name!r}.",
                why="A quasi-identifier is a column of the table.",
                fix=f"The columns are {', '.join(rows.column_names)}.",
            )
    if rows.num_rows < k:
        raise OutOfRange(
            f"k={k} is more than the table's {rows.num_rows} rows.",
            why="Every class needs k rows, and there are not as many.",
            fix="Ask for a smaller k, or add rows.",
        )
