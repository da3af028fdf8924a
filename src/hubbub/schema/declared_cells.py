"""What a line says about publishing a column, checked: its cells, its names, and what is found privately."""

from __future__ import annotations

from typing import NoReturn

from hubbub.schema.declared import DeclaredColumn, sort_of
from hubbub.schema.tables import Privately, Value
from hubbub.schema.toml_positions import TomlTable

PRIVATE = "private"
_CELLS = ("values", "bounds", "bins", "missing", "other", "sensitive")  # what a column of names has not


def found_privately(section: TomlTable) -> Privately | None:
    """What is to be found: bounds = "private", or values = "private"."""
    if section.content.get("bounds", PRIVATE) != PRIVATE:
        section.refuse(
            "bounds",
            'bounds must be "private".',
            why="Bounds are public, or they are found privately and paid for.",
            fix='Write lower = ..., upper = ..., or bounds = "private".',
        )
    return next((each for each in Privately if section.content.get(each.value) == PRIVATE), None)


def check_cells(section: TomlTable, column: DeclaredColumn) -> None:
    """Refuse what cannot hold of one column at once."""
    given = section.content
    if column.surrogate is not None:
        for key in _CELLS:
            if key in given:
                _refuse_both(section, key, "key", "names of people or things are made up anew and have no cells")
    if column.privately is not None:
        for key in ("lower", "upper", *(each.value for each in Privately if each is not column.privately)):
            if key in given:
                _refuse_both(section, key, column.privately.value, "what is declared need not be found")
    _check_parts(section, column)
    _check_other(section, column)


def _check_parts(section: TomlTable, column: DeclaredColumn) -> None:
    """Bins and a cell for the missing belong to numbers and dates."""
    listed = column.values is not None or column.privately is Privately.VALUES
    for key in ("bins", "missing"):
        if key not in section.content:
            continue
        if listed:
            _refuse_both(section, key, "values", "a list has a cell for each value, and one for the rest")
        if column.lower is None and column.privately is None:
            section.refuse(
                key,
                f"{key} of {column.name} needs bounds.",
                why="Cells of numbers and dates lie between two bounds.",
                fix='Add lower = ..., upper = ..., or bounds = "private".',
                key=True,
            )


def _check_other(section: TomlTable, column: DeclaredColumn) -> None:
    if column.other is None:
        return
    listed: tuple[Value, ...] | None = ("",) if column.privately is Privately.VALUES else column.values
    if listed is None or sort_of(column.other) != sort_of(listed[0]):
        section.refuse(
            "other",
            f"other of {column.name} {'needs a list of values' if listed is None else 'is of another kind'}.",
            why="It stands in one column with the values, for whatever is not on the list.",
            fix="Write it as the values are written, or leave it out: then the rest is missing.",
        )


def _refuse_both(section: TomlTable, key: str, other: str, why: str) -> NoReturn:
    section.refuse(
        key,
        f"{key} cannot stand beside {other}.",
        why=f"Both speak of one column: {why}.",
        fix=f"Leave one of them out: {key} or {other}.",
        key=True,
    )
