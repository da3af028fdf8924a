"""Relation nodes: what an engine is to compute, from tables to integers, with bounds that hold whatever the rows are.

Every node knows, from the moment it is made, its columns (name, kind, largest size), the column that holds the person
whose rows they are, and how many rows of one person it has at most. ``None`` is "not bounded". What is added up over
people (``Aggregate``) must be bounded, and where rows multiply (``JoinRows``) one side must be, so that no work grows
with the square of one person's rows: a tree for which that cannot be shown cannot be made. Nothing here is text:
``printer`` writes a tree in an engine's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hubbub.relations.expressions import Expr, ValueFacts
from hubbub.relations.text_work import largest_bytes
from hubbub.schema import Kind

PERSON = "_hb_u"  # names that begin so are ours: no declared column has one
RANK, NUMBER = "_hb_rank", "_hb_rows"  # what `prepare` stores with each row
PLACE, KEY_PLACE = "_hb_r", "_hb_g"  # a row's rank among its person's, and its key's
_FACTS = {kind: ValueFacts(kind=kind) for kind in Kind}  # of a column of which nothing but the kind matters
BYTES = {kind: largest_bytes(Expr("column", facts=facts)) for kind, facts in _FACTS.items()}


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of a relation: its name, its kind, how many bytes a value takes at most, and the input it is of."""

    name: str
    kind: Kind
    largest_bytes: int
    alias: str = ""

    @property
    def reference(self) -> Expr:
        """The column in an expression."""
        return Expr("column", param=(self.alias, self.name), facts=_FACTS[self.kind])

    def under(self, alias: str) -> OutputColumn:
        """The same column of a relation that is named so."""
        return OutputColumn(self.name, self.kind, self.largest_bytes, alias)


@dataclass(frozen=True, slots=True)
class NamedValue:
    """An expression with the name of the column that it becomes."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Relation:
    """What every node has."""

    columns: tuple[OutputColumn, ...] = field(init=False, compare=False, repr=False)
    person: OutputColumn | None = field(init=False, compare=False, repr=False)
    rows_per_person: int | None = field(init=False, compare=False, repr=False)

    @property
    def row_bytes(self) -> int:
        """How many bytes a row takes at most."""
        return sum(column.largest_bytes for column in self.columns)

    def column(self, name: str) -> Expr:
        """A column of this relation, as an expression over it."""
        for column in self.columns:
            if column.name == name:
                return column.reference
        raise KeyError(name)

    def _set(self, columns: Sequence[OutputColumn], rows: int | None) -> None:
        owners = [column for column in columns if column.name == PERSON]
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "person", owners[0] if owners else None)
        object.__setattr__(self, "rows_per_person", rows)


def person_and(input: Relation, outputs: Sequence[NamedValue]) -> list[OutputColumn]:
    """The columns of named expressions, after the person that an input has."""
    columns = [OutputColumn(each.name, each.value.kind, largest_bytes(each.value)) for each in outputs]
    if input.person is not None:
        columns.insert(0, input.person.under(""))
    return columns
