"""Columns as a descriptor declares them: bounds, grids, values and kinds that fit together."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn

from hubbub.schema.declared import Bound, DeclaredColumn, bound_units, sort_of, step_units, value_kind
from hubbub.schema.declared_cells import PRIVATE, check_cells, found_privately
from hubbub.schema.declared_fields import choice_in, number_in
from hubbub.schema.tables import Kind, Value
from hubbub.schema.toml_positions import Path, TomlTable
from hubbub.terms import exact

COLUMN_KEYS = (
    *("type", "lower", "upper", "step", "values", "max_per_unit", "max_rows_per_unit", "why"),
    *("bounds", "bins", "missing", "other", "key", "sensitive"),
)
_ALLOWED = {
    Kind.BOOLEAN: "Write values = [true, false], and no bounds.",
    Kind.INTEGER: "Write whole numbers.",
    Kind.NUMBER: "Write numbers.",
    Kind.TEXT: 'Write values = ["...", "..."], and no bounds.',
    Kind.DATE: "Write dates, such as 2025-12-31.",
    Kind.TIMESTAMP: "Write times, such as 2025-12-31T23:59:59.",
    Kind.OPAQUE: "Leave it out.",
}


def columns_in(section: TomlTable) -> Iterator[DeclaredColumn]:
    """The columns of a table, checked."""
    seen: set[str] = set()
    for name, inside in section.sections():
        if name.lower() in seen:
            section.refuse(
                name,
                f"column {name!r} is declared twice, in small letters and in capitals.",
                why="SQL does not tell small letters from capitals.",
                fix="Declare it once.",
                key=True,
            )
        seen.add(name.lower())
        column = read_column(inside, name)
        check_bounds(inside, column)
        yield column


def read_column(section: TomlTable, name: str) -> DeclaredColumn:
    """What one line says of a column, but for the order of its bounds."""
    section.only(*COLUMN_KEYS)
    kind = Kind(choice_in(section, "type", tuple(Kind))) if "type" in section.content else None
    column = DeclaredColumn(
        name=name,
        kind=kind,
        lower=_read_bound(section, "lower"),
        upper=_read_bound(section, "upper"),
        step=number_in(section, "step"),
        values=_read_values(section),
        max_per_unit=section.count("max_per_unit"),
        max_rows_per_unit=section.count("max_rows_per_unit"),
        bins=section.count("bins"),
        other=_read_value(section, ("other",), section.content["other"]) if "other" in section.content else None,
        missing=section.flag("missing"),
        surrogate=section.words("key") if "key" in section.content else None,
        privately=found_privately(section),
        sensitive=section.flag("sensitive"),
        why=section.sentence("why"),
    )
    check_cells(section, column)
    return column


def _read_bound(section: TomlTable, key: str) -> Bound | None:
    value = section.content.get(key)
    return value if isinstance(value, date) else number_in(section, key)


def check_bounds(section: TomlTable, column: DeclaredColumn) -> None:
    """Refuse bounds that leave no room, a step that does not divide them, and what the type cannot have."""
    _check_interval(section, column)
    if column.kind is not None:
        check_kind(section, column, column.kind)


def _check_interval(section: TomlTable, column: DeclaredColumn) -> None:
    lower, upper, step = column.lower, column.upper, column.step
    if step is not None and step <= 0:
        why = "It is the grid that values are rounded to."
        section.refuse("step", "step must be above 0.", why=why, fix="Write step = 1, or less.")
    if lower is None or upper is None:
        _check_open_ends(section, column)
        return
    if sort_of(lower) != sort_of(upper):
        section.refuse(
            "upper",
            f"lower and upper of {column.name} are of different kinds.",
            why="Both are numbers, both dates, or both times, with or without a zone.",
            fix="Write both in the same way.",
        )
    low, high = bound_units(lower), bound_units(upper)
    if low >= high:
        section.refuse(
            "upper",
            f"upper must be above lower, and of {column.name} it is not.",
            why="Values are moved into the interval from lower to upper, and it is empty.",
            fix="Exchange the two, or widen the interval.",
        )
    _check_step(section, column, low, high)
    _check_inside(section, column, low, high)


def _check_open_ends(section: TomlTable, column: DeclaredColumn) -> None:
    if column.lower is None and column.upper is None:
        return
    there, missing = ("lower", "upper") if column.upper is None else ("upper", "lower")
    section.refuse(
        there,
        f"{column.name} has a bound {there!r} and none {missing!r}.",
        why="One open end lets one person move a sum without limit.",
        fix=f"Add {missing} = ... beside it.",
    )


def _check_step(section: TomlTable, column: DeclaredColumn, low: Fraction, high: Fraction) -> None:
    if column.step is None:
        return
    step = step_units(column.step, value_kind(column.lower))  # type: ignore[arg-type]  # both bounds are there
    plain = isinstance(column.lower, Fraction)
    if step > high - low or (plain and any((bound / step).denominator != 1 for bound in (low, high))):
        section.refuse(
            "step",
            f"the bounds of {column.name} are no whole number of steps.",
            why="Values are rounded to multiples of step and summed as integers; both bounds must be such multiples.",
            fix="Choose a step that divides lower and upper, such as 1 or 0.01.",
        )
    if not plain and step.denominator != 1:
        section.refuse(
            "step",
            f"step of {column.name} is finer than its type.",
            why="A date is counted in whole days, a time in microseconds.",
            fix="Give the step of dates in days, and of times in seconds with up to six decimals.",
        )


def _check_inside(section: TomlTable, column: DeclaredColumn, low: Fraction, high: Fraction) -> None:
    if not column.values:
        return
    sort = sort_of(column.lower)  # type: ignore[arg-type]  # both bounds are there
    numbers = [exact(v, name="value") if isinstance(v, int | float) else v for v in column.values]
    for place, value in enumerate(numbers):
        if isinstance(value, str) or sort_of(value) != sort or not low <= bound_units(value) <= high:
            section.text.refuse(
                (*section.path, "values", place),
                f"a value of {column.name} lies outside its bounds.",
                why="Both cannot hold, and it is not clear which is meant.",
                fix="Widen the bounds, or leave the value or the bounds out.",
            )


def _read_values(section: TomlTable) -> tuple[Value, ...] | None:
    listed = section.content.get("values")
    if listed is None or listed == PRIVATE:
        return None
    if not isinstance(listed, list) or not listed:
        section.refuse(
            "values",
            "values must be a list of at least one key.",
            why="The keys of groups are taken from it, and an empty list has none.",
            fix='Write values = ["north", "south"], or leave it out.',
        )
    values = tuple(_read_value(section, ("values", place), value) for place, value in enumerate(listed))
    seen: set[Value] = set()
    for place, value in enumerate(values):
        if sort_of(value) != sort_of(values[0]):
            _bad_value(section, ("values", place), "this value is of another kind than the first.", "Keep to one kind.")
        if value in seen:
            _bad_value(section, ("values", place), "this value stands in the list twice.", "Leave one of them out.")
        seen.add(value)
    return values


def _read_value(section: TomlTable, path: Path, value: object) -> Value:
    if isinstance(value, Decimal) and value.is_finite() and Decimal(repr(float(value))) == value:
        return int(value) if value == value.to_integral_value() else float(value)
    if not isinstance(value, str | bool | int | date):
        _bad_value(section, path, "this is no key.", "Use texts, numbers of up to 15 digits, dates, true or false.")
    return value


def _bad_value(section: TomlTable, path: Path, what: str, fix: str) -> NoReturn:
    why = "values are the public keys that rows are grouped by: each once, and all of one kind."
    section.text.refuse((*section.path, *path), what, why=why, fix=fix)


def check_kind(section: TomlTable, column: DeclaredColumn, kind: Kind) -> None:
    """Refuse bounds and values that a column of that kind cannot have."""
    implied = column.implied
    if implied is None or implied is kind or (implied.is_number and kind is Kind.NUMBER):
        return
    if implied is Kind.NUMBER and kind is Kind.INTEGER and not column.values:
        return
    if column.privately is not None:
        key = column.privately.value
    else:
        key = "values" if column.values else "step" if column.lower is None else "lower"
    section.refuse(
        key,
        f"{column.name} is of type {kind.value}, and {key} says {implied.value}.",
        why="Bounds and keys are of the column's own type.",
        fix=f'{_ALLOWED[kind]} Or declare type = "{implied.value}".',
    )
