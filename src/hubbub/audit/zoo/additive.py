"""Noise of the wrong size: each adds too little, for another reason. For auditing only; nobody is protected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hubbub.accounting import gaussian_tradeoff
from hubbub.audit.zoo._exhibit import Bulk, Exhibit
from hubbub.audit.zoo._noise import gaussian, laplace


def _laplace_sum(scale: float) -> Bulk:
    return lambda total, size: total + laplace(scale, size)


def _laplace_vector(scale: float) -> Bulk:
    def release(totals: Sequence[float], size: int) -> Any:
        return np.asarray(totals) + laplace(scale, (size, len(totals)))

    return release


def _sum_of(clip: bool) -> Bulk:
    def release(values: Sequence[float], size: int) -> Any:
        kept = np.clip(values, 0.0, 1.0) if clip else np.asarray(values, dtype=np.float64)
        return kept.sum() + laplace(1.0, size)

    return release


def _gaussian_count(sigma: float) -> Bulk:
    return lambda count, size: count + gaussian(sigma, size)


def _classic_sigma(epsilon: float, delta: float) -> float:
    """sqrt(2 ln(1.25 / delta)) / epsilon: proved for epsilon below 1 only."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def _true_epsilon(sigma: float, delta: float) -> float:
    return gaussian_tradeoff.epsilon_of(delta, 1 / sigma)


def exhibits() -> tuple[Exhibit, ...]:
    """All of this family."""
    return (
        Exhibit(
            name="sensitivity off by two",
            story="A person has two rows and moves the sum by 2; the noise is for rows.",
            source="DMNS06",
            broken=_laplace_sum(1.0),
            fixed=_laplace_sum(2.0),
            a=10,
            b=12,
            claim=1.0,
            true=2.0,
        ),
        Exhibit(
            name="noise not scaled by dimension",
            story="Five counts are released together, each with the noise that one alone would need.",
            source="DMNS06",
            broken=_laplace_vector(1.0),
            fixed=_laplace_vector(5.0),
            a=(0, 0, 0, 0, 0),
            b=(1, 1, 1, 1, 1),
            claim=1.0,
            true=5.0,
        ),
        Exhibit(
            name="input not clipped",
            story="Values are said to lie in [0, 1], and nobody enforces it.",
            source="DMNS06",
            broken=_sum_of(clip=False),
            fixed=_sum_of(clip=True),
            a=(0.5, 0.5, 0.5),
            b=(0.5, 0.5, 0.5, 10.0),
            claim=1.0,
            true=10.0,
        ),
        Exhibit(
            name="square root of sigma",
            story="The standard deviation is taken for a variance, and its square root is used.",
            source="DR14",
            broken=_gaussian_count(math.sqrt(_classic_sigma(0.5, 1e-5))),
            fixed=_gaussian_count(_classic_sigma(0.5, 1e-5)),
            a=0,
            b=1,
            claim=0.5,
            delta=1e-5,
            true=_true_epsilon(math.sqrt(_classic_sigma(0.5, 1e-5)), 1e-5),
        ),
        Exhibit(
            name="classic Gaussian at epsilon 10",
            story="The textbook's formula is used where it is not proved, and fails. (So large a delta only makes that "
            "visible in a million runs.)",
            source="BW18",
            broken=_gaussian_count(_classic_sigma(10, 0.2)),
            fixed=_gaussian_count(1 / gaussian_tradeoff.mu_for(10.0, 0.2)),
            a=0,
            b=1,
            claim=10.0,
            delta=0.2,
            true=_true_epsilon(_classic_sigma(10, 0.2), 0.2),
            trials=1_000_000,
        ),
    )
