"""Checks of single values from a file: of which kind they are, of which shape, and whether they are finite.

A check is asked for a value and for the sizes that have names, as far as they are known; the first value that has such
a size decides it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

Sizes = dict[str, int]  # by name
Check = Callable[[Any, Sizes], bool]

_MOST_DIGITS = 1000  # of a number that somebody typed
_ONE_KIND = [{kind} for kind in (bool, int, float, str)]


def a(*kinds: type[Any] | None) -> Check:
    """One of these classes."""
    allowed = tuple(type(None) if kind is None else kind for kind in kinds)
    return lambda value, sizes: isinstance(value, allowed)


def word(value: Any, sizes: Sizes) -> bool:
    """A text."""
    return type(value) is str


def whole(size: str | None = None, *, least: int = 0) -> Check:
    """A whole number; with a name, it is that size."""
    return lambda value, sizes: (
        type(value) is int and least <= value < 1 << 62 and (size is None or sizes.setdefault(size, value) == value)
    )


def double(value: Any, sizes: Sizes) -> bool:
    """A number that is finite as a double."""
    return type(value) in (int, float) and abs(value) < 1e308


def positive(value: Any, sizes: Sizes) -> bool:
    """Such a number above 0."""
    return double(value, sizes) and value > 0


def not_negative(value: Any, sizes: Sizes) -> bool:
    """Such a number from 0."""
    return double(value, sizes) and value >= 0


def share(value: Any, sizes: Sizes) -> bool:
    """Such a number from 0 to 1."""
    return double(value, sizes) and 0 <= value <= 1


def typed(value: Any, sizes: Sizes) -> bool:
    """A number as people type them, exact or not, of a size that can be written out."""
    if type(value) is Decimal:
        return value.is_finite() and abs(value.adjusted()) < _MOST_DIGITS
    if type(value) is Fraction:
        return max(value.numerator.bit_length(), value.denominator.bit_length()) < 3 * _MOST_DIGITS
    return (type(value) is int and value.bit_length() < 3 * _MOST_DIGITS) or (
        type(value) is float and math.isfinite(value)
    )


def maybe(check: Check) -> Check:
    """That, or nothing."""
    return lambda value, sizes: value is None or check(value, sizes)


def several(check: Check, *, least: int = 0) -> Check:
    """A list or tuple of such values."""
    return lambda value, sizes: (
        type(value) in (list, tuple) and len(value) >= least and all(check(each, sizes) for each in value)
    )


def ends(value: Any, sizes: Sizes) -> bool:
    """A lower and a higher number."""
    return (
        type(value) is tuple and len(value) == 2 and all(double(each, sizes) for each in value) and value[0] < value[1]
    )


def named(check: Check) -> Check:
    """Such values by names."""
    return lambda value, sizes: (
        type(value) is dict and all(type(name) is str and check(each, sizes) for name, each in value.items())
    )


# ---------------------------------------------------------------- arrays


def doubles(*shape: str | int) -> Check:
    """Finite doubles in an array of this shape."""
    return lambda value, sizes: (
        _has_shape(value, shape, sizes) and value.dtype == np.float64 and np.isfinite(value).all()
    )


def places(size: str, *, below: str) -> Check:
    """Places in something of a known size."""
    return lambda value, sizes: (
        _has_shape(value, (size,), sizes)
        and value.dtype == np.int64
        and bool(((value >= 0) & (value < sizes.get(below, 0))).all())
    )


def labels(value: Any, sizes: Sizes) -> bool:
    """Two classes or more, in order, of numbers or words."""
    if not _has_shape(value, ("classes",), sizes) or len(value) < 2:
        return False
    if value.dtype.kind == "O" and {type(each) for each in value.tolist()} not in _ONE_KIND:
        return False
    return bool(np.array_equal(np.unique(value), value))


def words(size: str) -> Check:
    """Texts in an array of objects."""
    return lambda value, sizes: _has_shape(value, (size,), sizes) and all(type(each) is str for each in value.tolist())


def table(value: Any, sizes: Sizes) -> bool:
    """Rows or a column of plain values, as somebody gave them."""
    return isinstance(value, np.ndarray) or plain(value, sizes)


def plain(value: Any, sizes: Sizes) -> bool:
    """A value that somebody may have typed: nothing, a number, a text, or several of these."""
    if type(value) in (list, tuple):
        return all(plain(each, sizes) for each in value)
    return value is None or type(value) in (bool, str) or typed(value, sizes) or isinstance(value, np.ndarray)


def _has_shape(value: Any, shape: tuple[str | int, ...], sizes: Sizes) -> bool:
    if not isinstance(value, np.ndarray) or value.ndim != len(shape):
        return False
    lengths = zip(value.shape, shape, strict=True)
    return all(
        length == (size if isinstance(size, int) else sizes.setdefault(size, length)) for length, size in lengths
    )
