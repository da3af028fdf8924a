"""CORR, COVAR and REGR: the sums that statistics of two numbers of a row are worked out from."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from hubbub.relations import Expr, build, literal
from hubbub.sql.compiler.query_plan import AggregateReading, How
from hubbub.sql.compiler.syntax.functions import PAIRED

_OF_ONE = {"regr_avgy": 0, "regr_avgx": 1}


def is_paired(value: Expr) -> bool:
    """Whether it is an aggregate of two numbers."""
    return value.op in ("aggregate", "aggregate_if") and value.param.function in PAIRED


def split_pair(value: Expr) -> tuple[Expr, Expr, Expr]:
    """(y, x, condition) of an aggregate of pairs: both are there, and FILTER holds."""
    y, x, *given = value.args
    condition = build("present", [y])
    for part in (build("present", [x]), *given):  # the last part is no test of one value: nobody counts by it alone
        condition = build("and", [condition, part])
    return y, x, condition


def centred_product(
    y: Expr, x: Expr, bounds: tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]], centres: tuple[Fraction, ...]
) -> Expr:
    """What a row adds to the sum of products: both held to their bounds, less their centres."""
    held = [
        build("sub", [build("greatest", [build("least", [value, _number(high)]), _number(low)]), _number(centre)])
        for value, (low, high), centre in zip((y, x), bounds, centres, strict=True)
    ]
    return build("mul", held)


class PairSums(Protocol):
    """What a plan adds up for statistics of pairs."""

    def bounds(self, value: Expr) -> tuple[Fraction, Fraction]:
        """Between which numbers a value lies."""

    def add_sum(self, value: Expr, condition: Expr, *, square: bool = False) -> tuple[int, Fraction]:
        """The sum of a value or of its square, and the centre that is taken off before."""

    def add_product(self, value: Expr, condition: Expr) -> int:
        """The sum of products."""

    def add_count(self, condition: Expr) -> int:
        """How many rows have both."""


def pair_reading(value: Expr, sums: PairSums) -> AggregateReading:
    """How the statistic is read, once everything that it needs is added up."""
    y, x, condition = split_pair(value)
    function = value.param.function
    if function == "regr_count":
        return AggregateReading(how=How.REF, measures=(sums.add_count(condition),))
    if function in _OF_ONE:
        part = (y, x)[_OF_ONE[function]]
        low, high = sums.bounds(part)
        total, centre = sums.add_sum(part, condition)
        measures = (total, sums.add_count(condition))
        return AggregateReading(how=How.MEAN, measures=measures, centre=centre, lower=low, upper=high)
    ends = sums.bounds(y), sums.bounds(x)
    (y_sum, y_centre), (x_sum, x_centre) = (sums.add_sum(part, condition) for part in (y, x))
    (y_squares, _), (x_squares, _) = (sums.add_sum(part, condition, square=True) for part in (y, x))
    products = sums.add_product(centred_product(y, x, ends, (y_centre, x_centre)), condition)
    spans = [high - low for low, high in ends]
    return AggregateReading(
        how=How.VARIANCE,
        measures=(sums.add_count(condition), y_sum, x_sum, y_squares, x_squares, products),
        function=function,
        centres=(y_centre, x_centre),
        upper=spans[0] * spans[1] / 4,
    )


def _number(value: Fraction) -> Expr:
    return literal(int(value) if value.denominator == 1 else value)  # type: ignore[arg-type]  # a number is a value
