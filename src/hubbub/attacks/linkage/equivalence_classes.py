"""Equivalence classes: the groups of a k-anonymous table, and how often each sensitive value occurs in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.attacks import plain_tables
from hubbub.attacks.plain_tables import Codes, PlainTable
from hubbub.terms import Unsuitable

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, eq=False)
class SensitiveCounts:
    """Counts of sensitive values (columns) by class (rows), what each column stands for, and each row's class."""

    counts: NDArray[np.int64]
    values: tuple[str, ...]
    rows: Codes
    table: pyarrow.Table

    @cached_property
    def sizes(self) -> Codes:
        """How many people each class has."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def distinct(self) -> Codes:
        """How many different values each class has."""
        return np.asarray(np.count_nonzero(self.counts, axis=1))

    @property
    def people(self) -> int:
        """How many people there are."""
        return int(self.counts.sum())

    @property
    def prior(self) -> NDArray[np.float64]:
        """How frequent each value is in the whole table."""
        return np.asarray(self.counts.sum(axis=0) / self.people)

    @property
    def posterior(self) -> NDArray[np.float64]:
        """How frequent each value is in each class."""
        return np.asarray(self.counts / self.sizes[:, None])

    @property
    def entropies(self) -> NDArray[np.float64]:
        """The entropy of the values in each class, in nats."""
        share = self.posterior
        return np.asarray(-np.sum(share * np.log(np.where(share > 0, share, 1.0)), axis=1))


def classes_of(table: PlainTable, *, quasi_identifiers: Sequence[str], sensitive: str) -> SensitiveCounts:
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
    size = plain_tables.count_distinct(groups) * len(labels)
    counts = np.bincount(groups * len(labels) + secrets, minlength=size).reshape(-1, len(labels))
    return SensitiveCounts(counts, labels, groups, rows)
