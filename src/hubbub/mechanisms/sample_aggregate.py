"""Sample and aggregate: any function, computed on random blocks of the data and averaged with noise."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.mechanisms.common.declared_bounds import ordered_bounds
from hubbub.mechanisms.common.error_quantiles import laplace_error
from hubbub.mechanisms.common.grid_values import grid_for, is_number, rational_of
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.terms import LaplaceNoise, Neighbours, NotANumber, Real, Unit, positive, refuse_masked, whole

Rows = Sequence[Any] | NDArray[Any]


class SampleAggregate(Mechanism):
    """The mean over random blocks of a function of each block, with Laplace noise.

    Guarantee: epsilon-DP for the given unit and neighbours, if one unit has at most ``max_per_unit`` rows (the caller
    bounds that; this class does not), whatever the function computes.
    Because: [NRS07, Sec. 4] through ``docs/proofs/sample-and-aggregate.md``: each row goes to a block by an
    independent draw, so adding, removing or replacing a row changes one block, whose clamped result moves the
    mean by at most (upper - lower) / blocks.
    Error: the answer is within ``error(confidence)`` of the mean of the blocks' clamped results, which is not the
    function of all the data: blocks are smaller, and clamping is a bias.
    Not covered: running time, and whatever the function does besides returning a number (it must not print, log or
    store what it sees). A block in which it fails, or returns no finite number, counts as the middle of the bounds.

    >>> from hubbub.noise.testing import seeded
    >>> import statistics
    >>> typical = SampleAggregate(function=statistics.median, blocks=50, lower=0, upper=100, epsilon=1)
    >>> round(typical.release(list(range(101)) * 10, rng=seeded(7)), 1)
    52.9
    >>> round(typical.error(0.95), 1)
    6.0
    """

    def __init__(
        self,
        *,
        function: Callable[[Any], object],
        blocks: int,
        lower: Real,
        upper: Real,
        epsilon: Real,
        max_per_unit: int = 1,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        self._function = _check_callable(function)
        self.blocks = whole(blocks, name="blocks")
        self._lower, self._upper = ordered_bounds(lower, upper)
        cost = positive(epsilon, name="epsilon")
        touched = min(whole(max_per_unit, name="max_per_unit"), self.blocks)
        self._grid = grid_for((self._upper - self._lower) / max(cost, Fraction(1)))
        self._low, self._high = round(self._lower / self._grid), round(self._upper / self._grid)
        moved = touched * (self._high - self._low)  # of the sum of all blocks, in grid steps
        unit_step = self._grid / self.blocks  # what one step of the sum is in the mean
        self.event: LaplaceNoise = LaplaceNoise(
            scale=moved / cost * unit_step,
            sensitivity=moved * unit_step,
            grid=unit_step,
            mechanism="sample-aggregate",
            neighbours=Neighbours.parse(neighbours),
            unit=unit or Unit(),
        )

    def release(self, rows: Rows, *, rng: noise.RandomSource | None = None) -> float:
        """The noisy mean of the function over the blocks."""
        refuse_masked(rows, name="rows")
        places = noise.uniform(self.blocks, len(rows), rng=rng)
        total = sum(self._result(_take_rows(rows, mine)) for mine in _block_rows(places, self.blocks))
        drawn = noise.discrete_laplace(self.event.scale / self.event.grid, rng=rng)
        return float((total + drawn) * self.event.grid)

    def error(self, confidence: Real) -> float:
        """The distance to the mean of the blocks' results that holds with that confidence."""
        return float((laplace_error(self.event.scale / self.event.grid, confidence) + self.blocks) * self.event.grid)

    def _result(self, block: Rows) -> int:
        """The function of one block in grid steps, clamped; a public value where there is none."""
        with _interrupts_after():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # a warning would tell about the rows
                    value = _finite_result(self._function(block))
            except BaseException:  # also sys.exit(): the function may fail in any way, and nobody may learn that it did
                value = None
        middle = (self._low + self._high) // 2
        return middle if value is None else max(self._low, min(self._high, round(value / self._grid)))


@contextmanager
def _interrupts_after() -> Iterator[None]:
    """Ctrl-C takes effect when the block is done: inside, a KeyboardInterrupt is the function's own, and no news."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _finite_result(result: object) -> Fraction | None:
    number = result.item() if isinstance(result, np.generic | np.ndarray) and np.ndim(result) == 0 else result
    return rational_of(number) if is_number(number) else None


def _block_rows(places: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """The row numbers of each block, in the order of the rows."""
    order = np.argsort(places, kind="stable")
    return np.split(order, np.searchsorted(places[order], np.arange(1, count)))


def _take_rows(rows: Rows, mine: NDArray[np.int64]) -> Rows:
    if isinstance(rows, np.ndarray):
        return rows[mine]
    frame: Any = getattr(rows, "iloc", None)  # a data frame's rows
    return [rows[i] for i in mine] if frame is None else frame[mine]


def _check_callable(function: Callable[[Any], object]) -> Callable[[Any], object]:
    if not callable(function):
        raise NotANumber(
            "function must be something to call.",
            why="It is computed on each block of rows.",
            fix="Give a function that takes rows and returns a number.",
        )
    return function
