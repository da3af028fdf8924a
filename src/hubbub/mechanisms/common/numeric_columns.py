"""A column of numbers as it comes: an array of doubles or integers, or a list of anything."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.common.grid_values import is_number, rational_of
from hubbub.terms import NotANumber, WrongShape, plain_array, refuse_masked

Column: TypeAlias = Iterable[object] | NDArray[Any]
Value: TypeAlias = int | float | Fraction


def column_of(values: Column) -> NDArray[Any] | list[Value]:
    """A one-dimensional array of numbers, or the numbers of a list, whatever is none being left out.

    A list is never refused for what is in it: whether it is would tell something about a row.
    """
    refuse_masked(values)
    if isinstance(values, np.ndarray):
        return _numeric_array(plain_array(values))
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise _not_numbers()
    return [number for value in values if (number := _plain_number(value)) is not None]


def _numeric_array(values: NDArray[Any]) -> NDArray[Any] | list[Value]:
    if values.ndim != 1:
        raise WrongShape(
            f"a column has one dimension and this array has {values.ndim}.",
            why="Each entry is one value.",
            fix="Give one column at a time.",
        )
    if values.dtype.kind in "iub" or (values.dtype.kind == "f" and values.dtype.itemsize <= 8):
        return values
    if values.dtype.kind in "Of":  # a longer float overflows on the way to a double, with a warning that tells of it
        return column_of(values.tolist() if values.dtype.kind == "O" else list(values))
    raise _not_numbers()


def _plain_number(value: object) -> Value | None:
    """The number itself, infinities as floats; None for what is no number or not one."""
    if not is_number(value):
        return None
    if (number := rational_of(value)) is not None:
        return number
    text = str(value).lower()
    return float(text) if "inf" in text else None


def _not_numbers() -> NotANumber:
    return NotANumber(
        "a column of numbers was expected and something else came.",
        why="This mechanism works on numbers.",
        fix="Give a list of numbers or a one-dimensional numeric array.",
    )
