"""The domain file: one line of TOML for each column, saying what may stand in it.

age    = { lower = 17, upper = 90, bins = 20 }          # whole numbers: bounds without a point
weight = { lower = 30.0, upper = 200.0 }                # numbers
job    = { values = ["baker", "nurse"], other = "rest" }
born   = { lower = 1930-01-01, upper = 2010-12-31 }     # days
id     = { key = "person" }                             # names: made up anew, never copied
gain   = { bounds = "private" }                         # found, from the same budget
town   = { values = "private" }
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from hubbub.publish import Categorical, Date, Key, Numeric
from hubbub.terms import BadDescriptor, HubbubError, MissingParameter

if TYPE_CHECKING:
    import pyarrow

Column: TypeAlias = Numeric | Categorical | Date | Key
PRIVATE = "private"
_KEYS = {
    Numeric: {"lower", "upper", "bounds", "bins", "missing"},
    Date: {"lower", "upper", "bins", "missing"},
    Categorical: {"values", "other"},
    Key: {"key"},
}


def read_domain(path: Path) -> dict[str, Column]:
    """The declarations of a file, by column."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise _bad(str(path), "the file cannot be read") from None
    except tomllib.TOMLDecodeError as problem:
        raise _bad(str(path), f"it is not TOML: {problem}") from None
    return {name: _column(name, told) for name, told in given.items()}


def is_whole(column: Column) -> bool:
    """Whether a column holds whole numbers: its bounds are written without a point."""
    return isinstance(column, Numeric) and isinstance(column.lower, int) and isinstance(column.upper, int)


def lines_for(schema: pyarrow.Schema, names: Sequence[str]) -> list[str]:
    """The lines to write for these columns, from their types alone."""
    return [f"{_name(name)} = {_line(schema.field(name).type, _name(name))}" for name in names]


def missing(schema: pyarrow.Schema, names: Sequence[str], *, file: str | None) -> MissingParameter:
    """The refusal of columns without a domain, with the lines to add."""
    lines = "\n".join(f"    {line}" for line in lines_for(schema, names))
    where = f"Add to {file}" if file else "Write a file such as domain.toml, and name it with --domain"
    return MissingParameter(
        f"{len(names)} columns have no domain: {', '.join(names)}.",
        why="What may stand in a column is a public fact; it cannot be read off the rows for free.",
        fix=f"{where}:\n{lines}\n  or choose columns with --columns, or have domains found from the same budget: "
        'bounds = "private", values = "private", or --domain private where the file says the types.',
    )


def _column(name: str, told: object) -> Column:
    if not isinstance(told, Mapping):
        raise _bad(name, "it is no table such as { lower = 0, upper = 99 }")
    kind = _kind(name, told)
    unknown = told.keys() - _KEYS[kind]
    if unknown:
        raise _bad(name, f"it has the unknown key {sorted(unknown)[0]!r}")
    given: dict[str, Any] = dict(told)
    try:
        return kind(given["key"]) if kind is Key else kind(**given)
    except HubbubError as problem:
        raise _bad(name, problem.what.rstrip(".")) from None
    except TypeError:
        raise _bad(name, "one of lower and upper is missing") from None


def _kind(name: str, told: Mapping[str, object]) -> Any:
    if "key" in told:
        return Key
    if "values" in told:
        return Categorical
    if isinstance(told.get("lower"), datetime.date):
        return Date
    if "lower" in told or "bounds" in told:
        return Numeric
    raise _bad(name, "it needs lower and upper, values, bounds or key")


def _line(kind: pyarrow.DataType, name: str) -> str:
    import pyarrow

    types, number, words = pyarrow.types, "{ lower = ..., upper = ... }", '{ values = ["...", "..."] }'
    if types.is_date(kind) or types.is_timestamp(kind):
        return "{ lower = 2000-01-01, upper = 2029-12-31 }"
    if types.is_boolean(kind):
        return "{ values = [false, true] }"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return number
    return f"{words}   or   {name} = {number}"


def _name(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else f'"{name}"'


def _bad(name: str, why: str) -> BadDescriptor:
    return BadDescriptor(
        f"the domain {name!r} cannot be used: {why}.",
        why="Each line of the file says what may stand in one column.",
        fix="See the page on `hubbub publish` for the forms of a line.",
    )
