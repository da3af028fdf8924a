"""What is public about a dataset: tables, columns, bounds, keys, and whom a row belongs to.

Everything the planner and the preview see is here. It is declared by the owner or read from a schema (names and
types), never from rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any

from hubbub.terms import Budget, MissingParameter, Neighbours, UnknownName

Value = bool | int | float | str | date | datetime  # a public key or a literal; float only where it is no integer


class Kind(StrEnum):
    """The types that a query can speak of."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"
    OPAQUE = "opaque"  # lists, structs, blobs: usable as the unit alone

    @property
    def is_number(self) -> bool:
        """Whether arithmetic makes sense."""
        return self in (Kind.INTEGER, Kind.NUMBER)


class Privately(StrEnum):
    """What of a column is found privately, and paid for, where somebody needs it."""

    BOUNDS = "bounds"
    VALUES = "values"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """What an owner declares of a column, beside its kind and bounds: the same words for every room.

    ``values`` are the public keys. ``max_per_unit`` is how many different values of this column one person has at
    most, and ``max_rows_per_unit`` how many rows with any one value of it. ``bins``, ``missing`` and ``other`` say how
    it is cut into cells where it is published: into so many parts; with a cell for missing numbers and dates; and what
    stands for everything that is not on the list. ``surrogate`` says that it names people or things, which are made
    up anew with this prefix. ``privately`` says what is to be found, as nobody declares it. ``sensitive`` is what
    outsiders must not learn.
    """

    name: str
    values: tuple[Value, ...] | None = None
    max_per_unit: int | None = None
    max_rows_per_unit: int | None = None
    bins: int | None = None
    other: Value | None = None
    missing: bool = False
    surrogate: str | None = None
    privately: Privately | None = None
    sensitive: bool = False
    why: str = ""

    def facts(self) -> dict[str, Any]:
        """All of them by name, for another class of columns."""
        return {each.name: getattr(self, each.name) for each in fields(ColumnFacts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(ColumnFacts):
    """One column and what is declared of it.

    ``lower`` and ``upper`` count in the column's own units; of a date, in days since 1970-01-01, of a timestamp, in
    microseconds since then. ``step`` is the grid on which it is summed.
    """

    kind: Kind
    lower: Fraction | None = None
    upper: Fraction | None = None
    step: Fraction | None = None
    from_text: bool = False  # the source has text there, which is read as the kind
    native: str = field(default="", compare=False, repr=False)  # the source's own type, where it is known


@dataclass(frozen=True, slots=True)
class PersonLink:
    """From a row to a person: ``column`` holds a value of ``table.key``; no table if it is the unit itself."""

    column: str
    table: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table: where it is, whose rows it holds, and what is declared of its columns.

    ``link`` leads to the person (None: a public table, or every row is a unit by itself). ``max_rows_per_unit`` caps
    one person's rows. ``rows`` is a public hint of the number of rows, for previews of averages. ``key`` is the
    column whose value no two rows share.
    """

    name: str
    source: object = field(default="", repr=False, compare=False)  # may be a table in memory: never shown
    identity: str = field(default="", repr=False, compare=False)  # what tells this source from others: never shown
    columns: tuple[Column, ...]
    link: PersonLink | None = None
    key: str = ""
    max_rows_per_unit: int | None = None
    rows: int | None = None
    public: bool = False
    prepared: bool = False  # it carries each row's rank and number of rows within its person
    why: str = ""

    def column(self, name: str) -> Column | None:
        """The column of that name, whatever its case, as in SQL."""
        wanted = name.lower()
        return next((column for column in self.columns if column.name.lower() == wanted), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Everything public about a dataset; ``unit`` is empty if every row is protected by itself."""

    name: str
    population: str
    unit: str
    budget: Budget | None
    tables: tuple[Table, ...]
    engine: str = "duckdb"
    version: str = "1"
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    ledger: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)  # who declared it, when: for `describe`

    def table(self, name: str) -> Table | None:
        """The table of that name, whatever its case."""
        wanted = name.lower()
        return next((table for table in self.tables if table.name.lower() == wanted), None)

    def fingerprint(self) -> dict[str, str | dict[str, str]]:
        """What makes a question one about these data and no others: declared facts, and where the rows come from.

        Nothing is computed from rows or files. Data that changed in their place are others from the next version on.
        The types of the sources are not in it: a double here and an integer there are alike.
        """
        return {
            "dataset": self.name,
            "version": self.version,
            "unit": self.unit,
            "neighbours": self.neighbours.value,
            "sources": {table.name: table.identity for table in self.tables},
        }


def is_reserved(name: str) -> bool:
    """Whether a name is kept for the columns that plans add; engines look at no case."""
    return name.lower().startswith("_hb_")


def choose_table(dataset: Dataset, name: str | None) -> Table:
    """The table of that name, or the only one about people: for whoever reads one table of a dataset."""
    if name is not None:
        table = dataset.table(name)
        if table is None:
            raise UnknownName(
                f"there is no table {name!r}.",
                why="Only what the source has can be read.",
                fix=f"Use one of: {', '.join(each.name for each in dataset.tables)[:300]}.",
            )
        return table
    private = [table for table in dataset.tables if not table.public]
    if len(private) == 1:
        return private[0]
    raise MissingParameter(
        f"the dataset has {len(private)} tables about people.",
        why="One of them is read.",
        fix=f"Write --table {private[0].name if private else 'NAME'}.",
    )
