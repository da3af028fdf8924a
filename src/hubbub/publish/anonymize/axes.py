"""Axes along which Mondrian cuts: ordered values, or a tree of categories.

A cut sends the rows whose codes lie between ``low`` and ``high`` up and leaves the others down. Its *gain* is what it
takes off the penalty: rows times width, before less after. Cuts compare by gain over the fourth root of the product of
the two sides' shares. So of two cuts with the same gain the uneven one wins, which leaves the larger part to be cut
again; the root was chosen on the census data of the benchmark, where it takes 5 to 10% off the penalty.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from hubbub.publish.anonymize.coded_columns import ANY, Coded, Codes, Floats, count_keys, run_starts
from hubbub.publish.anonymize.hierarchies import Hierarchy, HierarchyLevels

_LISTED = 50  # so many words are listed at most
_LEAST = 1e-300  # the score of a cut that is allowed and gains next to nothing
_PLACES = 1024  # so many places to cut a part along one axis are looked at, at most


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """The best cut of each part along one axis; a score of 0 says that there is none.

    ``kept`` rows of those with code ``low`` stay down nevertheless: none in a strict partition.
    """

    score: Floats
    low: Codes
    high: Codes
    kept: Codes

    @classmethod
    def none(cls, parts: int) -> Cuts:
        """No cut for any part."""
        return cls(np.zeros(parts), *np.zeros((3, parts), dtype=np.int64))

    def improve(self, owner: Codes, score: Floats, low: Codes, high: Codes, kept: Codes) -> None:
        """Take over the best of the candidates of each part, the first of equals, where it beats what is there."""
        if not owner.size:
            return
        start = run_starts(owner)
        best = np.zeros(self.score.size)
        best[owner[start]] = np.maximum.reduceat(score, start)
        hits = np.flatnonzero((score == best[owner]) & (score > self.score[owner]))
        first = hits[run_starts(owner[hits])]
        for target, source in ((self.score, score), (self.low, low), (self.high, high), (self.kept, kept)):
            target[owner[first]] = source[first]


def cut_scores(gain: Floats, down: Codes, rest: Codes, *, even: bool) -> Floats:
    """How good a cut into ``down`` and ``rest`` rows is among those of its part: by its gain, or by how even it is."""
    if even:
        return np.minimum(down, rest).astype(np.float64)
    return np.asarray(gain / np.sqrt(np.sqrt(down.astype(np.float64) * rest)))


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """How often each code of one axis occurs in each part: counts of what occurs, by part and then by code."""

    keys: Codes  # part times the size of the axis, plus code
    count: Codes
    starts: Codes  # where each part begins
    sizes: Codes  # how many rows each part has
    axis: int  # how many codes the axis has

    @classmethod
    def of(cls, parts: Codes, codes: Codes, sizes: Codes, axis: int) -> Parts:
        """Count the codes of the rows by part; no part is empty."""
        keys, count = count_keys(parts * axis + codes, sizes.size * axis)
        return cls(keys, count, np.searchsorted(keys, np.arange(sizes.size) * axis), sizes, axis)

    def codes(self, at: Codes, owner: Codes) -> Codes:
        """The codes at some places, whose parts are known."""
        return self.keys[at] - owner * self.axis

    def ends(self) -> tuple[Codes, Codes]:
        """The lowest and the highest code of each part."""
        every, last = np.arange(self.sizes.size), np.append(self.starts[1:], self.keys.size) - 1
        return self.codes(self.starts, every), self.codes(last, every)


class GeneralizationAxis(ABC):
    """One quasi-identifier as Mondrian sees it: ``codes`` of the rows, and what a range of codes is."""

    __slots__ = ()

    name: str
    codes: Codes
    size: int

    @abstractmethod
    def width(self, low: Codes, high: Codes) -> Floats:
        """How much of the column the range from ``low`` to ``high`` covers: from 0, one value, to 1, all."""

    @abstractmethod
    def cuts(self, parts: Parts, *, least: int, even: bool, relaxed: bool) -> Cuts:
        """The best cut of each part that leaves ``least`` rows on both sides."""

    @abstractmethod
    def words(self, low: Codes, high: Codes) -> list[str]:
        """Ranges of codes as they are published."""


@dataclass(frozen=True, slots=True, eq=False)
class Ordered(GeneralizationAxis):
    """Values in their order. A range that holds the missing value and others covers everything: it is ``*``."""

    name: str
    codes: Codes
    size: int
    column: Coded
    at: Floats  # where each value stands between 0 and 1; the missing value is 1 below all others

    def width(self, low: Codes, high: Codes) -> Floats:
        """The length of the range as a share of the column's."""
        length = self.at[high] - self.at[low]
        return np.minimum(length, 1.0, out=length) if self.column.gaps else length

    def cuts(self, parts: Parts, *, least: int, even: bool, relaxed: bool) -> Cuts:
        """Between two values; relaxed also through the rows that share a value."""
        cuts = Cuts.none(parts.sizes.size)
        run = np.cumsum(parts.count)
        base = run[parts.starts] - parts.count[parts.starts]  # rows of all parts before
        at, owner = _cut_windows(run, base, parts.sizes, least)
        down = run[at] - base[owner]
        lower, upper = parts.codes(at, owner), parts.codes(at + 1, owner)
        score, _ = self._scores(parts, owner, down, lower, upper, even=even)
        score = np.maximum(score, _LEAST)  # values next to each other may be too close for a float to tell
        cuts.improve(owner, score, upper, np.full(at.size, self.size), np.zeros(at.size, dtype=np.int64))
        if relaxed:
            for place in (np.full(base.size, least), parts.sizes // 2, parts.sizes - least):
                self._through(cuts, parts, run, base + place, base, even=even)
        return cuts

    def _scores(
        self, parts: Parts, owner: Codes, down: Codes, lower: Codes, upper: Codes, *, even: bool
    ) -> tuple[Floats, Floats]:
        """Scores and gains of cuts that leave ``down`` rows below, up to ``lower``, and begin above at ``upper``."""
        first, last = parts.ends()
        whole = parts.sizes * self.width(first, last)
        rest = parts.sizes[owner] - down
        below, above = self.width(first[owner], lower), self.width(upper, last[owner])
        gain = whole[owner] - down * below - rest * above
        return cut_scores(gain, down, rest, even=even), gain

    def _through(self, cuts: Cuts, parts: Parts, run: Codes, place: Codes, base: Codes, *, even: bool) -> None:
        """Cuts after so many rows of each part, whatever their values."""
        at = np.searchsorted(run, place)
        inside = np.flatnonzero(run[at] > place)  # else it is a cut between two values
        at, down = at[inside], (place - base)[inside]
        code, kept = parts.codes(at, inside), place[inside] - (run[at] - parts.count[at])
        score, gain = self._scores(parts, inside, down, code, code, even=even)
        score = np.where(gain > 0, score, 0.0)  # rows that are all alike gain nothing
        cuts.improve(inside, score, code, np.full(at.size, self.size), kept)

    def words(self, low: Codes, high: Codes) -> list[str]:
        """Numbers as ``21 to 25``, words as ``{a, b}``; of very many words the first and the last, as of numbers."""
        texts = self.column.texts()
        return [self._words(texts, a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)]

    def _words(self, texts: list[str], low: int, high: int) -> str:
        if low == high:
            return texts[low]
        if self.column.gaps and low == 0:
            return ANY
        if self.column.numeric or high - low >= _LISTED:
            return f"{texts[low]} to {texts[high]}"
        return "{" + ", ".join(texts[low : high + 1]) + "}"


@dataclass(frozen=True, slots=True, eq=False)
class Branching(GeneralizationAxis):
    """Values as the leaves of a tree, numbered so that every branch is a range of codes.

    A part is published as the lowest node above its values. It is cut by taking one branch below that node out.
    """

    name: str
    codes: Codes
    size: int
    levels: HierarchyLevels
    nodes: Codes  # the node above each leaf (column) at each level (row), with the leaves in their new order

    def level(self, low: Codes, high: Codes) -> Codes:
        """The lowest level at which both ends of the range are below one node."""
        lowest_level = np.full(np.shape(low), self.levels.height)
        for level in range(self.levels.height - 1, -1, -1):
            lowest_level[self.nodes[level][low] == self.nodes[level][high]] = level
        return lowest_level

    def width(self, low: Codes, high: Codes) -> Floats:
        """How much the lowest node above the range covers."""
        level = self.level(low, high)
        widths = np.zeros(level.shape)
        for number, covered in enumerate(self.levels.widths):
            here = level == number
            widths[here] = covered[self.nodes[number][low[here]]]
        return widths

    def cuts(self, parts: Parts, *, least: int, even: bool, relaxed: bool) -> Cuts:
        """One branch against the rest; no value is ever divided, also in a relaxed partition."""
        cuts, sizes = Cuts.none(parts.sizes.size), parts.sizes
        low, high = parts.ends()
        level = self.level(low, high)
        owner = parts.keys // self.size
        code = parts.codes(np.arange(owner.size), owner)
        start = run_starts(owner * self.size + self.nodes[np.maximum(level - 1, 0)[owner], code])
        owner, count = owner[start], np.add.reduceat(parts.count, start)
        left, right = code[start], code[np.append(start[1:], code.size) - 1]
        at = np.flatnonzero((count >= least) & (sizes[owner] - count >= least) & (level[owner] > 0))
        part, taken = owner[at], count[at]
        rest = self.width(*_remaining_ends(at, owner, left, right, low, high))
        gain = (
            (sizes * self.width(low, high))[part]
            - taken * self.width(left[at], right[at])
            - (sizes[part] - taken) * rest
        )
        score = cut_scores(gain, taken, sizes[part] - taken, even=even)
        cuts.improve(part, score, left[at], right[at], np.zeros(at.size, dtype=np.int64))
        return cuts

    def words(self, low: Codes, high: Codes) -> list[str]:
        """The name of the lowest node above the range."""
        levels = self.level(low, high)
        pairs = zip(levels.tolist(), low.tolist(), strict=True)
        return [self.levels.names[level][self.nodes[level][leaf]] for level, leaf in pairs]


def _cut_windows(run: Codes, base: Codes, sizes: Codes, least: int) -> tuple[Codes, Codes]:
    """Where each part may be cut so that ``least`` rows are on both sides, and the part of each such place.

    Of very many places in one part only some are looked at, evenly spread.
    """
    begin = np.searchsorted(run, base + least)
    end = np.searchsorted(run, base + sizes - least, side="right")
    places = np.maximum(end - begin, 0)
    step = -(-places // _PLACES)
    count = -(-places // np.maximum(step, 1))
    owner = np.repeat(np.arange(base.size), count)
    within = np.arange(owner.size) - np.repeat(np.cumsum(count) - count, count)
    return begin[owner] + within * step[owner], owner


def _remaining_ends(at: Codes, owner: Codes, left: Codes, right: Codes, low: Codes, high: Codes) -> tuple[Codes, Codes]:
    """The ends of what remains of each part without one branch."""
    part, last = owner[at], owner.size - 1
    opens = (at == 0) | (owner[at - 1] != part)
    closes = (at == last) | (owner[np.minimum(at + 1, last)] != part)
    return (
        np.where(opens, left[np.minimum(at + 1, last)], low[part]),
        np.where(closes, right[np.maximum(at - 1, 0)], high[part]),
    )


def axis_of(column: Coded, hierarchy: Hierarchy | None) -> GeneralizationAxis:
    """The axis of a column: its tree if it has a hierarchy, else its order."""
    if hierarchy is None:
        return Ordered(column.name, column.codes, len(column.labels), column, _value_positions(column))
    levels = hierarchy.on(column)
    order = np.lexsort(levels.codes)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    nodes = np.stack([codes[order] for codes in levels.codes])
    return Branching(column.name, rank[column.codes], order.size, levels, nodes)


def _value_positions(column: Coded) -> Floats:
    """Where each value stands between 0 and 1; ranks where a distance is too large for a float."""
    known = column.places[column.gaps :]
    if not known.size:
        return np.zeros(1)
    span = known[-1] - known[0]
    if not np.isfinite(span):
        known, span = np.arange(known.size, dtype=np.float64), float(known.size - 1)
    at = (known - known[0]) / (span or 1.0)
    return np.concatenate(([-1.0], at)) if column.gaps else at
