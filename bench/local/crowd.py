"""The people of the benches: zipf-distributed values, the same for every library. Runs in every environment."""

from __future__ import annotations

import numpy as np


def zipf(people: int, domain: int, *, seed: int = 7, exponent: float = 1.1) -> np.ndarray:
    """Values below ``domain``, a few of them common and most of them rare."""
    weights = 1.0 / np.arange(1, domain + 1) ** exponent
    return np.random.default_rng(seed).choice(domain, size=people, p=weights / weights.sum()).astype(np.int64)


def squared_error(values: np.ndarray, estimate: np.ndarray) -> float:
    """n times the mean squared error of the shares: a scale-free measure."""
    domain = len(estimate)
    truth = np.bincount(values, minlength=domain) / len(values)
    return float(len(values) * np.mean((np.asarray(estimate) - truth) ** 2))
