"""From noisy histograms of people to bounds: post-processing, which costs nothing and may be done again."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.common import NoisyCurve, rank_widths
from hubbub.render import Document, Json, Section, TextTable, percent, short
from hubbub.sql.bounds.buckets import Buckets
from hubbub.terms import Guarantee, Receipt

CONFIDENCE = 0.95
COVERED = 0.995  # of people, where noise allows
Number = int | float


@dataclass(frozen=True, slots=True)
class SuggestedBound:
    """One suggested number, the interval that holds the bucket's end it stands for, and why it was chosen."""

    name: str
    value: Number | None
    low: Number | None
    high: Number | None
    reason: str


@dataclass(frozen=True, slots=True)
class PeopleHistogram:
    """A noisy cumulative histogram of people over public buckets."""

    buckets: Buckets
    curve: NoisyCurve

    @property
    def people(self) -> float:
        """How many people are in it, with noise."""
        return float(self.curve.total)

    @property
    def margin(self) -> float:
        """How many people the count up to any bucket may be off by."""
        return float(rank_widths(self.curve.tree, self.curve.event, 0.0, CONFIDENCE).max())

    @property
    def stands_out(self) -> bool:
        """Whether there are clearly more people than noise."""
        return self.people > 4 * self.margin

    @property
    def covered(self) -> float:
        """The share of people up to which the buckets can be told from noise, at most ``COVERED``."""
        return 1 - max(1 - COVERED, 2 * self.margin / self.people)

    def cell(self, share: float) -> int:
        """The bucket up to which a share of the people lies."""
        place = self.curve.quantile(share)
        assert isinstance(place, int)
        return place

    def interval(self, share: float) -> tuple[int, int]:
        """The first and last bucket that may be that one."""
        low, high = self.curve.interval(share, CONFIDENCE)
        return int(low), int(high)

    def share(self, cell: int) -> tuple[float, float, float]:
        """The share of people up to a bucket, and its interval, within 0 and 1."""
        middle, off = float(self.curve.cumulative[cell]) / self.people, self.margin / self.people
        told = [min(1.0, max(0.0, end)) for end in (middle, middle - off, middle + off)]
        return told[0], told[1], told[2]


# ---------------------------------------------------------------- rows per person


def suggest_rows(rows: PeopleHistogram, *, noise_per_row: float, reference: str) -> SuggestedBound:
    """The cap with the least predicted error of a count: rows that are cut off, against noise that grows with it."""
    if not rows.stands_out:
        return _nothing("max_rows_per_unit")
    top = max(1, rows.cell(1 - 2 * rows.margin / rows.people))
    people = np.diff(np.maximum.accumulate(rows.curve.cumulative[: top + 1]), prepend=0.0)
    typical = _typical(rows.buckets)[: top + 1]
    caps = [int(end) for end in rows.buckets.highs[1 : top + 1]]
    kept = np.array([float(people @ np.minimum(typical, cap)) for cap in caps])
    whole = float(people @ typical) or 1.0
    errors = np.hypot(whole - kept, noise_per_row * np.array(caps))
    best = int(np.argmin(errors))
    share, low, high = rows.share(best + 1)
    ends = rows.interval(share) if 0 < share < 1 else (best + 1, top)
    reason = (
        f"covers about {percent(share)} of people (from {percent(low)} to {percent(high)}) and "
        f"{percent(min(1.0, kept[best] / whole))} of the rows of people with up to {caps[-1]:,}; more than that cannot "
        f"be told from noise. A count is then off by about {errors[best]:,.0f}, of which noise is "
        f"{noise_per_row * caps[best]:,.0f}, at {reference}"
    )
    first, last = (int(rows.buckets.highs[cell]) for cell in ends)
    return SuggestedBound("max_rows_per_unit", caps[best], min(first, caps[best]), max(last, caps[best]), reason)


def _typical(buckets: Buckets) -> NDArray[np.float64]:
    """The middle of each bucket of whole numbers."""
    ends = zip(buckets.lows, buckets.highs, strict=True)
    return np.array([float(low + 1 + high) / 2 if high else 0.0 for low, high in ends])


# ---------------------------------------------------------------- values


def suggest_upper(name: str, largest: PeopleHistogram, *, whole: bool, what: str) -> SuggestedBound:
    """The end of the bucket below which most people's largest values lie."""
    if not largest.stands_out:
        return _nothing(name)
    share = largest.covered
    cells = (largest.cell(share), *largest.interval(share))
    value, low, high = (_number(largest.buckets.highs[cell], whole, up=True) for cell in cells)
    return SuggestedBound(name, value, low, high, _words(share, largest, what, cells[0] == largest.buckets.cells - 1))


def suggest_lower(name: str, smallest: PeopleHistogram, *, whole: bool, what: str) -> SuggestedBound:
    """The beginning of the bucket above which most people's smallest values lie."""
    if not smallest.stands_out:
        return _nothing(name)
    share = smallest.covered
    cells = (smallest.cell(1 - share), *smallest.interval(1 - share))
    value, low, high = (_number(smallest.buckets.lows[cell], whole, up=False) for cell in cells)
    return SuggestedBound(name, value, low, high, _words(share, smallest, what, cells[0] == 0))


def _words(share: float, histogram: PeopleHistogram, what: str, beyond: bool) -> str:
    words = f"covers about {percent(share)} of people, to whom it never matters ({what})"
    if share < COVERED:
        words += f"; more cannot be told from noise, which is {histogram.margin:,.0f} people here"
    return words + ("; values beyond the last bucket were found, so look at the unit of measurement" if beyond else "")


def _nothing(name: str) -> SuggestedBound:
    return SuggestedBound(name, None, None, None, "too few people stand out from the noise at this price")


def _number(value: Fraction, whole: bool, *, up: bool) -> Number:
    if whole or value.denominator == 1:
        return math.ceil(value) if up else math.floor(value)
    return float(value)


# ---------------------------------------------------------------- the suggestion


@dataclass(frozen=True)
class Suggestion(Document):
    """Bounds for a table, estimated privately: what to declare, within which interval, and why.

    Guarantee: that of ``guarantee``, for everything here and everything worked out from it.
    Because: [DR14], post-processing of noisy histograms.
    """

    table: str
    rows: SuggestedBound | None
    columns: dict[str, tuple[SuggestedBound, SuggestedBound, SuggestedBound]]  # lower, upper, total
    guarantee: Guarantee
    receipt: Receipt | None
    repeated: bool

    @property
    def max_rows_per_unit(self) -> int | None:
        """The suggested cap on one person's rows."""
        return None if self.rows is None or self.rows.value is None else int(self.rows.value)

    @property
    def bounds(self) -> dict[str, tuple[Number, Number]]:
        """(lower, upper) by column, where something could be told."""
        return {
            name: (lower.value, upper.value)
            for name, (lower, upper, _) in self.columns.items()
            if lower.value is not None and upper.value is not None
        }

    @property
    def totals(self) -> dict[str, Number]:
        """By column, what one person's values add up to in size, at most, for most people."""
        return {name: total.value for name, (_, _, total) in self.columns.items() if total.value is not None}

    @property
    def title(self) -> str:
        """What was suggested."""
        return f"Suggested bounds for {self.table!r}"

    def found(self) -> Sequence[tuple[str, SuggestedBound]]:
        """Every suggestion with the name under which it is shown."""
        rows = [("rows of one person", self.rows)] if self.rows is not None else []
        sides = ("lower bound", "upper bound", "total of one person")
        inside = [(n, zip(sides, each, strict=True)) for n, each in self.columns.items()]
        return [*rows, *((f"{name}: {side}", found) for name, parts in inside for side, found in parts)]

    def sections(self) -> tuple[Section, ...]:
        """The numbers with reasons, and what to paste."""
        rows = tuple((name, _shown(f.value), f"{_shown(f.low)} to {_shown(f.high)}") for name, f in self.found())
        charged = f" · receipt #{self.receipt.sequence}" if self.receipt is not None else ""
        repeat = " · asked before: free" if self.repeated else ""
        return (
            Section(
                "What to declare",
                (f"{self.guarantee.holds.describe()}{charged}{repeat}.",),
                TextTable(("what", "suggested", f"interval ({CONFIDENCE:.0%})"), rows),
            ),
            Section("Why", tuple(f"{name}: {found.reason}." for name, found in self.found())),
            Section("For the descriptor", tuple(self.toml().splitlines())),
        )

    def toml(self) -> str:
        """Lines for the descriptor; totals are given with a question and stand in a comment."""
        table = _key(self.table)
        lines = [f"[tables.{table}]"]
        if self.rows is not None and self.rows.value is not None:
            lines.append(f"max_rows_per_unit = {self.rows.value}  # {self.rows.reason}")
        if self.bounds:
            lines.append(f"[tables.{table}.columns]")
            ends = self.bounds.items()
            lines += [f"{_key(name)} = {{ lower = {low!r}, upper = {high!r} }}" for name, (low, high) in ends]
        if self.totals:
            lines.append(f"# sql(..., totals={{...}}), by the name of a SUM in the answer: {json.dumps(self.totals)}")
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Json]:
        """Everything as one JSON document."""
        return {
            "kind": "suggestion",
            "table": self.table,
            "max_rows_per_unit": self.max_rows_per_unit,
            "bounds": {name: list(ends) for name, ends in self.bounds.items()},
            "totals": dict(self.totals),
            "guarantee": self.guarantee.holds.describe(),
            "found": [
                {"what": name, "value": f.value, "low": f.low, "high": f.high, "reason": f.reason}
                for name, f in self.found()
            ],
        }


def _shown(value: Number | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else short(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)
