"""Exact random integers from a secure source. Knows nothing of privacy: the raw tier.

These functions take a noise scale and trust the caller. To release something about people use
``hubbub.mechanisms``, which calibrates the scale and leaves an event behind.

``testing`` has a source that repeats itself, for tests alone. Start with ``samplers``, then ``_drawing``.
"""

from hubbub.noise._source import SECURE, RandomSource
from hubbub.noise.fixed_point import enclose_exp_neg
from hubbub.noise.samplers import (
    LARGEST_SCALE_IN_ARRAYS,
    bernoulli,
    bernoulli_exp,
    bernoulli_logistic,
    binomial,
    check_scale,
    check_sigma,
    choose_exp,
    choose_largest_loss,
    coins,
    discrete_gaussian,
    discrete_laplace,
    geometric,
    uniform,
)

__all__ = [
    "LARGEST_SCALE_IN_ARRAYS",
    "SECURE",
    "RandomSource",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_logistic",
    "binomial",
    "check_scale",
    "check_sigma",
    "choose_exp",
    "choose_largest_loss",
    "coins",
    "discrete_gaussian",
    "discrete_laplace",
    "enclose_exp_neg",
    "geometric",
    "uniform",
]
