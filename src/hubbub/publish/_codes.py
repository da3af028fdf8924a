"""Columns as ordered codes: what a partition works on, and how a range of codes is written for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute as pc
from numpy.typing import NDArray

Codes = NDArray[np.int64]
MISSING = "(missing)"


@dataclass(frozen=True, slots=True)
class Coded:
    """One column: a code for each row, and the value that each code stands for, in order.

    Numbers and dates are ordered as such, words by the alphabet; a missing value is a value of its own and
    comes first.
    """

    name: str
    codes: Codes
    labels: tuple[str, ...]
    numeric: bool

    def words(self, low: int, high: int) -> str:
        """A range of codes as it is published."""
        if low == high:
            return self.labels[low]
        if self.numeric and self.labels[low] != MISSING:
            return f"{self.labels[low]} to {self.labels[high]}"
        return "{" + ", ".join(self.labels[low : high + 1]) + "}"

    @property
    def span(self) -> int:
        """The distance between the first and the last code, at least 1."""
        return max(1, len(self.labels) - 1)


def coded(name: str, column: Any) -> Coded:
    """A column of an Arrow table as codes."""
    flat = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    if pyarrow.types.is_dictionary(flat.type):
        flat = flat.dictionary_decode()
    present = pc.unique(flat.drop_null())
    ordered = present.take(pc.sort_indices(present))
    found = pc.index_in(flat, value_set=ordered)  # null where the value is missing
    gap = int(flat.null_count > 0)
    codes = np.asarray(pc.fill_null(pc.add(found, gap), 0)).astype(np.int64)
    labels = tuple(map(str, ordered.to_pylist()))
    return Coded(name, codes, (MISSING, *labels) if gap else labels, numeric=_counts(flat.type))


def _counts(kind: pyarrow.DataType) -> bool:
    types = pyarrow.types
    return any(test(kind) for test in (types.is_integer, types.is_floating, types.is_decimal, types.is_temporal))
