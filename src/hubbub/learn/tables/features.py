"""Tables of people as numbers, by what is public about their columns. Each row is read by itself, and none fails.

A number column has bounds and a category column a list of values, both declared. First a table becomes *codes*: one
number per cell, the value itself or the place in the list (0: none of them). Then codes become features:

    bins     one 0/1 column per bin of a number and per category: for classifiers that are trained step by step
    scaled   a number between 0 and 1, and one 0/1 column per category: for moments
    codes    the codes themselves: for trees
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.learn.base.containers import is_column, object_values, objects_of
from hubbub.learn.base.inputs import numbers_of
from hubbub.learn.training.network import Floats
from hubbub.terms import UnknownName, identity_of

BINS = 16  # of a number, equally wide
_SHOWN = 4  # values of a list
MISSING = -float(np.finfo(np.float64).max)  # in the place of what is no number


class Style(StrEnum):
    """What features are made of codes."""

    BINS = "bins"
    SCALED = "scaled"
    CODES = "codes"


@dataclass(frozen=True, slots=True)
class NumberFeature:
    """A column of numbers between public bounds; without bounds they have to be found privately."""

    name: str
    lower: float | None = None
    upper: float | None = None

    @property
    def bounded(self) -> bool:
        """Whether its bounds are known."""
        return self.lower is not None and self.upper is not None

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds."""
        assert self.lower is not None and self.upper is not None
        return self.lower, self.upper

    def identity(self) -> dict[str, object]:
        """What makes two such columns the same."""
        return {
            "column": "number",
            "name": self.name,
            "lower": identity_of(self.lower),
            "upper": identity_of(self.upper),
        }

    def words(self) -> str:
        """What is known of it."""
        return f"{self.lower:,.12g} to {self.upper:,.12g}" if self.bounded else "bounds found privately"


@dataclass(frozen=True, slots=True)
class Category:
    """A column whose values are on a public list."""

    name: str
    values: tuple[str, ...]

    def identity(self) -> dict[str, object]:
        """What makes two such columns the same."""
        return {"column": "category", "name": self.name, "values": identity_of(list(self.values))}

    def words(self) -> str:
        """What is known of it."""
        shown, more = ", ".join(self.values[:_SHOWN]), ", ..." if len(self.values) > _SHOWN else ""
        return f"{len(self.values)} values: {shown}{more}"


Column = NumberFeature | Category


class NamedColumns(Protocol):
    """A table that has its columns by name: a frame, or a dict of columns."""

    def __getitem__(self, name: str, /) -> ArrayLike:
        """The cells of a column."""
        ...


def word_of(value: object) -> str:
    """A value as it is compared with a public list: 1, 1.0 and " 1 " are the same, and so are True and "true"."""
    try:
        if isinstance(value, bool | np.bool_):
            return "true" if value else "false"
        if isinstance(value, float | np.floating) and float(value).is_integer():
            return str(int(value))
        return str(value).strip()
    except Exception:  # whatever it is, it is one cell of one row
        return ""


# ---------------------------------------------------------------- cells -> codes


def codes_of(table: NamedColumns, columns: Sequence[Column]) -> Floats:
    """One code per cell of the named columns; ``table`` is a frame, or anything that has columns by name."""
    return np.column_stack([_column_codes(column_in(table, column.name), column) for column in columns])


def column_in(table: NamedColumns, name: str) -> NDArray[Any]:
    """The values of a column, each as it is."""
    try:
        values = table[name]
    except (KeyError, IndexError, TypeError):
        raise UnknownName(
            f"the table has no column {name!r}.",
            why="The model was made for it.",
            fix="Give a table with the columns that the model's card lists.",
        ) from None
    if isinstance(values, list | tuple):  # of which an array might have two dimensions
        return objects_of(values)
    return object_values(values) if is_column(values) else np.asarray(values, dtype=object)


def _column_codes(values: NDArray[Any], column: Column) -> Floats:
    if isinstance(column, Category):
        places = {word_of(value): place for place, value in enumerate(column.values, 1)}
        return np.array([places.get(word_of(value), 0) for value in values], dtype=np.float64)
    numbers = numbers_of(values)
    return np.where(np.isfinite(numbers), numbers, MISSING)


def words_in(table: NamedColumns, name: str) -> NDArray[Any]:
    """The values of a column as words, for classes."""
    return np.array([word_of(value) for value in column_in(table, name)], dtype=object)


def numbers_in(table: NamedColumns, name: str) -> Floats:
    """The values of a column as numbers, NaN for what is none."""
    return numbers_of(column_in(table, name))


# ---------------------------------------------------------------- codes -> features


def features_of(codes: Floats, columns: Sequence[Column], style: Style) -> Floats:
    """The features of codes. What is missing, or on no list, is 0 in all of its columns."""
    if style is Style.CODES:
        return codes
    groups = [_column_features(codes[:, place], column, style) for place, column in enumerate(columns)]
    return np.hstack(groups)


def _column_features(codes: Floats, column: Column, style: Style) -> Floats:
    if isinstance(column, Category):
        return _one_hot(codes.astype(np.int64) - 1, len(column.values))
    there = codes != MISSING
    lower, upper = column.ends
    share = (np.clip(codes, lower, upper) / 2 - lower / 2) / (upper / 2 - lower / 2)  # halves never overflow
    if style is Style.SCALED:
        return np.where(there, share, 0.0)[:, None]
    places = np.minimum((share * BINS).astype(np.int64), BINS - 1)
    return _one_hot(np.where(there, places, -1), BINS)


def _one_hot(places: NDArray[np.int64], size: int) -> Floats:
    table = np.zeros((len(places), size))
    inside = np.flatnonzero((places >= 0) & (places < size))
    table[inside, places[inside]] = 1.0
    return table


def width_of(columns: Sequence[Column], style: Style) -> int:
    """How many features there are."""
    if style is Style.CODES:
        return len(columns)
    number = BINS if style is Style.BINS else 1
    return sum(len(column.values) if isinstance(column, Category) else number for column in columns)


def norm_of(columns: Sequence[Column]) -> float:
    """The largest L2 norm of the features of a row, for bins and scaled: each column adds at most 1."""
    return math.sqrt(len(columns))


def code_bounds(columns: Sequence[Column]) -> tuple[list[tuple[float, float]], list[int]]:
    """The bounds and the number of bins of each column of codes, for trees."""
    bounds = [(-0.5, len(c.values) + 0.5) if isinstance(c, Category) else c.ends for c in columns]
    return bounds, [len(c.values) + 1 if isinstance(c, Category) else 2 * BINS for c in columns]
