"""Mann-Whitney and AUC: exact by enumeration, against scipy, and the large domain's depth."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from hubbub.local import AUC, HierarchicalAUC, MannWhitney
from hubbub.local.pair_averages import Response, between_mean, between_variance
from hubbub.local.statistics.auc import predicted_error
from hubbub.local.statistics.group_comparison import exceeds_matrix
from hubbub.noise.testing import seeded
from hubbub.terms import BadReport, EmptyInput, MissingParameter, OutOfRange, TooLarge, WrongShape

from ._statistics import covers_95, off_by, variance_fits

RNG = np.random.default_rng(8)
Array = np.ndarray[Any, Any]


def binned(values: Array, bins: int) -> Array:
    return np.minimum((values * bins).astype(int), bins - 1)


def area(first: Array, second: Array) -> float:
    return float(mannwhitneyu(first, second).statistic) / (len(first) * len(second))


def test_value_and_variance_of_two_groups_are_exact_over_all_reports() -> None:
    law = Response(0.6, 0.2)
    first, second, kernel = (0, 2), (1, 0, 0), exceeds_matrix(3)
    laws, mean, square = law.distributions(3), 0.0, 0.0
    for told in product(range(3), repeat=5):
        chance = math.prod(laws[person, report] for person, report in zip(first + second, told, strict=True))
        counts = [np.bincount(part, minlength=3).astype(float) for part in (told[:2], told[2:])]
        value = between_mean(counts[0], counts[1], kernel, law)
        mean, square = mean + chance * value, square + chance * value**2
    held = [np.bincount(group, minlength=3).astype(float) for group in (first, second)]
    assert mean == pytest.approx(area(np.array(first), np.array(second)), abs=1e-12)
    assert square - mean**2 == pytest.approx(between_variance(held[0], held[1], kernel, law), rel=1e-10)


def test_mann_whitney_covers_what_scipy_says_of_the_rounded_values(soak: int) -> None:
    test = MannWhitney(epsilon=1, bins=8, lower=0, upper=1)
    first, second = RNG.random(4000), RNG.random(3000) ** 1.3
    truth = area(binned(first, 8), binned(second, 8))
    rounds = range(200 * soak)
    found = [
        test.estimate(test.randomize(first, rng=seeded(s)), test.randomize(second, rng=seeded(99_999 + s)))
        for s in rounds
    ]
    assert off_by([one.value for one in found], truth) < 5
    assert covers_95([one.interval() for one in found], truth)
    assert found[0].counts == (4000, 3000)


def test_groups_that_are_alike_are_rarely_told_apart(soak: int) -> None:
    test = MannWhitney(epsilon=2, bins=6, lower=0, upper=1)
    rounds = 200 * soak
    draws = [np.random.default_rng(s).random((2, 1500)) for s in range(rounds)]
    chances = [
        test.estimate(test.randomize(a, rng=seeded(s)), test.randomize(b, rng=seeded(99_999 + s))).p_value
        for s, (a, b) in enumerate(draws)
    ]
    assert abs(np.mean(np.array(chances) < 0.05) - 0.05) < 0.02 + 3 * math.sqrt(0.05 / rounds)
    shifted = test.estimate(test.randomize(draws[0][0] ** 2), test.randomize(draws[0][1]))
    assert shifted.p_value < 0.01


def test_auc_with_private_labels_covers(soak: int) -> None:
    curve = AUC(epsilon=2, bins=8, lower=0, upper=1)
    scores = RNG.random(10_000)
    labels = (RNG.random(10_000) < scores).astype(int)
    truth = area(binned(scores, 8)[labels == 1], binned(scores, 8)[labels == 0])
    found = [curve.estimate(curve.randomize(scores, labels, rng=seeded(s))) for s in range(120 * soak)]
    assert covers_95([one.interval() for one in found], truth)
    assert abs(np.mean([one.value for one in found]) - truth) < 0.01  # a ratio: nearly unbiased
    assert abs(found[0].counts[0] - labels.sum()) < 600


def test_auc_says_when_reports_cannot_tell_the_labels() -> None:
    curve = AUC(epsilon=0.5, bins=8, lower=0, upper=1)
    found = curve.estimate(curve.randomize(RNG.random(200), np.zeros(200, dtype=int), rng=seeded(4)))
    assert math.isnan(found.value)
    assert found.variance == math.inf


def scores_of(people: int, bits: int) -> tuple[Array, Array]:
    """Densities 2x and 2(1 - x): the area is 5/6."""
    quantiles = (np.arange(people) + 0.5) / people
    good, bad = np.sqrt(quantiles), 1 - np.sqrt(1 - quantiles)
    return (good * 2**bits).astype(int), (bad * 2**bits).astype(int)


def test_the_hierarchical_area_is_unbiased_with_an_honest_variance(soak: int) -> None:
    good, bad = scores_of(8000, 6)
    curve = HierarchicalAUC(epsilon=1, domain=64, depth=6)
    rounds = range(150 * soak)
    found = [
        curve.estimate(curve.randomize(good, rng=seeded(s)), curve.randomize(bad, rng=seeded(99_999 + s)))
        for s in rounds
    ]
    truth = area(good, bad)
    assert off_by([one.value for one in found], truth) < 5
    assert variance_fits([one.value for one in found], float(np.mean([one.variance for one in found])))
    assert covers_95([one.interval() for one in found], truth)


def test_the_chosen_depth_errs_less_than_the_full_one() -> None:
    good, bad = scores_of(20_000, 10)
    errors = {}
    for depth in (10, None):
        curve = HierarchicalAUC(epsilon=1, domain=1024, depth=depth, expected=(20_000, 20_000))
        told = [
            curve.estimate(curve.randomize(good, rng=seeded(s)), curve.randomize(bad, rng=seeded(99_999 + s))).value
            for s in range(25)
        ]
        errors[curve.depth] = math.sqrt(np.mean((np.array(told) - 5 / 6) ** 2))
    assert min(errors) < 10
    assert errors[min(errors)] < 0.7 * errors[10]
    assert errors[10] == pytest.approx(math.sqrt(predicted_error(10, 10, (20_000, 20_000), 1.0)), rel=0.45)


def test_a_large_domain_is_in_the_regime_of_noise_times_noise() -> None:
    c_squared = 1 / math.tanh(0.5) ** 2
    product_term = 0.75 * 2**14 * (14 * c_squared / 200_000) ** 2
    whole = predicted_error(14, 14, (200_000, 200_000), 1.0)
    assert product_term > 0.5 * whole  # a^3 / (n epsilon^2) alone would hide it
    assert HierarchicalAUC(epsilon=1, domain=2**14, expected=(200_000, 200_000)).depth < 10


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(MissingParameter):
        HierarchicalAUC(epsilon=1, domain=64)
    with pytest.raises(OutOfRange):
        HierarchicalAUC(epsilon=1, domain=64, depth=7)
    with pytest.raises(TooLarge):
        HierarchicalAUC(epsilon=1, domain=2**21, depth=3)
    with pytest.raises(TooLarge):
        MannWhitney(epsilon=1, bins=10**6, lower=0, upper=1)
    with pytest.raises(WrongShape):
        AUC(epsilon=1, bins=4, lower=0, upper=1).randomize([0.1, 0.2], [1])
    curve = HierarchicalAUC(epsilon=1, domain=8, depth=2)
    for reports in ([[5, 0]], [[-1, 0]], [1, 2, 3], [[0.5, 1.0]]):
        with pytest.raises(BadReport):
            curve.estimate(reports, reports)
    with pytest.raises(EmptyInput):
        curve.estimate([], [])
    with pytest.raises(EmptyInput):
        curve.estimate([[0, 1]], [[0, 1]])


def test_reports_read_and_draw() -> None:
    test = MannWhitney(epsilon=1, bins=4, lower=0, upper=1)
    found = test.estimate(test.randomize(RNG.random(500)), test.randomize(RNG.random(500)))
    assert "times out of 100" in found.text()
    assert "<svg" in found.html()
    assert found.to_json()["kind"] == "comparison"
