"""What every formula can do: its values, its interval, its spread. Which of the ways applies is decided here.

1. A weighted sum of noisy numbers has the interval of its noise (``_lines``).
2. A formula that moves one way with its only uncertain part maps that part's interval.
3. A ratio of weighted sums has Fieller's interval (``_ratios``).
4. Everything else is simulated: 10,000 draws of the noise around the released numbers, and their percentiles; as far
   on either side as on the other where the formula has a bend (``bent``).

Intervals cover noise only. All of this is post-processing of released numbers and costs nothing.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from hubbub.releases.formulas.linear import LinearForm, sum_radius
from hubbub.releases.formulas.points import Released, Simulated
from hubbub.releases.noisy_columns import Floats, NoisyTable
from hubbub.terms import fraction_of

Values: TypeAlias = "list[int | float | None]"
Ends: TypeAlias = "tuple[Values, Values]"

DRAWS = 10_000
_RAREST = 0.001  # share of the draws beyond which an end is not read off them
_CELLS = 4_000_000  # numbers simulated at a time
_ONE_SIGMA = 0.6826894921370859  # what one standard deviation of a normal distribution holds


@dataclasses.dataclass(frozen=True, slots=True)
class Formula:
    """A number per row, worked out from the keys and measures of a table."""

    def evaluate(self, table: NoisyTable) -> Values:
        """The value of each row: whole numbers as exact ints, others as floats, None where there is none."""
        if (line := self.line()) is not None:
            sums, unit = line.exact(table)
            return list(sums) if unit == 1 and self.is_whole(table) else [value / unit for value in sums]
        return plain_numbers(self.numbers(Released(table)), whole=self.is_whole(table))

    def interval(self, table: NoisyTable, confidence: float) -> Ends:
        """Lower and upper ends, row by row, that hold the noiseless value with that confidence each."""
        level = fraction_of(confidence, name="confidence")
        if (line := self.line()) is not None:
            return self._line_interval(line, table, level)
        lows, highs = self.ends(table, float(level))
        known = ~np.isnan(self.numbers(Released(table)))
        whole = self.is_whole(table)
        return plain_numbers(np.where(known, lows, np.nan), whole=whole), plain_numbers(
            np.where(known, highs, np.nan), whole=whole
        )

    def std_dev(self, table: NoisyTable) -> Values:
        """The standard deviation; of what is no weighted sum, half the width of the interval that holds 68.27%."""
        if (line := self.line()) is not None:
            return [line.std_dev(table)] * table.size
        lows, highs = self.interval(table, _ONE_SIGMA)
        return [None if a is None or b is None else (b - a) / 2 for a, b in zip(lows, highs, strict=True)]

    def simulate(self, table: NoisyTable, draws: int) -> Floats:
        """Draws of what the noiseless values may be: one line per draw, one column per row; NaN where None."""
        return np.broadcast_to(self.numbers(Simulated(table, draws, shared=False)), (draws, table.size)).copy()

    def noises(self) -> tuple[int, ...]:
        """The measures that the formula uses."""
        return tuple(sorted({index for part in walk_formula(self) for index in part.uses()}))

    def is_uncertain(self, table: NoisyTable) -> bool:
        """Whether noise is in it."""
        return any(table.measures[index].noise.distribution != "none" for index in self.noises()) or any(
            part.is_random() for part in walk_formula(self)
        )

    # What the kinds of formulas say of themselves.

    def parts(self) -> tuple[Formula, ...]:
        """The formulas it is made of."""
        return ()

    def with_parts(self, parts: tuple[Formula, ...]) -> Formula:
        """The same of other parts."""
        del parts
        return self

    def uses(self) -> tuple[int, ...]:
        """The measures that it reads itself."""
        return ()

    def is_random(self) -> bool:
        """Whether it has uncertainty of its own, beside that of measures."""
        return False

    def is_whole(self, table: NoisyTable) -> bool:
        """Whether its values are whole numbers by their type."""
        del table
        return False

    def is_monotone(self) -> bool:
        """Whether it moves one way with each of its parts while the others rest."""
        return False

    def is_bent(self, table: NoisyTable) -> bool:
        """Whether noise moves it across a bend, around which percentiles of draws are no interval."""
        del table
        return False

    def line(self) -> LinearForm | None:
        """The formula as a weighted sum, if it is one."""
        return None

    def numbers(self, point: Released) -> Floats:
        """The values at a point, NaN for None."""
        if id(self) in point.known:
            return point.known[id(self)]
        with np.errstate(all="ignore"):
            return self.compute(point)

    def compute(self, point: Released) -> Floats:
        """How the numbers are worked out."""
        raise AssertionError("every formula has numbers")  # pragma: no cover

    def ends(self, table: NoisyTable, confidence: float) -> tuple[Floats, Floats]:
        """Both ends as floats, where the formula is no weighted sum."""
        uncertain = [part for part in self.parts() if part.is_uncertain(table)]
        if not uncertain:
            fixed = self.numbers(Released(table))
            return fixed, fixed
        if len(uncertain) == 1 and self.is_monotone():
            return self._mapped(uncertain[0], table, confidence)
        return simulated_interval(self, table, confidence)

    def at_end(self, point: Released) -> Floats:
        """The value with a part at an end of its interval; total where ``compute`` is not."""
        return self.numbers(point)

    def _mapped(self, part: Formula, table: NoisyTable, confidence: float) -> tuple[Floats, Floats]:
        parts = []
        for end in part.interval(table, confidence):
            point = Released(table)
            point.known[id(part)] = as_floats(end)
            parts.append(self.at_end(point))
        lows, highs = np.minimum(*parts), np.maximum(*parts)  # NaN: no end is known, as of 0 times infinity
        return np.where(np.isnan(lows), -np.inf, lows), np.where(np.isnan(highs), np.inf, highs)

    def _line_interval(self, line: LinearForm, table: NoisyTable, level: Fraction) -> Ends:
        half, whole = sum_radius(line.parts(table), level), self.is_whole(table)
        if whole:
            half = Fraction(math.floor(half))  # between whole numbers there is nothing to cover
        sides = [line.exact(table, shift=shift) for shift in (-half, half)]
        ends: list[Values] = [[v // unit if whole else v / unit for v in sums] for sums, unit in sides]
        return ends[0], ends[1]


def simulated_interval(formula: Formula, table: NoisyTable, confidence: float) -> tuple[Floats, Floats]:
    """Both ends by simulation, some rows at a time; a draw that has no value counts as beyond either end."""
    point = Simulated(table, DRAWS, shared=True)
    lows, highs = np.empty(table.size), np.empty(table.size)
    tail = max((1 - confidence) / 2, _RAREST)
    rows = max(1, _CELLS // DRAWS)
    for start in range(0, table.size, rows):
        point.rows = slice(start, start + rows)
        drawn = np.broadcast_to(formula.numbers(point), (DRAWS, min(rows, table.size - start)))
        lows[point.rows], highs[point.rows] = _tail_ends(np.ascontiguousarray(drawn.T), tail)
    ends = _stretch_ends(formula, table, confidence, (lows, highs))
    return _evened(formula, table, ends) if any(part.is_bent(table) for part in walk_formula(formula)) else ends


def _evened(formula: Formula, table: NoisyTable, ends: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """As far on either side as draws stray on one: around a bend all of them may lie on one side of the truth."""
    middle = formula.numbers(Released(table))
    wide = np.fmax(np.fmax(middle - ends[0], ends[1] - middle), 0.0)
    return middle - wide, middle + wide


def _stretch_ends(
    formula: Formula, table: NoisyTable, confidence: float, ends: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Ends beyond what draws can tell: further out as a Laplace tail goes, which is the longest here."""
    factor = math.log((1 - confidence) / 2) / math.log(_RAREST)
    if factor <= 1:
        return ends
    with np.errstate(all="ignore"):
        middle = np.clip(np.nan_to_num(formula.numbers(Released(table))), *ends)
        lows, highs = (middle + factor * (end - middle) for end in ends)
    return lows, highs


def _tail_ends(drawn: Floats, tail: float) -> tuple[Floats, Floats]:
    """What a share of ``tail`` of each line lies below, and above: the order statistics next outward."""
    last = drawn.shape[1] - 1
    low, high = math.floor(tail * last), math.ceil((1 - tail) * last)
    none = np.isnan(drawn)
    if not none.any():
        ordered = np.partition(drawn, (low, high), axis=1)
        return ordered[:, low], ordered[:, high]
    below, above = np.where(none, -np.inf, drawn), np.where(none, np.inf, drawn)
    return np.partition(below, low, axis=1)[:, low], np.partition(above, high, axis=1)[:, high]


def plain_numbers(values: Floats, *, whole: bool = False) -> Values:
    """Floats as plain numbers: None for NaN, ints if they are whole by type."""
    numbers: Values = [None if math.isnan(v) else v for v in values.tolist()]
    return [int(v) if v is not None and math.isfinite(v) else v for v in numbers] if whole else numbers


def as_floats(values: Sequence[float | None]) -> Floats:
    """Plain numbers as floats: NaN for None."""
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def walk_formula(formula: Formula) -> Iterator[Formula]:
    """The formula and everything it is made of."""
    yield formula
    for part in formula.parts():
        yield from walk_formula(part)


def rebuilt(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The formula with every innermost part changed; the same object if nothing changed."""
    before = formula.parts()
    if not before:
        return change(formula)
    after = tuple(rebuilt(part, change) for part in before)
    same = all(new is old for new, old in zip(after, before, strict=True))
    return formula if same else formula.with_parts(after)
