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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hubbub.publish.domains import Categorical, ColumnDomain, Date, Numeric, SurrogateKey
from hubbub.terms import BadDescriptor, HubbubError

_KEYS = {
    Numeric: {"lower", "upper", "bounds", "bins", "missing", "whole"},
    Date: {"lower", "upper", "bins", "missing"},
    Categorical: {"values", "other"},
    SurrogateKey: {"key"},
}


def read_domain(file: str | Path) -> dict[str, ColumnDomain]:
    """The declarations of a TOML file, by column: for ``domain=`` of whatever publishes."""
    path = Path(file)
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise _bad(str(path), "the file cannot be read") from None
    except tomllib.TOMLDecodeError as problem:
        raise _bad(str(path), f"it is not TOML: {problem}") from None
    return {name: _column(name, told) for name, told in given.items()}


def _column(name: str, told: object) -> ColumnDomain:
    if not isinstance(told, Mapping):
        raise _bad(name, "it is no table such as { lower = 0, upper = 99 }")
    kind = _kind(name, told)
    unknown = told.keys() - _KEYS[kind]
    if unknown:
        raise _bad(name, f"it has the unknown key {sorted(unknown)[0]!r}")
    given: dict[str, Any] = dict(told)
    try:
        made: ColumnDomain = kind(given["key"]) if kind is SurrogateKey else kind(**given)
    except HubbubError as problem:
        raise _bad(name, problem.what.rstrip(".")) from None
    except TypeError:
        raise _bad(name, "one of lower and upper is missing") from None
    return made


def _kind(name: str, told: Mapping[str, object]) -> Any:
    if "key" in told:
        return SurrogateKey
    if "values" in told:
        return Categorical
    if isinstance(told.get("lower"), datetime.date):
        return Date
    if "lower" in told or "bounds" in told:
        return Numeric
    raise _bad(name, "it needs lower and upper, values, bounds or key")


def _bad(name: str, why: str) -> BadDescriptor:
    return BadDescriptor(
        f"the domain {name!r} cannot be used: {why}.",
        why="Each line of the file says what may stand in one column.",
        fix="See the page on `hubbub publish` for the forms of a line.",
    )
