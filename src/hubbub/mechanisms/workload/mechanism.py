"""Many counting queries answered together: measure what serves them all, and solve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.mechanisms.common.additive import AdditiveNoise, draw_noise
from hubbub.mechanisms.common.grid_values import Numbers, add_exactly, integer_array
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.mechanisms.integer_noise import integer_noise
from hubbub.mechanisms.workload.answers import Answers, Errors
from hubbub.mechanisms.workload.queries import Floats, Integers, Query, plan_queries
from hubbub.mechanisms.workload.strategy_choice import best_strategy
from hubbub.terms import Neighbours, OutOfRange, Real, Unit, WrongShape, whole

_LARGEST_COUNT = 1 << 32  # times 2^20 cells and a weight of 100 it stays within 2^59


class Workload(Mechanism):
    """Answer many counting queries over a table of counts, better than one by one.

    A query says for each attribute (axis of the table) which cells it counts: ``"each"`` single cell,
    ``"prefixes"`` (all sums from the first cell on), a range ``(a, b)`` with both ends, or a list of cells. Attributes
    that it leaves out are added up: ``{0: "each", 2: (3, 7)}`` has an answer for each cell of attribute 0.

    Guarantee: epsilon-DP, (epsilon, delta)-DP or rho-zCDP for the given unit and neighbours for all answers together,
    if one unit has at most ``max_rows`` rows in the table (the caller bounds that; this class does not). Counts below 0
    or above 2^32 are moved there.
    Because: [LMHMR15], [MMHM18] through ``docs/proofs/workload.md``: what is measured is a matrix of non-negative
    integers times the counts; a unit that is added moves it by at most ``max_rows`` times the largest column
    norm, one that is replaced by 2 (L1) or sqrt(2) (L2) times that; the rest is post-processing. The
    matrix is chosen from the shape, the queries and the kind of noise, never from the counts.
    Error: each answer is within ``error(confidence)``, the widest of all; unbiased. ``std_dev`` has each one's own.
    Not covered: running time.

    >>> from hubbub.noise.testing import seeded
    >>> table = Workload(shape=(2, 3), queries=[{0: "each"}, {1: "each"}, {}], epsilon=1)
    >>> table.release([[10, 20, 30], [40, 50, 60]], rng=seeded(7)).values.round(1).tolist()
    [59.0, 150.0, 50.0, 70.0, 89.0, 209.0]
    """

    def __init__(
        self,
        *,
        shape: Sequence[int],
        queries: Sequence[Query],
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        max_rows: int = 1,
        objective: str = "total",
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        relation = Neighbours.parse(neighbours)
        most = whole(max_rows, name="max_rows")
        plan = plan_queries(shape, queries)
        self.shape: tuple[int, ...] = tuple(a.groups.size for a in plan.attributes)
        self._strategy = best_strategy(plan, pure=rho is None and delta is None, worst=_is_worst_case(objective))
        sides = 2 if relation is Neighbours.REPLACE else 1
        self.event: AdditiveNoise = integer_noise(
            "workload",
            l1=sides * most * self._strategy.l1,
            l2_squared=sides * most**2 * self._strategy.l2_squared,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            dimension=self._strategy.size,
            neighbours=relation,
            unit=unit,
        ).event
        self._errors = Errors(plan, self._strategy, self.event)

    @property
    def strategy(self) -> str:
        """What is measured, in a few words."""
        return self._strategy.name

    @property
    def std_dev(self) -> Floats:
        """The exact standard deviation of each answer, known beforehand."""
        return self._errors.std_dev

    def release(self, counts: Numbers, *, rng: noise.RandomSource | None = None) -> Answers:
        """Every answer, for ``counts`` of the declared shape (or the same flat)."""
        measured = self._measured(counts)
        noisy = np.asarray(add_exactly(measured, draw_noise(self.event, measured.shape, rng=rng)))
        return Answers(self._strategy.answered(noisy.astype(np.float64)), self._errors)

    def error(self, confidence: Real) -> float:
        """The distance that the error of any one answer stays within, with that confidence."""
        return float(self._errors.widths(confidence).max())

    def _measured(self, counts: Numbers) -> Integers:
        """What is measured, before noise; counts are bounded each by itself, so no two tables move apart."""
        table: NDArray[Any] = integer_array(counts)
        if table.shape not in (self.shape, (np.prod(self.shape),)):
            raise WrongShape(
                f"counts must have the shape {self.shape} and have {table.shape}.",
                why="The shape of the table is public and says what is released.",
                fix="Give one count for each cell, zeros too.",
            )
        bounded = np.clip(table, 0, _LARGEST_COUNT).astype(np.int64).reshape(self.shape)
        return self._strategy.measured(self._errors.plan.merged(bounded))


def _is_worst_case(objective: str) -> bool:
    if objective not in ("total", "max"):
        raise OutOfRange(
            "objective must be 'total' or 'max'.",
            why="Strategies are compared by the sum of the squared errors, or by the worst.",
            fix="Write objective='total' or objective='max'.",
        )
    return objective == "max"
