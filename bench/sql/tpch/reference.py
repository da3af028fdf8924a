"""An ordinary method to beat: one Gaussian on per-customer totals that are clipped in L2, over public keys."""

from __future__ import annotations

import statistics

import numpy as np

from bench.sql.tpch import DELTA, EPSILON, Answer, Form, Truth
from hubbub.mechanisms import Gaussian


def error(truth: Truth, form: Form, *, draws: int = 400) -> float:
    """The median relative error over groups and draws."""
    exact, clipped = truth.answer(form), truth.clipped(form)
    sigma = float(Gaussian(sensitivity=1, epsilon=EPSILON, delta=DELTA).sigma) * form.l2
    noise = np.random.default_rng(1).normal(0, sigma, (draws, len(clipped)))
    found = [
        relative({key: value + one for (key, value), one in zip(clipped.items(), row, strict=True)}, exact)
        for row in noise
    ]
    return statistics.median(each for row in found for each in row)


def relative(released: Answer, exact: Answer) -> list[float]:
    """The relative error of each group that has something in it; one that was not released counts as 1."""
    return [abs(released.get(key, 0.0) - true) / abs(true) for key, true in exact.items() if true]
