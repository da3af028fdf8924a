"""No adversary gets more out of a budget counted both ways than was promised; against rules that are wrong one does."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.random import Generator

from hubbub.accounting import Limit
from hubbub.accounting.budget_limits import DELTA_UNIT, Amount, Currency, cost_in
from hubbub.accounting.either_way import SPLIT, DeltaSplit
from hubbub.accounting.privacy_profiles import gaussian_profile
from hubbub.mechanisms import Gaussian
from hubbub.terms import Budget, Neighbours
from tests.accounting.adaptive_games import Game, clean, leaky, pure_leak, several_at_once, truth_or_lie

TWICE = DeltaSplit(converts=Fraction(1), own=Fraction(0), tail=Fraction(1))  # wrong: the full delta in both accounts
GAMES = 120  # times ten in the long run
ERROR = 1e-12  # of the arithmetic in doubles


def random_game(seed: int) -> Game:
    """Two to four small mechanisms, up to six steps, and a budget that holds some of them."""
    rng = np.random.default_rng([18, seed])
    budget = Budget(Fraction(int(rng.integers(500, 2500)), 1000), Fraction(int(rng.integers(20, 500)), 1000))
    own, tail = (Fraction(int(rng.integers(1, 8)), 20) for _ in range(2))
    limit = Limit(budget, Currency.EITHER, DeltaSplit(1 - own - tail, own, tail))
    assert budget.epsilon is not None
    unit = budget.epsilon / int(rng.integers(2, 12))
    steps = tuple(random_step(rng, limit, unit) for _ in range(int(rng.integers(2, 5))))
    return Game(steps, int(rng.integers(2, 7)), unit, limit)


def random_step(rng: Generator, limit: Limit, unit: Fraction):
    share = Fraction(int(rng.integers(2, 11)), 10) * limit.budget.delta
    kind = rng.integers(4)
    if kind == 0:
        return truth_or_lie(int(rng.integers(1, 4)), unit)
    if kind == 1:
        times = int(rng.integers(2, 5))
        return several_at_once(1, unit, times=times, basic=int(rng.integers(0, times)))
    if kind == 2:
        return leaky(int(rng.integers(1, 3)), unit, own=share * limit.split.own)
    return pure_leak(share * limit.split.tail)


def test_no_adversary_gets_more_than_both_accounts_allow_together(soak: int) -> None:
    above_both = 0
    for seed in range(GAMES * soak):
        game = random_game(seed)
        delta, split = float(game.limit.budget.delta), game.limit.split
        own, without = delta * float(split.own), clean(game)
        either, basic, rho = without.by_either(), without.by_basic(), without.by_rho()
        assert either <= basic + rho + ERROR, seed
        assert basic <= delta * float(split.tail) + ERROR, seed
        assert rho <= delta * float(split.converts) + ERROR, seed
        # deltas of steps' own are shared: once for both accounts, on top of either
        assert game.by_either() <= own + (1 - own) * either + ERROR, seed
        assert game.by_basic() <= own + (1 - own) * delta * float(split.tail) + ERROR, seed
        assert game.by_rho() <= own + delta * float(split.converts) + ERROR, seed
        assert game.by_either() <= delta, seed
        above_both += either > 1.01 * max(basic, rho)
    assert above_both >= GAMES * soak // 40, "the larger of the two is no bound, and these games show it"


def test_an_account_that_is_not_counted_while_the_other_pays_lets_too_much_through(soak: int) -> None:
    """A twin of the rule that must fail: each step is charged only to the account by which it passes."""
    broken = 0
    for seed in range(GAMES * soak):
        game = random_game(seed)
        limit = game.limit

        def charge_one(total: Amount, cost: Amount, limit: Limit = limit) -> Amount:
            after = total + cost
            if limit.fits_basic(after):
                return after._replace(loss=total.loss)
            return after._replace(epsilon=total.epsilon, tail=total.tail)

        broken += game.best(limit.fits, count=charge_one) > limit.budget.delta + Fraction(1, 10**9)
    assert broken >= GAMES * soak // 10


def spend_in_two_ways(epsilon: int, delta: Fraction, split: DeltaSplit) -> Game:
    """Seven tenths of the rho; then, by what came out, the rest of it, or a leak of all the tail that is left."""
    limit = Limit(Budget(epsilon, delta), Currency.EITHER, split)
    unit = Fraction(float(2 * limit.whole.parts()[0] / 200) ** 0.5).limit_denominator(10**9)
    first, second = (several_at_once(1, unit, times=n, basic=int(epsilon / unit)) for n in (140, 60))
    rest = limit.whole.basic_parts()[1] - first.cost.basic_parts()[1]
    return Game((first, second, pure_leak(rest)), 3, unit, limit)


@pytest.mark.parametrize(("epsilon", "delta", "most"), [(1, 1e-5, 1.198), (3, 1e-6, 1.148)])
def test_the_full_delta_in_both_accounts_lets_more_than_delta_through(epsilon: int, delta: float, most: float) -> None:
    exact = Fraction(str(delta))
    assert spend_in_two_ways(epsilon, exact, TWICE).by_either() / delta == pytest.approx(most, abs=0.001)
    assert spend_in_two_ways(epsilon, exact, SPLIT).by_either() < 0.3 * delta


def spend_gaussian_noise_in_two_ways(epsilon: int, delta: Fraction, split: DeltaSplit) -> float:
    """The true delta of the same game with Gaussian noise, integrated over the loss of the first answer."""
    limit, near = Limit(Budget(epsilon, delta), Currency.EITHER, split), Neighbours.ADD_REMOVE
    rho, all_tails = float(limit.whole.parts()[0]), limit.whole.basic_parts()[1]
    steps = [Gaussian(sensitivity=1, sigma=(2 * share * rho) ** -0.5 * (1 + 1e-9)).event for share in (0.7, 0.3)]
    mu = [float(2 * step.rho) ** 0.5 for step in steps]
    near_tail = float(gaussian_profile(mu[0]).remove(np.array([float(epsilon)]))[0]) * 1.001
    tail = Fraction(math.ceil(near_tail * DELTA_UNIT), DELTA_UNIT)
    costs = [cost_in(Currency.EITHER, step, near, tail, Fraction(epsilon)) for step in steps]
    leak = Amount.of(None, Fraction(0), Fraction(0), all_tails - tail)
    for second in (costs[1], leak):
        assert limit.fits(costs[0] + second)
    assert not limit.fits(costs[0] + costs[1] + leak)

    losses = mu[0] ** 2 / 2 + mu[0] * np.linspace(-12, 12, 200_001)
    density = np.exp(-0.5 * np.linspace(-12, 12, 200_001) ** 2) / np.sqrt(2 * np.pi)
    chance = float(all_tails - tail)
    rest = gaussian_profile(mu[1]).remove(epsilon - losses)
    told = chance + (1 - chance) * np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon - losses)))
    return float((np.maximum(rest, told) * density).sum() * 24 / 200_000)


@pytest.mark.parametrize(("epsilon", "delta", "true"), [(1, 1e-5, 1.22e-5), (3, 1e-6, 1.20e-6)])
def test_gaussian_noise_refutes_the_full_delta_in_both_accounts_too(epsilon: int, delta: float, true: float) -> None:
    exact = Fraction(str(delta))
    assert spend_gaussian_noise_in_two_ways(epsilon, exact, TWICE) == pytest.approx(true, rel=0.005)
    assert spend_gaussian_noise_in_two_ways(epsilon, exact, SPLIT) < 0.3 * delta
