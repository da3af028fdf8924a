"""Simultaneous confidence regions for the frequency vector: all tables of shares that the reports allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub.local.estimates import FrequencyEstimate
from hubbub.render import Document, Json, Section, TextTable
from hubbub.terms import OutOfRange, Real, WrongShape, fraction_of, whole

Floats = NDArray[np.float64]

_SHOWN = 12


@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceSet(Document):
    """A box that holds the shares of all values at once, with probability ``confidence`` at least.

    Everything here follows from the box, so all of it holds at once: ranks, the most frequent values, comparisons.
    """

    low: Floats
    high: Floats
    confidence: float

    def contains(self, shares: Floats) -> bool:
        """Whether a table of shares is in the set."""
        table = np.asarray(shares, dtype=np.float64)
        if table.shape != self.low.shape:
            raise WrongShape(
                f"{self.low.size} shares were expected.", why="The set is about all of them.", fix="Give one for each."
            )
        return bool(np.all((self.low <= table) & (table <= self.high)))

    def ranks(self) -> NDArray[np.int64]:
        """Rows (best, worst): the places, counted from 1, that each value can have when ordered by share."""
        lows, highs = np.sort(self.low), np.sort(self.high)
        ahead = self.low.size - np.searchsorted(lows, self.high, side="right")  # surely larger
        behind = np.searchsorted(highs, self.low, side="left")  # surely smaller
        return np.stack([ahead + 1, self.low.size - behind], axis=1).astype(np.int64)

    def top(self, count: int) -> tuple[list[int], list[int]]:
        """The values that are surely among the ``count`` most frequent, and all that may be."""
        places = whole(count, name="count")
        if places > self.low.size:
            raise OutOfRange(
                f"count is {places} and there are {self.low.size} values.",
                why="There are no more to order.",
                fix="Ask for fewer.",
            )
        ranks = self.ranks()
        sure, maybe = np.flatnonzero(ranks[:, 1] <= places), np.flatnonzero(ranks[:, 0] <= places)
        return sure.tolist(), maybe.tolist()

    def surely_larger(self, first: int, second: int) -> bool:
        """Whether every table in the set gives the first value more than the second."""
        return bool(self.low[first] > self.high[second])

    @property
    def title(self) -> str:
        """What is told."""
        return f"What holds for {self.low.size:,} shares at once"

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        ranks = self.ranks()
        order = np.argsort(-(self.low + self.high), kind="stable")[:_SHOWN]
        rows = tuple(
            (str(i), f"{100 * self.low[i]:.2f}% to {100 * self.high[i]:.2f}%", f"{ranks[i, 0]} to {ranks[i, 1]}")
            for i in order
        )
        words = (f"With {100 * self.confidence:g}% confidence all of these hold at once, for all values.",)
        return (Section("Shares and places", words, TextTable(("value", "share", "place"), rows)),)

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "confidence-set",
            "confidence": self.confidence,
            "low": self.low.tolist(),
            "high": self.high.tolist(),
        }


def confidence_set(
    frequencies: FrequencyEstimate, confidence: Real = 0.95, *, population: bool = False
) -> ConfidenceSet:
    """The box of simultaneous intervals around an estimate, cut to possible shares.

    Bonferroni's: the intervals of all values hold at once, however their errors go together.
    """
    ends = frequencies.intervals(confidence, simultaneous=True, population=population)
    return ConfidenceSet(
        low=np.clip(ends[:, 0], 0.0, 1.0),
        high=np.clip(ends[:, 1], 0.0, 1.0),
        confidence=float(fraction_of(confidence, name="confidence")),
    )
