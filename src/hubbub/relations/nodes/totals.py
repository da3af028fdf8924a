"""What is made of several relations, and the integers that leave the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from hubbub.relations.nodes.relation import STORED, NamedValue, OutputColumn, Relation, columns_under
from hubbub.schema import Kind


@dataclass(frozen=True)
class UnionAll(Relation):
    """The rows of all of them, one below the other."""

    inputs: tuple[Relation, ...]
    rows: int | None = None  # of one person, where it is known that they are fewer than in all parts together

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        """Those of the first."""
        return self.inputs[0].columns

    @cached_property
    def rows_per_person(self) -> int | None:
        """All together."""
        parts = [each.rows_per_person for each in self.inputs]
        total = None if None in parts else sum(rows for rows in parts if rows is not None)
        return total if self.rows is None else self.rows


@dataclass(frozen=True)
class SharedRelation(Relation):
    """A relation that is named once and read several times."""

    name: str
    input: Relation
    materialized: bool | None = None  # None: as the engine likes

    @cached_property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The same, under the name."""
        return columns_under(self.name, self.input.columns)

    @property
    def rows_per_person(self) -> int | None:
        """As many as there are."""
        return self.input.rows_per_person


@dataclass(frozen=True)
class With(Relation):
    """A relation that reads shared ones, each of which may read those before it."""

    shared: tuple[SharedRelation, ...]
    body: Relation

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        """Those of the body."""
        return self.body.columns

    @property
    def rows_per_person(self) -> int | None:
        """Those of the body."""
        return self.body.rows_per_person


# ---------------------------------------------------------------- what leaves the engine


@dataclass(frozen=True)
class KeyedTotals(Relation):
    """Integers by key."""

    input: Relation
    keys: tuple[str, ...]
    totals: tuple[NamedValue, ...]

    @cached_property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The keys, and an integer for each total."""
        known = {column.name: column for column in self.input.columns}
        integers = (OutputColumn(total.name, STORED[Kind.INTEGER]) for total in self.totals)
        return (*columns_under("", [known[key] for key in self.keys]), *integers)


@dataclass(frozen=True)
class Aggregate(KeyedTotals):
    """Integers by key, over the rows of all people; each person has a bounded number of them."""

    def __post_init__(self) -> None:
        assert self.input.person is None or self.input.rows_per_person is not None, "one person's rows are bounded"


@dataclass(frozen=True)
class Partial(KeyedTotals):
    """A sum over rows without a bound, of which ``CapDifference`` takes the excess away. It never leaves by itself."""


@dataclass(frozen=True)
class CapDifference(KeyedTotals):
    """Integers by key over at most ``most`` rows of each person: those of all rows, less those beyond the cap.

    ``people`` gives the person of each row, cheaper than the rows themselves; it is not read where a prepared copy
    holds each person's number of rows.
    """

    people: Relation
    most: int
    content: tuple[str, ...]
    secret: str = field(repr=False)
    inline: bool = False


@dataclass(frozen=True)
class ClipTotals(Relation):
    """Integers by key, of each person's totals over the keys, scaled down to a norm in integers."""

    input: Relation
    keys: tuple[str, ...]
    norms: tuple[tuple[str, int, int], ...]  # a column, the norm in parts of a step, and the parts of one
    squared: bool  # L2, else L1
    key_values: int | None

    @cached_property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The keys, and an integer for each column that is added up."""
        known = {column.name: column for column in self.input.columns}
        integers = (OutputColumn(name, STORED[Kind.INTEGER]) for name, _, _ in self.norms)
        return (*columns_under("", [known[key] for key in self.keys]), *integers)
