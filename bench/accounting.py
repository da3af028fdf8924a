"""Accounting against known exact values, and how long a decision and a report take."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np

from bench.rows import Row, side_by_side
from hubbub.accounting import Poisson, Repeat, epsilon, filters
from hubbub.mechanisms import Gaussian, Laplace
from hubbub.terms import ApproximateStep


def rows(quick: bool) -> list[Row]:
    return [*_values(), *_appends(), *_report(quick)]


def _values() -> list[Row]:
    known = {
        "1,000 Gaussians sigma 20 at delta 1e-5 (7.5113)": (
            Repeat(Gaussian(sensitivity=1, sigma=20).event, 1000),
            7.51128,
            5e-5,
        ),
        "DP-SGD q=.01 sigma=1.1, 10,000 steps (5.193)": (
            Repeat(Poisson(Gaussian(sensitivity=1, sigma=1.1).event, 0.01), 10_000),
            5.193,
            5e-4,
        ),
        "500 Laplace of epsilon .05 (4.918)": (
            Repeat(Laplace(sensitivity=1, epsilon=0.05).event, 500),
            4.918,
            5e-4,
        ),
    }
    found = []
    for name, (event, value, tolerance) in known.items():
        start = time.perf_counter()
        bound = epsilon(event, delta=1e-5)
        note = f"{float(bound):.5f} by {bound.method} in {time.perf_counter() - start:.2f} s"
        found.append(Row(f"{name}: distance from it", abs(bound - value), "epsilon", tolerance, "lower", note))
    return found


def _appends() -> list[Row]:
    gaussian, laplace = Gaussian(sensitivity=1, sigma=1e6).event, Laplace(sensitivity=1, epsilon=1e-9).event
    keys = ApproximateStep(mechanism="keys", epsilon=Fraction(1, 10**6), delta=Fraction(1, 10**15))
    many = 5_000
    budgets = {
        "pure": (filters.PureFilter(epsilon=10), laplace),
        "advanced": (filters.AdvancedFilter(epsilon=10, delta=1e-6), laplace),
        "zCDP": (filters.ConcentratedFilter(epsilon=10, delta=1e-6), gaussian),
        "zCDP, with a delta": (filters.ConcentratedFilter(epsilon=10, delta=1e-6), keys),
        "Renyi": (filters.RenyiFilter(order=20, epsilon=10, delta=1e-6), gaussian),
    }
    works = {
        name: lambda budget=budget, event=event: [budget.append(event) for _ in range(many)]
        for name, (budget, event) in budgets.items()
    }
    times = side_by_side(works, rounds=5)
    return [Row(f"append to a filter ({name})", t / many * 1e6, "us", 20, "lower") for name, t in times.items()]


def _report(quick: bool) -> list[Row]:
    import dp_accounting.pld.privacy_loss_distribution as dp

    count = 1_000 if quick else 10_000
    levels = np.random.default_rng(1).uniform(0.001, 0.01, count)
    events = [Laplace(sensitivity=1, epsilon=level).event for level in levels]
    time_taken = side_by_side({"report": lambda: epsilon(events, delta=1e-5)}, rounds=3)["report"]
    bound = epsilon(events, delta=1e-5)
    full = dp.from_laplace_mechanism(1 / levels[0])
    for level in levels[1:]:
        full = full.compose(dp.from_laplace_mechanism(1 / level))
    exact = full.get_epsilon_for_delta(1e-5)
    note = f"{float(bound):.5f} against {exact:.5f} of dp-accounting, event by event"
    return [
        Row(f"report over {count:,} different events", time_taken, "s", 3, "lower"),
        Row("the same report, above the full loss distribution by", (bound / exact - 1) * 100, "%", 1, "lower", note),
    ]
