"""Exact random integers. This is the raw tier: it takes a scale and trusts the caller.

Nothing here is private by itself: no sensitivity, no budget, no ledger. The mechanisms are the only part of
the package that calls it, and the ones to use.

Every function is exact: the distribution is the stated one, with no rounding of probabilities and no cut tail.
Parameters are rational numbers, read as the decimals they show. With ``size`` (an int or a shape) the answer
is an int64 array, without it a Python int. ``rng`` exists for tests; left out, bits come from the operating
system under a fresh key for each call. Running time is not constant: it depends on what is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hubbub.noise import _distributions
from hubbub.noise._binomial import binomial_many
from hubbub.noise._drawing import draw_many, draw_one
from hubbub.noise._inversion_table import floor_of
from hubbub.noise._lazy_uniform import LazyUniform
from hubbub.noise._source import SECURE, RandomSource, Words
from hubbub.noise._weighted_choice import Exponents, choose_weighted
from hubbub.noise._weighted_choice import choose_largest_loss as _largest_loss
from hubbub.noise.fixed_point import EnclosedReal, exp_neg, logistic, rational
from hubbub.terms import EmptyInput, OutOfRange, Real, TooLarge, Underflow, exact, fraction_of, positive, shown, whole

Size = int | tuple[int, ...]
Integers = NDArray[np.int64]

SMALLEST_SCALE = Fraction(1, 1000)
SMALLEST_SIGMA = Fraction(1, 100)  # exp(-1/(2 sigma^2)) is e^-5000: its digits are worked out
LARGEST_SCALE = 1 << 512
LARGEST_SCALE_IN_ARRAYS = 1 << 52
_COIN_BITS = 16  # of a coin in an array; one in 65,536 needs more, and draws them


@overload
def discrete_laplace(scale: Real, size: None = None, *, rng: RandomSource | None = None) -> int: ...
@overload
def discrete_laplace(scale: Real, size: Size, *, rng: RandomSource | None = None) -> Integers: ...
def discrete_laplace(scale: Real, size: Size | None = None, *, rng: RandomSource | None = None) -> int | Integers:
    """Integers with mass proportional to exp(-|x| / scale).

    >>> from hubbub.noise.testing import seeded
    >>> discrete_laplace(10, size=5, rng=seeded(7)).tolist()
    [6, 5, 4, -2, 1]
    """
    return _draw_noise(_cached_distribution(_laplace_distribution, scale, size is None), size, rng)


@overload
def discrete_gaussian(sigma: Real, size: None = None, *, rng: RandomSource | None = None) -> int: ...
@overload
def discrete_gaussian(sigma: Real, size: Size, *, rng: RandomSource | None = None) -> Integers: ...
def discrete_gaussian(sigma: Real, size: Size | None = None, *, rng: RandomSource | None = None) -> int | Integers:
    """Integers with mass proportional to exp(-x^2 / (2 sigma^2)).

    ``sigma`` is the parameter; the standard deviation is at most that [CKS20, Cor. 9].
    """
    return _draw_noise(_cached_distribution(_gaussian_distribution, sigma, size is None), size, rng)


@overload
def geometric(scale: Real, size: None = None, *, rng: RandomSource | None = None) -> int: ...
@overload
def geometric(scale: Real, size: Size, *, rng: RandomSource | None = None) -> Integers: ...
def geometric(scale: Real, size: Size | None = None, *, rng: RandomSource | None = None) -> int | Integers:
    """Integers 0, 1, 2, ... with mass proportional to exp(-x / scale)."""
    return _draw_noise(_cached_distribution(_geometric_distribution, scale, size is None), size, rng)


@overload
def bernoulli(probability: Real, size: None = None, *, rng: RandomSource | None = None) -> int: ...
@overload
def bernoulli(probability: Real, size: Size, *, rng: RandomSource | None = None) -> Integers: ...
def bernoulli(probability: Real, size: Size | None = None, *, rng: RandomSource | None = None) -> int | Integers:
    """1 with the given rational probability, else 0."""
    return _flip_coins(rational(fraction_of(probability, name="probability", zero=True, one=True)), size, rng)


def coins(probability: Real, size: Size, *, rng: RandomSource | None = None) -> NDArray[np.bool_]:
    """``bernoulli`` as true and false: where many choose what is taken, and nobody adds them up."""
    return _draw_coins(rational(fraction_of(probability, name="probability", zero=True, one=True)), size, rng or SECURE)


@overload
def bernoulli_exp(x: Real, size: None = None, *, rng: RandomSource | None = None) -> int: ...
@overload
def bernoulli_exp(x: Real, size: Size, *, rng: RandomSource | None = None) -> Integers: ...
def bernoulli_exp(x: Real, size: Size | None = None, *, rng: RandomSource | None = None) -> int | Integers:
    """1 with probability exp(-x), for a rational x of at least 0."""
    return _flip_coins(exp_neg(_not_negative(x)), size, rng)


@overload
def bernoulli_logistic(x: Real, size: None = None, *, weight: Real = 1, rng: RandomSource | None = None) -> int: ...
@overload
def bernoulli_logistic(x: Real, size: Size, *, weight: Real = 1, rng: RandomSource | None = None) -> Integers: ...
def bernoulli_logistic(
    x: Real, size: Size | None = None, *, weight: Real = 1, rng: RandomSource | None = None
) -> int | Integers:
    """1 with probability 1 / (1 + weight exp(-x)): the coin of randomized response, x at least 0."""
    return _flip_coins(logistic(_not_negative(x), positive(weight, name="weight")), size, rng)


@overload
def uniform(below: Real, size: None = None, *, rng: RandomSource | None = None) -> int: ...
@overload
def uniform(below: Real, size: Size, *, rng: RandomSource | None = None) -> Integers: ...
def uniform(below: Real, size: Size | None = None, *, rng: RandomSource | None = None) -> int | Integers:
    """Integers 0, 1, ..., below - 1, each as likely as the others."""
    bound = whole(below, name="below")
    if size is None:
        return _uniform_one(bound, rng or SECURE)
    if bound > 1 << 63:
        raise _too_large("below", "2^63")
    return _uniform_many(bound, _array_size(size), rng or SECURE).reshape(size)


@overload
def binomial(trials: Real, probability: Real, size: None = None, *, rng: RandomSource | None = None) -> int: ...
@overload
def binomial(trials: Real, probability: Real, size: Size, *, rng: RandomSource | None = None) -> Integers: ...
def binomial(
    trials: Real, probability: Real, size: Size | None = None, *, rng: RandomSource | None = None
) -> int | Integers:
    """How many of ``trials`` coins with the given rational probability show 1."""
    count = whole(trials, name="trials", least=0)
    chance = fraction_of(probability, name="probability", zero=True, one=True)
    drawn = binomial_many(count, chance, 1 if size is None else _array_size(size), rng or SECURE)
    return int(drawn[0]) if size is None else drawn.reshape(size)


def choose_exp(
    exponents: Exponents, *, weights: Integers | None = None, rate: Real = 1, rng: RandomSource | None = None
) -> int:
    """The index i with probability proportional to weights[i] * exp(-rate * exponents[i]).

    Exponents are rational numbers (or an int64 array), ``rate`` is a positive rational, and the weights, one each
    if left out, are integers of at least 1.
    """
    if not len(exponents):
        raise EmptyInput(
            "there is nothing to choose from.",
            why="A choice needs at least one candidate.",
            fix="Give the public list of candidates.",
        )
    equal = np.ones(len(exponents), dtype=np.int64)
    heights = _exact_exponents(exponents)
    return choose_weighted(heights, equal if weights is None else weights, positive(rate, name="rate"), rng or SECURE)


def choose_largest_loss(counts: Integers, losses: Integers, *, rate: Real = 1, rng: RandomSource | None = None) -> int:
    """Of tuples with weight exp(-rate * largest loss of its parts), the index of the largest loss.

    ``losses`` rise, and ``counts[i, k]``, at least 1, is how many candidates of part i have a loss of ``losses[k]`` or
    less. All tuples together are at most 2^1000.
    """
    return _largest_loss(counts, losses, positive(rate, name="rate"), rng or SECURE)


# Reading a parameter takes longer than drawing with it, hence the caches on what the caller wrote. They are
# typed: 1, 1.0 and True are different arguments.


def _cached_distribution(
    build: Callable[[Real, bool], _distributions.NoiseDistribution], value: Real, single: bool
) -> _distributions.NoiseDistribution:
    try:
        return build(value, single)
    except TypeError:  # not hashable, hence no number
        exact(value, name="scale")
        raise


@lru_cache(maxsize=1024, typed=True)
def _laplace_distribution(scale: Real, single: bool) -> _distributions.NoiseDistribution:
    return _distributions.laplace_distribution(_fits_arrays(check_scale(scale), single, "scale"))


@lru_cache(maxsize=1024, typed=True)
def _gaussian_distribution(sigma: Real, single: bool) -> _distributions.NoiseDistribution:
    return _distributions.gaussian_distribution(_fits_arrays(check_sigma(sigma), single, "sigma"))


@lru_cache(maxsize=1024, typed=True)
def _geometric_distribution(scale: Real, single: bool) -> _distributions.NoiseDistribution:
    return _distributions.laplace_distribution(_fits_arrays(check_scale(scale), single, "scale"), signed=False)


def _draw_noise(
    distribution: _distributions.NoiseDistribution, size: Size | None, rng: RandomSource | None
) -> int | Integers:
    source = rng or SECURE
    if size is None:
        return draw_one(distribution, source)
    return draw_many(distribution, _array_size(size), source).reshape(size)


def check_scale(value: Real, *, name: str = "scale") -> Fraction:
    """The scale of Laplace noise in grid steps, refused if nothing could be drawn; for who must know before drawing."""
    return _check_range(value, SMALLEST_SCALE, name)


def check_sigma(value: Real, *, name: str = "sigma") -> Fraction:
    """The same for Gaussian noise, which vanishes much sooner."""
    return _check_range(value, SMALLEST_SIGMA, name)


def _check_range(value: Real, smallest: Fraction, name: str) -> Fraction:
    scale = positive(value, name=name)
    if scale < smallest:
        raise Underflow(
            f"{name} is {_show_scale(scale)} grid steps and must be at least {float(smallest):g}.",
            why="Noise that small is zero for all that anybody will ever see: it would protect nobody.",
            fix="Use a finer grid or a smaller epsilon.",
        )
    return _fits_arrays(scale, True, name)


def _show_scale(scale: Fraction) -> str:
    return f"{shown(scale)}" if scale > Fraction(1, 10**300) else "nearly 0"


def _fits_arrays(scale: Fraction, single: bool, name: str) -> Fraction:
    limit = LARGEST_SCALE if single else LARGEST_SCALE_IN_ARRAYS
    if scale > limit:
        raise _too_large(name, f"2^{limit.bit_length() - 1}")
    return scale


def _too_large(name: str, limit: str) -> TooLarge:
    return TooLarge(
        f"{name} is above {limit}.",
        why="Arrays of draws are 64-bit integers, and single draws are kept to a sensible size.",
        fix="Use a coarser grid, or draw one at a time.",
    )


def _not_negative(x: Real) -> Fraction:
    number = exact(x, name="x")
    if number < 0:
        raise OutOfRange(
            f"x must be at least 0 and is {shown(number)}.",
            why="exp(-x) would not be a probability.",
            fix="Give x of at least 0.",
        )
    return number


def _exact_exponents(exponents: Exponents) -> Exponents:
    """Exponents whose differences are exact: int64 as it is, of any other type one rational each."""
    if isinstance(exponents, np.ndarray) and exponents.dtype != np.int64:
        return [exact(x, name="exponent") for x in exponents.tolist()]
    return exponents


def _array_size(size: Size) -> int:
    return math.prod(size) if isinstance(size, tuple) else whole(size, name="size", least=0)


def _flip_coins(real: EnclosedReal, size: Size | None, rng: RandomSource | None) -> int | Integers:
    source = rng or SECURE
    if size is None:
        return int(LazyUniform(source.bits(64), 64, source).less_than(real))
    return _draw_coins(real, size, source).astype(np.int64)


def _draw_coins(real: EnclosedReal, size: Size, source: RandomSource) -> NDArray[np.bool_]:
    threshold = floor_of(real, _COIN_BITS)
    if threshold >= 1 << _COIN_BITS:
        return np.ones(size, dtype=np.bool_)
    count = _array_size(size)
    pieces = source.random_words(-(-count * _COIN_BITS // 64)).view(np.uint16)[:count]
    flips: NDArray[np.bool_] = pieces < threshold
    for i in np.flatnonzero(pieces == threshold):
        flips[i] = LazyUniform(threshold, _COIN_BITS, source).less_than(real)
    return flips.reshape(size)


def _uniform_one(bound: int, source: RandomSource) -> int:
    bits = (bound - 1).bit_length()
    while (value := source.bits(bits)) >= bound:
        pass
    return value


def _uniform_many(bound: int, count: int, source: RandomSource) -> Integers:
    bits = (bound - 1).bit_length()
    out: Words = np.zeros(count, dtype=np.uint64)
    places = np.arange(count if bits else 0)
    while places.size:
        values = source.random_words(places.size) >> np.uint64(64 - bits)
        kept = values < np.uint64(bound)
        out[places[kept]] = values[kept]
        places = places[~kept]
    return out.astype(np.int64)
