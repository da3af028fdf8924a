"""Equivalence classes: the groups of a k-anonymous table, and how often each sensitive value occurs in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.attacks import plain_tables
from hubbub.attacks.plain_tables import Codes, ColumnValues, PlainTable
from hubbub.terms import Unsuitable

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, eq=False)
class SensitiveCounts:
    """Counts of sensitive values (columns) by class (rows), what each column stands for, and each row's class.

    People are counted, each once for a class and a value, if it is known whose each row is (``owners``); else rows.
    """

    counts: NDArray[np.int64]
    values: tuple[str, ...]
    rows: Codes
    table: pyarrow.Table
    owners: Codes | None = None

    @property
    def counted(self) -> str:
        """What is counted, in a word."""
        return "rows" if self.owners is None else "people"

    @cached_property
    def sizes(self) -> Codes:
        """How many people (or rows) each class has."""
        if self.owners is None:
            return np.asarray(self.counts.sum(axis=1))
        return np.bincount(_each_once(self.rows, self.owners), minlength=len(self.counts))

    @cached_property
    def distinct(self) -> Codes:
        """How many different values each class has."""
        return np.asarray(np.count_nonzero(self.counts, axis=1))

    @property
    def people(self) -> int:
        """How many people (or rows) there are."""
        return self.among(np.ones(len(self.counts), dtype=bool))

    def among(self, classes: NDArray[np.bool_]) -> int:
        """How many people (or rows) are in some of the classes."""
        if self.owners is None:
            return int(self.sizes[classes].sum())
        return len(np.unique(self.owners[classes[self.rows]]))

    @property
    def prior(self) -> NDArray[np.float64]:
        """How frequent each value is in the whole table."""
        return np.asarray(self.counts.sum(axis=0) / self.counts.sum())

    @property
    def posterior(self) -> NDArray[np.float64]:
        """How frequent each value is in each class."""
        return np.asarray(self.counts / self.sizes[:, None])

    @property
    def entropies(self) -> NDArray[np.float64]:
        """The entropy of the values in each class, in nats."""
        share = self.counts / self.counts.sum(axis=1)[:, None]
        return np.asarray(-np.sum(share * np.log(np.where(share > 0, share, 1.0)), axis=1))


def _each_once(first: Codes, second: Codes) -> Codes:
    """The first codes of the different pairs."""
    width = plain_tables.count_distinct(second)
    return np.asarray(np.unique(first * width + second) // width)


def classes_of(
    table: PlainTable, *, quasi_identifiers: Sequence[str], sensitive: str, person: str | ColumnValues | None = None
) -> SensitiveCounts:
    """The classes of a table; refuses columns that are missing, and a sensitive one that cannot be secret."""
    rows = plain_tables.read_table(table, called="the table")
    columns = plain_tables.known_columns(rows, quasi_identifiers, called="the table")
    plain_tables.known_columns(rows, [*columns, sensitive], called="the table")
    plain_tables.no_identifiers(rows, columns, called="the table")
    groups, secrets = plain_tables.row_codes(rows, columns), plain_tables.encode_column(rows.column(sensitive))
    labels = tuple(dict.fromkeys(plain_tables.value_texts(rows.column(sensitive))))
    if len(labels) < 2:
        raise Unsuitable(
            f"column {sensitive!r} has one value only.",
            why="Everybody knows it without any attack.",
            fix="Name the column that should stay secret.",
        )
    cells, size = groups * len(labels) + secrets, plain_tables.count_distinct(groups) * len(labels)
    owners = None
    if person is not None:
        owners = plain_tables.encode_column(plain_tables.column_beside(rows, person, called="person"))
        cells = _each_once(cells, owners)
    counts = np.bincount(cells, minlength=size).reshape(-1, len(labels))
    return SensitiveCounts(counts, labels, groups, rows, owners)
