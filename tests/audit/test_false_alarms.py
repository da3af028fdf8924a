"""Audits of correct mechanisms cry wolf no more often than stated: 1,000 of them in `make soak`, else a tenth.

Every mechanism here is tight at its claim on the pair that is audited, so nothing but the limits keeps it quiet.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hubbub.audit import examine
from hubbub.audit.zoo.selection import _exponential_choice
from hubbub.audit.zoo.sparse import repaired

from ._laws import on_grid

RNG = np.random.default_rng(99)


def keep(epsilon: float) -> float:
    return math.exp(epsilon) / (1 + math.exp(epsilon))


def told(value: Any, size: int) -> Any:
    return np.where(RNG.random(size) < keep(1), value, 1 - value)


def leaking(value: int, size: int) -> Any:
    """(0.5, 0.02)-DP and no better: tells everything with probability 0.02, else randomized response."""
    coin = np.where(RNG.random(size) < keep(0.5), value, 1 - value)
    return np.where(RNG.random(size) < 0.02, 10 + value, coin)


CORRECT = {
    "laplace": (lambda x, n: on_grid(RNG.laplace(x, 1, n)), 0, 1, 0.0),
    "laplace, places": (lambda x, n: on_grid(RNG.laplace(x, 4, (n, 4))), 0, 1, 0.0),
    "randomized response": (told, 0, 1, 0.0),
    "delta": (leaking, 0, 1, 0.02),
    "exponential": (_exponential_choice(0.5), (1.0,) + (0.0,) * 9, (0.0,) + (1.0,) * 9, 0.0),
    "sparse vector": (repaired(1), (0,) * 4 + (1,), (1,) * 4 + (0,), 0.0),
    "strings": (lambda x, n: ["yes" if y else "no" for y in told(x, n)], 0, 1, 0.0),
}
CLAIMS = {"delta": 0.5}


def alarms(runs: int, trials: int, *, over: float = 1.0) -> int:
    """How many audits refute a true claim (or one that is ``over`` times as large as the truth)."""
    found = 0
    for run in range(runs):
        name = list(CORRECT)[run % len(CORRECT)]
        mechanism, a, b, delta = CORRECT[name]
        claim = CLAIMS.get(name, 1.0) * over
        found += examine(mechanism, a, b, trials=trials, delta=delta, claim=claim, vectorized=True).refuted
    return found


def test_false_alarms_are_as_rare_as_stated(soak: int) -> None:
    runs = 100 * soak
    assert stats.binomtest(alarms(runs, 2_000), runs, 0.05, alternative="greater").pvalue > 1e-3


def test_claims_of_half_the_truth_are_refuted_far_more_often() -> None:
    assert alarms(21, 10_000, over=0.5) > 10


@pytest.mark.parametrize("name", ["laplace", "randomized response", "delta"])
def test_the_mechanisms_are_tight(name: str) -> None:
    mechanism, a, b, delta = CORRECT[name]
    found = examine(mechanism, a, b, trials=100_000, delta=delta, vectorized=True)
    assert 0.85 * CLAIMS.get(name, 1.0) < found.bound
