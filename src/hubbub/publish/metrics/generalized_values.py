"""Generalized values as numbers again: each is spread evenly over everything that it may stand for.

=============================  ==============================================
``*``                          anything that was declared
``(missing)``, or nothing      the cell of the missing
``20 to 29``                   a number in between, both ends included
``[20, 30)``                   the same without its end
``[1940-01-01, 1949-12-31]``   a day in between
``{flu, cold}``                one of these
``021**``                      a declared word that begins so
a node of a tree               a leaf below it
anything else                  itself
=============================  ==============================================
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.publish.anonymize.coded_columns import ANY, MISSING
from hubbub.publish.anonymize.hierarchies import Categories, Hierarchy
from hubbub.publish.cells import CategoryCells, Codes, Coding, Scale, plain_array

if TYPE_CHECKING:
    import pyarrow

Floats = NDArray[np.float64]
_NUMBER, _DATE = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", r"\d{4}-\d\d-\d\d"
_RANGE = re.compile(rf"\[?({_DATE}|{_NUMBER})(?: to |, )({_DATE}|{_NUMBER})([\])]?)")
_SET = re.compile(r"\{(.*)\}")
_PREFIX = re.compile(r"([^*]+)\*+")


def spread_values(column: pyarrow.ChunkedArray, coding: Coding, hierarchy: Hierarchy | None) -> Codes:
    """A declared cell for each row: rows that say the same are spread evenly over what that may stand for.

    Which row gets which cell is a fixed shuffle, so that columns are spread independently of each other.
    """
    import pyarrow
    import pyarrow.compute as pc

    encoded = pc.dictionary_encode(plain_array(column).cast(pyarrow.string()), null_encoding="encode")
    numbers, texts = np.asarray(encoded.indices), encoded.dictionary.to_pylist()
    shuffle = np.random.default_rng(len(texts))
    codes = np.zeros(len(numbers), dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(numbers, minlength=len(texts))))
    for number, text in enumerate(texts):
        rows = order[ends[number] : ends[number + 1]]
        places = (np.arange(rows.size) + 0.5) / max(rows.size, 1)
        even = np.searchsorted(np.cumsum(cell_shares(text, coding, hierarchy)), places)
        codes[rows] = shuffle.permutation(np.minimum(even, coding.cells - 1))
    return codes


def cell_shares(text: str | None, coding: Coding, hierarchy: Hierarchy | None) -> Floats:
    """How a published value is spread over the declared cells: shares that add up to 1."""
    if text is None or text == MISSING:
        return _single_cell(coding, coding.cells - 1 if coding.missing else 0)
    if text == ANY:
        return _any_cell(coding)
    weights = _range_shares(text, coding) if isinstance(coding, Scale) else _word_shares(text, coding, hierarchy)
    total = weights.sum()
    return weights / total if total > 0 else _single_cell(coding, coding.cells - 1)


def _single_cell(coding: Coding, cell: int) -> Floats:
    weights = np.zeros(coding.cells)
    weights[cell] = 1.0
    return weights


def _any_cell(coding: Coding) -> Floats:
    weights = np.zeros(coding.cells)
    real = coding.cells - coding.missing
    weights[:real] = np.diff([float(edge) for edge in coding.edges]) if isinstance(coding, Scale) else 1.0
    return np.asarray(weights / weights.sum())


def _range_shares(text: str, scale: Scale) -> Floats:
    """By how much each cell lies in the range; what lies beyond the bounds belongs to the cell at the bound."""
    low, high = _range_ends(text, scale)
    weights = np.zeros(scale.cells)
    if np.isnan(low):
        return weights
    edges = np.array([float(edge) for edge in scale.edges])
    edges[0], edges[-1] = -np.inf, np.inf
    inside = np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)
    weights[: inside.size] = np.maximum(inside, 0.0)
    if not weights.any():  # one number, not a range
        weights[int(np.searchsorted(edges[1:-1], low, side="right"))] = 1.0
    return weights


def _range_ends(text: str, scale: Scale) -> tuple[float, float]:
    match = _RANGE.fullmatch(text)
    low, high = (
        (_axis_position(part, scale) for part in (match[1], match[2])) if match else (_axis_position(text, scale),) * 2
    )
    closed = match is None or match[3] != ")"
    return low, high + (closed and scale.kind != "float")


def _axis_position(text: str, scale: Scale) -> float:
    if scale.kind == "date":
        day = re.match(_DATE, text)
        return float(np.datetime64(day[0]).astype(np.int64)) if day else float("nan")
    return float(text) if re.fullmatch(_NUMBER, text) else float("nan")


def _word_shares(text: str, labels: CategoryCells, hierarchy: Hierarchy | None) -> Floats:
    members = _set_members(text, [str(value) for value in labels.values], hierarchy)
    weights = np.zeros(labels.cells)
    weights[: len(labels.values)] = [str(value) in members for value in labels.values]
    if not weights.any() and not labels.missing:
        weights[list(labels.values).index(labels.other)] = 1.0
    return weights


def _set_members(text: str, values: list[str], hierarchy: Hierarchy | None) -> set[str]:
    if text in values:
        return {text}
    if isinstance(hierarchy, Categories):
        return {leaf for leaf, above in hierarchy.paths.items() if text in above}
    if match := _SET.fullmatch(text):
        return set(match[1].split(", "))
    if match := _PREFIX.fullmatch(text):
        return {value for value in values if value.startswith(match[1]) and len(value) == len(text)}
    low, _, high = text.partition(" to ")
    return {value for value in values if high and low <= value <= high}
