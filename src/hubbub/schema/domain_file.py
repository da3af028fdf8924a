"""The domain file: the columns of one table by themselves, one line of TOML for each.

age    = { lower = 17, upper = 90, bins = 20 }          # whole numbers: bounds without a point
weight = { lower = 30.0, upper = 200.0 }                # numbers
job    = { values = ["baker", "nurse"], other = "rest" }
born   = { lower = 1930-01-01, upper = 2010-12-31 }     # days
id     = { key = "person" }                             # names: made up anew, never copied
gain   = { bounds = "private" }                         # found, from the same budget
town   = { values = "private" }

A line says what it says under ``[tables.<name>.columns]`` of a descriptor, with one difference: without a ``type``,
numbers are whole if both bounds, or all values, are written without a point.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import NoReturn

from hubbub.schema.declared import DeclaredColumn
from hubbub.schema.declared_columns import check_bounds, read_column
from hubbub.schema.tables import Column, Kind
from hubbub.schema.toml_positions import TomlTable, TomlText

_WHY = "Each line of the file says what may stand in one column."
_FIX = "See the page on descriptors for the forms of a line."


@dataclass(frozen=True, slots=True)
class DeclaredColumns:
    """The columns that a file declares, and where they stand in it."""

    columns: tuple[Column, ...]
    text: TomlText

    def refuse(self, name: str, problem: str) -> NoReturn:
        """Refuse a column, at its line."""
        self.text.refuse((name,), f"the column {name!r} cannot be used: {problem}.", why=_WHY, fix=_FIX, key=True)


def read_columns(file: str | Path) -> DeclaredColumns:
    """The columns that a domain file declares."""
    text = TomlText.read(file, called="domain file", why=_WHY, fix="Check the path.")
    root = TomlTable(text, (), text.load())
    return DeclaredColumns(tuple(_columns_in(root)), text)


def _columns_in(root: TomlTable) -> Iterator[Column]:
    for name, section in root.sections():
        line = _as_in_descriptor(section)
        declared = read_column(line, name)
        if not _is_one_day(declared):
            check_bounds(line, declared)
        if not _has_domain(declared):
            root.refuse(name, f"{name} needs lower and upper, values, bounds or key.", why=_WHY, fix=_FIX, key=True)
        yield declared.of_kind(_column_kind(section, declared))


def _has_domain(column: DeclaredColumn) -> bool:
    facts = (column.values, column.lower, column.privately, column.surrogate)
    return column.kind is Kind.BOOLEAN or any(fact is not None for fact in facts)


def _is_one_day(column: DeclaredColumn) -> bool:
    """A column of dates may be a single day: nothing can be summed in it, and yet it is a cell."""
    return isinstance(column.lower, date) and column.lower == column.upper


def _column_kind(section: TomlTable, column: DeclaredColumn) -> Kind:
    """Whole numbers are those that are written without a point, unless the line says otherwise."""
    kind = column.kind or column.implied or Kind.TEXT
    bounded = kind.is_number and column.values is None
    if "whole" in section.content and not (bounded and column.kind is None):
        section.refuse(
            "whole",
            f"whole says nothing of {column.name}.",
            why="It says of numbers between bounds whether they are whole; a type, or a list, says so itself.",
            fix="Leave it out.",
            key=True,
        )
    if column.kind is not None or not kind.is_number:
        return kind
    ends = [section.content.get("lower"), section.content.get("upper")]
    written = section.content.get("values", ends) if column.privately is None else [None]
    plain = isinstance(written, list) and all(isinstance(number, int) for number in written)
    whole = section.flag("whole") if "whole" in section.content else plain
    return Kind.INTEGER if whole else Kind.NUMBER


def _as_in_descriptor(section: TomlTable) -> TomlTable:
    """The line without what only such files say: ``whole``, and times and texts as bounds of days."""
    content = {key: value for key, value in section.content.items() if key != "whole"}
    ends = [key for key in ("lower", "upper") if key in content]
    if any(isinstance(content[key], date) for key in ends):
        content |= {key: _as_day(content[key]) for key in ends}
    return replace(section, content=content)


def _as_day(bound: object) -> object:
    if isinstance(bound, datetime):
        return bound.date()
    with suppress(ValueError):
        return date.fromisoformat(bound) if isinstance(bound, str) else bound
    return bound
