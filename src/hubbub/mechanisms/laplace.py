"""Laplace noise for reals and its integer form, the geometric mechanism."""

from __future__ import annotations

from fractions import Fraction

from hubbub.mechanisms.common.additive import IntegerMechanism, RealMechanism
from hubbub.mechanisms.common.grid_values import MANY, finite_scale, grid_for
from hubbub.mechanisms.common.price_arguments import one_of
from hubbub.noise import check_scale
from hubbub.terms import LaplaceNoise, Neighbours, Real, Unit, exact, sensitivity_of, whole


class Laplace(RealMechanism):
    """Add Laplace noise to a number or a vector of reals.

    Guarantee: epsilon-DP for the given unit and neighbours, if ``sensitivity`` bounds, in L1 over all values that are
    released together (at most ``dimension``), how far one unit moves the input (after NaN and infinities were
    replaced by ``missing``).
    Because: [DMNS06, Prop. 1] on the grid's integers: the mass changes by at most e^(1/t) per step, and rounding
    moves each coordinate by at most one step more, which is added to the sensitivity.
    Error: the absolute error is at most ``error(confidence)`` per coordinate; unbiased up to half a grid step.
    Not covered: running time, and whether the declared sensitivity is true.

    >>> from hubbub.noise.testing import seeded
    >>> mechanism = Laplace(sensitivity=1, epsilon=0.5)
    >>> round(mechanism.error(0.95), 3)
    5.991
    >>> round(mechanism.release(20, rng=seeded(7)), 2)
    17.33
    """

    def __init__(
        self,
        *,
        sensitivity: Real,
        epsilon: Real | None = None,
        scale: Real | None = None,
        dimension: int = MANY,
        missing: object = 0,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        declared = sensitivity_of(sensitivity)
        count = whole(dimension, name="dimension")
        way, value = one_of(epsilon=epsilon, scale=scale)
        grid = grid_for(value if way == "scale" else declared / value, count)
        rounded = declared + count * grid
        self._missing = exact(missing, name="missing")
        self.event: LaplaceNoise = LaplaceNoise(
            scale=finite_scale(value if way == "scale" else rounded / value),
            sensitivity=rounded,
            grid=grid,
            dimension=count,
            neighbours=Neighbours.parse(neighbours),
            unit=unit or Unit(),
        )

    @property
    def scale(self) -> float:
        """The noise scale in the input's own units; the standard deviation is sqrt(2) times that."""
        return float(self.event.scale)


class Geometric(IntegerMechanism):
    """Add discrete Laplace noise to an integer or a vector of integers.

    Guarantee: epsilon-DP for the given unit and neighbours, if the integer ``sensitivity`` bounds, in L1 over all
    values that are released together (at most ``dimension``), how far one unit moves the input.
    Because: [GRS09, Def. 2.2]: the mass changes by at most e^(1/scale) per step of one.
    Error: the absolute error is at most ``error(confidence)`` per coordinate; unbiased.
    Not covered: running time, and whether the declared sensitivity is true.

    >>> Geometric(sensitivity=1, epsilon=1).error(0.95)
    3
    """

    def __init__(
        self,
        *,
        sensitivity: Real,
        epsilon: Real | None = None,
        scale: Real | None = None,
        dimension: int = MANY,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        declared = Fraction(whole(sensitivity, name="sensitivity"))
        way, value = one_of(epsilon=epsilon, scale=scale)
        self.event: LaplaceNoise = LaplaceNoise(
            scale=check_scale(value if way == "scale" else declared / value),
            sensitivity=declared,
            grid=Fraction(1),
            dimension=whole(dimension, name="dimension"),
            mechanism="geometric",
            neighbours=Neighbours.parse(neighbours),
            unit=unit or Unit(),
        )
