"""Groups: known values, brute force, and what is refused."""

from __future__ import annotations

import math
from itertools import product

import pytest

from hubbub.accounting import group_privacy
from hubbub.local import KaryResponse, LocalGaussian, Memoized, Rappor, group
from hubbub.local.amplification.group_privacy import group_profile
from hubbub.terms import NotProved, OutOfRange

TABLE = {
    (16, 0.1): 1.569,
    (16, 0.5): 7.998,
    (16, 1): 16,
    (64, 0.1): 3.680,
    (64, 0.5): 24.10,
    (64, 1): 57.87,
    (256, 0.1): 8.339,
    (256, 0.5): 66.33,
    (256, 1): 181.2,
}


@pytest.mark.parametrize(("size", "epsilon"), TABLE)
def test_known_values(size: int, epsilon: float) -> None:
    found = float(group(epsilon, size=size, delta=1e-6).epsilon)
    assert found == pytest.approx(TABLE[size, epsilon], rel=5e-4)
    assert found <= float(group_privacy.local(epsilon=epsilon, size=size, delta=1e-6).epsilon)


@pytest.mark.parametrize("loss", [0.0, 0.3, 1.1, 2.9])
def test_the_profile_is_that_of_all_answers(loss: float) -> None:
    keep = 1 / (1 + math.exp(-1))
    gap = 0.0
    for answers in product((True, False), repeat=3):
        here = math.prod(keep if true else 1 - keep for true in answers)
        there = math.prod(1 - keep if true else keep for true in answers)
        gap += max(0.0, here - math.exp(loss) * there)
    assert group_profile(loss, epsilon=1.0, size=3) == pytest.approx(gap, abs=1e-12)


def test_any_randomizer_is_dominated() -> None:
    weight = math.exp(1)
    keep, lie = weight / (weight + 3), 1 / (weight + 3)
    laws = [[keep, lie, lie, lie], [lie, keep, lie, lie]]
    for loss in (0.2, 0.8, 1.5):
        gap = sum(
            max(
                0.0,
                math.prod(laws[0][r] for r in told) - math.exp(loss) * math.prod(laws[1][r] for r in told),
            )
            for told in product(range(4), repeat=4)
        )
        assert gap <= group_profile(loss, epsilon=1.0, size=4)


def test_more_people_cost_more_and_never_more_than_each_alone() -> None:
    costs = [group(0.2, size=k, delta=1e-6).epsilon for k in (1, 2, 5, 20, 100)]
    assert costs == sorted(costs)
    assert all(cost <= k * 0.2 + 1e-12 for cost, k in zip(costs, (1, 2, 5, 20, 100), strict=True))


def test_reports_that_are_not_independent_are_refused() -> None:
    assert group(KaryResponse(epsilon=1, domain=5), size=3, delta=1e-6).epsilon <= 3
    with pytest.raises(NotProved):
        group(1, size=3, delta=1e-6, independent=False)
    rappor = Rappor(domain=8, epsilon=2)
    for remembers in (rappor, Memoized(rappor, bytes(32), collection="fruit")):
        with pytest.raises(NotProved):
            group(remembers, size=3, delta=1e-6)
    with pytest.raises(NotProved):
        group(LocalGaussian(epsilon=1, delta=1e-6, lower=0, upper=1), size=3, delta=1e-6)
    with pytest.raises(OutOfRange):
        group(1, size=0, delta=1e-6)
