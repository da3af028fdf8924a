"""Rows: tables, conditions, named expressions, windows and joins; each keeps to one person's rows at a time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from hubbub.relations import limits
from hubbub.relations.expressions import Expr, literal
from hubbub.relations.nodes.relation import (
    PERSON,
    STORED,
    NamedValue,
    OutputColumn,
    Relation,
    columns_under,
    named_columns,
)
from hubbub.relations.person import TableOwner
from hubbub.schema import Column, Kind, Table, Value


class JoinKind(StrEnum):
    """Which rows a join gives."""

    INNER = "inner"
    LEFT = "left"
    SEMI = "semi"  # rows of the left that meet one
    ANTI = "anti"  # rows of the left that meet none


_HALVES = (JoinKind.SEMI, JoinKind.ANTI)


class FanOut(StrEnum):
    """How many rows of one person a join can make of those that are there."""

    TO_ONE = "to one"  # a row meets at most one other: as many as there were
    TO_MANY = "to many"  # a row of the right meets at most one of the left: as many as the right has
    PRODUCT = "product"  # all against all of one person
    PUBLIC = "public"  # every row of a public table


@dataclass(frozen=True)
class TableScan(Relation):
    """A declared table: the person, and the named columns, each as the type of its kind; a value or NULL, always.

    ``unique`` gives one row for each value of a public table's key, which owners may have repeated by mistake.
    """

    table: Table
    names: tuple[str, ...]
    owner: TableOwner | None = None
    stored: tuple[str, ...] = ()  # columns of a prepared copy
    unique: bool = False

    @cached_property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The person, the columns that are read, and those of the copy."""
        whom = [] if self.owner is None else [OutputColumn(PERSON, STORED[self.owner.kind])]
        read = [OutputColumn(each.name, STORED[each.kind]) for each in self.declared]
        return (*whom, *read, *(OutputColumn(name, STORED[Kind.INTEGER]) for name in self.stored))

    @cached_property
    def declared(self) -> list[Column]:
        """The columns that are read."""
        columns = [self.table.column(name) for name in self.names]
        return [column for column in columns if column is not None]


@dataclass(frozen=True)
class SourceTable(Relation):
    """A table as the engine sees it, for its owner: columns by the kind of their own types, and nobody's rows yet."""

    name: str
    kinds: tuple[tuple[str, Kind], ...]

    @cached_property
    def columns(self) -> tuple[OutputColumn, ...]:
        """All of them."""
        return tuple(OutputColumn(name, STORED[kind]) for name, kind in self.kinds)


@dataclass(frozen=True)
class Values(Relation):
    """Public rows, written out."""

    names: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    @cached_property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The names, each with the longest value below it."""
        longest = [max(values, key=lambda value: len(str(value))) for values in zip(*self.rows, strict=True)]
        return tuple(OutputColumn(name, literal(value)) for name, value in zip(self.names, longest, strict=True))


@dataclass(frozen=True)
class Alias(Relation):
    """A relation under the name by which expressions speak of it."""

    input: Relation
    name: str

    @cached_property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The same, under the name."""
        return columns_under(self.name, self.input.columns)

    @property
    def rows_per_person(self) -> int | None:
        """As many as there are."""
        return self.input.rows_per_person


# ---------------------------------------------------------------- row by row


@dataclass(frozen=True)
class Filter(Relation):
    """The rows for which all conditions hold."""

    input: Relation
    conditions: tuple[Expr, ...]

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The same."""
        return self.input.columns

    @property
    def rows_per_person(self) -> int | None:
        """No more than there were."""
        return self.input.rows_per_person


@dataclass(frozen=True)
class Project(Relation):
    """Named expressions of each row; the person goes along."""

    input: Relation
    outputs: tuple[NamedValue, ...]
    distinct: bool = False

    @cached_property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The person and the expressions."""
        return named_columns(self.outputs, self.input.person)

    @property
    def rows_per_person(self) -> int | None:
        """No more than there were."""
        return self.input.rows_per_person


@dataclass(frozen=True)
class PlainRows(Project):
    """Rows that leave as rows, without the person: for the owner's own copies, and models that are fitted to them."""

    @cached_property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The expressions."""
        return named_columns(self.outputs)


@dataclass(frozen=True)
class Window(Project):
    """The same with functions over the other rows, which must be those of the same person."""

    def __post_init__(self) -> None:
        person = self.input.person
        assert person is not None, "a window runs over one person's rows"
        for output in self.outputs:
            for part in _windows_in(output.value):
                own = part.param.arguments
                assert person.reference in part.args[own : own + part.param.partition], "the person is in PARTITION BY"


def _windows_in(value: Expr) -> list[Expr]:
    inside = [part for arg in value.args for part in _windows_in(arg)]
    return [value, *inside] if value.op == "over" else inside


@dataclass(frozen=True)
class JoinRows(Relation):
    """Rows of two relations that meet; if both are about people, of the same person, whatever ``on`` says."""

    left: Relation
    right: Relation
    on: tuple[Expr, ...]
    fan_out: FanOut
    kind: JoinKind = JoinKind.INNER
    public_rows: int = 1  # of a public table that every row meets

    def __post_init__(self) -> None:
        meets_all = self.fan_out not in (FanOut.TO_ONE, FanOut.TO_MANY) and self.kind not in _HALVES
        if meets_all and self._is_private() and self.left.rows_per_person is self.right.rows_per_person is None:
            raise limits.over(
                "how many rows one person can have in this join is not known.",
                "Each row of a person would meet all others of that person, and their number has no limit.",
                "Declare max_rows_per_unit for the tables, or join by a declared key.",
            )

    @cached_property
    def columns(self) -> tuple[OutputColumn, ...]:
        """Those of the sides whose rows go on."""
        return self.left.columns if self.kind in _HALVES else (*self.left.columns, *self.right.columns)

    @cached_property
    def rows_per_person(self) -> int | None:
        """By how many rows each one meets; of a left join also those that meet none."""
        left, right = self.left.rows_per_person, self.right.rows_per_person
        if self.kind in _HALVES:
            return left
        if not self._is_private():
            rows = left if self.right.person is None else right
            return None if rows is None else rows * (self.public_rows if self.fan_out is FanOut.PUBLIC else 1)
        if self.fan_out is FanOut.TO_ONE:
            return left
        if self.fan_out is FanOut.TO_MANY and self.kind is JoinKind.INNER:
            return right
        if left is None or right is None:
            return None
        return left + right if self.fan_out is FanOut.TO_MANY else left * right

    def _is_private(self) -> bool:
        """Whether both sides are about people."""
        return self.left.person is not None and self.right.person is not None
