"""What is compared, whatever it is: something that knows how many rows each combination of cells has."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hubbub.engines import arrow_of
from hubbub.publish.anonymize.anonymized_table import Anonymized
from hubbub.publish.anonymize.hierarchies import Hierarchy
from hubbub.publish.cells import Codes
from hubbub.publish.marginal_counts import CodedRows, Columns
from hubbub.publish.metrics.comparison_cells import ComparisonCells, is_rows
from hubbub.publish.metrics.generalized_values import Floats, cell_shares, spread_values
from hubbub.publish.synthetic.release import Synthetic
from hubbub.publish.tables.published import Published
from hubbub.publish.unread_table import readable_rows
from hubbub.schema import FrameLike
from hubbub.terms import NotANumber, OutOfRange

if TYPE_CHECKING:
    import pyarrow

Numbers = np.ndarray[Any, Any]


class Candidate(ABC):
    """A table as the metrics see it: how many rows it has, and how many in each cell of a marginal."""

    @property
    @abstractmethod
    def total(self) -> float:
        """How many rows there are."""

    @abstractmethod
    def counts(self, columns: Columns) -> Numbers:
        """How many rows each combination of coarse cells of these columns has."""

    @property
    def codes(self) -> Codes | None:
        """The rows themselves, where there are any."""
        return None

    def shares(self, columns: Columns) -> Floats:
        """The same as shares of all rows."""
        counts = np.maximum(np.asarray(self.counts(columns), dtype=np.float64), 0.0)
        return np.asarray(counts / max(counts.sum(), 1e-300))


@dataclass(frozen=True, eq=False)
class RowTable(Candidate):
    """Rows of cells."""

    rows: CodedRows
    _kept: dict[Columns, Numbers] = field(default_factory=dict, repr=False)

    @property
    def total(self) -> float:
        return float(len(self.rows.codes))

    @property
    def codes(self) -> Codes | None:
        return self.rows.codes

    def counts(self, columns: Columns) -> Numbers:
        if columns not in self._kept:
            self._kept[columns] = self.rows.count(columns)
        return self._kept[columns]


@dataclass(frozen=True, eq=False)
class CountTables(Candidate):
    """Tables of counts. What no table has is put together from smaller ones, as if these were independent."""

    tables: Mapping[Columns, Floats]
    sizes: tuple[int, ...]

    @property
    def total(self) -> float:
        return float(np.mean([table.sum() for table in self.tables.values()]))

    def counts(self, columns: Columns) -> Numbers:
        known, rest = self._largest(columns), columns
        if known is None:
            return np.full([self.sizes[c] for c in columns], self.total / math.prod(self.sizes[c] for c in columns))
        rest = tuple(c for c in columns if c not in known)
        table = self._projected(known)
        if not rest:
            return table
        both = np.multiply.outer(table, self.shares(rest))
        order = [*known, *rest]
        return both.transpose([order.index(c) for c in columns])

    def _largest(self, columns: Columns) -> Columns | None:
        """The largest part of these columns that some table has."""
        parts = [tuple(c for c in columns if c in table) for table in self.tables]
        best = max(parts, key=len, default=())
        return best or None

    def _projected(self, columns: Columns) -> Floats:
        table_columns = next(table for table in self.tables if set(columns) <= set(table))
        gone = tuple(axis for axis, column in enumerate(table_columns) if column not in columns)
        return np.asarray(self.tables[table_columns].sum(axis=gone))


@dataclass(frozen=True, eq=False)
class Independent(Candidate):
    """A table with the single columns of another, independent of each other."""

    of: Candidate

    @property
    def total(self) -> float:
        return self.of.total

    def counts(self, columns: Columns) -> Numbers:
        counts = np.ones(())
        for column in columns:
            counts = np.multiply.outer(counts, self.of.shares((column,)))
        return self.total * counts


CandidateTable: TypeAlias = FrameLike | Synthetic | Anonymized | Published


def candidate_of(
    given: CandidateTable, cells: ComparisonCells, *, name: str, hierarchies: Mapping[str, Hierarchy]
) -> Candidate:
    """Something that was made to be handed out, over the compared cells."""
    if isinstance(given, Published):
        return _count_tables(given, cells, name)
    if isinstance(given, Synthetic):
        given = given.table
    coarse: tuple[str, ...] = ()
    if isinstance(given, Anonymized):
        coarse, given = given.quasi_identifiers, given.table
    if not is_rows(given):
        raise NotANumber(
            f"{name!r} is a {type(given).__name__}, which is no table.",
            why="Compared are tables, and what synthesize, mondrian, full_domain and marginals give.",
            fix="Give such a result, or a pandas, Polars or Arrow table.",
        )
    table = arrow_of(given)
    cells.check(table.schema, called=repr(name))
    table = readable_rows(table)
    return RowTable(CodedRows(_candidate_codes(table, cells, coarse, hierarchies), cells.sizes))


def _candidate_codes(
    table: pyarrow.Table, cells: ComparisonCells, coarse: tuple[str, ...], hierarchies: Mapping[str, Hierarchy]
) -> Codes:
    columns = []
    for (name, coding), group in zip(cells.codings.items(), cells.groups, strict=True):
        fine = (
            spread_values(table[name], coding, hierarchies.get(name)) if name in coarse else coding.encode(table[name])
        )
        columns.append(group[fine])
    return np.stack(columns, axis=1)


def _count_tables(given: Published, cells: ComparisonCells, name: str) -> CountTables:
    """Tables of counts over the coarse cells: each printed cell is spread over those that it covers."""
    tables = {}
    for table in given.tables.values():
        named = [column for column in table.column_names if column in cells.names]
        if len(named) == len(table.column_names) - 3:  # all but count, noisy and margin
            columns = tuple(cells.names.index(column) for column in named)
            tables[tuple(sorted(columns))] = _count_tensor(table, named, cells).transpose(np.argsort(columns))
    if not tables:
        raise OutOfRange(
            f"no table of {name!r} is about the compared columns alone.",
            why="Tables are compared column by column.",
            fix=f"The compared columns are {', '.join(cells.names)}.",
        )
    return CountTables(tables, cells.sizes)


def _count_tensor(table: pyarrow.Table, named: list[str], cells: ComparisonCells) -> Floats:
    words = [list(dict.fromkeys(table[column].to_pylist())) for column in named]
    counts = np.asarray(table["count"], dtype=np.float64).reshape([len(each) for each in words])
    for axis, (column, texts) in enumerate(zip(named, words, strict=True)):
        coding, group = cells.codings[column], cells.groups[cells.names.index(column)]
        share_rows = np.array([cell_shares(None if text is None else str(text), coding, None) for text in texts])
        coarse = np.zeros((len(texts), int(group.max()) + 1))
        np.add.at(coarse.T, group, share_rows.T)
        counts = np.moveaxis(np.tensordot(counts, coarse, axes=(axis, 0)), -1, axis)
    return counts
