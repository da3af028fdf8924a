"""What is made of several relations, and the integers that leave the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hubbub.relations.nodes.relation import BYTES, NamedValue, OutputColumn, Relation
from hubbub.schema import Kind


@dataclass(frozen=True, slots=True)
class UnionAll(Relation):
    """The rows of all of them, one below the other."""

    inputs: tuple[Relation, ...]
    rows: int | None = None  # of one person, where it is known that they are fewer than in all parts together

    def __post_init__(self) -> None:
        parts = [each.rows_per_person for each in self.inputs]
        total = None if None in parts else sum(rows for rows in parts if rows is not None)
        self._set(self.inputs[0].columns, total if self.rows is None else self.rows)


@dataclass(frozen=True, slots=True)
class SharedRelation(Relation):
    """A relation that is named once and read several times."""

    name: str
    input: Relation
    materialized: bool | None = None  # None: as the engine likes

    def __post_init__(self) -> None:
        self._set([each.under(self.name) for each in self.input.columns], self.input.rows_per_person)


@dataclass(frozen=True, slots=True)
class With(Relation):
    """A relation that reads shared ones, each of which may read those before it."""

    shared: tuple[SharedRelation, ...]
    body: Relation

    def __post_init__(self) -> None:
        self._set(self.body.columns, self.body.rows_per_person)


# ---------------------------------------------------------------- what leaves the engine


@dataclass(frozen=True, slots=True)
class Aggregate(Relation):
    """Integers by key, over the rows of all people; each person has a bounded number of them."""

    input: Relation
    keys: tuple[str, ...]
    totals: tuple[NamedValue, ...]

    def __post_init__(self) -> None:
        assert self.input.person is None or self.input.rows_per_person is not None, "one person's rows are bounded"
        self._set(_total_columns(self.input, self.keys, self.totals), None)


@dataclass(frozen=True, slots=True)
class Partial(Aggregate):
    """A sum over rows without a bound, of which ``CapDifference`` takes the excess away. It never leaves by itself."""

    def __post_init__(self) -> None:
        self._set(_total_columns(self.input, self.keys, self.totals), None)


@dataclass(frozen=True, slots=True)
class CapDifference(Relation):
    """Integers by key over at most ``most`` rows of each person: those of all rows, less those beyond the cap.

    ``people`` gives the person of each row, cheaper than the rows themselves; it is not read where a prepared copy
    holds each person's number of rows.
    """

    input: Relation
    people: Relation
    keys: tuple[str, ...]
    totals: tuple[NamedValue, ...]
    most: int
    content: tuple[str, ...]
    secret: str = field(repr=False)
    inline: bool = False

    def __post_init__(self) -> None:
        self._set(_total_columns(self.input, self.keys, self.totals), None)


@dataclass(frozen=True, slots=True)
class ClipTotals(Relation):
    """Integers by key, of each person's totals over the keys, scaled down to a norm in integers."""

    input: Relation
    keys: tuple[str, ...]
    norms: tuple[tuple[str, int, int], ...]  # a column, the norm in parts of a step, and the parts of one
    squared: bool  # L2, else L1
    key_values: int | None

    def __post_init__(self) -> None:
        totals = tuple(NamedValue(name, self.input.column(name)) for name, _, _ in self.norms)
        self._set(_total_columns(self.input, self.keys, totals), None)


def _total_columns(input: Relation, keys: Sequence[str], totals: Sequence[NamedValue]) -> list[OutputColumn]:
    known = {column.name: column for column in input.columns}
    integers = [OutputColumn(total.name, Kind.INTEGER, BYTES[Kind.INTEGER]) for total in totals]
    return [*(known[key].under("") for key in keys), *integers]
