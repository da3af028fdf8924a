"""How exact an answer will be, from public facts alone: what preview shows and ``within`` solves for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import fmean

from hubbub.mechanisms import JointQuantiles
from hubbub.relations import Expr
from hubbub.releases import Noise, NoiseSum, formulas
from hubbub.sql.compiler.query_plan import AggregateReading, How, QuestionPlan, readings_in
from hubbub.sql.compiler.question import Scan
from hubbub.sql.pricing.level_noise import level_allocations
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
    count, levels = assumed_count(plan, assume), level_allocations(plan, spent)
    return [
        _predict_levels(
            [
                (kept, _predict_column(output.name, output.value, plan, noise, confidence, _rows_at(plan, kept, count)))
                for kept, noise in levels
            ],
            plan,
        )
        for output in plan.outputs
        if readings_in(output.value)
    ]


def _predict_levels(levels: list[tuple[tuple[int, ...], Predicted]], plan: QuestionPlan) -> Predicted:
    """A column over all levels of totals: the largest error is that of the column."""
    kept, first = levels[0]
    if plan.one_level:
        return replace(first, words=f"{first.words} {_level_words(kept, plan)}")
    if len(levels) == 1:
        return first
    errors = [each.error for _, each in levels if each.error is not None]
    alike = len({each.words for _, each in levels}) == 1
    words = first.words if alike else "; ".join(f"{each.words} {_level_words(kept, plan)}" for kept, each in levels)
    return Predicted(first.name, max(errors) if len(errors) == len(levels) else None, words)


def _level_words(kept: tuple[int, ...], plan: QuestionPlan) -> str:
    return f"by {', '.join(plan.keys[place].name for place in kept)}" if kept else "in all"


def level_notes(plan: QuestionPlan) -> list[str]:
    """Which levels of totals have noise of their own, in words."""
    if not plan.levels:
        return []
    if not plan.measured:
        return ["Only the finest groups have noise of their own; totals are sums of these noisy numbers."]
    shares = ", ".join(f"{_level_words(level.kept, plan)} {float(100 * level.share):.3g}%" for level in plan.measured)
    return [f"Levels have noise of their own and share the price ({shares}); least squares makes them agree."]


def _rows_at(plan: QuestionPlan, kept: tuple[int, ...], count: float | None) -> float | None:
    """The rows that a group of a level is reckoned to have, by those of the finest groups."""
    return count if count is None or not plan.levels else count * (plan.size or 1) / plan.cells_of(kept)


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
    error = reading_error(reading, plan, spent, confidence, count)
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
    error = reading_error(reading, plan, spent, confidence, count)
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


def reading_error(
    reading: AggregateReading, plan: QuestionPlan, spent: NoiseAllocation, confidence: float, count: float | None
) -> float | None:
    """The error of a reading; None where it depends on the data."""
    if reading.how is How.LINEAR:
        return _line_error(reading, plan, spent, confidence)
    if reading.how in _SUMS:
        return size_error(reading, plan, spent, confidence)
    if reading.how is How.MEAN and count:
        return size_error(reading, plan, spent, confidence) / count
    return None


def size_error(reading: AggregateReading, plan: QuestionPlan, spent: NoiseAllocation, confidence: float) -> float:
    """The error of a reading, times the number of rows where it is an average of them.

    An average's depends a little on where it lies: at half the range from the middle, here.
    """
    if reading.how is How.CHOSEN:
        assert spent.chooser is not None
        return float(spent.chooser.count_error(confidence))
    if reading.how is How.QUANTILE:
        return float(spent.curves[reading.curve].error(confidence))
    errors = [float(spent.noise(i).error(confidence) * plan.measures[i].unit) for i in reading.measures]
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
    if reading.lines:
        return _line_effects(reading)
    if reading.how is How.MEAN:
        assert reading.lower is not None and reading.upper is not None
        return (1.0, float(reading.upper - reading.lower) / 4)
    assert reading.upper is not None  # of a variance, or of two numbers' products: the largest one
    if reading.function:  # of pairs: the count and the sum of products stand for all
        return (float(reading.upper), *([0.0] * (len(reading.measures) - 2)), 1.0)
    return (float(reading.upper) ** 0.5, float(reading.upper) / 4, 1.0)


def _line_effects(reading: AggregateReading) -> tuple[float, ...]:
    """The same where all is read off the parts of one value, for an average at half the range from the middle.

    The variance is reckoned to be half of the square of that distance, or a thirty-second of the range squared.
    """
    total, *squares, count = reading.lines
    if not squares:
        assert reading.lower is not None and reading.upper is not None
        mean = float(reading.upper - reading.lower) / 4
        return tuple(abs(float(t) - mean * float(c)) for t, c in zip(total, count, strict=True))
    assert reading.upper is not None  # the largest variance: a quarter of the range squared
    mean, spread = float(reading.upper) ** 0.5 / 2, float(reading.upper) / 8
    return tuple(
        abs(float(q) - 2 * mean * float(t) + (mean**2 - spread) * float(c))
        for t, q, c in zip(total, squares[0], count, strict=True)
    )


def typical_error(plans: Sequence[QuestionPlan], spent: Sequence[NoiseAllocation], confidence: float) -> float:
    """The geometric mean over all columns of their errors: free of units, and good for comparing noises alone.

    Each level of totals counts alike, however many rows it has: who asks for totals wants them as well told.
    """
    logs = [
        fmean(math.log(max(size_error(reading, plan, each, confidence), 1e-300)) for reading in readings)
        for plan, noise in zip(plans, spent, strict=True)
        for _, each in level_allocations(plan, noise)
        for output in plan.outputs
        if (readings := readings_in(output.value))
    ]
    return math.exp(fmean(logs)) if logs else 0.0


def _error_formula(reading: AggregateReading, plan: QuestionPlan, spent: NoiseAllocation, confidence: float) -> str:
    if reading.how is How.MEAN:
        return f"±{_short_number(size_error(reading, plan, spent, confidence))} / number of rows"
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
            law = _noise_words(noise)
            names.append(f"{law} noise on {measure.name}, std dev {noise.std_dev() * float(measure.unit):.4g}")
    return "; ".join(dict.fromkeys(names))


def _noise_words(noise: Noise) -> str:
    if isinstance(noise, NoiseSum):
        return f"sums of discrete {'Laplace' if noise.is_laplace else 'Gaussian'}"
    return "discrete Gaussian" if noise.distribution == "gaussian" else "discrete Laplace"


def _quantile_mechanism(noise: QuantileNoise) -> str:
    if not isinstance(noise, JointQuantiles):
        return f"noisy cumulative histogram of {noise.cells:,} cells"
    together = f", {len(noise.levels)} levels at once" if len(noise.levels) > 1 else ""
    return f"exponential mechanism on ranks, a pair among {noise.cells:,} cells{together}"
