"""Groups whose names give people away. For auditing only; nobody is protected."""

from __future__ import annotations

import math
from typing import Any

from hubbub.audit.zoo._exhibit import Bulk, Exhibit
from hubbub.audit.zoo._noise import laplace

_DELTA = 1e-3
_THRESHOLD = 1 + math.log(1 / (2 * _DELTA))  # a group of one passes it with probability delta


def _noisy_groups(least: float) -> Bulk:
    """Noisy counts of all groups that occur, as far as they reach ``least``."""

    def release(counts: dict[str, int], size: int) -> Any:
        noisy = [(count + laplace(1.0, size)).tolist() for count in counts.values()]
        rows = zip(*noisy, strict=True)
        return [{key: value for key, value in zip(counts, row, strict=True) if value >= least} for row in rows]

    return release


def exhibits() -> tuple[Exhibit, ...]:
    """All of this family."""
    return (
        Exhibit(
            name="group keys without a threshold",
            story="Every group that occurs is listed, so the only person of a group is seen whatever the noise.",
            source="KKMN09",
            broken=_noisy_groups(-math.inf),
            fixed=_noisy_groups(_THRESHOLD),
            a={"flu": 10, "cold": 8},
            b={"flu": 10, "cold": 8, "rare": 1},
            claim=1.0,
            delta=_DELTA,
            true=math.inf,
            trials=20_000,
        ),
    )
