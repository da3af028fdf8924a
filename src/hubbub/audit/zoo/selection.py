"""Choosing the best, and saying too much or weighing too sharply. For auditing only; nobody is protected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hubbub.audit.zoo._exhibit import Bulk, Exhibit
from hubbub.audit.zoo._noise import generator, laplace


def _noisy_max(counts: Any, size: int) -> Any:
    """The winner and its noisy count: the noise that was compared is released."""
    noisy = np.asarray(counts) + laplace(2.0, (size, len(counts)))
    return np.stack([noisy.argmax(axis=1), noisy.max(axis=1)], axis=1)


def _noisy_max_repaired(counts: Any, size: int) -> Any:
    """Half of epsilon for the winner (scale 2 / (1/2)), half for its count, with fresh noise."""
    winner = (np.asarray(counts) + laplace(4.0, (size, len(counts)))).argmax(axis=1)
    return np.stack([winner, np.asarray(counts)[winner] + laplace(2.0, size)], axis=1)


def _exponential_choice(factor: float) -> Bulk:
    """A choice with weights e^(factor * score)."""

    def release(scores: Sequence[float], size: int) -> Any:
        weights = np.exp(factor * np.asarray(scores, dtype=np.float64))
        return generator().choice(len(weights), size, p=weights / weights.sum())

    return release


_UP = (1.0, *(0.0,) * 19)
_DOWN = (0.0, *(1.0,) * 19)


def exhibits() -> tuple[Exhibit, ...]:
    """All of this family."""
    e = math.e
    return (
        Exhibit(
            name="noisy max that releases the value",
            story="The winner's name costs epsilon. Its noisy count, with the very noise that was compared, tells that "
            "all others lie below it.",
            source="DWWZK18",
            broken=_noisy_max,
            fixed=_noisy_max_repaired,
            a=(0,) * 10,
            b=(1,) * 10,
            claim=1.0,
            true=5.0,
        ),
        Exhibit(
            name="exponential mechanism without the half",
            story="One person moves one score up and all others down, so that weight and normalizer both move: weights "
            "e^(epsilon score) need a half.",
            source="MT07",
            broken=_exponential_choice(1.0),
            fixed=_exponential_choice(0.5),
            a=_UP,
            b=_DOWN,
            claim=1.0,
            true=math.log(e * (1 + 19 * e) / (e + 19)),
        ),
    )
