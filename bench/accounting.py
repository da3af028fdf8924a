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
    return [*_values(), *_appends(), *_report(quick), *_training()]


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


# ---------------------------------------------------------------- calibration of private training

_OURS = """
from fractions import Fraction
from hubbub.accounting import noise_for
from hubbub.mechanisms import Gaussian
from hubbub.terms import Poisson, Repeat
run = lambda sigma: Repeat(Poisson(Gaussian(sensitivity=1, sigma=sigma).event, Fraction(256, 60_000)), 14_000)
print(float(noise_for(run, epsilon_target={epsilon}, delta=1e-5)))
"""
_THEIRS = """
import dp_accounting as dp
from dp_accounting.pld import PLDAccountant
from dp_accounting.mechanism_calibration import ExplicitBracketInterval
event = lambda sigma: dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(256 / 60_000, dp.GaussianDpEvent(sigma)), 14_000)
bracket = ExplicitBracketInterval(0.3, 10)
print(dp.calibrate_dp_mechanism(PLDAccountant, event, {epsilon}, 1e-5, bracket, tol=1e-4))
"""


def _training() -> list[Row]:
    """Each in a process of its own: what it takes, start-up included, and its memory."""
    found = []
    for level in (1, 8):
        ours, theirs = (_child(text.format(epsilon=level)) for text in (_OURS, _THEIRS))
        name = f"noise_for, DP-SGD q=256/60,000, 14,000 steps, epsilon {level}"
        note = f"sigma {ours[2]:.4f} in {ours[0]:.1f} s and {ours[1]:.0f} MB; dp-accounting {theirs[2]:.4f} in "
        note += f"{theirs[0]:.1f} s and {theirs[1]:.0f} MB"
        found.append(Row(f"{name}: processor time over dp-accounting's", ours[0] / theirs[0], "x", 1, "lower", note))
        found.append(Row(f"{name}: memory", ours[1], "MB", 1000, "lower"))
    return found


def _child(text: str) -> tuple[float, float, float]:
    """Processor seconds, peak megabytes, and the number printed."""
    import subprocess
    import sys

    about = "import resource as r; u = r.getrusage(r.RUSAGE_SELF); print(u.ru_utime + u.ru_stime, u.ru_maxrss / 1024)"
    done = subprocess.run([sys.executable, "-c", f"{text}\n{about}"], capture_output=True, text=True, check=True)
    sigma, spent = done.stdout.strip().splitlines()
    seconds, megabytes = map(float, spent.split())
    return seconds, megabytes, float(sigma)
