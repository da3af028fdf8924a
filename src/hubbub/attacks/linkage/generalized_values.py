"""Generalized values as k-anonymous tables print them, and who may stand behind each.

=============================  ==================================================
``*``, or nothing at all       anything
``(missing)``                  a missing value; anything, if no value is missing
``021**``                      a text of that length that begins so
``20-29``, ``20 to 29``        a number in between, both ends included
``[20, 30)``                   the same; a round bracket leaves its end out
``[1940-01-01, 1949-12-31]``   a date in between
``Adams to Baker``             a word in between, both ends included
``{flu, cold}``                one of these
anything, these too            itself
=============================  ==================================================
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.attacks import plain_tables
from hubbub.attacks.plain_tables import Codes

if TYPE_CHECKING:
    import pyarrow

_MISSING, _UNKNOWN = "(missing)", ("*", "(missing)", "nan")
_NUMBER, _DATE = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", r"\d{4}-\d\d-\d\d"
_RANGE = re.compile(rf"([\[(]?)\s*({_DATE}|{_NUMBER})\s*(?:-|,|;|\.\.|to)\s*({_DATE}|{_NUMBER})\s*([\])]?)")
_TO = " to "
_SET = re.compile(r"\{(.*)\}")
_PREFIX = re.compile(r"([^*]*)(\*+)")


def count_candidates(
    released: pyarrow.Table, known: pyarrow.Table, on: Sequence[tuple[str, str]], identity: str | None
) -> tuple[Codes, Codes]:
    """How many people of ``known`` fit each released row, and a row of one who does (-1 if none)."""
    theirs = [plain_tables.encode_column(known.column(other)) for _, other in on]
    rows = plain_tables.rows_of_people(known, plain_tables.combine_codes(theirs), identity)
    groups, place, sizes = np.unique(plain_tables.combine_codes(theirs)[rows], return_index=True, return_counts=True)
    first = rows[place]
    ours = [plain_tables.encode_column(released.column(one)) for one, _ in on]
    _, shown, back = np.unique(plain_tables.combine_codes(ours), return_index=True, return_inverse=True)
    fits = [fitting_values(released.column(one), known.column(other)) for one, other in on]
    counts, example = np.zeros(len(shown), np.int64), np.full(len(shown), -1, np.int64)
    for row, place in enumerate(shown):
        mask = np.ones(len(groups), bool)
        for table, mine, yours in zip(fits, ours, theirs, strict=True):
            mask &= table[mine[place], yours[first]]
        counts[row] = sizes[mask].sum()
        example[row] = first[np.argmax(mask)] if mask.any() else -1
    return counts[back], example[back]


def fitting_values(shown: pyarrow.ChunkedArray, values: pyarrow.ChunkedArray) -> NDArray[np.bool_]:
    """For each different cell that is shown (in order of appearance), which different values it may stand for."""
    cells, different = (
        plain_tables.value_texts(plain_tables.distinct_values(shown)),
        plain_tables.distinct_values(values),
    )
    forms = [plain_tables.value_texts(different), _written_values(different)]
    numbers = np.array([_axis_position(text) for text in forms[0]])
    return np.array([np.any([_values_in_cell(cell, texts, numbers) for texts in forms], axis=0) for cell in cells])


def _written_values(values: pyarrow.ChunkedArray) -> list[str]:
    """The values as Arrow writes them, and so tables that were made by it: ``true``, and 3 for 3.0."""
    import pyarrow

    try:
        return plain_tables.value_texts(values.cast(pyarrow.string()))
    except pyarrow.ArrowException:
        return plain_tables.value_texts(values)


def _values_in_cell(cell: str, texts: Sequence[str], numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    if cell == "*":
        return np.ones(len(texts), bool)
    if cell == _MISSING:
        absent = np.array([text in _UNKNOWN for text in texts])
        return absent if absent.any() else ~absent
    if match := _PREFIX.fullmatch(cell):
        start = match[1]
        return np.array([text == cell or (text.startswith(start) and len(text) == len(cell)) for text in texts])
    if match := _SET.fullmatch(cell):
        return _in_set(cell, match[1], texts)
    same = np.array([text == cell for text in texts])
    if (match := _RANGE.fullmatch(cell)) and not re.fullmatch(_DATE, cell):
        return np.asarray(_between_numbers(match, numbers) | same)  # a telephone number looks like a range, too
    return same if same.any() else _between_words(cell, texts)  # a title may hold " to ", too


def _in_set(cell: str, inside: str, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Members of a set; one of them may hold commas."""
    members, whole = {cell, *(part.strip() for part in inside.split(","))}, f", {inside}, "
    return np.array([text in members or f", {text}, " in whole for text in texts])


def _between_words(cell: str, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Words between two others, in the order of their signs; if the ends hold " to ", wherever they may be parted."""
    parts = cell.split(_TO)
    ends = [(_TO.join(parts[:place]), _TO.join(parts[place:])) for place in range(1, len(parts))]
    return np.array([text not in _UNKNOWN and any(low <= text <= high for low, high in ends) for text in texts])


def _between_numbers(match: re.Match[str], numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    low, high = _axis_position(match[2]), _axis_position(match[3])
    above = numbers > low if match[1] == "(" else numbers >= low
    below = numbers < high if match[4] == ")" else numbers <= high
    return np.asarray(above & below)


def _axis_position(text: str) -> float:
    """Where a number or an ISO date stands on its axis; NaN for anything else, which lies in no range."""
    if re.fullmatch(_NUMBER, text):
        return float(text)
    if match := re.match(_DATE, text):
        with suppress(ValueError):  # a day that no calendar has
            return float(np.datetime64(match[0]).astype(np.int64))
    return float("nan")
