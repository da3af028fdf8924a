"""An exhibit: a mechanism with a planted fault, its repaired twin, and the inputs that tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hubbub.audit.black_box import examine
from hubbub.audit.report import Audit
from hubbub.terms import Neighbours

Bulk = Callable[[Any, int], Any]  # an input and a number -> that many outcomes


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A broken mechanism that protects nobody: for trying auditors only.

    ``broken`` and ``fixed`` take an input and a number, and return that many independent outcomes. Both claim to be
    (``claim``, ``delta``)-DP; ``true`` is what the broken one really is (infinity: no epsilon at all; None: unknown).
    """

    name: str
    story: str
    source: str  # keys of docs/references.bib
    broken: Bulk
    fixed: Bulk
    a: Any
    b: Any
    claim: float
    delta: float = 0.0
    true: float | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    trials: int = 100_000  # enough to catch it

    def audit(self, *, fixed: bool = False, trials: int | None = None, confidence: float = 0.95) -> Audit:
        """Audit the broken mechanism, or its repaired twin."""
        return examine(
            self.fixed if fixed else self.broken,
            self.a,
            self.b,
            trials=trials or self.trials,
            delta=self.delta,
            confidence=confidence,
            claim=self.claim,
            neighbours=self.neighbours,
            vectorized=True,
            name=f"{self.name}, repaired" if fixed else self.name,
        )
