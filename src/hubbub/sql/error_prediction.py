"""How exact an answer will be, from public facts alone: what preview shows and ``within`` solves for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hubbub.mechanisms import JointQuantiles
from hubbub.relations import Expr
from hubbub.sql.compiler.query_plan import AggregateReading, How, QuestionPlan, readings_in
from hubbub.sql.compiler.question import Scan
from hubbub.sql.noise_allocation import NoiseAllocation, QuantileNoise


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
        parts = [_reading_error(reading, plan, spent, confidence, count) for reading in readings_in(value)]
        errors = ", ".join(
            f"{reading.words()} ±{_short_number(part)}" for reading, part in zip(readings_in(value), parts, strict=True)
        )
        return Predicted(name, None, f"from its parts: {errors}")
    reading: AggregateReading = value.param
    error = _reading_error(reading, plan, spent, confidence, count)
    if error is not None:
        given = "" if reading.how is How.REF else f" if a group has {count:,.0f} rows"
        return Predicted(name, error, f"±{_short_number(error)}{given}")
    if reading.how is How.QUANTILE:
        return Predicted(name, None, _rank_words(reading, spent.curves[reading.curve], confidence))
    return Predicted(name, None, _error_formula(reading, plan, spent, confidence))


def _rank_words(reading: AggregateReading, noise: QuantileNoise, confidence: float) -> str:
    """How far a quantile is off, in rows: in value it depends on the data."""
    rank, level = _short_number(quantile_rank_error(reading, noise, confidence)), reading.quantile
    if not isinstance(noise, JointQuantiles):
        as_level = {0: "told as the 1% quantile, ", 1: "told as the 99% quantile, "}
        told = as_level[int(level)] if level in (0, 1) else ""
        return f"{told}off by at most {rank} rows in rank; in value it depends on the data"
    spread = f"the interval spans about {_short_number(noise.pair_error(level))} rows to either side"
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
    if reading.how is How.REF:
        return float(spent.measures[reading.measures[0]].error(confidence) * plan.measures[reading.measures[0]].unit)
    if reading.how is How.MEAN and count:
        return _mean_error(reading, plan, spent, confidence) / count
    return None


def _mean_error(reading: AggregateReading, plan: QuestionPlan, spent: NoiseAllocation, confidence: float) -> float:
    """The error of a mean times its count: that of the sum, and of the count at half the range from the middle."""
    total, count = (float(spent.measures[i].error(confidence) * plan.measures[i].unit) for i in reading.measures[:2])
    assert reading.lower is not None and reading.upper is not None
    return math.hypot(total, float(reading.upper - reading.lower) / 4 * count)


def _error_formula(reading: AggregateReading, plan: QuestionPlan, spent: NoiseAllocation, confidence: float) -> str:
    if reading.how is How.MEAN:
        return f"±{_short_number(_mean_error(reading, plan, spent, confidence))} / number of rows"
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
