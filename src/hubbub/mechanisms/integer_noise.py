"""Integer noise stated as epsilon, as epsilon and delta, or as rho."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from hubbub.mechanisms.common.price_arguments import one_of
from hubbub.mechanisms.gaussian import DiscreteGaussian
from hubbub.mechanisms.laplace import Geometric
from hubbub.terms import (
    MissingParameter,
    Neighbours,
    Real,
    Unit,
    root_of,
)

IntegerNoise: TypeAlias = Geometric | DiscreteGaussian


def integer_noise(
    name: str,
    *,
    l1: int,
    l2_squared: int,
    epsilon: Real | None,
    delta: Real | None,
    rho: Real | None,
    dimension: int,
    neighbours: Neighbours,
    unit: Unit | None,
) -> IntegerNoise:
    """Geometric noise for a pure epsilon, discrete Gaussian noise for (epsilon, delta) or rho."""
    way, _ = one_of(epsilon=epsilon, rho=rho)
    if way == "epsilon" and delta is None:
        pure = Geometric(sensitivity=l1, epsilon=epsilon, dimension=dimension, neighbours=neighbours, unit=unit)
        pure.event = replace(pure.event, mechanism=name)
        return pure
    if way == "rho" and delta is not None:
        raise MissingParameter(
            "rho goes without delta.",
            why="A cost is stated in one way.",
            fix="Write epsilon=...; or epsilon=..., delta=...; or rho=...",
        )
    gaussian = DiscreteGaussian(
        sensitivity=root_of(l2_squared),
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        dimension=dimension,
        neighbours=neighbours,
        unit=unit,
    )
    gaussian.event = replace(gaussian.event, mechanism=name)
    return gaussian
