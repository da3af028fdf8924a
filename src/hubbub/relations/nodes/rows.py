"""Rows: tables, conditions, named expressions, windows and joins; each keeps to one person's rows at a time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hubbub.relations import limits
from hubbub.relations.expressions import Expr, kind_of
from hubbub.relations.nodes.relation import BYTES, PERSON, NamedValue, OutputColumn, Relation, person_and
from hubbub.relations.person import TableOwner
from hubbub.relations.text_work import largest_bytes
from hubbub.schema import Column, Kind, Table, Value


class JoinKind(StrEnum):
    """Which rows a join gives."""

    INNER = "inner"
    LEFT = "left"
    SEMI = "semi"  # rows of the left that meet one
    ANTI = "anti"  # rows of the left that meet none


class FanOut(StrEnum):
    """How many rows of one person a join can make of those that are there."""

    TO_ONE = "to one"  # a row meets at most one other: as many as there were
    TO_MANY = "to many"  # a row of the right meets at most one of the left: as many as the right has
    PRODUCT = "product"  # all against all of one person
    PUBLIC = "public"  # every row of a public table


@dataclass(frozen=True, slots=True)
class TableScan(Relation):
    """A declared table: the person, and the named columns, each as the type of its kind; a value or NULL, always.

    ``unique`` gives one row for each value of a public table's key, which owners may have repeated by mistake.
    """

    table: Table
    names: tuple[str, ...]
    owner: TableOwner | None = None
    stored: tuple[str, ...] = ()  # columns of a prepared copy
    unique: bool = False

    def __post_init__(self) -> None:
        columns = [OutputColumn(each.name, each.kind, BYTES[each.kind]) for each in self.declared]
        columns += [OutputColumn(name, Kind.INTEGER, BYTES[Kind.INTEGER]) for name in self.stored]
        if self.owner is not None:
            kind = self.owner.kind
            columns.insert(0, OutputColumn(PERSON, kind, BYTES[kind]))
        self._set(columns, None)

    @property
    def declared(self) -> list[Column]:
        """The columns that are read."""
        columns = [self.table.column(name) for name in self.names]
        return [column for column in columns if column is not None]


@dataclass(frozen=True, slots=True)
class SourceTable(Relation):
    """A table as the engine sees it, for its owner: columns by the kind of their own types, and nobody's rows yet."""

    name: str
    kinds: tuple[tuple[str, Kind], ...]

    def __post_init__(self) -> None:
        self._set([OutputColumn(name, kind, BYTES[kind]) for name, kind in self.kinds], None)


@dataclass(frozen=True, slots=True)
class Values(Relation):
    """Public rows, written out."""

    names: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        kinds = [kind_of(value) for value in self.rows[0]]
        sizes = [max(len(str(row[place]).encode()) for row in self.rows) for place in range(len(self.names))]
        self._set([OutputColumn(*each) for each in zip(self.names, kinds, sizes, strict=True)], None)


@dataclass(frozen=True, slots=True)
class Alias(Relation):
    """A relation under the name by which expressions speak of it."""

    input: Relation
    name: str

    def __post_init__(self) -> None:
        self._set([column.under(self.name) for column in self.input.columns], self.input.rows_per_person)


# ---------------------------------------------------------------- row by row


@dataclass(frozen=True, slots=True)
class Filter(Relation):
    """The rows for which all conditions hold."""

    input: Relation
    conditions: tuple[Expr, ...]

    def __post_init__(self) -> None:
        self._set(self.input.columns, self.input.rows_per_person)


@dataclass(frozen=True, slots=True)
class Project(Relation):
    """Named expressions of each row; the person goes along."""

    input: Relation
    outputs: tuple[NamedValue, ...]
    distinct: bool = False

    def __post_init__(self) -> None:
        self._set(person_and(self.input, self.outputs), self.input.rows_per_person)


@dataclass(frozen=True, slots=True)
class PlainRows(Project):
    """Rows that leave as rows, without the person: for the owner's own copies, and models that are fitted to them."""

    def __post_init__(self) -> None:
        columns = [OutputColumn(each.name, each.value.kind, largest_bytes(each.value)) for each in self.outputs]
        self._set(columns, self.input.rows_per_person)


@dataclass(frozen=True, slots=True)
class Window(Project):
    """The same with functions over the other rows, which must be those of the same person."""

    def __post_init__(self) -> None:
        Project.__post_init__(self)
        person = self.input.person
        assert person is not None, "a window runs over one person's rows"
        for output in self.outputs:
            for part in _windows_in(output.value):
                own = part.param.arguments
                assert person.reference in part.args[own : own + part.param.partition], "the person is in PARTITION BY"


def _windows_in(value: Expr) -> list[Expr]:
    inside = [part for arg in value.args for part in _windows_in(arg)]
    return [value, *inside] if value.op == "over" else inside


@dataclass(frozen=True, slots=True)
class JoinRows(Relation):
    """Rows of two relations that meet; if both are about people, of the same person, whatever ``on`` says."""

    left: Relation
    right: Relation
    on: tuple[Expr, ...]
    fan_out: FanOut
    kind: JoinKind = JoinKind.INNER
    public_rows: int = 1  # of a public table that every row meets

    def __post_init__(self) -> None:
        sides = (self.left,) if self.kind in (JoinKind.SEMI, JoinKind.ANTI) else (self.left, self.right)
        columns = [column for side in sides for column in side.columns]
        self._set(columns, _joined_rows(self))


def _joined_rows(join: JoinRows) -> int | None:
    """How many rows of one person there are at most."""
    left, right = join.left, join.right
    if join.kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left.rows_per_person
    if left.person is None or right.person is None:
        rows = left.rows_per_person if right.person is None else right.rows_per_person
        return None if rows is None else rows * (join.public_rows if join.fan_out is FanOut.PUBLIC else 1)
    if join.fan_out is FanOut.TO_ONE:
        return left.rows_per_person
    if join.fan_out is FanOut.TO_MANY and join.kind is JoinKind.INNER:
        return right.rows_per_person
    return _product_rows(left.rows_per_person, right.rows_per_person, adds=join.fan_out is FanOut.TO_MANY)


def _product_rows(left: int | None, right: int | None, *, adds: bool) -> int | None:
    """The rows of all against all, or of both together where each row of the right meets one of the left at most."""
    if left is None and right is None and not adds:
        raise limits.over(
            "how many rows one person can have in this join is not known.",
            "Each row of a person would meet all others of that person, and their number has no limit.",
            "Declare max_rows_per_unit for the tables, or join by a declared key.",
        )
    if left is None or right is None:
        return None
    return left + right if adds else left * right
