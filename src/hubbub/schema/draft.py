"""Descriptors written for owners: a draft with blanks to fill in, and a whole one from facts that are known.

A draft is made from names and types alone. What must be decided by a person is a question mark behind a ``#``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from fractions import Fraction

from hubbub.schema.declared_cells import PRIVATE
from hubbub.schema.descriptor import typed_bound
from hubbub.schema.source_files import Headless, InDatabase, is_csv
from hubbub.schema.tables import Column, Dataset, Kind, Table, Value
from hubbub.terms import Budget, OutOfRange

_BARE = re.compile(r"[A-Za-z0-9_-]+")

_QUESTIONS = """\
# What is public about {name}: drafted from names and types; no row was read.
# Where there is a question mark, fill it in and take away the # at the start of the line. Lines that you do not
# need can stay as they are: then nothing is declared there. Decide from what you know, not from looking at rows.
#
# Two questions come first:
#   1. Who is protected?                          -> unit, in [privacy] and in each table
#   2. How many rows can one of them have?        -> max_rows_per_unit, in each table; further rows do not count
"""

_PRIVACY = """\
[privacy]
# unit = ?                               # 1. a column that tells people apart, "table.column"; or "row": each row alone
# budget = { epsilon = ?, delta = ? }    # what may be spent in all; delta well below 1 / number of people
neighbours = "add-remove"                # one of them is in the data or not; or "replace": has these or other values
"""

_TABLE = """\
# unit = ?                               # 1. column with the person, "column" or { column = "table.key" }
# max_rows_per_unit = ?                  # 2. how many rows can one of them have?
# public = ?                             # true if nobody in this table needs protection, in place of 1 and 2
# key = ?                                # the column whose value no two rows share, if there is one
# rows = ?                               # about how many rows there are, if that is public
"""

_HEADER = """\
# header = ?                             # true if the first line names the columns; else their names: ["...", "..."]
"""

_BLANKS = {
    Kind.BOOLEAN: "{ values = [true, false] }",
    Kind.INTEGER: "{ lower = ?, upper = ?, step = 1, why = ? }",
    Kind.NUMBER: "{ lower = ?, upper = ?, step = ?, why = ? }",
    Kind.TEXT: "{ values = [?], why = ? }",
    Kind.DATE: "{ lower = ?, upper = ?, why = ? }",
    Kind.TIMESTAMP: "{ lower = ?, upper = ?, why = ? }",
    Kind.OPAQUE: '{ type = "opaque" }',
}
_HINTS = {
    Kind.BOOLEAN: "true or false",
    Kind.INTEGER: "whole number",
    Kind.NUMBER: "number; step is the grid of sums",
    Kind.TEXT: 'text; if it holds numbers or dates: type = "number", lower = ?, upper = ?',
    Kind.DATE: "date, without quotes",
    Kind.TIMESTAMP: "date and time, without quotes, with a T between them",
    Kind.OPAQUE: "can be the unit, and nothing else",
}


def draft(
    name: str,
    schemas: Mapping[str, Sequence[tuple[str, Kind]]],
    *,
    source: str | Mapping[str, str] = "",
    engine: str = "duckdb",
) -> str:
    """A descriptor with blanks, from the names and types of the columns; it is refused until who is protected is said.

    ``source`` is the database that the tables live in, or a file for each table.

    >>> print(draft("survey", {"answers": [("age", Kind.INTEGER)]}).splitlines()[-1])
    # age = { lower = ?, upper = ?, step = 1, why = ? }    # whole number
    """
    head = {"name": name, "engine": engine, "source": source if isinstance(source, str) else ""}
    declared = "[declared]\n# by = ?                                 # who answers for this, and why\n# why = ?\n"
    files = {} if isinstance(source, str) else source
    tables = (_blank_table(table, columns, files.get(table, "")) for table, columns in schemas.items())
    comment = _QUESTIONS.format(name=quoted(name))
    return "\n".join([comment, _header_toml("[dataset]", head), declared, _PRIVACY, *tables])


def _blank_table(name: str, columns: Sequence[tuple[str, Kind]], source: str) -> str:
    head = _header_toml(f"[tables.{key_of(name)}]", {"source": source}) + (_HEADER if is_csv(source) else "")
    lines = [head + _TABLE, f"[tables.{key_of(name)}.columns]"]
    lines += [f"# {key_of(column)} = {_BLANKS[kind]}    # {_HINTS[kind]}" for column, kind in columns]
    return "\n".join(lines) + "\n"


def from_dataset(dataset: Dataset) -> str:
    """The descriptor of a dataset: read and completed again, it says the same.

    A table that was given in memory has no source to write; a dataset without a budget gets a blank for it.
    """
    head = {
        "name": dataset.name,
        "engine": dataset.engine,
        "version": dataset.version,
        "source": _common_database(dataset),
    }
    parts = [_header_toml("[dataset]", head), _privacy_toml(dataset)]
    if dataset.facts:
        parts.insert(1, "[declared]\n" + "".join(f"{key_of(k)} = {quoted(v)}\n" for k, v in dataset.facts.items()))
    return "\n".join([*parts, *(_table_toml(table, dataset) for table in dataset.tables)])


def _common_database(dataset: Dataset) -> str:
    inside = [(table.name, table.source) for table in dataset.tables if isinstance(table.source, InDatabase)]
    databases = {source.path for _, source in inside}
    renamed = dataset.engine != "postgres" and any(name != source.table for name, source in inside)
    if len(databases) > 1 or renamed:
        raise OutOfRange(
            "the tables live in several databases, or under other names than here.",
            why="A descriptor names one database, and its tables by the names that they have there.",
            fix="Write a descriptor for each database, and keep the names of its tables.",
        )
    return next(iter(databases), "")


def _privacy_toml(dataset: Dataset) -> str:
    pairs = {"population": dataset.population, "unit": dataset.unit or "row", "neighbours": dataset.neighbours.value}
    text = _header_toml("[privacy]", pairs)
    text += "# budget = { epsilon = ?, delta = ? }\n" if dataset.budget is None else budget_toml(dataset.budget)
    return text + (f"ledger = {quoted(dataset.ledger)}\n" if dataset.ledger else "")


def budget_toml(budget: Budget) -> str:
    """The line of a descriptor that says a budget."""
    parts = {"epsilon": budget.epsilon, "rho": budget.rho, "delta": budget.delta or None}
    inside = ", ".join(f"{name} = {toml(number)}" for name, number in parts.items() if number is not None)
    return f"budget = {{ {inside} }}\n"


def _table_toml(table: Table, dataset: Dataset) -> str:
    source = table.source
    names = source.names if isinstance(source, Headless) else ()
    if isinstance(source, InDatabase):
        source = "" if source.table == table.name else source.table
    elif isinstance(source, Headless):
        source = source.path
    text = _header_toml(
        f"[tables.{key_of(table.name)}]", {"source": source if isinstance(source, str) else "", "key": table.key}
    )
    text += f"header = [{', '.join(map(quoted, names))}]\n" if names else ""
    if table.link is not None and table.name != dataset.unit.partition(".")[0]:
        link = table.link
        far = (
            f"{{ {key_of(link.column)} = {quoted(f'{link.table}.{link.key}')} }}" if link.table else quoted(link.column)
        )
        text += f"unit = {far}\n"
    numbers = {"max_rows_per_unit": table.max_rows_per_unit, "rows": table.rows}
    text += "".join(f"{name} = {number}\n" for name, number in numbers.items() if number is not None)
    text += "public = true\n" if table.public else ""
    text += f"why = {quoted(table.why)}\n" if table.why else ""
    columns = "".join(f"{key_of(column.name)} = {{ {', '.join(_column_toml(column))} }}\n" for column in table.columns)
    return text + f"[tables.{key_of(table.name)}.columns]\n{columns}"


def _column_toml(column: Column) -> Iterator[str]:
    yield f"type = {quoted(column.kind.value)}"
    for name in ("lower", "upper"):
        if (bound := getattr(column, name)) is not None:
            yield f"{name} = {toml(typed_bound(bound, column.kind))}"
    if column.step is not None:
        yield f"step = {toml(column.step / 1_000_000 if column.kind is Kind.TIMESTAMP else column.step)}"
    if column.values is not None:
        yield f"values = [{', '.join(map(toml, column.values))}]"
    for name in ("max_per_unit", "max_rows_per_unit"):
        if (most := getattr(column, name)) is not None:
            yield f"{name} = {most}"
    yield from _publishing_toml(column)
    if column.why:
        yield f"why = {quoted(column.why)}"


def _publishing_toml(column: Column) -> Iterator[str]:
    """How a column is published, as far as it is declared."""
    if column.privately is not None:
        yield f'{column.privately.value} = "{PRIVATE}"'
    if column.bins is not None:
        yield f"bins = {column.bins}"
    if column.missing:
        yield "missing = true"
    if column.other is not None:
        yield f"other = {toml(column.other)}"
    if column.surrogate is not None:
        yield f"key = {quoted(column.surrogate)}"
    if column.sensitive:
        yield "sensitive = true"


# ---------------------------------------------------------------- TOML


def _header_toml(header: str, pairs: Mapping[str, str]) -> str:
    """A header and the texts under it; empty ones are left out."""
    return f"{header}\n" + "".join(f"{key} = {quoted(value)}\n" for key, value in pairs.items() if value)


def quoted(words: str) -> str:
    """A text as TOML writes it."""
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")


def key_of(name: str) -> str:
    """A key as TOML writes it."""
    return name if _BARE.fullmatch(name) else quoted(name)


def toml(value: Value | Fraction) -> str:
    """A value as TOML writes it: exact, and a ratio in quotes where there is no decimal.

    >>> toml(Fraction(1, 8)), toml(Fraction(1, 3)), toml(date(2025, 1, 31)), toml(True)
    ('0.125', '"1/3"', '2025-01-31', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Fraction):
        text = exact_decimal(value)
        return quoted(text) if "/" in text else text
    return repr(value)


def exact_decimal(number: Fraction) -> str:
    """The number in full: as a decimal if it has one, else as a ratio."""
    rest, places = number.denominator, 0
    while rest % 10 == 0:
        rest, places = rest // 10, places + 1
    for prime in (2, 5):
        while rest % prime == 0:
            rest, places = rest // prime, places + 1
    if rest != 1:
        return f"{number.numerator}/{number.denominator}"
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    point = len(digits) - places
    return "-" * (number < 0) + digits[:point] + ("." + digits[point:] if places else "")
