"""The price of privacy in risk: the gap to the best weights falls like 1/n, as the lectures' theorem says.

The rows are those of the lower bound [BST14]: a linear loss over a ball, and a mean so short that noise nearly hides
where it points. For every n the worst of several lengths counts. Excess risk is worked out exactly, not estimated.

The steps are the lecture's and the noise is what their accounting asks for. The lecture's own noise is some twenty-five
times that: it hides sums of hundreds of rows, and falls like 1/n only from thousands of rows on, which is tens of
millions of steps. How many times it is more is measured instead.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.rows import Row
from hubbub.learn.solvers import Ball, Loss, Solution, lecture_noise, projected_sgd
from hubbub.learn.training.network import Floats
from hubbub.learn.training.sampling import step_of
from hubbub.render.charts import Axis, Panel, Series, Tick, line_chart
from hubbub.terms import Repeat

PICTURE = Path(__file__).parents[1] / "results" / "learn-utility.svg"
LINEAR = Loss("linear", lambda m: 1 - m, lambda m: -np.ones_like(m), np.zeros_like, lipschitz=1, smooth=0)
EPSILON, DELTA, COLUMNS, RUNS = 1.0, 1e-3, 1, 5
LENGTHS = (4, 8, 16, 32)  # about which the noise is unsure
BALL = Ball(1.0)
Curve = tuple[tuple[float, float], ...]


def rows(quick: bool) -> list[Row]:
    """The slope of the gap over n, what the lecture's noise would be, and the picture."""
    name = "projected SGD, n² steps, accounted noise"
    curve = _curve((50, 100) if quick else (100, 200, 400))
    if not quick:
        PICTURE.write_text(picture({name: curve}))
    falls = f"{name}: how the worst excess risk falls, as a power of n"
    more = "projected SGD, n² steps, n = 100: the lecture's noise over the accounted one"
    return [
        Row(falls, _slope(curve), "", -0.8, "lower", _told(curve)),
        Row(more, _lecture_over_accounted(100), "x", 1, "higher", "both are (1, 1e-3)-DP"),
    ]


def _solved(rows: Floats) -> Solution:
    return projected_sgd(
        rows, np.ones(len(rows)), domain=BALL, epsilon=EPSILON, delta=DELTA, norm=1, loss=LINEAR, noise="tight"
    )


def _lecture_over_accounted(n: int) -> float:
    run = _solved(_short_mean(n, LENGTHS[0])).event
    assert isinstance(run, Repeat)
    lecture = lecture_noise(rows=n, steps=n**2, epsilon=EPSILON, delta=DELTA, lipschitz=LINEAR.lipschitz)
    return lecture / float(step_of(run).sigma)


def _curve(sizes: Sequence[int]) -> Curve:
    return tuple((float(n), max(_gap(n, length) for length in LENGTHS if 2 * length < n)) for n in sizes)


def _gap(n: int, length: int) -> float:
    """Mean excess risk over a few runs where the sum of all rows has about this length."""
    rows = _short_mean(n, length)
    mean = rows.mean(axis=0)
    best = -float(np.linalg.norm(mean))
    return statistics.fmean(-float(mean @ _solved(rows).weights) - best for _ in range(RUNS))


def _short_mean(n: int, length: int) -> Floats:
    """Rows of norm 1 that cancel in pairs, but for so many that the sum has the length asked for."""
    generator = np.random.default_rng(n + length)
    corners = generator.choice([-1.0, 1.0], size=(n, COLUMNS)) / math.sqrt(COLUMNS)
    corners[1::2] = -corners[0 : 2 * (n // 2) : 2]
    corners[:length] = corners[0]
    return corners


def _slope(curve: Curve) -> float:
    return float(np.polyfit(*np.log(np.array(curve)).T, 1)[0])


def _told(curve: Curve) -> str:
    return f"from {curve[0][1]:.3g} at n = {curve[0][0]:,.0f} to {curve[-1][1]:.3g} at n = {curve[-1][0]:,.0f}"


def picture(curves: dict[str, Curve]) -> str:
    """Both axes by powers of ten; a line that falls like 1/n beside them."""
    ends = sorted({n for curve in curves.values() for n, _ in curve})
    theory = tuple((n, math.sqrt(COLUMNS * math.log(1 / DELTA)) / (n * EPSILON)) for n in (min(ends), max(ends)))
    shown = {**curves, "√(d ln(1/δ)) / (n ε)": theory}
    series = tuple(
        Series(name, tuple((math.log10(n), math.log10(gap)) for n, gap in curve)) for name, curve in shown.items()
    )
    ticks = tuple(Tick(math.log10(n), f"{n:,.0f}") for n in ends)
    axis = Axis("rows", math.log10(min(ends)), math.log10(max(ends)), ticks)
    panel = Panel("excess risk, as a power of ten", series, height=300)
    told = "The worst excess risk of private solvers falls like one over the number of rows."
    return line_chart(panel, title="What privacy costs, by the number of rows", description=told, x=axis)
