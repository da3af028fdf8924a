"""Outcomes as columns: whatever a mechanism returns, as numbers and symbols that can be counted.

A number is one column; a vector or tuple has one per place; a dictionary one per key; a list, string or set of
varying length one per place or member, and one for its length. What cannot be compared is said in words. Numbers are
compared as doubles; of those that a double rounds, what it leaves out is a column more.

Symbols and keys are those of the outcomes that are learned from; all that turn up later are one symbol more. A list of
them that knew the counted outcomes would tell the inputs apart by itself: whatever occurs only once is on one side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import zip_longest
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Outcomes: TypeAlias = "Sequence[Any] | NDArray[Any]"
MOST_PLACES = 64  # of a vector or list that are looked at, one by one
_LETTERS = 16  # of a string
_WHOLE = 1 << 53  # up to here doubles hold every whole number
_LOW = 52  # bits of a larger one that stand in a column of their own
_BOTH = 1 << 105  # below it, a double and the low bits together tell whole numbers apart


class Incomparable(Exception):
    """Outcomes that give nothing to count; the text says why."""


class _Missing:
    """Stands where a shorter outcome has no place."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class OutcomeFeature:
    """One feature of every outcome: a number each, or the number of a symbol. NaN is a place that is not there."""

    name: str
    values: Floats
    symbols: tuple[str, ...] | None = None


def tabulate_outcomes(first: Outcomes, second: Outcomes, *, learned: int) -> list[OutcomeFeature]:
    """The columns of all outcomes, those of ``first`` before those of ``second``; at least one.

    Symbols and keys are taken from the ``learned`` first outcomes of each side.
    """
    if _is_plain(first) and _is_plain(second) and _stay_exact([np.asarray(first), np.asarray(second)]):
        both = [np.asarray(first), np.asarray(second)]
        if both[0].shape[1:] != both[1].shape[1:]:
            raise Incomparable(
                f"its outputs vary in shape: {_shape_name(both[0])} on one input, {_shape_name(both[1])} on another"
            )
        known = np.concatenate([np.arange(learned), len(both[0]) + np.arange(learned)])
        return _number_columns("the output", np.concatenate([side.reshape(len(side), -1) for side in both]), known)
    turns = [outcome for pair in zip(first, second, strict=True) for outcome in pair]
    try:
        columns = _columns("the output", turns, 2 * learned)
    except (Incomparable, RecursionError):
        raise
    except Exception as error:  # somebody else's objects are compared, measured and printed here
        raise Incomparable(f"its outputs raise {type(error).__name__} where they are compared") from error
    return [replace(column, values=np.concatenate([column.values[::2], column.values[1::2]])) for column in columns]


def _is_plain(outcomes: Outcomes) -> bool:
    return isinstance(outcomes, np.ndarray) and outcomes.dtype.kind in "biuf"


def _stay_exact(arrays: Sequence[NDArray[Any]]) -> bool:
    """Whether arrays can stand in one without rounding: whole numbers of two kinds, or beside floats, become floats."""
    return np.result_type(*arrays).kind != "f" or all(array.dtype.kind == "f" for array in arrays)


def _shape_name(outcomes: NDArray[Any]) -> str:
    shape = outcomes.shape[1:]
    return " x ".join(map(str, shape)) if shape else "a number"


def _number_columns(name: str, table: NDArray[Any], learned: Any) -> list[OutcomeFeature]:
    """A column for each place of a numeric table; with too many places, the first ones and some sums.

    ``learned`` are the rows that are known. If a double rounds some of them, there are columns of low bits too.
    """
    values = table.astype(np.float64, copy=False)
    if np.isnan(values).any():
        raise Incomparable("it returns NaN, which compares with nothing")
    width = values.shape[1]
    if width == 0:
        raise Incomparable("its outputs are empty")
    blocks = _place_blocks(width)
    columns = [OutcomeFeature(_block_name(name, width, block), values[:, block].sum(axis=1)) for block in blocks]
    rounded = (
        (table[learned] > _WHOLE) | (table[learned] < -_WHOLE) if table.dtype.kind in "iu" else np.zeros((1, width))
    )
    return columns + [
        OutcomeFeature(_low_name(_block_name(name, width, block)), _low_bits(table[:, block]))
        for block in blocks
        if rounded[:, block].any()
    ]


def _place_blocks(width: int) -> list[NDArray[np.int64]]:
    """Each place by itself; of a long vector the first ones, and runs of places, so that it is looked at as a whole."""
    single = [np.array([place]) for place in range(min(width, MOST_PLACES))]
    return single if width <= MOST_PLACES else [*single, *np.array_split(np.arange(width), MOST_PLACES // 2)]


def _block_name(name: str, width: int, block: NDArray[np.int64]) -> str:
    if len(block) > 1:
        return f"the sum of places {block[0] + 1} to {block[-1] + 1} of {name}"
    return name if width == 1 else f"place {block[0] + 1} of {name}"


def _low_bits(table: NDArray[Any]) -> Floats:
    """The low bits of the sum of each row of whole numbers, exactly: what overflows is above them."""
    sums = table.astype(np.uint64).sum(axis=1)
    return np.asarray(sums & np.uint64((1 << _LOW) - 1), dtype=np.float64)


def _low_name(name: str) -> str:
    return f"the low bits of {name}"


def _columns(name: str, outcomes: list[Any], learned: int) -> list[OutcomeFeature]:
    """The columns of something in each outcome, of which the ``learned`` first are known."""
    kinds = {kind for kind in set(map(type, outcomes)) if kind is not _Missing}
    families = {_type_family(kind) for kind in kinds}
    if len(families) > 1 and "string" in families:
        families = families - {"string"} | {"symbol"}
    if len(families) <= 1:
        return _READERS[families.pop() if families else "symbol"](name, outcomes, learned)
    if families == {"number", "symbol"}:
        return _mixed_columns(name, outcomes, learned)
    if type(None) in kinds and len(families - {"symbol"}) == 1:
        return _optional_columns(name, outcomes, learned)
    raise Incomparable(f"{name} varies in shape: {', '.join(sorted(kind.__name__ for kind in kinds))}")


def _type_family(kind: type) -> str:
    if issubclass(kind, _NUMBERS) and not issubclass(kind, _NO_NUMBERS):
        return "number"
    for family, kinds in _FAMILIES.items():
        if issubclass(kind, kinds):
            return family
    return "symbol"


def _scalar_columns(name: str, outcomes: list[Any], learned: int) -> list[OutcomeFeature]:
    try:
        values = np.array([np.nan if x is MISSING else float(x) for x in outcomes])
    except OverflowError:
        return _symbol_columns(name, outcomes, learned)  # integers beyond the doubles are compared as they stand
    absent = np.array([x is MISSING for x in outcomes])
    if np.isnan(values[~absent]).any():
        raise Incomparable("it returns NaN, which compares with nothing")
    return [OutcomeFeature(name, values), *_rounded_columns(name, outcomes, learned)]


def _rounded_columns(name: str, outcomes: list[Any], learned: int) -> list[OutcomeFeature]:
    """What doubles leave out, where they round one of the known numbers: low bits of whole ones, else all digits."""
    known = [_plain_number(x) for x in outcomes[:learned] if x is not MISSING]
    rounded = [x for x in known if x != float(x)]
    if not rounded:
        return []
    if any(not isinstance(x, int) or abs(x) >= _BOTH for x in rounded):
        return _symbol_columns(f"{name} to its last digit", outcomes, learned)
    low = [np.nan if x is MISSING else _low_part(_plain_number(x)) for x in outcomes]
    return [OutcomeFeature(_low_name(name), np.array(low))]


def _plain_number(number: Any) -> Any:
    """A number that compares exactly with a float."""
    return number.item() if isinstance(number, np.generic) else number


def _low_part(number: Any) -> float:
    return float(number % (1 << _LOW)) if isinstance(number, int) else float(number)


def _symbol_columns(name: str, outcomes: list[Any], learned: int) -> list[OutcomeFeature]:
    try:
        codes = {symbol: code for code, symbol in enumerate(dict.fromkeys(outcomes[:learned]))}
        values = np.array([codes.get(x, len(codes)) for x in outcomes], dtype=np.float64)
    except TypeError:
        kind = next(type(x).__name__ for x in outcomes if not isinstance(x, Hashable))
        raise Incomparable(f"{name} is of type {kind}, which cannot be compared or hashed") from None
    if len(codes) > learned // 2 and _by_identity(outcomes[0]):
        raise Incomparable(f"{name} is a new {type(outcomes[0]).__name__} each time, which compares with nothing")
    return [OutcomeFeature(name, values, (*map(_short_text, codes), "something new"))]


def _by_identity(symbol: object) -> bool:
    return type(symbol).__hash__ is object.__hash__


def _short_text(symbol: object) -> str:
    text = repr(symbol)
    return text if len(text) <= 40 else text[:37] + "..."


def _mixed_columns(name: str, outcomes: list[Any], learned: int) -> list[OutcomeFeature]:
    """Sometimes a number and sometimes a symbol: which symbol, and which number."""
    numeric = [_type_family(type(x)) == "number" and not isinstance(x, bool) for x in outcomes]
    symbols = ["a number" if number else x for number, x in zip(numeric, outcomes, strict=True)]
    numbers = [x if number else MISSING for number, x in zip(numeric, outcomes, strict=True)]
    return [*_symbol_columns(f"what kind {name} is", symbols, learned), *_scalar_columns(name, numbers, learned)]


def _optional_columns(name: str, outcomes: list[Any], learned: int) -> list[OutcomeFeature]:
    """Sometimes None, and else something with parts."""
    there = OutcomeFeature(f"whether there is {name}", np.array([x is not None for x in outcomes], dtype=np.float64))
    return [there, *_columns(name, [MISSING if x is None else x for x in outcomes], learned)]


def _array_columns(name: str, outcomes: list[Any], learned: int) -> list[OutcomeFeature]:
    present = [x for x in outcomes if x is not MISSING]
    shapes = Counter(x.shape for x in present)
    if len(shapes) > 1 or len(present) < len(outcomes):
        sizes = ", ".join(sorted(str(shape) for shape in shapes))
        raise Incomparable(f"the arrays it returns vary in shape: {sizes}")
    if not _stay_exact(present):
        return _position_columns(name, [tuple(x.ravel().tolist()) for x in present], learned)
    table = np.stack(present).reshape(len(present), -1)
    if table.dtype.kind in "biuf":
        return _number_columns(name, table, slice(learned))
    return _position_columns(name, [tuple(row) for row in table.tolist()], learned)


def _position_columns(name: str, outcomes: list[Any], learned: int) -> list[OutcomeFeature]:
    """One column per place, and the length if it varies."""
    rows = [() if x is MISSING else x for x in outcomes]
    lengths = [len(row) for row in rows]
    if MOST_PLACES < min(lengths) == max(lengths) and (table := _numeric_table(rows)) is not None:
        return _number_columns(name, table, slice(learned))
    places = list(zip_longest(*(row[:MOST_PLACES] for row in rows), fillvalue=MISSING))
    columns = [
        column
        for i, place in enumerate(places)
        for column in _columns(f"place {i + 1} of {name}", list(place), learned)
    ]
    if min(lengths) < max(lengths) or not columns:
        columns.append(OutcomeFeature(f"the length of {name}", np.array(lengths, dtype=np.float64)))
    return [*columns, *_printed_columns(name, [row[MOST_PLACES:] for row in rows], learned)]


def _printed_columns(name: str, parts: list[Any], learned: int) -> list[OutcomeFeature]:
    """What has no columns of its own, as it prints: so that a constant is called one only if all of it is."""
    return _symbol_columns(f"the rest of {name}", list(map(repr, parts)), learned) if any(map(len, parts)) else []


def _numeric_table(rows: list[Any]) -> NDArray[Any] | None:
    """Long rows of numbers as a table, which is looked at as a whole; None if there is something else in them."""
    try:
        table = np.array(rows)
    except (ValueError, TypeError, OverflowError):
        return None
    exact = table.dtype.kind != "f" or not (np.abs(table) > _WHOLE).any()  # where whole numbers became floats
    return table if table.ndim == 2 and table.dtype.kind in "biuf" and exact else None


def _string_columns(name: str, outcomes: list[Any], learned: int) -> list[OutcomeFeature]:
    letters = [
        x if x is MISSING else tuple(x[:_LETTERS] if isinstance(x, bytes) else map(ord, x[:_LETTERS])) for x in outcomes
    ]
    lengths = OutcomeFeature(
        f"the length of {name}", np.array([0 if x is MISSING else len(x) for x in outcomes], dtype=np.float64)
    )
    return [
        *_symbol_columns(name, outcomes, learned),
        lengths,
        *_position_columns(f"the letters of {name}", letters, learned),
    ]


def _mapping_columns(name: str, outcomes: list[Any], learned: int) -> list[OutcomeFeature]:
    rows: list[Mapping[Any, Any]] = [{} if x is MISSING else x for x in outcomes]
    known = [key for key, _ in Counter(key for row in rows[:learned] for key in row).most_common(MOST_PLACES)]
    columns = [OutcomeFeature(f"how many keys {name} has", np.array([len(row) for row in rows], dtype=np.float64))]
    for key in known:
        place = [row.get(key, MISSING) for row in rows]
        here = OutcomeFeature(
            f"whether {_short_text(key)} is a key", np.array([x is not MISSING for x in place], dtype=np.float64)
        )
        columns += [here, *_columns(f"the value at {_short_text(key)}", place, learned)]
    shown = set(known)
    others = [sorted((repr(key), repr(row[key])) for key in row if key not in shown) for row in rows]
    return [*columns, *_printed_columns(name, others, learned)]


def _set_columns(name: str, outcomes: list[Any], learned: int) -> list[OutcomeFeature]:
    return _mapping_columns(name, [x if x is MISSING else dict.fromkeys(x, True) for x in outcomes], learned)


_NUMBERS = (Real, Decimal, np.number, np.bool_)
_NO_NUMBERS = (np.complexfloating, np.timedelta64)  # numpy calls them numbers; they have no place on the line
_FAMILIES: dict[str, tuple[type, ...]] = {
    "array": (np.ndarray,),
    "mapping": (Mapping,),
    "set": (set, frozenset),
    "string": (str, bytes),
    "sequence": (tuple, list),
}
_READERS: dict[str, Callable[[str, list[Any], int], list[OutcomeFeature]]] = {
    "number": _scalar_columns,
    "symbol": _symbol_columns,
    "array": _array_columns,
    "mapping": _mapping_columns,
    "set": _set_columns,
    "string": _string_columns,
    "sequence": _position_columns,
}
