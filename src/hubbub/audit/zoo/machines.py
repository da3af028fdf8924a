"""Right on paper and wrong on a machine: doubles with holes, and a generator that two workers share.

For auditing only; nobody is protected.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hubbub.audit.zoo._exhibit import Bulk, Exhibit
from hubbub.audit.zoo._noise import generator, laplace


def textbook_laplace(value: float, size: int) -> Any:
    """Laplace noise of scale 1 by inversion in double precision, as textbooks and many libraries have it."""
    uniform = generator().random(size) - 0.5
    return value - np.sign(uniform) * np.log1p(-2 * np.abs(uniform))


def _laplace_on_a_grid(value: float, size: int) -> Any:
    return value + laplace(1.0, size)


def _two_workers(*, forked: bool) -> Bulk:
    """Two workers, each with a question of its own; forked ones both begin with their parent's state."""

    def release(counts: Sequence[int], size: int) -> Any:
        parent = generator()
        workers = [copy.deepcopy(parent) for _ in counts] if forked else parent.spawn(len(counts))
        parent.random(size)  # the parent goes on too
        noisy = [count + np.rint(worker.laplace(0.0, 2.0, size)) for count, worker in zip(counts, workers, strict=True)]
        return np.stack(noisy, axis=1)

    return release


def exhibits() -> tuple[Exhibit, ...]:
    """All of this family."""
    return (
        Exhibit(
            name="noise in porous doubles",
            story="Which doubles can come out depends on the value underneath: near 0 the noise alone has finer "
            "bits than a sum with 1 can have.",
            source="Mir12",
            broken=textbook_laplace,
            fixed=_laplace_on_a_grid,
            a=0.0,
            b=1.0,
            claim=1.0,
            true=math.inf,
        ),
        Exhibit(
            name="noise reused after a fork",
            story="Two workers inherit one generator and add the same noise to two answers: their difference is exact.",
            source="GL20",
            broken=_two_workers(forked=True),
            fixed=_two_workers(forked=False),
            a=(10, 20),
            b=(11, 20),
            claim=1.0,
            true=math.inf,
        ),
    )
