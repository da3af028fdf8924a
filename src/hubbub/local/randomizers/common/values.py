"""What people hold, as integer codes: a total map, so that nothing fails because of a value."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.mechanisms.common import integer_array
from hubbub.terms import (
    BadReport,
    NotANumber,
    OutOfRange,
    Real,
    ReversedBounds,
    TooLarge,
    WrongShape,
    exact,
    plain_array,
    positive,
    refuse_masked,
    shown,
    whole,
)

Codes = NDArray[np.int64]
Values = int | float | Sequence[Any] | NDArray[Any]

LARGEST_EPSILON = 64
SMALLEST_EPSILON = Fraction(1, 10**6)
LARGEST_BOUND = 10**300  # the distance of two such numbers is still a double
SMALLEST_BOUND = Fraction(1, 10**300)  # below it doubles have fewer bits, and clients would round twice


def epsilon_of(value: Real, *, name: str = "epsilon") -> Fraction:
    """An epsilon that thresholds of 64 bits can keep without waste."""
    epsilon = positive(value, name=name)
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise OutOfRange(
            f"{name} must lie between 1e-6 and {LARGEST_EPSILON} and is {shown(epsilon)}.",
            why="Coins of 64 bits cannot tell smaller ones from zero, and larger ones protect nobody.",
            fix="Local collections mostly use an epsilon between 0.5 and 4.",
        )
    return epsilon


def domain_of(value: int, *, name: str = "domain", most: int = 1 << 24) -> int:
    """How many values there are."""
    domain = whole(value, name=name, least=2)
    if domain > most:
        raise TooLarge(
            f"{name} is above {most:,}.",
            why="A share is estimated for every value, and so many would drown in the noise.",
            fix="Merge values, or ask about a list of candidates (LocalHashing).",
        )
    return domain


def code_of(missing: int, domain: int) -> int:
    """The public code that stands for anything outside the domain."""
    code = whole(missing, name="missing", least=0)
    if code >= domain:
        raise OutOfRange(
            f"missing must be below domain={domain} and is {code}.",
            why="What counts as missing is reported as one of the values.",
            fix="Give the code of a public default.",
        )
    return code


def integer_column(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """A flat array of integers of any size; anything else is refused by its type, not by its value."""
    values = column_of(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iub" and values.dtype != np.uint64:
        array: NDArray[Any] = values.astype(np.int64, copy=False)
    else:
        array = integer_array(values)
    if array.ndim != 1:
        raise WrongShape(
            f"a flat list of values was expected and {array.ndim} dimensions came.",
            why="Each entry is the value of one person.",
            fix="Give one value, or a flat list of them.",
        )
    return array


def domain_codes(values: Sequence[Any] | NDArray[Any], *, domain: int, missing: int) -> Codes:
    """Codes below ``domain``; anything outside counts as ``missing``."""
    array = integer_column(values)
    return np.where((array >= 0) & (array < domain), array, missing).astype(np.int64, copy=False)


def bounds_of(lower: Real, upper: Real) -> tuple[Fraction, Fraction]:
    """Declared bounds, the lower one first."""
    low, high = exact(lower, name="lower"), exact(upper, name="upper")
    if max(abs(low), abs(high)) > LARGEST_BOUND or any(0 < abs(end) < SMALLEST_BOUND for end in (low, high)):
        raise OutOfRange(
            "lower and upper must lie between -1e300 and 1e300, and not within 1e-300 of 0 unless they are 0.",
            why="Values are rounded to a grid between them, in the floating point numbers of every client.",
            fix="Give bounds in larger units, from public knowledge.",
        )
    if low < high and not float(low) < float(high):
        raise OutOfRange(
            "lower and upper are the same floating point number.",
            why="Values are rounded to a grid between them, in the floating point numbers of every client.",
            fix="Measure from the lower bound, so that the bounds are small numbers.",
        )
    if not low < high:
        raise ReversedBounds(
            f"lower must be below upper, and they are {shown(low)} and {shown(high)}.",
            why="Values are moved into these bounds, so there must be room between them.",
            fix="Give the smallest and the largest value that may be, from public knowledge.",
        )
    return low, high


def grid_steps(
    values: Sequence[Any] | NDArray[Any], *, lower: float, upper: float, steps: int, missing: float
) -> Codes:
    """Reals as steps 0, ..., ``steps`` from lower to upper, to the nearest; outside ones are moved to the ends.

    In doubles, as every client computes it: floor((v - lower) / (upper - lower) * steps + 1/2). It is a fixed map of
    a person's own value, before anything random happens, so that its rounding cannot tell anything.
    """
    array = real_column(values)
    filled = np.clip(np.where(np.isnan(array), missing, array), lower, upper)
    return np.floor((filled - lower) / (upper - lower) * steps + 0.5).astype(np.int64)


def real_column(values: Sequence[Any] | NDArray[Any]) -> NDArray[np.float64]:
    """A flat array of doubles; other types are refused by their type, and numbers beyond the doubles are infinite."""
    column = column_of(values)
    array = column if isinstance(column, np.ndarray) else plain_array(column)
    if array.ndim != 1:
        raise WrongShape(
            f"a flat list of values was expected and {array.ndim} dimensions came.",
            why="Each entry is the value of one person.",
            fix="Give one value, or a flat list of them.",
        )
    if array.dtype.kind in "iufb":
        return array.astype(np.float64)
    return np.array([_as_double(value) for value in array.tolist()], dtype=np.float64)


def report_array(reports: ArrayLike) -> NDArray[Any]:
    """Reports as an ordinary array of whatever they are; masks are refused, and rows that do not fit together."""
    refuse_masked(reports, name="reports")
    try:
        return np.asarray(reports)
    except (ValueError, TypeError, OverflowError):
        raise BadReport(
            "reports do not form one array.",
            why="All reports of a randomizer have one form.",
            fix="Give what randomize() returned.",
            reason="malformed",
        ) from None


def whole_reports(reports: ArrayLike) -> NDArray[np.int64]:
    """Reports that are whole numbers of 63 bits, of any shape."""
    array = report_array(reports)
    if array.dtype.kind not in "iu" or (array.dtype.kind == "u" and array.size and int(array.max()) >> 63):
        raise BadReport(
            "reports are whole numbers.",
            why="This randomizer sends nothing else.",
            fix="Give what randomize() returned.",
            reason="malformed",
        )
    return array.astype(np.int64, copy=False)


def column_of(values: Sequence[Any] | NDArray[Any]) -> Sequence[Any] | NDArray[Any]:
    """A column of a table as an array, anything else as it is.

    Refused by their type are columns that can hold nothing at a place: they become an array of another type as soon as
    one value is missing, and whether that is refused would then depend on one person.
    """
    refuse_masked(values)
    if not hasattr(values, "__array__"):
        return values
    if getattr(values, "dtype", None) is None:
        raise WrongShape(
            "a column without a type of numpy's came.",
            why="Arrow's columns become arrays of another type as soon as one value is missing.",
            fix="Say what missing values are: column.fill_null(0).to_numpy().",
        )
    return np.asarray(values)


def _as_double(value: object) -> float:
    if isinstance(value, str | bytes | complex) or value is None:
        raise _not_a_number(value)
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")  # type: ignore[operator]
    except (TypeError, ValueError):
        raise _not_a_number(value) from None


def _not_a_number(value: object) -> NotANumber:
    return NotANumber(
        f"a number was expected and a {type(value).__name__} came.",
        why="Only numbers have a mean.",
        fix="Convert to float first; NaN counts as missing.",
    )
