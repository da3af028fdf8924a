"""How accurate GOPA is: measured against its formula, beside a curator and the best local protocol, and how fast."""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np

from bench.rows import Row, cpu_seconds
from hubbub.gopa import plan, simulate
from hubbub.gopa.privacy.trust_comparison import compare
from hubbub.gopa.simulate import _run_verifiable

EPSILON, DELTA = 1, 1e-6


def rows(quick: bool) -> list[Row]:
    runs = 5_000 if quick else 30_000
    return [*_measured(runs), *_beside(), *_speed(3 if quick else 7)]


def _measured(runs: int) -> list[Row]:
    """The mean squared error of many simulated runs over the variance that the plan tells."""
    found = []
    for honest in (0.5, 0.8):
        values = np.random.default_rng(1).random(1_000)
        agreed = replace(plan(EPSILON, DELTA, 1_000, honest), degree=2)  # masks cancel: two do not change the sum
        shown = [_run_verifiable(values, agreed) for _ in range(runs)]
        errors = np.array([one.mean - values[one.included].mean() for one in shown])
        off = abs(float(np.mean(errors**2)) / shown[0].variance - 1)
        note = f"{runs:,} runs of 1,000 parties, standard error {100 * (2 / runs) ** 0.5:.1f}%"
        found.append(Row(f"variance off the formula, honest {honest}", 100 * off, "%", 5, "lower", note))
    return found


def _beside() -> list[Row]:
    found = []
    for honest in (0.5, 0.8, 1.0):
        [point] = compare(EPSILON, DELTA, honest, 0, sizes=(1_000,)).points
        name = f"variance over a curator's times the honest share {honest}, no dropouts, n = 1,000"
        note = f"rounding {100 * point.agreed.loss:.1f}%"
        found.append(Row(name, point.over_curator * honest, "x", 1.06, "lower", note))
    small, large = compare(EPSILON, DELTA, sizes=(1_000, 100_000)).points
    note = f"GOPA's standard deviation {small.gopa**0.5:.2g}, local {small.local**0.5:.2g}"
    found.append(
        Row(
            "local variance over GOPA's, honest 0.5, 5% dropouts, n = 1,000", small.under_local, "x", 20, "higher", note
        )
    )
    growth = large.under_local / small.under_local
    found.append(Row("the same at n = 100,000, over that at 1,000", growth, "x", 90, "higher"))
    return found


def _speed(rounds: int) -> list[Row]:
    values = np.random.default_rng(2).random(100_000)
    found = []
    for k, honest in ((20, 0.5), (None, 0.8)):
        seconds = [cpu_seconds(lambda: simulate(values, EPSILON, DELTA, honest, degree=k)) for _ in range(rounds)]  # noqa: B023
        name = f"simulator, n = 100,000, k = {k or 'as planned'}, honest {honest}"
        found.append(Row(name, statistics.median(seconds), "s", 2, "lower", "processor time"))
    fresh = [cpu_seconds(lambda: plan(EPSILON, DELTA, 100_000 + i)) for i in range(rounds)]  # noqa: B023
    found.append(Row("plan for 100,000 parties", statistics.median(fresh), "s", 2, "lower", "processor time"))
    return found
