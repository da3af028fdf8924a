"""Who is attacked: one row per person, what outsiders may know of people, and the secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.relations import DIALECTS, stored_column
from hubbub.schema import Column, Dataset, Kind, Table
from hubbub.terms import Unsuitable

if TYPE_CHECKING:
    import pyarrow

    from hubbub.engines import Engine

_KNOWABLE = (Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN, Kind.DATE)


@dataclass(frozen=True, slots=True)
class TargetSecret:
    """The yes-or-no that nobody should learn: a column and one of its values."""

    column: str
    value: object

    @property
    def condition(self) -> str:
        """As SQL writes it."""
        return f"{quote_name(self.column)} = {sql_literal(self.value)}"


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The table under attack as its owner sees it."""

    dataset: Dataset
    table: Table
    person: str
    known: tuple[str, ...]
    secret: TargetSecret
    people: pyarrow.Table  # one row per person
    everybody: int  # rows with the secret, of all people and all their rows
    rows: int  # of all people
    reading: str = ""  # what stands before a question to the engine, so that columns are read as declared

    @property
    def ids(self) -> list[Any]:
        """The people, in the order of the rows."""
        ids: list[Any] = self.people[self.person].to_pylist()
        return ids

    @property
    def truth(self) -> Any:
        """Who has the secret: 0 or 1 for each row."""
        return np.array([value == self.secret.value for value in self.people[self.secret.column].to_pylist()], np.int8)

    @property
    def keyed(self) -> tuple[Column, ...]:
        """Columns other than the secret whose values are public and few."""
        columns = [column for column in self.table.columns if column.name in _keyed_names(self.table)]
        return tuple(column for column in columns if column.name not in {self.person, self.secret.column})

    def victim(self) -> dict[str, Any] | None:
        """What is known of the first person whom it fits alone; None if nobody is alone."""
        rows = list(zip(*(self.people[name].to_pylist() for name in self.known), strict=True))
        counts: dict[tuple[Any, ...], int] = {}
        for row in rows:
            counts[row] = counts.get(row, 0) + 1
        alone = next((row for row in rows if counts[row] == 1 and None not in row), None)
        return None if alone is None else dict(zip(self.known, alone, strict=True))


def choose_target(
    dataset: Dataset, engine: Engine, *, table: str | None, known: Sequence[str], secret: str | None, value: str | None
) -> Target:
    """The target in a dataset: what is not said is taken from the declared columns, and reported."""
    chosen = _choose_table(dataset, table)
    person = chosen.link.column if chosen.link is not None else ""
    if not person:
        raise Unsuitable(
            f"the rows of {chosen.name!r} have no column that tells people apart.",
            why="The attacks ask about people by that column, as an insider could.",
            fix="Declare the unit as a column, or choose another table with --table.",
        )
    hidden = _choose_secret(chosen, person, secret)
    outside = _known_columns(chosen, person, hidden.name, known)
    wanted = _choose_value(hidden, value)
    reading = _as_declared(engine, chosen)
    columns = (*dict.fromkeys((*outside, *_keyed_names(chosen), hidden.name)),)
    people = _read_people(engine, reading, chosen, person, columns)
    if not people.num_rows:
        raise Unsuitable(
            f"there is nobody in {chosen.name!r}.",
            why="Every attack is about people.",
            fix="Choose another table with --table.",
        )
    text = (
        f"SELECT COUNT(*) FILTER (WHERE {wanted.condition}), COUNT({quote_name(person)}) FROM {quote_name(chosen.name)}"  # noqa: S608
    )
    everybody, rows = engine.rows(reading + text)[0]
    return Target(dataset, chosen, person, outside, wanted, people, int(everybody), int(rows), reading)


def _choose_table(dataset: Dataset, name: str | None) -> Table:
    private = [table for table in dataset.tables if not table.public]
    if name is None:
        return min(private, key=lambda table: table.max_rows_per_unit or 1 << 30)  # the fewest rows per person
    named = dataset.table(name)
    if named is None or named.public:
        raise Unsuitable(
            f"there is no private table {name!r}.",
            why="An attack is about people whose rows are protected.",
            fix=f"One of {', '.join(table.name for table in private)}.",
        )
    return named


def _choose_secret(table: Table, person: str, name: str | None) -> Column:
    """The column named; or a sensitive one; or the last with public values: identifiers tend to come first."""
    if name is not None:
        named = table.column(name)
        if named is not None and named.values:
            return named
    else:
        listed = [column for column in reversed(table.columns) if column.values and column.name != person]
        if listed:
            return next((column for column in listed if column.sensitive), listed[0])
    raise Unsuitable(
        f"{name!r} is no column with declared values." if name else f"no column of {table.name!r} has declared values.",
        why="A secret is one of a column's public values.",
        fix="Declare values for the column that must stay secret, and name it with --secret.",
    )


def _choose_value(column: Column, text: str | None) -> TargetSecret:
    assert column.values
    if text is None:
        return TargetSecret(column.name, column.values[0])
    match = next((value for value in column.values if text in _value_spellings(value)), None)
    if match is None:
        raise Unsuitable(
            f"{text!r} is no declared value of {column.name!r}.",
            why="A secret is one of a column's public values.",
            fix=f"One of {', '.join(map(str, column.values))}.",
        )
    return TargetSecret(column.name, match)


def _value_spellings(value: object) -> tuple[str, ...]:
    """A value as it may be typed: yes or no as Python and as descriptors write them."""
    return (str(value), str(value).lower()) if isinstance(value, bool) else (str(value),)


def _known_columns(table: Table, person: str, secret: str, names: Sequence[str]) -> tuple[str, ...]:
    """The columns named, or all that an acquaintance may know: text, whole numbers, yes or no, dates.

    What is declared as sensitive they do not know, and names are not published.
    """
    if not names:
        knowable = [column for column in table.columns if column.kind in _KNOWABLE and not column.sensitive]
        apart = {person, secret, table.key}
        names = [column.name for column in knowable if column.surrogate is None and column.name not in apart]
    columns = [table.column(name) for name in names]
    if not columns or None in columns:
        raise Unsuitable(
            f"{table.name!r} lacks one of the columns that outsiders know.",
            why="Linkage and k-anonymity are about such columns.",
            fix=f"Name some of {', '.join(column.name for column in table.columns)} with --known.",
        )
    return tuple(column.name for column in columns if column is not None)


def _keyed_names(table: Table) -> list[str]:
    return [column.name for column in table.columns if column.values and 2 <= len(column.values) <= 64]


def _as_declared(engine: Engine, table: Table) -> str:
    """The table under its own name with text read as what was declared of it, as every private question reads it: a
    CSV file has nothing but text."""
    dialect, texts = DIALECTS[engine.dialect], [column for column in table.columns if column.from_text]
    if not texts:
        return ""
    cells = {column.name: stored_column(quote_name(column.name), column, dialect) for column in texts}
    named = ", ".join(f"{cell} AS {quote_name(name)}" for name, cell in cells.items())
    own = quote_name(table.name)
    return f"WITH {own} AS (SELECT * REPLACE ({named}) FROM main.{own}) "  # noqa: S608


def _read_people(engine: Engine, reading: str, table: Table, person: str, columns: Sequence[str]) -> pyarrow.Table:
    """One row of each person, by the owner's right to look: the least in the order of its values."""
    import pyarrow as pa

    names = list(dict.fromkeys((person, *columns)))
    listed = ", ".join(map(quote_name, names))
    order, unit = ", ".join(quote_name(name) for name in names[1:]), quote_name(person)
    text = (
        f"SELECT {listed} FROM (SELECT {listed}, ROW_NUMBER() OVER (PARTITION BY {unit} ORDER BY {order}) "  # noqa: S608
        f"AS r FROM {quote_name(table.name)} WHERE {unit} IS NOT NULL) WHERE r = 1 ORDER BY {unit}"
    )
    rows = engine.rows(reading + text)
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})


def quote_name(name: str) -> str:
    """A column or table as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def sql_literal(value: object) -> str:
    """A value as SQL writes it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"
