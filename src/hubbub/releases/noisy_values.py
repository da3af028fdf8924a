"""Arithmetic and simulation on released numbers, with the right uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import TypeAlias

from hubbub.releases import formulas
from hubbub.releases.formulas import Formula, Key, Minus, Negate, Number, Over, Plus, Times
from hubbub.releases.formulas.base import DRAWS, Ends, Values
from hubbub.releases.noisy_columns import Floats, NoisyTable
from hubbub.terms import NotANumber, WrongShape, exact, whole

Operand: TypeAlias = "Noisy | int | float | Decimal | Real"
Operation: TypeAlias = Callable[[Formula, Formula], Formula]

_SIGNS: dict[Operation, str] = {Plus: "+", Minus: "-", Times: "*", Over: "/"}


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """A column of noisy numbers, one per row, that remembers which noise is in it.

    Columns of one release share their noise, so ``r["a"] - r["a"]`` is 0 exactly; those of different releases are
    combined row by row as independent. An answer that was repeated for free is the same answer. One row is
    ``r["n"][0]``. Intervals cover noise only.

    Guarantee: whatever is worked out here is as private as the releases it comes from, together.
    Because: [DR14], post-processing: nothing here reads data.

    >>> from hubbub.releases import Noise, NoisyColumn
    >>> counts = NoisyColumn("COUNT(*)", 1, Noise("gaussian", 10), (120, 80))
    >>> n = Noisy("n", formulas.Ref(0), NoisyTable((), (counts,), 2))
    >>> share = n[0] / (n[0] + n[1])
    >>> share.value, [round(end, 2) for end in (share.low[0], share.high[0])]
    (0.6, [0.53, 0.67])
    """

    name: str
    formula: Formula
    table: NoisyTable

    @property
    def values(self) -> Values:
        """The value of each row; None where there is none."""
        return self.formula.evaluate(self.table)

    @property
    def value(self) -> int | float | None:
        """The value, if there is one row."""
        if len(self) != 1:
            raise WrongShape(
                f"the column has {len(self):,} rows, not one.",
                why="A single value was asked for.",
                fix="Use .values, or take one row: column[0].",
            )
        return self.values[0]

    @property
    def low(self) -> Values:
        """The lower ends of the 95% intervals."""
        return self.interval()[0]

    @property
    def high(self) -> Values:
        """The upper ends of the 95% intervals."""
        return self.interval()[1]

    @property
    def std_dev(self) -> Values:
        """The standard deviation of the noise in each value."""
        return self.formula.std_dev(self.table)

    def interval(self, confidence: float = 0.95) -> Ends:
        """Lower and upper ends that hold the noiseless value with that confidence, row by row.

        Where noisy values chose the rows, all that were looked at are held at once with that confidence.
        """
        return self.formula.interval(self.table, self.table.level(confidence))

    def dense_interval(self, confidence: float = 0.95) -> Ends:
        """Shorter intervals of a quantile, for where values lie densely around it; else those of ``interval``."""
        given = self.formula
        dense = given.dense if isinstance(given, formulas.GivenIntervals) else None
        return self.interval(confidence) if dense is None else dense.interval(self.table, self.table.level(confidence))

    def simulate(self, draws: int = DRAWS) -> Floats:
        """What the noiseless numbers may be: one line per draw, one column per row.

        The same column gives the same draws again, and columns of one release agree on the noise they share.
        """
        return self.formula.simulate(self.table, whole(draws, name="draws"))

    def __len__(self) -> int:
        return self.table.size

    def __getitem__(self, index: int) -> Noisy:
        place = range(self.table.size)[index]  # raises IndexError, which ends iteration
        formula = formulas.at_rows(self.formula, slice(place, place + 1))
        return Noisy(f"{self.name}[{place}]", formula, self.table.row(place))

    def __iter__(self) -> Iterator[Noisy]:
        return (self[index] for index in range(len(self)))

    def __add__(self, other: Operand) -> Noisy:
        return self._with(other, Plus)

    def __radd__(self, other: Operand) -> Noisy:
        return self._with(other, Plus, swapped=True)

    def __sub__(self, other: Operand) -> Noisy:
        return self._with(other, Minus)

    def __rsub__(self, other: Operand) -> Noisy:
        return self._with(other, Minus, swapped=True)

    def __mul__(self, other: Operand) -> Noisy:
        return self._with(other, Times)

    def __rmul__(self, other: Operand) -> Noisy:
        return self._with(other, Times, swapped=True)

    def __truediv__(self, other: Operand) -> Noisy:
        return self._with(other, Over)

    def __rtruediv__(self, other: Operand) -> Noisy:
        return self._with(other, Over, swapped=True)

    def __neg__(self) -> Noisy:
        return Noisy(f"-{_inner_name(self.name)}", Negate(self._number()), self.table)

    def _with(self, other: Operand, operation: Operation, *, swapped: bool = False) -> Noisy:
        if isinstance(other, Noisy):
            return self._combined(other, operation)
        if isinstance(other, bool) or not isinstance(other, Real | Decimal):
            return NotImplemented  # type: ignore[no-any-return]  # Python then tries the other operand
        public = Number(exact(other, name="number"))
        pair = (public, self._number()) if swapped else (self._number(), public)
        names = (str(other), self.name) if swapped else (self.name, str(other))
        return Noisy(_operation_name(operation, *names), operation(*pair), self.table)

    def _combined(self, other: Noisy, operation: Operation) -> Noisy:
        name = _operation_name(operation, self.name, other.name)
        if self.table is other.table:
            return Noisy(name, operation(self._number(), other._number()), self.table)
        table, places = self.table.joined(other.table)
        theirs = formulas.move_columns(other._number(), measures=places, keys=len(self.table.keys))
        return Noisy(name, operation(self._number(), theirs), table)

    def _number(self) -> Formula:
        """The formula, refused if it is a key that is no number."""
        if isinstance(self.formula, Key):
            values = self.table.keys[self.formula.index].values
            if not all(value is None or isinstance(value, int | float) for value in values):
                raise NotANumber(
                    f"the column {self.name!r} does not hold numbers.",
                    why="It names the groups.",
                    fix="Calculate with a column of numbers.",
                )
        return self.formula

    def __repr__(self) -> str:
        from hubbub.releases.text import format_cells

        return f"{self.name}  {', '.join(format_cells(self.values, self.interval()))} (95%)"


def _operation_name(operation: Operation, a: str, b: str) -> str:
    return f"{_inner_name(a)} {_SIGNS[operation]} {_inner_name(b)}"


def _inner_name(name: str) -> str:
    """A name that can stand in a larger one."""
    return f"({name})" if " " in name else name
