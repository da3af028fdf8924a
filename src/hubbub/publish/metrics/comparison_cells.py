"""The columns that are compared, cut into public cells that are coarse enough to hold more than chance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hubbub.publish.cells import Codes, Coding
from hubbub.publish.domains import Domain, SurrogateKey, is_private
from hubbub.publish.marginal_counts import Columns
from hubbub.publish.tables.noisy_counts import public_cells
from hubbub.terms import EmptyInput, MissingParameter, OutOfRange

if TYPE_CHECKING:
    import pyarrow

_MOST_TABLES = 300  # marginals of one width that are looked at; of more, a fixed choice
_MOST_CELLS = 1 << 15  # of one marginal


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonCells:
    """For each compared column its declared cells (``codings``) and the coarse cell of each of these (``groups``)."""

    codings: Mapping[str, Coding]
    groups: tuple[Codes, ...]

    @classmethod
    def of(cls, codings: Mapping[str, Coding], *, bins: int) -> ComparisonCells:
        """Numbers and dates in at most ``bins`` coarse cells; lists of values as they are."""
        if not codings:
            raise EmptyInput(
                "there is no column to compare.",
                why="Keys are made up, and say nothing.",
                fix="Declare at least one column as Numeric, Categorical or Date.",
            )
        return cls(codings, tuple(_coarse_cells(coding, bins) for coding in codings.values()))

    @property
    def names(self) -> list[str]:
        """The compared columns."""
        return list(self.codings)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many coarse cells each column has."""
        return tuple(int(group.max()) + 1 for group in self.groups)

    def encode(self, table: pyarrow.Table) -> Codes:
        """The coarse cell of each row in each column."""
        columns = [group[coding.encode(table[name])] for (name, coding), group in self._parts()]
        return np.stack(columns, axis=1)

    def check(self, schema: pyarrow.Schema, *, called: str) -> None:
        """Refuse a table without the compared columns."""
        missing = [name for name in self.names if name not in schema.names]
        if missing:
            raise OutOfRange(
                f"{called} has no column {missing[0]!r}.",
                why="Tables are compared column by column.",
                fix=f"The compared columns are {', '.join(self.names)}.",
            )

    def marginals(self, width: int) -> list[Columns]:
        """The combinations of ``width`` columns that are compared: all, or a fixed choice of very many."""
        sizes = self.sizes
        column_sets = [
            columns
            for columns in itertools.combinations(range(len(sizes)), width)
            if math.prod(sizes[c] for c in columns) <= _MOST_CELLS
        ]
        if len(column_sets) <= _MOST_TABLES:
            return column_sets
        chosen = np.random.default_rng(width).choice(len(column_sets), _MOST_TABLES, replace=False)  # public, and fixed
        return [column_sets[place] for place in sorted(chosen)]

    def _parts(self) -> list[tuple[tuple[str, Coding], Codes]]:
        return list(zip(self.codings.items(), self.groups, strict=True))


def declared_cells(schema: pyarrow.Schema, domain: Domain | None, *, unit: str | None) -> dict[str, Coding]:
    """The cells of all columns that are no keys, from public declarations alone."""
    if not isinstance(domain, Mapping):
        raise MissingParameter(
            "comparing needs domain=.",
            why="The cells in which tables are compared are public facts; they are not read off the rows.",
            fix='Write domain={"age": Numeric(lower=0, upper=99), ...}, or compare what synthesize(...) gave.',
        )
    names = [name for name, column in domain.items() if not isinstance(column, SurrogateKey) and name != unit]
    undeclared = [name for name in names if is_private(domain[name])]
    if undeclared:
        raise MissingParameter(
            f"the domain of {undeclared[0]!r} is to be found privately, which comparing does not do.",
            why="The cells in which tables are compared are public facts.",
            fix="Declare bounds or values, or compare what synthesize(...) gave: it knows the domain that it paid for.",
        )
    return public_cells(schema, names, domain)


def _coarse_cells(coding: Coding, bins: int) -> Codes:
    """The coarse cell of each declared one; the missing keep a cell of their own."""
    real = coding.cells - coding.missing
    if not coding.ordered or real <= bins:
        return np.arange(coding.cells)
    groups = np.arange(real) * bins // real
    return np.append(groups, bins) if coding.missing else groups


def tables_of(names: Sequence[str], columns: Columns) -> str:
    """A marginal as people write it."""
    return " x ".join(names[c] for c in columns)


def is_rows(given: object) -> bool:
    """Whether something is a table of rows in memory."""
    import pyarrow

    return isinstance(given, pyarrow.Table) or hasattr(given, "__arrow_c_stream__") or hasattr(given, "to_arrow")
