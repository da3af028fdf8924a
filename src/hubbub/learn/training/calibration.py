"""A training run as an event, calibrated: the noise that a promise asks for, from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from hubbub.accounting import epsilon as cost_of
from hubbub.accounting import mu_for, privacy_loss_distribution, quick_epsilon
from hubbub.learn.training.sampling import FixedBatch, FullBatch, PoissonBatch, Sampling, most_rows
from hubbub.terms import GaussianNoise, Neighbours, Repeat, TooLarge, Unit, root_of, round_up

_FINENESS = 32  # the grid is 2^-32 of the noise
_LEAST_SAMPLED = 0.5  # noise per sensitivity below which sampled runs are not accounted: it would take minutes
_MARGIN = Fraction(
    999_997, 1_000_000
)  # of epsilon, which a ledger rounds up by a millionth, and of delta, for large batches
_CLOSE = 0.997  # the search ends when so much of the target is used
_SUMS = 1 << 60  # grid steps that a sum may have


def plan(
    *,
    sampling: Sampling,
    steps: int,
    clip: float,
    error: Callable[[int], float],
    size: int,
    rows: int,
    epsilon: Fraction,
    delta: Fraction,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    unit: Unit | None = None,
) -> Repeat:
    """The run of ``steps`` noisy sums of ``size`` clipped coordinates that is (epsilon, delta)-DP.

    ``error(m)`` bounds how far a computed sum of up to m rows lies from the exact one (E); there are at most ``rows``.
    The event's sensitivity is clip + 2E + sqrt(size) grid, and twice clip for batches of fixed size, where a row is
    replaced. A Poisson batch is larger than ``most_rows`` with a probability that is taken from delta.

    Guarantee: training that does what the event says is (epsilon, delta)-DP for the neighbours asked for.
    Because: the accounting of the event itself, [ZDW22, Thm. 10]; the sensitivity by ``docs/proofs/learn.md``.
    """
    most = most_rows(sampling, rows, steps, delta)
    return plan_run(
        sampling=sampling,
        steps=steps,
        clip=clip,
        error=error(most),
        size=size,
        most=most,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        unit=unit or Unit(),
    )


def plan_run(
    *,
    sampling: Sampling,
    steps: int,
    clip: float,
    error: float,
    size: int,
    most: int,
    epsilon: Fraction,
    delta: Fraction,
    neighbours: Neighbours,
    unit: Unit,
) -> Repeat:
    """``plan``, where it is known that batches have at most ``most`` rows, and that their sums stray by ``error``.

    Guarantee: training that does what the event says is (epsilon, delta)-DP for the neighbours asked for.
    Because: the accounting of the event itself, [ZDW22, Thm. 10]; the sensitivity by ``docs/proofs/learn.md``.
    """
    noise = noise_multiplier(sampling, steps, epsilon, delta * _MARGIN, neighbours)
    step = _noisy_step(sampling, clip=clip, error=error, size=size, multiplier=noise, unit=unit)
    if most * Fraction(clip) > _SUMS * step.grid:
        raise TooLarge(
            f"sums over {most} rows do not fit into integers on the grid of so little noise.",
            why="Sums and noise are added as 64-bit integers.",
            fix="Ask for a smaller epsilon: this one protects nobody.",
        )
    return Repeat(sampling.event(step), steps)


def run_with_noise(
    *,
    sampling: Sampling,
    steps: int,
    clip: float,
    error: float,
    size: int,
    multiplier: Fraction,
    unit: Unit | None = None,
) -> Repeat:
    """The run whose noise is ``multiplier`` times its sensitivity, clip + 2 error + sqrt(size) grid."""
    step = _noisy_step(sampling, clip=clip, error=error, size=size, multiplier=multiplier, unit=unit or Unit())
    return Repeat(sampling.event(step), steps)


def _noisy_step(
    sampling: Sampling, *, clip: float, error: float, size: int, multiplier: Fraction, unit: Unit
) -> GaussianNoise:
    """One step of a run whose noise is ``multiplier`` times its sensitivity."""
    fixed = isinstance(sampling, FixedBatch)
    moved, root = Fraction(clip) * (2 if fixed else 1) + 2 * round_up(error), root_of(size)
    grid = _grid_below(moved * multiplier)
    sensitivity = moved + root * grid
    return GaussianNoise(
        sigma=-(-sensitivity * multiplier // grid) * grid,
        sensitivity=sensitivity,
        grid=grid,
        dimension=size,
        mechanism="clipped-sum",
        neighbours=Neighbours.REPLACE if fixed else Neighbours.ADD_REMOVE,
        unit=unit,
    )


def in_units(
    sampling: Sampling,
    steps: int,
    size: int,
    epsilon: Fraction,
    delta: Fraction,
    neighbours: Neighbours,
    unit: Unit,
) -> Repeat:
    """A run in units of its sensitivity, which may follow from something that is found out later.

    Guarantee: ``plan`` for this sampling, so many steps and this price costs what this event costs, for any
    sensitivity.
    Because: Gaussian noise, sampled or not, costs what its ratio to the sensitivity says [DRS22, Thm. 1], and ``plan``
    rounds it up.
    """
    step = _unit_step(noise_multiplier(sampling, steps, epsilon, delta * _MARGIN, neighbours), sampling)
    return Repeat(sampling.event(replace(step, dimension=size, mechanism="clipped-sum", unit=unit)), steps)


@lru_cache(maxsize=256)
def cost_of_run(run: Repeat, *, delta: Fraction, neighbours: Neighbours) -> float:
    """What a run costs at ``delta``: the least bound that holds."""
    return float(cost_of(run, delta=delta, neighbours=neighbours))


@lru_cache(maxsize=256)
def noise_multiplier(
    sampling: Sampling, steps: int, epsilon: Fraction, delta: Fraction, neighbours: Neighbours
) -> Fraction:
    """Noise per sensitivity that makes the run (epsilon, delta)-DP; a little more than the least."""
    target, least = float(epsilon * _MARGIN), 0.0 if isinstance(sampling, FullBatch) else _LEAST_SAMPLED
    noise = max(least, _first_guess(sampling, steps, float(epsilon), float(delta), neighbours))
    tried: list[tuple[float, float]] = []
    while True:
        run = Repeat(sampling.event(_unit_step(Fraction(noise), sampling)), steps)
        cost = _quick_cost(run, float(delta), neighbours)
        if cost <= target and (cost >= target * _CLOSE or noise <= least):
            return Fraction(noise)
        tried.append((math.log(noise), math.log(min(max(cost / target, 1e-9), 1e9))))
        noise = max(least, math.exp(_next_guess(tried, sampled=least > 0)))


def _next_guess(tried: list[tuple[float, float]], *, sampled: bool) -> float:
    """Where to look next, in logarithms: the line through the last two tries, aimed a little below the target."""
    at, over = tried[-1]
    inverse = math.exp(-2 * at)
    slope = inverse / math.expm1(-inverse) if sampled and inverse < 700 else -1.0  # that of ``_first_guess``
    if len(tried) > 1 and at != tried[-2][0]:
        slope = min(-0.2, (over - tried[-2][1]) / (at - tried[-2][0]))
    return at + max(-1.0, min(1.0, (math.log(_CLOSE) / 2 - over) / slope))


def _quick_cost(run: Repeat, delta: float, neighbours: Neighbours) -> float:
    """The epsilon of a run by the one bound that is tight for it: closed form, or loss distributions."""
    if isinstance(run.event, GaussianNoise):
        return quick_epsilon(run, delta=Fraction(delta), neighbours=neighbours)
    losses = privacy_loss_distribution.compose_losses(run, neighbours)
    return math.inf if losses is None else losses.epsilon(delta)


def _unit_step(noise: Fraction, sampling: Sampling) -> GaussianNoise:
    """A step of sensitivity 1."""
    relation = Neighbours.REPLACE if isinstance(sampling, FixedBatch) else Neighbours.ADD_REMOVE
    return GaussianNoise(
        sigma=noise, sensitivity=Fraction(1), grid=_grid_below(noise), dimension=1 << 40, neighbours=relation
    )


def _first_guess(sampling: Sampling, steps: int, epsilon: float, delta: float, neighbours: Neighbours) -> float:
    """About the noise that is needed: many sampled Gaussians are one Gaussian [DRS22, Cor. 4]."""
    apart = 2 if neighbours is Neighbours.REPLACE and not isinstance(sampling, FixedBatch) else 1
    mu = mu_for(epsilon, delta) / apart
    if isinstance(sampling, FullBatch):
        return math.sqrt(steps) / mu
    rate = float(sampling.rate) if isinstance(sampling, PoissonBatch) else sampling.sample / sampling.population
    return 1 / math.sqrt(math.log1p((mu / rate) ** 2 / steps))


def _grid_below(sigma: Fraction) -> Fraction:
    """A power of two about 2^-32 below ``sigma``."""
    return Fraction(2) ** (sigma.numerator.bit_length() - sigma.denominator.bit_length() - _FINENESS)
