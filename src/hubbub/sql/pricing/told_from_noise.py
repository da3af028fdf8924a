"""When an average, a variance or a ratio cannot be told from noise: from public facts alone, for the preview."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from hubbub.relations import Expr
from hubbub.releases.formulas import sum_radius
from hubbub.sql.compiler.query_plan import AggregateReading, How, QuestionPlan, readings_in
from hubbub.sql.pricing.error_prediction import assumed_count, reading_error, size_error
from hubbub.sql.pricing.noise_allocation import NoiseAllocation

_SUMS = (How.REF, How.LINEAR, How.CHOSEN)


def floor_notes(
    plan: QuestionPlan, spent: NoiseAllocation, *, confidence: float, assume: Fraction | None
) -> Iterator[str]:
    """What each column needs before it is more than noise."""
    count = assumed_count(plan, assume)
    for output in plan.outputs:
        floors = [fewest_rows(each, plan, spent, confidence) for each in readings_in(output.value)]
        if known := [each for each in floors if each is not None]:
            yield _rows_note(output.name, max(known), count)
        for under in _denominators(output.value):
            error = reading_error(under, plan, spent, confidence, count)
            names = ", ".join(plan.measures[index].name for index in under.measures) or "the number of people"
            if error is not None:
                yield f"{output.name} cannot be told from noise where what divides it ({names}) is below {error:,.4g}."


def fewest_rows(reading: AggregateReading, plan: QuestionPlan, spent: NoiseAllocation, confidence: float) -> int | None:
    """How many rows it takes at least that an average or a variance is more than noise; None for other readings.

    An average needs a count above its own noise. A variance also needs an error below the largest one that the bounds
    allow: with less, whatever the data are, 0 and that are one to it.
    """
    if reading.function or reading.how not in (How.MEAN, How.VARIANCE):
        return None
    weights = (
        reading.lines[-1] if reading.lines else tuple(Fraction(place == 1) for place in range(len(reading.measures)))
    )
    parts = tuple(
        (abs(weight) * plan.measures[i].unit, spent.noise(i))
        for i, weight in zip(reading.measures, weights, strict=True)
        if weight
    )
    least = float(sum_radius(parts, Fraction(str(confidence))))
    if reading.how is How.VARIANCE and reading.upper:
        least = max(least, size_error(reading, plan, spent, confidence) / float(reading.upper))
    return math.floor(least) + 1


def _rows_note(name: str, rows: int, count: float | None) -> str:
    if count is not None and count < rows:
        return f"{name} cannot be told from noise at this price: that takes {rows:,} rows in a group, for {count:,.0f}."
    return f"{name} cannot be told from noise in a group of fewer than {rows:,} rows."


def _denominators(value: Expr) -> Iterator[AggregateReading]:
    """The noisy sums and counts that something is divided by, each by itself."""
    if value.op == "div" and value.args[1].op == "read" and value.args[1].param.how in _SUMS:
        yield value.args[1].param
    for part in value.args:
        yield from _denominators(part)
