"""What an attack needs of its input, or ``Unsuitable`` with the reason instead of an error from deep inside."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.terms import Unsuitable, refuse_masked

Floats = NDArray[np.float64]
Bits = NDArray[np.int8]
_LARGEST = 1e15  # whole numbers beyond it are rounded, and their squares overflow before long


def finite_array(values: ArrayLike, *, name: str, axes: int) -> Floats:
    """Finite numbers in an array of that many axes, with something in it."""
    wanted = f"{axes} {'axis' if axes == 1 else 'axes'}"
    refuse_masked(values, name=name)
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise Unsuitable(
            f"{name} must be numbers in rows of equal length.",
            why="An attack works out what the numbers tell together.",
            fix=f"Give {name} as an array with {wanted}.",
        ) from None
    if array.ndim != axes or not array.size:
        raise Unsuitable(
            f"{name} must be a non-empty array with {wanted} and has shape {array.shape}.",
            why="Which entry belongs to whom is read from its place.",
            fix=f"Give {name} in that shape.",
        )
    if not (np.abs(array) < _LARGEST).all():
        raise Unsuitable(
            f"{name} has entries that are NaN, infinite, or beyond {_LARGEST:g}.",
            why="Nothing can be worked out from them.",
            fix="Leave those entries out, together with what belongs to them.",
        )
    return array


def rectangular_array(values: ArrayLike) -> NDArray[Any]:
    """An array as it is; an empty one in place of rows of unequal length, for whoever checks the shape."""
    refuse_masked(values)
    try:
        return np.asarray(values)
    except ValueError:
        return np.zeros(0)


def bit_array(values: ArrayLike, *, name: str, axes: int) -> Bits:
    """Zeros and ones in an array of that many axes."""
    refuse_masked(values, name=name)
    whole = isinstance(values, np.ndarray) and values.dtype.kind in "bui" and values.ndim == axes and values.size
    array = np.asarray(values) if whole else finite_array(values, name=name, axes=axes)  # whole numbers are not copied
    if array.dtype.kind != "b" and ((array != 0) & (array != 1)).any():
        raise Unsuitable(
            f"{name} must be zeros and ones.",
            why="This attack is on yes-or-no attributes.",
            fix="Ask about one value at a time: has it, or has it not.",
        )
    return array.astype(np.int8, copy=False)


def check_lengths(first: int, second: int, *, what: str) -> None:
    """Two lengths that have to be the same."""
    if first != second:
        raise Unsuitable(
            f"{what} must be equally many and are {first} and {second}.",
            why="Each belongs to one of the other.",
            fix="Give one for each.",
        )


def both_kinds(labels: NDArray[Any], *, name: str) -> None:
    """Labels of which there are at least two kinds."""
    if np.unique(labels).size < 2:
        raise Unsuitable(
            f"{name} are all the same.",
            why="An attack tells two kinds apart, and there is one only.",
            fix="Give some of each kind.",
        )
