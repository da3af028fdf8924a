"""One person's rows together: aggregates, ranks and caps, all within a person."""

from __future__ import annotations

from dataclasses import dataclass, field

from hubbub.relations.expressions import Expr
from hubbub.relations.nodes.relation import PERSON, PLACE, RANK, NamedValue, OutputColumn, Relation, person_and
from hubbub.schema import Kind


@dataclass(frozen=True, slots=True)
class PersonAggregate(Relation):
    """One row for each person and each value of the keys; ``key_values`` if these are held to so many."""

    input: Relation
    keys: tuple[Expr, ...]
    outputs: tuple[NamedValue, ...]
    having: Expr | None = None
    key_values: int | None = None

    def __post_init__(self) -> None:
        known = [rows for rows in (self.input.rows_per_person, self.key_values) if rows is not None]
        rows = (min(known) if known else None) if self.keys else 1
        self._set(person_and(self.input, self.outputs), rows)


@dataclass(frozen=True, slots=True)
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
        self._set([*self.input.columns, OutputColumn(self.name, Kind.INTEGER, 8)], self.input.rows_per_person)


@dataclass(frozen=True, slots=True)
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
        keys = self.most_keys if self.each_key else 1
        columns = [each.under("") for each in self.input.columns if self._goes_on(each.name)]
        self._set(columns, None if keys is None else keys * self.most)

    def _goes_on(self, name: str) -> bool:
        return self.outputs is None or name == PERSON or name in self.outputs


@dataclass(frozen=True, slots=True)
class StoredCap(Relation):
    """At most so many rows of each person, by the ranks of a prepared copy."""

    input: Relation
    most: int

    def __post_init__(self) -> None:
        assert any(column.name == RANK for column in self.input.columns), "the copy holds ranks"
        self._set(self.input.columns, self.most)
