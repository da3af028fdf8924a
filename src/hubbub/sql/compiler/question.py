"""A question as a tree of our own: whose rows it reads, what it keeps of each, and what it adds up over people.

    Question                    keys, outputs over aggregates, HAVING, ORDER BY, LIMIT: what is told, with noise
    └── source: Item, Item ...  tables and subqueries, joined
        ├── Scan                a declared table
        └── Rows                a subquery that stays inside one person: a selection, or one row per person (and keys)

Every private item carries the person its rows belong to. Whatever happens below a Question depends on one person's
rows and on public tables alone; that is checked when the tree is built (``resolve.py``), not when it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from hubbub.relations import Expr
from hubbub.relations.nodes import Frame
from hubbub.schema import Table


@dataclass(frozen=True, slots=True)
class Scan:
    """A declared table."""

    table: Table

    @property
    def private(self) -> bool:
        """Whether its rows are about people."""
        return not self.table.public

    @property
    def cap(self) -> int | None:
        """The declared number of rows of one person."""
        return self.table.max_rows_per_unit


@dataclass(frozen=True, slots=True)
class Field:
    """A named output of a subquery."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Subquery:
    """A subquery inside one person; ``keys`` is None for a selection, else one row per person and keys."""

    source: tuple[Item, ...]
    fields: tuple[Field, ...]
    where: Expr | None = None
    keys: tuple[Expr, ...] | None = None
    having: Expr | None = None
    distinct: bool = False
    private: bool = True
    cap: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A table or subquery in FROM; ``on`` joins it to those before it, which for private ones includes the person."""

    alias: str
    rows: Scan | Subquery
    how: str = "from"  # from | inner | left
    on: Expr | None = None
    at_most: int | None = None  # so many rows of one person take part, where rows multiply
    unique_by: str = ""  # a declared key of the table, which is made unique


@dataclass(frozen=True, slots=True)
class Aggregated:
    """What an aggregate does: its function, whether of distinct values, and the quantile asked for."""

    function: str  # count | sum | avg | var_pop | var_samp | stddev_pop | stddev_samp | quantile | min | max
    distinct: bool = False
    quantile: object = None

    def words(self) -> str:
        """The aggregate in fixtures."""
        parts = [self.function, *(["distinct"] if self.distinct else [])]
        return " ".join([*parts, *([str(float(self.quantile))] if self.quantile is not None else [])])  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Windowed:
    """A window inside one person: function, how many of the arguments are its own, and the order of the rest."""

    function: str
    arguments: int
    descending: tuple[bool, ...]
    alias: str  # whose person and rows it runs over
    running: bool = True
    nulls_first: tuple[bool, ...] = ()  # of each part of the order
    frame: Frame | None = None  # so many rows around each, by their places

    @property
    def is_positional(self) -> bool:
        """Whether rows that are equal in the order may get different values."""
        return self.frame is not None or self.function in ("row_number", "lag", "lead", "ntile")

    def words(self) -> str:
        """The window in fixtures."""
        return f"{self.function} by person of {self.alias}"


@dataclass(frozen=True, slots=True)
class SemiJoin:
    """EXISTS over rows of the same person (``outer`` names whose) or over public rows (``outer`` is empty)."""

    source: tuple[Item, ...]
    where: Expr | None
    outer: str

    def words(self) -> str:
        """The condition in fixtures."""
        names = ", ".join(item.alias for item in self.source)
        same = f" of the person of {self.outer}" if self.outer else ""
        return f"rows of {names}{same}" + (f" where {self.where.words()}" if self.where else "")


@dataclass(frozen=True, slots=True)
class Ordering:
    """One part of ORDER BY."""

    value: Expr
    descending: bool
    nulls_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked about people: aggregates by keys, and what is done with the noisy result."""

    source: tuple[Item, ...]
    keys: tuple[Field, ...]
    outputs: tuple[Field, ...]  # over ("aggregate", ...), ("key", i) and literals
    where: Expr | None = None
    having: Expr | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    cap: int | None = None
    levels: tuple[tuple[int, ...], ...] = ()  # grouping sets: which keys each keeps; empty for plain GROUP BY
    one_level: bool = False  # of totals that are asked for level by level
    today: date | None = None  # what CURRENT_DATE is, if it is asked for


@dataclass(frozen=True, slots=True)
class UnionOfQuestions:
    """UNION ALL of questions: their answers one below the other."""

    parts: tuple[Question, ...]
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0


def person(items: tuple[Item, ...]) -> str:
    """The alias of the first private item, whose person every row of the join belongs to; empty if all are public."""
    return next((item.alias for item in items if item.rows.private), "")
