"""ABS, GREATEST and LEAST of noisy numbers: functions with a bend, around which percentiles of draws are no interval.

Where two counts are equal, the larger of the noisy ones is too large on average, and every draw around them larger
still: percentiles of draws held |a - b| = 0 in 1 of 10 releases. Ends of the parts' own intervals do not stray so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hubbub.releases.formulas.arithmetic import Function
from hubbub.releases.formulas.base import Formula, as_floats
from hubbub.releases.formulas.points import Released
from hubbub.releases.noisy_columns import Floats, NoisyTable
from hubbub.terms import WrongShape

_BENT = frozenset({"abs", "greatest", "least"})


@dataclass(frozen=True, slots=True)
class Bent(Function):
    """abs, greatest or least, with intervals from those of its parts.

    |a| is where a's interval says. The largest of m numbers is above its upper end only if the largest truth is above
    its own, and below its lower end only if one of those that share the largest truth strays up: its lower ends hold at
    a miss of (1 - confidence) / m on their side. Both together miss at most 1 - confidence of the time, for independent
    noise of either kind, and as often at most where all truths are equal. (Releases of 0.1 stored a ``Function``, and
    keep the intervals that they showed.)
    """

    def __post_init__(self) -> None:
        Function.__post_init__(self)
        if self.name not in _BENT:
            raise WrongShape(
                f"{self.name} has no bend.",
                why="Its interval is that of a Function.",
                fix="Write Function(name, args).",
            )

    def with_parts(self, parts: tuple[Formula, ...]) -> Formula:
        return Bent(self.name, parts)

    def is_bent(self, table: NoisyTable) -> bool:
        return self.name == "abs" or len(self._uncertain(table)) > 1

    def ends(self, table: NoisyTable, confidence: float) -> tuple[Floats, Floats]:
        if self.name == "abs":
            return self._distance_ends(table, confidence)
        uncertain = self._uncertain(table)
        shared = 1 - 2 * (1 - confidence) / max(2, len(uncertain))  # two-sided: each side misses half of it
        low, high = (shared, confidence) if self.name == "greatest" else (confidence, shared)
        return self._at(uncertain, table, 0, low), self._at(uncertain, table, 1, high)

    def _uncertain(self, table: NoisyTable) -> list[Formula]:
        return [part for part in self.args if part.is_uncertain(table)]

    def _at(self, uncertain: list[Formula], table: NoisyTable, side: int, confidence: float) -> Floats:
        """The value with all uncertain parts at one end of their intervals."""
        point = Released(table)
        point.known |= {id(part): as_floats(part.interval(table, confidence)[side]) for part in uncertain}
        return self.numbers(point)

    def _distance_ends(self, table: NoisyTable, confidence: float) -> tuple[Floats, Floats]:
        low, high = (as_floats(end) for end in self.args[0].interval(table, confidence))
        return np.maximum(0.0, np.maximum(low, -high)), np.maximum(np.abs(low), np.abs(high))
