"""Public bounds of what an outer statement works out: an average lies between its declared bounds, a share in 0 to 1.

Bounds are of names, as in ``public_names``: a name has those of everything that the statement calls so. They hold for
what the statement makes of the exact inner answers, so that a value and its interval may be cut to them, as averages of
plain answers are. Numbers with one bound alone (counts) are left as they were released, as in plain answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import add, mul, sub

from sqlglot import exp

from hubbub.sql.compiler.query_plan import AggregateReading, How, QuestionPlan
from hubbub.sql.relation.find_inner import AskedRelation
from hubbub.sql.relation.public_names import named_values, renamed_columns

_SAME = (exp.Avg, exp.Min, exp.Max, exp.Median, exp.Quantile, exp.PercentileCont, exp.PercentileDisc, exp.FirstValue)
_PASSING = (*_SAME, exp.LastValue, exp.NthValue, exp.First, exp.Last, exp.AnyValue, exp.Paren, exp.Nullif, exp.Filter)
_WORK: dict[type[exp.Expr], Callable[[float, float], float]] = {exp.Add: add, exp.Sub: sub, exp.Mul: mul}
_LONGEST = 40  # names that are defined by one another


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest value; infinite where there is none."""

    low: float = -math.inf
    high: float = math.inf

    @property
    def are_both_known(self) -> bool:
        """Whether a value lies between two numbers."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def over(self, values: Sequence[float]) -> Bounds:
        """What holds all of these values; nothing is known if one of them is no number."""
        return Bounds() if any(map(math.isnan, values)) else Bounds(min(values), max(values))

    def joined(self, other: Bounds) -> Bounds:
        """What holds both."""
        return Bounds(min(self.low, other.low), max(self.high, other.high))


_NOTHING = Bounds(math.inf, -math.inf)
_UNKNOWN = Bounds()


def inner_bounds(relation: AskedRelation) -> dict[str, Bounds]:
    """The bounds of the columns of all inner questions, by name; those of one name hold all of them."""
    bounds: dict[str, Bounds] = {}
    for plans in relation.inner:
        parts = plans[0].plans
        for place, column in enumerate(parts[0].outputs):
            name = column.name.lower()
            for part in parts:
                bounds[name] = bounds.get(name, _NOTHING).joined(_of_output(part, place))
    return bounds


def _of_output(plan: QuestionPlan, place: int) -> Bounds:
    value = plan.outputs[place].value
    return _of_reading(plan, value.param) if value.op == "read" else _UNKNOWN


def _of_reading(plan: QuestionPlan, reading: AggregateReading) -> Bounds:
    lower, upper = (None if end is None else float(end) for end in (reading.lower, reading.upper))
    if reading.function:
        return {"corr": Bounds(-1.0, 1.0), "regr_r2": Bounds(0.0, 1.0)}.get(reading.function, _UNKNOWN)
    if reading.how in (How.MEAN, How.QUANTILE) and lower is not None and upper is not None:
        return Bounds(lower, upper)
    if reading.how is How.VARIANCE and upper is not None:
        most = 2 * upper if reading.sample else upper
        return Bounds(0.0, math.sqrt(most) if reading.root else most)
    adds_up = all(plan.measures[index].interval[0] >= 0 for index in reading.measures)
    is_sum = reading.how in (How.REF, How.LINEAR) and all(weight >= 0 for weight in reading.weights)
    return Bounds(0.0) if reading.how is How.CHOSEN or (is_sum and adds_up) else _UNKNOWN


class OuterBounds:
    """The bounds of the names of an outer statement."""

    def __init__(self, outer: exp.Query, inner: Mapping[str, Bounds]) -> None:
        renames = outer.find(exp.Columns, exp.Pivot) is not None  # columns keep their names, and change
        self._inner: Mapping[str, Bounds] = {} if renames else inner
        self._defined: dict[str, list[exp.Expr]] = {}
        for name, value in named_values(outer):
            self._defined.setdefault(name, []).append(value)
        self._known = dict.fromkeys(renamed_columns(outer), _UNKNOWN)
        self._open: list[str] = []

    def of_name(self, name: str) -> Bounds:
        """The bounds of everything that has this name."""
        name = name.lower()
        if name in self._open:  # `ROUND(a, 2) AS a` reads the inner column; anything longer is not followed
            is_direct = self._open[-1] == name and len(self._defined[name]) == 1
            return self._inner.get(name, _UNKNOWN) if is_direct else _UNKNOWN
        if name not in self._known:
            self._known[name] = _UNKNOWN if len(self._open) > _LONGEST else self._joined(name)
        return self._known[name]

    def _joined(self, name: str) -> Bounds:
        self._open.append(name)
        own = self._inner.get(name, _NOTHING)
        for value in self._defined.get(name, ()):
            own = own.joined(self.of(value))
        self._open.pop()
        return _UNKNOWN if own == _NOTHING else own

    def of(self, node: exp.Expr) -> Bounds:
        """The bounds of an expression."""
        if isinstance(node, exp.Column):
            return self.of_name(node.name)
        if isinstance(node, exp.Literal) and not node.is_string:
            return Bounds(float(node.name), float(node.name))
        is_shifted = isinstance(node, exp.Lag | exp.Lead) and node.args.get("default") is None
        if is_shifted or isinstance(node, (*_PASSING, exp.Window)):
            return self.of(node.this)
        return self._of_choice(node)

    def _of_choice(self, node: exp.Expr) -> Bounds:
        if isinstance(node, exp.Coalesce | exp.Greatest | exp.Least):
            return self._all([node.this, *node.expressions])
        if isinstance(node, exp.Case):
            branches = [branch.args["true"] for branch in node.args["ifs"]]
            return self._all([*branches, *filter(None, [node.args.get("default")])])
        return self._of_arithmetic(node)

    def _all(self, nodes: Sequence[exp.Expr]) -> Bounds:
        own = _NOTHING
        for node in nodes:
            if not isinstance(node, exp.Null):
                own = own.joined(self.of(node))
        return own

    def _of_arithmetic(self, node: exp.Expr) -> Bounds:
        if isinstance(node, exp.Sum):
            own = self.of(node.this)
            return Bounds(0.0 if own.low >= 0 else -math.inf, 0.0 if own.high <= 0 else math.inf)
        if isinstance(node, exp.Neg):
            own = self.of(node.this)
            return Bounds(-own.high, -own.low)
        if isinstance(node, exp.Round):
            return self._rounded(node)
        if isinstance(node, exp.Div):
            return self._of_ratio(node)
        if type(node) not in _WORK:
            return _UNKNOWN
        one, other = self.of(node.this), self.of(node.expression)
        ends = [_WORK[type(node)](a, b) for a, b in product((one.low, one.high), (other.low, other.high))]
        return one.over(ends)

    def _rounded(self, node: exp.Round) -> Bounds:
        digits, own = node.args.get("decimals"), self.of(node.this)
        places = int(digits.name) if isinstance(digits, exp.Literal) and digits.name.isdigit() else 0
        plain = digits is None or isinstance(digits, exp.Literal)
        return Bounds(round(own.low, places), round(own.high, places)) if own.are_both_known and plain else _UNKNOWN

    def _of_ratio(self, node: exp.Div) -> Bounds:
        """A share of a total lies between 0 and 1; else only what is divided by a number is known."""
        factor, top = _without_factor(node.this)
        if factor > 0 and self._is_total_of(node.expression, top) and self.of(top).low >= 0:
            return Bounds(0.0, factor)
        own, under = self.of(node.this), self.of(node.expression)
        if under.low == under.high and under.low > 0:
            return Bounds(own.low / under.low, own.high / under.low)
        return _UNKNOWN

    def _is_total_of(self, node: exp.Expr, part: exp.Expr) -> bool:
        """Whether it adds up that part over rows with this one among them: SUM(part) OVER (...) without a frame."""
        while isinstance(node, exp.Paren | exp.Nullif):
            node = node.this
        if isinstance(node, exp.Column):
            values = self._defined.get(node.name.lower(), [])
            return len(values) == 1 and not isinstance(values[0], exp.Column) and self._is_total_of(values[0], part)
        is_total = isinstance(node, exp.Window) and isinstance(node.this, exp.Sum) and not node.args.get("spec")
        return is_total and bool(node.this.this == part)


def _without_factor(node: exp.Expr) -> tuple[float, exp.Expr]:
    """A number that something is multiplied by, and what it is."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Mul):
        for number, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(number, exp.Literal) and not number.is_string:
                factor, inner = _without_factor(other)
                return factor * float(number.name), inner
    return 1.0, node
