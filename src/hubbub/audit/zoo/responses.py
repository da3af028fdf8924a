"""Coins and samples that are not what was said. For auditing only; nobody is protected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hubbub.audit.zoo._exhibit import Bulk, Exhibit
from hubbub.audit.zoo._noise import generator, laplace
from hubbub.terms import Neighbours

_RATE = 0.1


def _binary_response(keep: float) -> Bulk:
    """Answer truthfully with probability ``keep``, else the other way."""

    def release(bit: int, size: int) -> Any:
        return np.where(generator().random(size) < keep, bit, 1 - bit)

    return release


def _noisy_count(*, sampled: bool) -> Bulk:
    """A noisy count of ones, of a sample of the people or (by mistake) of all of them."""

    def release(bits: Sequence[int], size: int) -> Any:
        people = generator().binomial(sum(bits), _RATE, size) if sampled else np.full(size, sum(bits))
        return people + laplace(1.0, size)

    return release


def exhibits() -> tuple[Exhibit, ...]:
    """All of this family."""
    return (
        Exhibit(
            name="randomized response with the wrong coin",
            story="The truth is told with probability 3/4, as in the classroom, and epsilon = 1 is claimed.",
            source="Warner65",
            broken=_binary_response(0.75),
            fixed=_binary_response(math.e / (1 + math.e)),
            a=0,
            b=1,
            claim=1.0,
            true=math.log(3),
            neighbours=Neighbours.REPLACE,
        ),
        Exhibit(
            name="subsampling claimed and absent",
            story="The cost is worked out for a tenth of the people, and the answer is computed on all of them.",
            source="BBG18",
            broken=_noisy_count(sampled=False),
            fixed=_noisy_count(sampled=True),
            a=(1, 0, 1, 0),
            b=(1, 0, 1, 0, 1),
            claim=math.log1p(_RATE * math.expm1(1.0)),
            true=1.0,
        ),
    )
