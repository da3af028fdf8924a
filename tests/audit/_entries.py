"""What an audit of our own needs to know about a thing: how to draw from it, on which pair, and what it claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hubbub.audit import Audit, examine

SURE = 0.9999  # an audit of a correct mechanism is refuted with probability 1e-4 at most


@dataclass(frozen=True)
class Entry:
    """One mechanism, randomizer, estimator or plan with neighbouring inputs; ``draw(input, size)`` gives outcomes."""

    name: str
    covers: str  # the public name that it stands for
    draw: Callable[[Any, int], Any]
    a: Any
    b: Any
    epsilon: float
    delta: float = 0.0
    trials: int = 4_000
    neighbours: str = "add-remove"
    features: Callable[[Any], Any] | None = None

    def audit(self, times: int = 1) -> Audit:
        return examine(
            self.draw,
            self.a,
            self.b,
            trials=self.trials * times,
            delta=self.delta,
            confidence=SURE,
            claim=self.epsilon,
            neighbours=self.neighbours,
            vectorized=True,
            features=self.features,
            name=self.name,
        )
