"""Relation nodes: what an engine is to compute, from tables to integers, with bounds that hold whatever the rows are.

Every node says its columns (name, kind, largest size), the column that holds the person whose rows they are, and how
many rows of one person it has at most. ``None`` is "not bounded". What is added up over people (``Aggregate``) must be
bounded, and where rows multiply (``JoinRows``) one side must be, so that no work grows with the square of one person's
rows: a tree for which that cannot be shown cannot be made. Nothing here is text: ``printer`` writes a tree in an
engine's words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hubbub.relations.expressions import Expr, ValueFacts
from hubbub.relations.text_work import largest_bytes
from hubbub.schema import Kind

PERSON = "_hb_u"  # names that begin so are reserved: no declared column has one
RANK, NUMBER = "_hb_rank", "_hb_rows"  # what `prepare` stores with each row
PLACE, KEY_PLACE = "_hb_r", "_hb_g"  # a row's rank among its person's, and its key's
FACTS = {kind: ValueFacts(kind=kind) for kind in Kind}  # of a column of which nothing but the kind matters
STORED = {kind: Expr("column", facts=facts) for kind, facts in FACTS.items()}  # what a column of a table holds


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of a relation: its name, what it holds, and the name of the relation that it is read from."""

    name: str
    value: Expr
    alias: str = ""

    @property
    def reference(self) -> Expr:
        """The column in an expression."""
        return Expr("column", param=(self.alias, self.name), facts=FACTS[self.value.facts.kind])

    @property
    def largest_bytes(self) -> int:
        """How many bytes a value takes at most."""
        return largest_bytes(self.value)


@dataclass(frozen=True, slots=True)
class NamedValue:
    """An expression with the name of the column that it becomes."""

    name: str
    value: Expr


@dataclass(frozen=True)
class Relation(ABC):
    """What every node says."""

    @property
    @abstractmethod
    def columns(self) -> tuple[OutputColumn, ...]:
        """Its columns."""

    @property
    def rows_per_person(self) -> int | None:
        """How many rows one person has in it at most."""
        return None

    @cached_property
    def person(self) -> OutputColumn | None:
        """The column that says whose rows these are; None where they are nobody's."""
        return next((column for column in self.columns if column.name == PERSON), None)

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


def columns_under(alias: str, columns: Sequence[OutputColumn]) -> tuple[OutputColumn, ...]:
    """The same columns of a relation that is named so."""
    return tuple(OutputColumn(column.name, column.value, alias) for column in columns)


def named_columns(outputs: Sequence[NamedValue], person: OutputColumn | None = None) -> tuple[OutputColumn, ...]:
    """The columns of named expressions, after the person that goes along."""
    named = tuple(OutputColumn(each.name, each.value) for each in outputs)
    return named if person is None else (OutputColumn(PERSON, person.value), *named)
