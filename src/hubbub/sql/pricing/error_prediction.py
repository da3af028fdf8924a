"""How exact an answer will be, from public facts alone: what preview shows and ``within`` solves for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean

from hubbub.mechanisms import JointQuantiles
from hubbub.relations import Expr
from hubbub.releases import formulas
from hubbub.sql.compiler.query_plan import AggregateReading, How, QuestionPlan, readings_in
from hubbub.sql.compiler.question import Scan
from hubbub.sql.pricing.noise_allocation import NoiseAllocation, QuantileNoise

_SUMS = (How.REF, How.LINEAR, How.CHOSEN)


@dataclass(frozen=True, slots=True)
class Predicted:
    """The error of one column at some confidence: a number, or what it depends on."""

    name: str
    error: float | None
    words: str


def predict_errors(
    plan: QuestionPlan, spent: NoiseAllocation, *, confidence: float, assume: Fraction | None
) -> list[Predicted]:
    """The error of each column that has noise."""
    count = assumed_count(plan, assume)
    return [
        _predict_column(output.name, output.value, plan, spent, confidence, count)
        for output in plan.outputs
        if readings_in(output.value)
    ]


def assumed_count(plan: QuestionPlan, assume: Fraction | None) -> float | None:
    """How many rows a group is reckoned to have: as given, or the declared rows shared among the keys."""
    if assume is not None:
        return float(assume)
    first = plan.source[0].rows
    rows = first.table.rows if isinstance(first, Scan) and plan.where is None and len(plan.source) == 1 else None
    return None if rows is None or plan.size is None else rows / plan.size


def _predict_column(
    name: str, value: Expr, plan: QuestionPlan, spent: NoiseAllocation, confidence: float, count: float | None
) -> Predicted:
    if value.op != "read":
        parts = (_part_words(reading, plan, spent, confidence, count) for reading in readings_in(value))
        return Predicted(name, None, f"from its parts: {', '.join(parts)}")
    reading: AggregateReading = value.param
    error = _reading_error(reading, plan, spent, confidence, count)
    if error is not None:
        given = "" if reading.how in _SUMS else f" if a group has {count:,.0f} rows"
        return Predicted(name, error, f"±{_short_number(error)}{given}")
    if reading.how is How.QUANTILE:
        return Predicted(name, None, _rank_words(reading, spent.curves[reading.curve], confidence))
    return Predicted(name, None, _error_formula(reading, plan, spent, confidence))


def _part_words(
    reading: AggregateReading, plan: QuestionPlan, spent: NoiseAllocation, confidence: float, count: float | None
) -> str:
    """What an expression is made of, and how far that is off."""
    if reading.how is How.QUANTILE:
        return f"a quantile {_rank_words(reading, spent.curves[reading.curve], confidence)}"
    if reading.how is How.CHOSEN:
        part = "the number of people"
    else:
        names = ", ".join(plan.measures[index].name for index in reading.measures)
        part = names if reading.how is How.REF else f"{reading.function or reading.how.value} of {names}"
    error = _reading_error(reading, plan, spent, confidence, count)
    return f"{part} {_error_formula(reading, plan, spent, confidence) if error is None else f'±{_short_number(error)}'}"


def _rank_words(reading: AggregateReading, noise: QuantileNoise, confidence: float) -> str:
    """How far a quantile is off, in rows: in value it depends on the data."""
    rank, level = _short_number(quantile_rank_error(reading, noise, confidence)), reading.quantile
    if not isinstance(noise, JointQuantiles):
        as_level = {0: "told as the 1% quantile, ", 1: "told as the 99% quantile, "}
        told = as_level[int(level)] if level in (0, 1) else ""
        return f"{told}off by at most {rank} rows in rank; in value it depends on the data"
    spread = (
        f"the interval spans about {_short_number(noise.pair_error(level))} rows to either side; "
        f"it needs about {noise.rows_needed(level):,} rows, and with fewer may reach the declared bounds"
    )
    if level in (0, 1):
        side = "below" if level == 0 else "above"
        return f"told with about {noise.from_end(level):,} rows {side} it, ±{rank}; {spread}"
    return f"off by at most {rank} rows in rank where values lie densely; {spread}"


def quantile_rank_error(reading: AggregateReading, noise: QuantileNoise, confidence: float) -> float:
    """By how many rows the rank of a quantile may be off."""
    if isinstance(noise, JointQuantiles):
        return noise.rank_error(reading.quantile, confidence)
    return noise.error(confidence)


def _reading_error(
    reading: AggregateReading, plan: QuestionPlan, spent: NoiseAllocation, confidence: float, count: float | None
) -> float | None:
    if reading.how is How.LINEAR:
        return _line_error(reading, plan, spent, confidence)
    if reading.how in _SUMS:
        return _size_error(reading, plan, spent, confidence)
    if reading.how is How.MEAN and count:
        return _size_error(reading, plan, spent, confidence) / count
    return None


def _size_error(reading: AggregateReading, plan: QuestionPlan, spent: NoiseAllocation, confidence: float) -> float:
    """The error of a reading, times the number of rows where it is an average of them.

    An average's depends a little on where it lies: at half the range from the middle, here.
    """
    if reading.how is How.CHOSEN:
        assert spent.chooser is not None
        return float(spent.chooser.count_error(confidence))
    if reading.how is How.QUANTILE:
        return float(spent.curves[reading.curve].error(confidence))
    errors = [float(spent.measures[i].error(confidence) * plan.measures[i].unit) for i in reading.measures]
    return math.hypot(*(weight * error for weight, error in zip(_effects(reading), errors, strict=True)))


def _line_error(reading: AggregateReading, plan: QuestionPlan, spent: NoiseAllocation, confidence: float) -> float:
    """The error of a weighted sum, just as its interval will be; of a count, which is told as a whole number."""
    weights = zip(reading.measures, reading.weights, strict=True)
    parts = tuple((abs(weight) * plan.measures[i].unit, spent.noise(i)) for i, weight in weights)
    radius = formulas.sum_radius(parts, Fraction(str(confidence)))
    return float(math.floor(radius + Fraction(1, 2)) if reading.whole else radius)


def _effects(reading: AggregateReading) -> tuple[float, ...]:
    """How much a unit of each measure's noise moves the reading, times the number of rows."""
    if reading.how is How.REF:
        return (1.0,)
    if reading.how is How.LINEAR:
        return tuple(map(float, reading.weights))
    if reading.how is How.MEAN and reading.weights:
        return (0.75, 0.25)
    if reading.how is How.MEAN:
        assert reading.lower is not None and reading.upper is not None
        return (1.0, float(reading.upper - reading.lower) / 4)
    assert reading.upper is not None  # of a variance, or of two numbers' products: the largest one
    if reading.function:  # of pairs: the count and the sum of products stand for all
        return (float(reading.upper), *([0.0] * (len(reading.measures) - 2)), 1.0)
    return (float(reading.upper) ** 0.5, float(reading.upper) / 4, 1.0)


def typical_error(plans: Sequence[QuestionPlan], spent: Sequence[NoiseAllocation], confidence: float) -> float:
    """The geometric mean over all columns of their errors: free of units, and good for comparing noises alone."""
    logs = [
        fmean(math.log(max(_size_error(reading, plan, each, confidence), 1e-300)) for reading in readings)
        for plan, each in zip(plans, spent, strict=True)
        for output in plan.outputs
        if (readings := readings_in(output.value))
    ]
    return math.exp(fmean(logs)) if logs else 0.0


def _error_formula(reading: AggregateReading, plan: QuestionPlan, spent: NoiseAllocation, confidence: float) -> str:
    if reading.how is How.MEAN:
        return f"±{_short_number(_size_error(reading, plan, spent, confidence))} / number of rows"
    return "depends on the number of rows"


def _short_number(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def mechanism_words(plan: QuestionPlan, spent: NoiseAllocation, value: Expr) -> str:
    """The noise of a column in words."""
    names = []
    for reading in readings_in(value):
        if reading.how is How.QUANTILE:
            names.append(_quantile_mechanism(spent.curves[reading.curve]))
        if reading.how is How.CHOSEN and spent.chooser is not None:
            names.append(f"discrete Gaussian noise on people, std dev {float(spent.chooser.scale):.4g}, which chose it")
        for index in reading.measures:
            noise, measure = spent.noise(index), plan.measures[index]
            law = "discrete Gaussian" if noise.distribution == "gaussian" else "discrete Laplace"
            names.append(f"{law} noise on {measure.name}, std dev {noise.std_dev() * float(measure.unit):.4g}")
    return "; ".join(dict.fromkeys(names))


def _quantile_mechanism(noise: QuantileNoise) -> str:
    if not isinstance(noise, JointQuantiles):
        return f"noisy cumulative histogram of {noise.cells:,} cells"
    together = f", {len(noise.levels)} levels at once" if len(noise.levels) > 1 else ""
    return f"exponential mechanism on ranks, a pair among {noise.cells:,} cells{together}"
