"""Keys, measures, numbers, and arithmetic on them. Every operation is total: None instead of an error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hubbub.releases.formulas import ratios
from hubbub.releases.formulas.base import Ends, Formula, Values, as_floats
from hubbub.releases.formulas.linear import LinearForm, sum_radius
from hubbub.releases.formulas.points import Released
from hubbub.releases.noisy_columns import Floats, NoisyTable
from hubbub.terms import OutOfRange, WrongShape, exact


@dataclass(frozen=True, slots=True)
class Key(Formula):
    """A key column as it is."""

    index: int

    def evaluate(self, table: NoisyTable) -> Values:
        """The key of each row."""
        return list(table.keys[self.index].values)  # type: ignore[arg-type]  # text and dates pass through

    def interval(self, table: NoisyTable, confidence: float) -> Ends:
        """A key is public, so both ends are the key."""
        del confidence
        return self.evaluate(table), self.evaluate(table)

    def std_dev(self, table: NoisyTable) -> Values:
        """A key has no noise."""
        return [0.0] * table.size

    def is_whole(self, table: NoisyTable) -> bool:
        """Whether all keys are whole numbers."""
        return all(isinstance(value, int) for value in table.keys[self.index].values)

    def compute(self, point: Released) -> Floats:
        return point.key(self.index)


@dataclass(frozen=True, slots=True)
class Ref(Formula):
    """A measure as a number."""

    index: int

    def uses(self) -> tuple[int, ...]:
        return (self.index,)

    def is_whole(self, table: NoisyTable) -> bool:
        """Whether the step is a whole number, as it is for counts."""
        return table.measures[self.index].step.denominator == 1

    def line(self) -> LinearForm:
        return LinearForm({self.index: Fraction(1)})

    def compute(self, point: Released) -> Floats:
        return point.measure(self.index)


@dataclass(frozen=True, slots=True)
class Number(Formula):
    """A public number."""

    value: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", exact(self.value, name="number"))

    def is_whole(self, table: NoisyTable) -> bool:
        """Whether it is a whole number."""
        del table
        return self.value.denominator == 1

    def line(self) -> LinearForm:
        return LinearForm({}, self.value)

    def compute(self, point: Released) -> Floats:
        return np.full(point.table.size, float(self.value))[point.rows]


@dataclass(frozen=True, slots=True)
class _Pair(Formula):
    a: Formula
    b: Formula

    def parts(self) -> tuple[Formula, ...]:
        return self.a, self.b

    def with_parts(self, parts: tuple[Formula, ...]) -> Formula:
        return type(self)(*parts)

    def is_whole(self, table: NoisyTable) -> bool:
        return self.a.is_whole(table) and self.b.is_whole(table)

    def is_monotone(self) -> bool:
        return True

    def _lines(self) -> tuple[LinearForm, LinearForm] | None:
        a, b = self.a.line(), self.b.line()
        return None if a is None or b is None else (a, b)


@dataclass(frozen=True, slots=True)
class Plus(_Pair):
    """a + b."""

    def line(self) -> LinearForm | None:
        return lines[0].plus(lines[1]) if (lines := self._lines()) else None

    def compute(self, point: Released) -> Floats:
        return self.a.numbers(point) + self.b.numbers(point)


@dataclass(frozen=True, slots=True)
class Minus(_Pair):
    """a - b."""

    def line(self) -> LinearForm | None:
        return lines[0].plus(lines[1].times(Fraction(-1))) if (lines := self._lines()) else None

    def compute(self, point: Released) -> Floats:
        return self.a.numbers(point) - self.b.numbers(point)


@dataclass(frozen=True, slots=True)
class Times(_Pair):
    """a times b."""

    def line(self) -> LinearForm | None:
        for one, other in (lines, lines[::-1]) if (lines := self._lines()) else ():
            if not one.weights:
                return other.times(one.constant)
        return None

    def compute(self, point: Released) -> Floats:
        return self.a.numbers(point) * self.b.numbers(point)


@dataclass(frozen=True, slots=True)
class Over(_Pair):
    """a divided by b; None where b is 0. A ratio of weighted sums has Fieller's interval, unbounded if b is noise."""

    def is_whole(self, table: NoisyTable) -> bool:
        """Never: division makes fractions."""
        del table
        return False

    def line(self) -> LinearForm | None:
        lines = self._lines()
        if lines is None or lines[1].weights or not lines[1].constant:
            return None
        return lines[0].times(1 / lines[1].constant)

    def compute(self, point: Released) -> Floats:
        bottom = self.b.numbers(point)
        return np.where(bottom == 0, np.nan, self.a.numbers(point) / bottom)

    def ends(self, table: NoisyTable, confidence: float) -> tuple[Floats, Floats]:
        lines = self._lines()
        if lines is None:
            return self._apart_from_zero(table, confidence)
        known = ratios.ratio_spread(*lines, table, confidence)
        return ratios.fieller_interval(lines[0].floats(table), lines[1].floats(table), known)

    def _apart_from_zero(self, table: NoisyTable, confidence: float) -> tuple[Floats, Floats]:
        """As of any formula, but unbounded where b may be 0."""
        lows, highs = Formula.ends(self, table, confidence)
        below, above = (as_floats(end) for end in self.b.interval(table, confidence))
        spans = (below <= 0) & (above >= 0) & (below < above)
        return np.where(spans, -np.inf, lows), np.where(spans, np.inf, highs)


@dataclass(frozen=True, slots=True)
class NearestWhole(Formula):
    """The whole number next to a weighted sum that stands for a count; the interval is even on both sides of it."""

    a: Formula

    def __post_init__(self) -> None:
        if self.a.line() is None:
            raise WrongShape(
                "what is rounded to a count is a weighted sum of noisy numbers.",
                why="Its interval comes from how their noises add up.",
                fix="Give measures, or these added up.",
            )

    def parts(self) -> tuple[Formula, ...]:
        return (self.a,)

    def with_parts(self, parts: tuple[Formula, ...]) -> Formula:
        return NearestWhole(*parts)

    def is_whole(self, table: NoisyTable) -> bool:
        return True

    def compute(self, point: Released) -> Floats:
        return np.rint(self.a.numbers(point))

    def std_dev(self, table: NoisyTable) -> Values:
        """That of the sum."""
        return self.a.std_dev(table)

    def ends(self, table: NoisyTable, confidence: float) -> tuple[Floats, Floats]:
        """As far as the sum strays, and half a step for rounding: between whole numbers there is nothing to cover."""
        line = self.a.line()
        assert line is not None
        half = math.floor(sum_radius(line.parts(table), Fraction(str(confidence))) + Fraction(1, 2))
        middle = np.rint(line.floats(table))
        return middle - half, middle + half


@dataclass(frozen=True, slots=True)
class Negate(Formula):
    """Minus a."""

    a: Formula

    def parts(self) -> tuple[Formula, ...]:
        return (self.a,)

    def with_parts(self, parts: tuple[Formula, ...]) -> Formula:
        return Negate(*parts)

    def is_whole(self, table: NoisyTable) -> bool:
        return self.a.is_whole(table)

    def is_monotone(self) -> bool:
        return True

    def line(self) -> LinearForm | None:
        inner = self.a.line()
        return None if inner is None else inner.times(Fraction(-1))

    def compute(self, point: Released) -> Floats:
        return -self.a.numbers(point)


def _round_half_away(value: Floats, digits: Floats | float = 0.0) -> Floats:
    """Half away from zero, as SQL does; ``digits`` after the point."""
    scale = 10.0 ** np.trunc(digits)
    rounded = np.trunc(value * scale + np.copysign(0.5, value)) / scale
    return np.where(np.isfinite(rounded), rounded, value)


def _first_known(*values: Floats) -> Floats:
    result = values[0]
    for value in values[1:]:
        result = np.where(np.isnan(result), value, result)
    return result


def _nan_beyond_floats(value: Floats) -> Floats:
    """NaN for what is beyond floats."""
    return np.where(np.isfinite(value), value, np.nan)


_FUNCTIONS: dict[str, Callable[..., Floats]] = {
    "abs": np.abs,
    "round": _round_half_away,
    "floor": np.floor,
    "ceil": np.ceil,
    "sqrt": lambda v: np.sqrt(np.where(v < 0, np.nan, v)),
    "ln": lambda v: _nan_beyond_floats(np.log(np.where(v <= 0, np.nan, v))),
    "exp": lambda v: _nan_beyond_floats(np.exp(v)),
    "least": lambda *vs: np.fmin.reduce(np.broadcast_arrays(*vs)),
    "greatest": lambda *vs: np.fmax.reduce(np.broadcast_arrays(*vs)),
    "coalesce": _first_known,
}
_AT_ENDS: dict[str, Callable[[Floats], Floats]] = {
    "sqrt": lambda v: np.sqrt(np.maximum(v, 0)),
    "ln": lambda v: np.log(np.maximum(v, 0)),
    "exp": np.exp,
}
_ONE_WAY = frozenset({"round", "floor", "ceil", "sqrt", "ln", "exp", "least", "greatest"})
_KEEPS_WHOLE = frozenset({"abs", "least", "greatest", "coalesce"})
_COUNTS = {"round": (1, 2), "least": (1, 99), "greatest": (1, 99), "coalesce": (1, 99)}


@dataclass(frozen=True, slots=True)
class Function(Formula):
    """abs, round, floor, ceil, sqrt, ln, exp, least, greatest or coalesce; None where SQL would fail."""

    name: str
    args: tuple[Formula, ...]

    def __post_init__(self) -> None:
        if self.name not in _FUNCTIONS:
            raise OutOfRange(
                f"there is no function of that name here; there are {', '.join(_FUNCTIONS)}.",
                why="Only functions that cannot fail are worked out on released numbers.",
                fix="Use one of those, or work on the values yourself.",
            )
        least, most = _COUNTS.get(self.name, (1, 1))
        if not least <= len(self.args) <= most:
            raise WrongShape(
                f"{self.name} got {len(self.args)} arguments.",
                why=f"It takes from {least} to {most}.",
                fix="Give as many as it takes.",
            )

    def parts(self) -> tuple[Formula, ...]:
        return self.args

    def with_parts(self, parts: tuple[Formula, ...]) -> Formula:
        return Function(self.name, parts)

    def is_whole(self, table: NoisyTable) -> bool:
        return self.name in _KEEPS_WHOLE and all(part.is_whole(table) for part in self.args)

    def is_monotone(self) -> bool:
        return self.name in _ONE_WAY

    def compute(self, point: Released) -> Floats:
        return _FUNCTIONS[self.name](*(part.numbers(point) for part in self.args))

    def at_end(self, point: Released) -> Floats:
        if self.name not in _AT_ENDS:
            return self.numbers(point)
        with np.errstate(all="ignore"):
            return _AT_ENDS[self.name](self.args[0].numbers(point))
