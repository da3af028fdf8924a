"""Equivalence classes: the rows that look alike, and how the values of a sensitive column lie in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hubbub.publish.anonymize.coded_columns import Coded, Codes, Floats, count_keys, run_starts


@dataclass(frozen=True, slots=True, eq=False)
class SensitiveColumn:
    """A sensitive column, and the share of each of its values in the whole table."""

    column: Coded
    shares: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ClassCounts:
    """How often each value occurs in each class; only what occurs, by class and then by value."""

    owner: Codes
    value: Codes
    count: Codes
    starts: Codes  # where each class begins

    def ends(self) -> Codes:
        """Where each class ends."""
        return np.append(self.starts[1:], self.owner.size)


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """A class (0 up to ``number`` - 1, none empty) for each of the rows, and the sensitive columns of these rows.

    Models look at classes through this alone, so that the same check serves a whole table, the halves of a cut, and
    the nodes of a lattice. ``rows`` are the rows of the sensitive columns that are meant (all if None); ``weights``
    say how many rows each stands for (one if None).
    """

    labels: Codes
    number: int
    secrets: Mapping[str, SensitiveColumn]
    rows: Codes | None = None
    weights: Codes | None = None

    @cached_property
    def sizes(self) -> Codes:
        """How many rows each class has."""
        return _class_totals(self.labels, self.number, self.weights)

    def cells(self, name: str) -> ClassCounts:
        """How often each value of a sensitive column occurs in each class."""
        secret = self.secrets[name].column
        codes = secret.codes if self.rows is None else secret.codes[self.rows]
        width = len(secret.labels)
        keys = self.labels * width + codes
        if self.weights is None:
            present, counts = count_keys(keys, self.number * width)
        else:
            present, back = np.unique(keys, return_inverse=True)
            counts = _class_totals(back, present.size, self.weights)
        owner = present // width
        return ClassCounts(owner, present - owner * width, counts, run_starts(owner))

    def known(self, name: str) -> ClassCounts:
        """The same without the missing value: who knows that it is not missing looks at the others. A class may have
        none."""
        cells = self.cells(name)
        there = cells.value >= int(self.secrets[name].column.gaps)
        owner = cells.owner[there]
        return ClassCounts(
            owner, cells.value[there], cells.count[there], np.searchsorted(owner, np.arange(self.number))
        )


def _class_totals(labels: Codes, number: int, weights: Codes | None) -> Codes:
    if weights is None:
        return np.bincount(labels, minlength=number)
    return np.bincount(labels, weights=weights, minlength=number).astype(np.int64)


def secret_of(column: Coded, weights: Codes | None = None) -> SensitiveColumn:
    """A sensitive column with the shares of its values."""
    counts = _class_totals(column.codes, len(column.labels), weights)
    return SensitiveColumn(column, counts / max(counts.sum(), 1))
