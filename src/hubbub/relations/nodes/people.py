"""One person's rows together: aggregates, ranks and caps, all within a person."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from hubbub.relations.expressions import Expr
from hubbub.relations.nodes.relation import (
    PERSON,
    PLACE,
    RANK,
    STORED,
    NamedValue,
    OutputColumn,
    Relation,
    columns_under,
    named_columns,
)
from hubbub.schema import Kind


@dataclass(frozen=True)
class PersonAggregate(Relation):
    """One row for each person and each value of the keys; ``key_values`` if these are held to so many."""

    input: Relation
    keys: tuple[Expr, ...]
    outputs: tuple[NamedValue, ...]
    having: Expr | None = None
    key_values: int | None = None

    @cached_property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The person and the expressions."""
        return named_columns(self.outputs, self.input.person)

    @cached_property
    def rows_per_person(self) -> int | None:
        """One for each value of the keys that the person has."""
        known = [rows for rows in (self.input.rows_per_person, self.key_values) if rows is not None]
        return min(known, default=None) if self.keys else 1


@dataclass(frozen=True)
class Rank(Relation):
    """Each row's place within its person (and the values of ``within``), by a keyed hash of its own content, and then
    by that content: it depends on this person's rows alone. ``dense`` ranks values instead of rows."""

    input: Relation
    content: tuple[Expr, ...]
    secret: str = field(repr=False)
    within: tuple[str, ...] = ()
    name: str = PLACE
    dense: bool = False
    ties: tuple[Expr, ...] | None = None  # what tells rows apart, where that is more than the content

    def __post_init__(self) -> None:
        assert self.input.person is not None, "rows are ranked within a person"

    @cached_property
    def columns(self) -> tuple[OutputColumn, ...]:
        """All that there were, and the rank."""
        return (*self.input.columns, OutputColumn(self.name, STORED[Kind.INTEGER]))

    @property
    def rows_per_person(self) -> int | None:
        """As many as there were."""
        return self.input.rows_per_person


@dataclass(frozen=True)
class Cap(Relation):
    """At most so many rows of each person, chosen by ``Rank``; with keys, in each of at most ``most_keys`` of them.

    ``each_key`` counts rows by key; of keys whose number has no limit, ``most_keys`` is None.
    """

    input: Relation
    most: int
    content: tuple[str, ...]
    secret: str = field(repr=False)
    keys: tuple[str, ...] = ()
    most_keys: int | None = None
    each_key: bool = False
    inline: bool = False  # the input is cheap to read twice
    outputs: tuple[str, ...] | None = None  # the columns that go on; rows may be ranked by more

    def __post_init__(self) -> None:
        assert self.input.person is not None, "rows are counted within a person"

    @cached_property
    def columns(self) -> tuple[OutputColumn, ...]:
        """Those that go on."""
        kept = None if self.outputs is None else (PERSON, *self.outputs)
        return columns_under("", [each for each in self.input.columns if kept is None or each.name in kept])

    @property
    def rows_per_person(self) -> int | None:
        """As many as are allowed, in all keys that are."""
        keys = self.most_keys if self.each_key else 1
        return None if keys is None else keys * self.most


@dataclass(frozen=True)
class StoredCap(Relation):
    """At most so many rows of each person, by the ranks of a prepared copy."""

    input: Relation
    most: int

    def __post_init__(self) -> None:
        assert any(column.name == RANK for column in self.input.columns), "the copy holds ranks"

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The same."""
        return self.input.columns

    @property
    def rows_per_person(self) -> int:
        """As many as are allowed."""
        return self.most
