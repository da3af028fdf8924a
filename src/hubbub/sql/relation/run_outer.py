"""Runs an outer statement: once on the released tables, and over many copies of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from hubbub.engines import EngineFailed, ReleasedTable, ReleasedTables, Unbindable
from hubbub.relations import limits
from hubbub.sql.relation.copies import Floats, InnerTables, as_number
from hubbub.sql.relation.outer_statements import (
    ANSWER,
    COPY,
    PLACE,
    WORLD,
    OuterStatements,
    copied_sql,
    is_number,
    outer_statements,
)
from hubbub.sql.relation.public_names import is_cut_by_noise, noise_decides, public_names
from hubbub.terms import NoAnswer, NotAllowed

_KEY_TYPES = ("BOOLEAN", "BIGINT", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP")


@dataclass(frozen=True, slots=True)
class Worlds:
    """What a statement gives in each world: by world, row of the answer and column; NaN where it has no such value."""

    values: Floats  # worlds x rows looked at x columns
    present: NDArray[np.bool_]  # worlds x all rows
    others: NDArray[np.int64]  # rows in each world that the answer does not have


class OuterRun:
    """An outer statement over the tables of some inner releases, in a place of its own."""

    def __init__(self, outer: exp.Query, tables: InnerTables, place: ReleasedTables) -> None:
        self.tables, self._place = tables, place
        self.public = public_names(outer, public=tables.public_names, noisy=tables.noisy_names)
        self.outer = outer
        self.statements: OuterStatements = outer_statements(outer)
        self.decides = noise_decides(self.statements.whole, self.public)
        self.is_cut_by_noise = is_cut_by_noise(outer, self.public)
        self._chosen: NDArray[np.intp] | None = None

    # ------------------------------------------------------------ before anything is charged

    def check(self) -> None:
        """Refuse a statement that does not fit the tables, whatever will be in them."""
        try:
            for table in self.tables.shape_tables():
                self._place.add(table)
            self._place.describe(self.outer.sql(dialect="duckdb"))
        except Unbindable as error:
            raise NotAllowed(
                "the statement around the private questions does not fit their columns.",
                why=f"The place where it runs, which holds no row, says: {error.words}",
                fix="Read columns by the names that the inner SELECT gives them, and nothing else was charged.",
            ) from None

    # ------------------------------------------------------------ afterwards

    def fill(self) -> None:
        """The released tables."""
        for table in self.tables.released_tables():
            self._place.add(table)

    @cached_property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Name and type of each column that was asked for."""
        return self._place.describe(self.outer.sql(dialect="duckdb"))

    @cached_property
    def rows(self) -> list[tuple[Any, ...]]:
        """The answer, with the columns that were added behind those that were asked for."""
        return self._rows(self.statements.shown)

    def _rows(self, tree: exp.Query) -> list[tuple[Any, ...]]:
        try:
            rows = self._place.rows(tree.sql(dialect="duckdb"), most=limits.RELEASED_ROWS)
        except EngineFailed:
            raise _no_outer_answer() from None
        if len(rows) > limits.RELEASED_ROWS:
            raise limits.over(
                f"the statement around the private questions gives more than {limits.RELEASED_ROWS:,} rows.",
                "Their answers are stored, and free to ask again; what is made of them must fit into memory.",
                "Join on a key, or aggregate.",
            )
        return rows

    @cached_property
    def all_columns(self) -> tuple[tuple[str, str], ...]:
        """The same of ``whole``, with the columns that were added."""
        return self._place.describe(self.statements.whole.sql(dialect="duckdb"))

    @cached_property
    def whole_rows(self) -> list[tuple[Any, ...]]:
        """The rows of ``whole``: those shown, and those that noisy values left out."""
        return self._rows(self.statements.whole) if self.statements.is_cut else self.rows

    @cached_property
    def keys(self) -> tuple[int, ...] | None:
        """The columns that tell the rows of ``whole`` apart; None if nothing does."""
        public = [i for i, (name, kind) in enumerate(self.all_columns) if _names_rows(name, kind, self.public)]
        rows = [tuple(row[i] for i in public) for row in self.whole_rows]
        return tuple(public) if len(set(rows)) == len(rows) else None

    @cached_property
    def shown_places(self) -> list[int | None]:
        """Where the rows that are shown stand among all."""
        if self.keys is None:
            return [None] * len(self.rows)
        at = {tuple(row[i] for i in self.keys): place for place, row in enumerate(self.whole_rows)}
        return [at.get(tuple(row[i] for i in self.keys)) for row in self.rows]

    # ------------------------------------------------------------ rows that are looked at

    def look_at(self, could_be_shown: NDArray[np.bool_]) -> None:
        """From now on values are of these rows alone, and of those that are shown."""
        chosen = could_be_shown.copy()
        chosen[[place for place in self.shown_places if place is not None]] = True
        self._chosen = np.flatnonzero(chosen)

    @property
    def looked_at(self) -> NDArray[np.intp]:
        """The places of the rows whose values are worked out: at first all."""
        return np.arange(len(self.whole_rows)) if self._chosen is None else self._chosen

    def shown_cells(self) -> list[int | None]:
        """Where the rows that are shown stand among those that are looked at."""
        at = {int(place): cell for cell, place in enumerate(self.looked_at)}
        return [None if place is None else at[place] for place in self.shown_places]

    def number_columns(self) -> tuple[int, ...]:
        """The columns of ``whole`` that hold numbers, days or moments."""
        return tuple(i for i, (_, kind) in enumerate(self.all_columns) if is_number(kind))

    def ratio_columns(self) -> list[tuple[int, int, int]]:
        """Columns of ``whole`` that divide: (the column, what is over, what is under)."""
        visible = len(self.columns)
        listed = self.outer.expressions
        stars = [place for place, each in enumerate(listed) if each.find(exp.Star, exp.Columns)]
        wider = visible - len(listed)
        if len(stars) > 1 or (wider and not stars):
            return []
        return [
            (
                ratio.place + (wider if stars and ratio.place > stars[0] else 0),
                visible + ratio.top,
                visible + ratio.bottom,
            )
            for ratio in self.statements.ratios
        ]

    def in_worlds(self, worlds: Floats, *, shown: bool = False) -> Worlds:
        """What the statement gives in each of these worlds; ``shown`` is what was asked, else ``whole``."""
        assert self.keys is not None
        values = tuple((i, self.all_columns[i][1]) for i in self.number_columns())
        tree = self.statements.shown if shown else self.statements.whole
        sql = copied_sql(tree, columns=len(self.all_columns), keys=self.keys, values=values)
        self._add_answer()
        for table in self.tables.copied_tables(worlds):
            self._place.add(table)
        self._place.add(ReleasedTable(WORLD, ((COPY, "BIGINT"),), (np.arange(len(worlds)),)))
        at, place, *numbers = self._place.arrays(sql)
        return self._by_world(at, place, numbers, len(worlds))

    def agrees(self, worlds: Worlds) -> bool:
        """Whether the first world, which is the released one, has the rows and numbers that ran by themselves."""
        rows = [self.whole_rows[place] for place in self.looked_at]
        known = [[as_number(row[i]) for i in self.number_columns()] for row in rows]
        alone = np.array(known, dtype=np.float64).reshape(worlds.values[0].shape)
        same_rows = bool(worlds.present[0].all()) and not worlds.others[0]
        return same_rows and np.allclose(worlds.values[0], alone, rtol=1e-9, atol=1e-9, equal_nan=True)

    def _add_answer(self) -> None:
        """The rows that copies are compared with, by their keys alone."""
        assert self.keys is not None
        kinds = [self.all_columns[i][1] for i in self.keys]
        columns = [(PLACE, "BIGINT"), *((f"k{i}", kind) for i, kind in enumerate(kinds))]
        values: list[Sequence[object]] = [list(range(len(self.whole_rows)))]
        values += [[row[i] for row in self.whole_rows] for i in self.keys]
        self._place.add(ReleasedTable(ANSWER, tuple(columns), tuple(values)))

    def _by_world(self, at: Floats, place: Floats, numbers: Sequence[Floats], count: int) -> Worlds:
        size = len(self.whole_rows)
        known = ~np.isnan(place.astype(np.float64))
        world, row = at[known].astype(np.int64), place[known].astype(np.int64)
        present = np.zeros((count, size), dtype=bool)
        present[world, row] = True
        cell = np.full(size, -1)
        cell[self.looked_at] = np.arange(len(self.looked_at))
        looked = known.copy()
        looked[known] = cell[row] >= 0
        world, row = at[looked].astype(np.int64), cell[place[looked].astype(np.int64)]
        values = np.full((count, len(self.looked_at), len(numbers)), np.nan)
        for i, column in enumerate(numbers):
            values[world, row, i] = column[looked].astype(np.float64)
        others = np.bincount(at[~known].astype(np.int64), minlength=count)
        return Worlds(values, present, others.astype(np.int64))


def _names_rows(name: str, kind: str, public: frozenset[str]) -> bool:
    """Whether a column is public and can be compared."""
    return name.lower() in public and kind in _KEY_TYPES


def _no_outer_answer() -> NoAnswer:
    return NoAnswer(
        "the statement around the private questions gave no answer, though the questions did.",
        why="It failed on the released numbers, or needs more time or memory than there is.",
        fix="Change what stands around them and ask again at the same price: the questions are stored, and free.",
    )
