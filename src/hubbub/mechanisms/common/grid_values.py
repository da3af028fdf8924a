"""Numbers on a public grid: rounding in, adding noise, scaling out, and nothing else in floating point.

The grid is a power of two, chosen from public facts (the noise scale and how many values are released together),
2^-40 of the scale for up to a thousand values and finer for more. A value is
rounded to the grid, the noise is an exact integer, the sum is an integer of any size, and the result is
scaled once. So there are no low-order bits to tell values apart [Mir12] and no sensitivity lost to rounding
[CSVW22]: rounding costs one grid step per coordinate, which the mechanisms add to the sensitivity.

Arrays are int64 while everything fits and Python integers beyond, so nothing ever wraps around.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.terms import NotANumber, TooLarge, Underflow, WrongShape, plain_array

Number: TypeAlias = int | float | Fraction | Decimal
Numbers: TypeAlias = Number | Sequence[Number] | NDArray[Any]
Steps: TypeAlias = NDArray[Any]  # int64, or Python integers where those are too small

MANY = 1 << 20  # how many values may be released together if nothing else is said
_MOST_DIGITS = 5000
_FARTHEST = Fraction(2) ** 900  # of a scale: results of it, many times as large, are still finite doubles
_SAFE = 1 << 61  # two int64 below this add up without wrapping


def grid_for(scale: Fraction, dimension: int = 1) -> Fraction:
    """The power of two about 2^-40 below ``scale``; finer for many values, as each adds a step to the sensitivity."""
    fineness = 40 + min(11, max(0, dimension.bit_length() - 11))
    return Fraction(2) ** (scale.numerator.bit_length() - scale.denominator.bit_length() - fineness)


def finite_scale(scale: Fraction) -> Fraction:
    """The noise scale of a mechanism for reals, refused if its results could not be told apart as doubles."""
    if 1 / _FARTHEST <= scale <= _FARTHEST:
        return scale
    problem = TooLarge if scale > 1 else Underflow
    raise problem(
        "the noise scale lies outside 2^-900 to 2^900.",
        why="What is released are doubles, and these would be infinite or zero.",
        fix="Measure the values in a larger or smaller unit.",
    )


def steps_of(x: Numbers, *, grid: Fraction, missing: Fraction, dimension: int) -> int | Steps:
    """``x`` in grid steps, rounded to the nearest; NaN and infinities count as ``missing``."""
    if isinstance(x, Number | np.number):
        _check_dimension(1, dimension)
        return _round_to_grid(x, grid, missing)
    array = plain_array(x)
    _check_dimension(array.size, dimension)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:  # longer floats would be rounded on the way
        return _round_floats(doubles_of(array), grid, missing)
    return pack_integers([_round_to_grid(value, grid, missing) for value in array.ravel().tolist()], array.shape)


def doubles_of(array: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers as doubles, without a word: a warning (of a NaN that signals, say) would tell of a value."""
    with np.errstate(all="ignore"):
        return array.astype(np.float64)


def integers_of(x: Numbers, *, dimension: int) -> int | Steps:
    """``x`` as integers; anything else is refused by its type, not by its value."""
    if isinstance(x, int | np.integer):
        _check_dimension(1, dimension)
        return int(x)
    array = integer_array(x)
    _check_dimension(array.size, dimension)
    return array


def integer_array(x: Numbers) -> Steps:
    """An array of integers of any size; anything else is refused by its type, not by its value."""
    array = plain_array(x)
    if array.dtype.kind in "iub" and array.dtype != np.uint64:
        return array.astype(np.int64)
    values = array.ravel().tolist()
    if array.dtype.kind in "uO" and all(isinstance(value, int | np.integer) for value in values):
        return pack_integers([int(value) for value in values], array.shape)
    raise NotANumber(
        "integers were expected and something else came.",
        why="This mechanism works on whole numbers; rounding is the caller's decision.",
        fix="Convert to int first, or use the mechanism for reals.",
    )


def codes_in(x: Numbers, *, values: int, missing: int) -> NDArray[np.int64]:
    """Codes 0, ..., values - 1 of one person each; whatever else an entry is counts as ``missing``.

    Arrays are refused by their type, and never for what is in them; a list has no type.
    """
    array = plain_array(x)
    if array.dtype.kind not in "iubfO" or array.ndim == 0:
        raise NotANumber(
            "a code, a list of codes or an array of numbers was expected and something else came.",
            why="Each entry is one person's value, as a whole number from 0 on.",
            fix="Give the place of each value in the public list of values.",
        )
    if array.dtype.kind in "iub" and array.dtype != np.uint64:
        codes = array.astype(np.int64)
        return np.where((codes >= 0) & (codes < values), codes, missing)
    entries = [_code_of(entry, values, missing) for entry in array.ravel().tolist()]
    return np.array(entries, dtype=np.int64).reshape(array.shape)


def _code_of(entry: object, values: int, missing: int) -> int:
    number = rational_of(entry) if is_number(entry) else None
    return int(number) if number is not None and number.denominator == 1 and 0 <= number < values else missing


def add_exactly(steps: int | Steps, drawn: int | NDArray[np.int64]) -> int | Steps:
    """Values plus noise, exactly."""
    if isinstance(steps, int):
        return steps + int(drawn)
    assert isinstance(drawn, np.ndarray)
    if steps.dtype == drawn.dtype == np.int64 and _is_small(steps) and _is_small(drawn):
        return steps + drawn
    return pack_integers((steps.astype(object) + drawn.astype(object)).ravel().tolist(), steps.shape)


def scale_steps(steps: int | Steps, grid: Fraction) -> float | NDArray[np.float64]:
    """Grid steps as the nearest doubles (post-processing); beyond the doubles, the largest one."""
    if isinstance(steps, int):
        return _to_float(steps, grid)
    if steps.dtype == np.int64:
        return np.ldexp(steps.astype(np.float64), _grid_exponent(grid))
    return np.array([_to_float(s, grid) for s in steps.ravel()], dtype=np.float64).reshape(steps.shape)


def shape_of(steps: int | Steps) -> tuple[int, ...] | None:
    """The shape of the noise that goes with ``steps``: None for a single number."""
    return None if isinstance(steps, int) else steps.shape


def is_number(value: object) -> bool:
    """Whether ``value`` is of a type that ``rational_of`` reads."""
    return isinstance(value, Number | np.number) and not isinstance(value, np.complexfloating)


def rational_of(value: object) -> Fraction | None:
    """A number exactly, or None for NaN and infinities; no value makes it fail or takes it long.

    A Decimal may have an exponent that no computer could write out: beyond 10^5000 it is moved there (which never
    moves two values apart), and within 10^-5000 of zero it is zero.
    """
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, Decimal):
        return _from_decimal(number)
    if isinstance(number, np.longdouble):  # has no item of a plain type
        return Fraction(*number.as_integer_ratio()) if np.isfinite(number) else None
    if isinstance(number, float) and not math.isfinite(number):
        return None
    if not isinstance(number, Number):
        raise NotANumber(
            f"a value must be a number and is a {type(number).__name__}.",
            why="Noise is added to numbers only.",
            fix="Convert the values to int or float first.",
        )
    return Fraction(number)


def _from_decimal(number: Decimal) -> Fraction | None:
    if not number.is_finite():  # math.isfinite would go through a double: it fails on sNaN and loses 1e400
        return None
    if not number or number.adjusted() < -_MOST_DIGITS:
        return Fraction(0)
    if number.adjusted() > _MOST_DIGITS:
        return Fraction(10**_MOST_DIGITS if number > 0 else -(10**_MOST_DIGITS))
    return Fraction(number)


def _round_to_grid(x: object, grid: Fraction, missing: Fraction) -> int:
    number = rational_of(x)
    return round((missing if number is None else number) / grid)


def _round_floats(array: NDArray[np.float64], grid: Fraction, missing: Fraction) -> Steps:
    finite = np.where(np.isfinite(array), array, float(missing))
    with np.errstate(over="ignore"):
        steps = np.rint(np.ldexp(finite, -_grid_exponent(grid)))  # a power of two: exact
    if np.all(np.abs(steps) < _SAFE):
        return steps.astype(np.int64)
    return pack_integers([round(Fraction(v) / grid) for v in finite.ravel().tolist()], array.shape)


def pack_integers(values: Sequence[int], shape: tuple[int, ...]) -> Steps:
    """Integers as int64 if all of them fit, else as Python integers."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    fits = all(-(1 << 63) <= value < 1 << 63 for value in values)
    return (out.astype(np.int64) if fits else out).reshape(shape)


def _is_small(array: NDArray[np.int64]) -> bool:
    return array.size == 0 or (int(array.min()) > -_SAFE and int(array.max()) < _SAFE)


def _grid_exponent(grid: Fraction) -> int:
    return grid.numerator.bit_length() - grid.denominator.bit_length()


def _to_float(steps: int, grid: Fraction) -> float:
    try:
        return float(steps * grid)
    except OverflowError:
        return sys.float_info.max if steps > 0 else -sys.float_info.max


def _check_dimension(count: int, dimension: int) -> None:
    if count > dimension:
        raise WrongShape(
            f"{count} values came and the mechanism was made for at most {dimension}.",
            why="Rounding each value is paid for in the sensitivity, so their number is part of the promise.",
            fix="Give dimension= the number of values that will be released together.",
        )
