"""Gaussian noise for reals and for integers, calibrated analytically, by rho, or with a given sigma."""

from __future__ import annotations

from fractions import Fraction

from hubbub.accounting import sigma_for
from hubbub.mechanisms.common.additive import IntegerMechanism, RealMechanism
from hubbub.mechanisms.common.grid_values import MANY, finite_scale, grid_for
from hubbub.mechanisms.common.price_arguments import one_of
from hubbub.noise import check_sigma
from hubbub.terms import (
    GaussianNoise,
    MissingParameter,
    Neighbours,
    Real,
    Unit,
    exact,
    fraction_of,
    root_of,
    sensitivity_of,
    whole,
)


class Gaussian(RealMechanism):
    """Add Gaussian noise to a number or a vector of reals.

    Guarantee: (epsilon, delta)-DP, or rho-zCDP, for the given unit and neighbours, if ``sensitivity`` bounds,
    in L2 over all values that are released together (at most ``dimension``), how far one unit moves the input (after
    NaN and infinities were replaced by ``missing``).
    Because: [BW18, Thm. 8] for (epsilon, delta) through ``docs/proofs/discrete-gaussian.md``, and
    [CKS20, Thm. 14] for rho; rounding adds at most sqrt(dimension) grid steps to the sensitivity.
    Error: the absolute error is at most ``error(confidence)`` per coordinate; unbiased up to half a grid step.
    Not covered: running time, and whether the declared sensitivity is true.

    >>> mechanism = Gaussian(sensitivity=1, epsilon=1, delta=1e-5)
    >>> round(mechanism.sigma, 3)
    3.731
    """

    def __init__(
        self,
        *,
        sensitivity: Real,
        epsilon: Real | None = None,
        delta: Real | None = None,
        sigma: Real | None = None,
        rho: Real | None = None,
        dimension: int = MANY,
        missing: object = 0,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        declared = sensitivity_of(sensitivity)
        count = whole(dimension, name="dimension")
        way = one_of(epsilon=epsilon, sigma=sigma, rho=rho)
        grid = grid_for(_sigma_for(way, delta, declared, declared / (1 << 20), count), count)
        rounded = declared + root_of(count) * grid
        self._missing = exact(missing, name="missing")
        self.event: GaussianNoise = GaussianNoise(
            sigma=finite_scale(_sigma_for(way, delta, rounded, grid, count)),
            sensitivity=rounded,
            grid=grid,
            dimension=count,
            neighbours=Neighbours.parse(neighbours),
            unit=unit or Unit(),
        )

    @property
    def sigma(self) -> float:
        """The noise's standard deviation in the input's own units."""
        return float(self.event.sigma)


class DiscreteGaussian(IntegerMechanism):
    """Add discrete Gaussian noise to an integer or a vector of integers.

    Guarantee: (epsilon, delta)-DP, or rho-zCDP, for the given unit and neighbours, if ``sensitivity`` bounds,
    in L2 over all values that are released together (at most ``dimension``), how far one unit moves the input.
    Because: [CKS20, Thm. 14] for rho; for (epsilon, delta) [CKS20, Thm. 7] where a unit changes one coordinate, else
    [BW18, Thm. 8] through ``docs/proofs/discrete-gaussian.md``.
    Error: the absolute error is at most ``error(confidence)`` per coordinate; unbiased.
    Not covered: running time, and whether the declared sensitivity is true.

    >>> DiscreteGaussian(sensitivity=1, epsilon=0.1, delta=1e-7).error(0.95)
    81
    """

    def __init__(
        self,
        *,
        sensitivity: Real,
        epsilon: Real | None = None,
        delta: Real | None = None,
        sigma: Real | None = None,
        rho: Real | None = None,
        dimension: int = MANY,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        declared = sensitivity_of(sensitivity)
        count = whole(dimension, name="dimension")
        way = one_of(epsilon=epsilon, sigma=sigma, rho=rho)
        self.event: GaussianNoise = GaussianNoise(
            sigma=check_sigma(_sigma_for(way, delta, declared, Fraction(1), count)),
            sensitivity=declared,
            grid=Fraction(1),
            dimension=count,
            mechanism="discrete-gaussian",
            neighbours=Neighbours.parse(neighbours),
            unit=unit or Unit(),
        )


def _sigma_for(
    way: tuple[str, Fraction], delta: Real | None, sensitivity: Fraction, grid: Fraction, dimension: int
) -> Fraction:
    """The noise that the stated cost asks for, rounded up."""
    name, value = way
    if (delta is None) == (name == "epsilon"):
        raise MissingParameter(
            "epsilon and delta go together." if name == "epsilon" else f"{name} goes without delta.",
            why="Gaussian noise is (epsilon, delta)-DP for a delta above 0, or rho-zCDP, or has a given sigma.",
            fix="Write epsilon=..., delta=...; or rho=...; or sigma=...",
        )
    if name == "sigma":
        return value
    if name == "rho":
        return root_of((sensitivity / grid) ** 2 / (2 * value)) * grid
    return sigma_for(value, fraction_of(delta, name="delta"), sensitivity, grid, dimension)
