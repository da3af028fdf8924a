"""Generalised values as k-anonymous tables print them, and who may stand behind each.

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


def candidates(
    released: pyarrow.Table, known: pyarrow.Table, on: Sequence[tuple[str, str]], identity: str | None
) -> tuple[Codes, Codes]:
    """How many people of ``known`` fit each released row, and a row of one who does (-1 if none)."""
    theirs = [plain_tables.encoded(known.column(other)) for _, other in on]
    rows = plain_tables.people(known, plain_tables.combined(theirs), identity)
    groups, place, sizes = np.unique(plain_tables.combined(theirs)[rows], return_index=True, return_counts=True)
    first = rows[place]
    ours = [plain_tables.encoded(released.column(one)) for one, _ in on]
    _, shown, back = np.unique(plain_tables.combined(ours), return_index=True, return_inverse=True)
    fits = [fitting(released.column(one), known.column(other)) for one, other in on]
    counts, example = np.zeros(len(shown), np.int64), np.full(len(shown), -1, np.int64)
    for row, place in enumerate(shown):
        mask = np.ones(len(groups), bool)
        for table, mine, yours in zip(fits, ours, theirs, strict=True):
            mask &= table[mine[place], yours[first]]
        counts[row] = sizes[mask].sum()
        example[row] = first[np.argmax(mask)] if mask.any() else -1
    return counts[back], example[back]


def fitting(shown: pyarrow.ChunkedArray, values: pyarrow.ChunkedArray) -> NDArray[np.bool_]:
    """For each different cell that is shown (in order of appearance), which different values it may stand for."""
    cells, different = plain_tables.words(plain_tables.different(shown)), plain_tables.different(values)
    forms = [plain_tables.words(different), _written(different)]
    numbers = np.array([_place(text) for text in forms[0]])
    return np.array([np.any([_fits(cell, texts, numbers) for texts in forms], axis=0) for cell in cells])


def _written(values: pyarrow.ChunkedArray) -> list[str]:
    """The values as Arrow writes them, and so tables that were made by it: ``true``, and 3 for 3.0."""
    import pyarrow

    try:
        return plain_tables.words(values.cast(pyarrow.string()))
    except pyarrow.ArrowException:
        return plain_tables.words(values)


def _fits(cell: str, texts: Sequence[str], numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    if cell == "*":
        return np.ones(len(texts), bool)
    if cell == _MISSING:
        absent = np.array([text in _UNKNOWN for text in texts])
        return absent if absent.any() else ~absent
    if found := _PREFIX.fullmatch(cell):
        start = found[1]
        return np.array([text == cell or (text.startswith(start) and len(text) == len(cell)) for text in texts])
    if found := _SET.fullmatch(cell):
        return _listed(cell, found[1], texts)
    same = np.array([text == cell for text in texts])
    if (found := _RANGE.fullmatch(cell)) and not re.fullmatch(_DATE, cell):
        return np.asarray(_between(found, numbers) | same)  # a telephone number looks like a range, too
    return same if same.any() else _among(cell, texts)  # a title may hold " to ", too


def _listed(cell: str, inside: str, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Members of a set; one of them may hold commas."""
    members, whole = {cell, *(part.strip() for part in inside.split(","))}, f", {inside}, "
    return np.array([text in members or f", {text}, " in whole for text in texts])


def _among(cell: str, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Words between two others, in the order of their signs; if the ends hold " to ", wherever they may be parted."""
    parts = cell.split(_TO)
    ends = [(_TO.join(parts[:place]), _TO.join(parts[place:])) for place in range(1, len(parts))]
    return np.array([text not in _UNKNOWN and any(low <= text <= high for low, high in ends) for text in texts])


def _between(found: re.Match[str], numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    low, high = _place(found[2]), _place(found[3])
    above = numbers > low if found[1] == "(" else numbers >= low
    below = numbers < high if found[4] == ")" else numbers <= high
    return np.asarray(above & below)


def _place(text: str) -> float:
    """Where a number or an ISO date stands on its axis; NaN for anything else, which lies in no range."""
    if re.fullmatch(_NUMBER, text):
        return float(text)
    if found := re.match(_DATE, text):
        with suppress(ValueError):  # a day that no calendar has
            return float(np.datetime64(found[0]).astype(np.int64))
    return float("nan")
