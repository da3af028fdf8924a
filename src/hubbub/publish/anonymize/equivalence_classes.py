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
    say how many rows each stands for (one if None); ``people`` whose each row is (its own, if None).
    """

    labels: Codes
    number: int
    secrets: Mapping[str, SensitiveColumn]
    rows: Codes | None = None
    weights: Codes | None = None
    people: Codes | None = None

    @cached_property
    def sizes(self) -> Codes:
        """How many people each class has."""
        if self.people is None:
            return self.totals
        return np.bincount(_distinct_pairs(self.labels, self.people)[0], minlength=self.number)

    @cached_property
    def totals(self) -> Codes:
        """How many rows each class has."""
        return _class_totals(self.labels, self.number, self.weights)

    def cells(self, name: str) -> ClassCounts:
        """How many rows of each class have each value of a sensitive column."""
        return self._count_cells(name, by_people=False)

    def known(self, name: str) -> ClassCounts:
        """How many people of each class have each value, but for the missing one: who knows that it is not missing
        looks at the others. A class may have none."""
        cells = self._count_cells(name, by_people=self.people is not None)
        there = cells.value >= int(self.secrets[name].column.gaps)
        owner = cells.owner[there]
        return ClassCounts(
            owner, cells.value[there], cells.count[there], np.searchsorted(owner, np.arange(self.number))
        )

    def _count_cells(self, name: str, *, by_people: bool) -> ClassCounts:
        secret = self.secrets[name].column
        codes = secret.codes if self.rows is None else secret.codes[self.rows]
        width = len(secret.labels)
        keys = self.labels * width + codes
        if by_people:
            assert self.people is not None
            present, counts = np.unique(_distinct_pairs(keys, self.people)[0], return_counts=True)
        elif self.weights is None:
            present, counts = count_keys(keys, self.number * width)
        else:
            present, back = np.unique(keys, return_inverse=True)
            counts = _class_totals(back, present.size, self.weights)
        owner = present // width
        return ClassCounts(owner, present - owner * width, counts, run_starts(owner))


def _distinct_pairs(first: Codes, second: Codes) -> tuple[Codes, Codes]:
    """Each pair of codes once, in order."""
    width = int(second.max(initial=0)) + 1
    pairs = np.unique(first * width + second)
    return pairs // width, pairs % width


def _class_totals(labels: Codes, number: int, weights: Codes | None) -> Codes:
    if weights is None:
        return np.bincount(labels, minlength=number)
    return np.bincount(labels, weights=weights, minlength=number).astype(np.int64)


def secret_of(column: Coded, weights: Codes | None = None) -> SensitiveColumn:
    """A sensitive column with the shares of its values."""
    counts = _class_totals(column.codes, len(column.labels), weights)
    return SensitiveColumn(column, counts / max(counts.sum(), 1))
