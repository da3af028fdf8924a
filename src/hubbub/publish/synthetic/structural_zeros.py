"""Combinations that cannot be (structural zeros): declared, public, and never generated."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.publish.cells import CategoryCells, Codes, Coding
from hubbub.publish.domains import Categorical
from hubbub.publish.graphical.fitting import Zeros
from hubbub.terms import OutOfRange

Impossible: TypeAlias = Mapping[str, Any]  # column -> values, or (lower, upper) of numbers and dates
Mask: TypeAlias = NDArray[np.bool_]


def check_rules(impossible: Sequence[Impossible], columns: Mapping[str, object]) -> None:
    """Refuse what does not speak of two modelled columns or more, or not of values that they could have."""
    for rule in impossible:
        if len(rule) < 2 or not set(rule) <= set(columns):
            raise OutOfRange(
                f"{dict(rule)!r} is no combination of modelled columns.",
                why="A structural zero says which values of two or more columns never meet.",
                fix='Write impossible=[{"sex": ["male"], "pregnant": ["yes"]}], or give one column a smaller domain.',
            )
        for name, values in rule.items():
            _check_values(name, columns[name], values)


def _check_values(name: str, column: object, values: Any) -> None:
    try:
        if isinstance(column, Categorical):
            _listed_values(values)
        else:
            _range_ends(values)
    except (TypeError, ValueError, ZeroDivisionError):
        raise OutOfRange(
            f"{values!r} are no values of {name!r}.",
            why="A structural zero names words of a list, or the lowest and the highest number or date.",
            fix='Write impossible=[{"age": (0, 12), "job": ["baker", "pilot"]}].',
        ) from None


def check_possible(zeros: Sequence[Zeros]) -> None:
    """Refuse a rule that leaves no combination of its columns at all."""
    if any(zero.mask.all() for zero in zeros):
        raise OutOfRange(
            "a structural zero leaves no combination of its columns.",
            why="Every row has one, so no row could be made.",
            fix="Name only values that never meet.",
        )


def fine_zeros(impossible: Sequence[Impossible], codings: Mapping[str, Coding]) -> list[Zeros]:
    """The rules as masks over the declared cells. Of numbers and dates, cells that lie wholly between the bounds."""
    names = list(codings)
    zeros = []
    for rule in impossible:
        columns = tuple(sorted(names.index(name) for name in rule))
        masks = [_asked_cells(codings[names[column]], rule[names[column]]) for column in columns]
        zeros.append(Zeros(columns, _outer_mask(masks)))
    return zeros


def coarse_zeros(zeros: Sequence[Zeros], groups: Sequence[Codes]) -> list[Zeros]:
    """The same over coarser cells: impossible if everything in it is."""
    return [Zeros(zero.columns, _coarse_mask(zero, groups)) for zero in zeros]


def forbidden_rows(codes: Codes, zeros: Sequence[Zeros]) -> Mask:
    """Which rows cannot be."""
    none = np.zeros(len(codes), dtype=bool)
    return reduce(lambda bad, zero: bad | zero.mask[tuple(codes[:, c] for c in zero.columns)], zeros, none)


def _coarse_mask(zero: Zeros, groups: Sequence[Codes]) -> Mask:
    possible = ~zero.mask
    for axis, column in enumerate(zero.columns):
        sets = [np.flatnonzero(groups[column] == g) for g in range(int(groups[column].max()) + 1)]
        possible = np.stack([possible.take(members, axis=axis).any(axis=axis) for members in sets], axis=axis)
    return ~possible


def _asked_cells(coding: Coding, values: Any) -> Mask:
    if isinstance(coding, CategoryCells):
        listed = _listed_values(values)
        own = np.array([value in listed for value in coding.values])
        return np.append(own, coding.other in listed) if coding.cells > len(own) else own
    lower, upper = _range_ends(values)
    last = 0 if coding.kind == "float" else 1  # the last whole number or day of a cell is one below its end
    ends = zip(coding.edges[:-1], coding.edges[1:], strict=True)
    own = np.array([lower <= begin and end - last <= upper for begin, end in ends])
    return np.append(own, False) if coding.missing else own


def _listed_values(values: Any) -> set[Any]:
    return {values} if isinstance(values, str) or not isinstance(values, Collection) else set(values)


def _range_ends(values: Any) -> tuple[Fraction, Fraction]:
    lower, upper = (_end_position(end) for end in values)
    return lower, upper


def _end_position(end: Any) -> Fraction:
    if isinstance(end, datetime.date):
        return Fraction((end - datetime.date(1970, 1, 1)).days)
    if isinstance(end, str):
        return _end_position(datetime.date.fromisoformat(end))
    return Fraction(str(end))


def _outer_mask(masks: Sequence[Mask]) -> Mask:
    return reduce(np.logical_and.outer, masks)
