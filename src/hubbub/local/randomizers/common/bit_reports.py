"""Reports that are rows of bits, eight in a byte, the first bit lowest."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.local.randomizers.base import Randomizer, Reports, no_reports
from hubbub.local.randomizers.common.kernels import count_bits
from hubbub.local.randomizers.common.values import report_array, whole_reports
from hubbub.terms import BadReport

Rows = NDArray[np.uint8]


class Bits(Randomizer):
    """A randomizer whose reports are rows of bytes: what is sent is what it is."""

    def pack(self, reports: ArrayLike) -> Rows:
        """The reports as they are."""
        plain = report_array(reports)
        if plain.dtype == np.uint8:
            return np.atleast_2d(plain)
        rows = np.atleast_2d(whole_reports(plain))
        if rows.size and (rows.min() < 0 or rows.max() > 255):
            raise self._malformed()
        return rows.astype(np.uint8)

    def _unpack(self, payload: Rows) -> Reports:
        return payload

    def _reports(self, reports: ArrayLike) -> Rows:
        rows = np.atleast_2d(report_array(reports))
        if not rows.size:
            raise no_reports()
        if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != self.payload_bytes:
            raise self._malformed()
        return rows

    def _malformed(self) -> BadReport:
        return BadReport(
            f"a report of {self.protocol} is a row of {self.payload_bytes} bytes.",
            why="Each person sends one row of packed bits.",
            fix="Estimate with the randomizer that made the reports.",
            reason="malformed",
        )


def bit_counts(rows: Rows, width: int) -> NDArray[np.int64]:
    """In how many rows each of the first ``width`` bits is set."""
    return count_bits(rows)[:width]


def padding_is_zero(rows: Rows, width: int) -> NDArray[np.bool_]:
    """Which rows have no bit set beyond the first ``width``."""
    spare = 8 * rows.shape[1] - width
    if not spare:
        return np.ones(len(rows), dtype=np.bool_)
    return np.asarray(rows[:, -1] >> np.uint8(8 - spare) == 0)
