"""U-statistics: the exact expectation and variance by enumeration, the theorem's bound, and reports."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import kendalltau

from hubbub.local import UStatistic
from hubbub.local.pair_averages import Response, nearest_histogram, pair_mean, pair_variance
from hubbub.local.statistics.pair_kernels import best_bins, error_bound
from hubbub.noise.testing import seeded
from hubbub.terms import (
    EmptyInput,
    HubbubError,
    MissingParameter,
    Neighbours,
    NotANumber,
    OutOfRange,
    PureStep,
    TooLarge,
    WrongShape,
)

from ._statistics import covered, covers_95, off_by, variance_fits

RNG = np.random.default_rng(5)
KERNEL = np.array([[0.3, 1.0, 0.2], [1.0, 0.0, 0.6], [0.2, 0.6, 0.9]])
PEOPLE = (0, 2, 2, 1)


def law(epsilon: float = 1.0, values: int = 3) -> Response:
    weight = math.exp(epsilon)
    return Response(weight / (weight + values - 1), 1 / (weight + values - 1))


def enumerated(response: Response, people: tuple[int, ...] = PEOPLE) -> tuple[float, float]:
    """The exact expectation and variance of the estimate over all possible reports."""
    laws = response.distributions(3)
    first = second = 0.0
    for reports in product(range(3), repeat=len(people)):
        chance = math.prod(laws[person, report] for person, report in zip(people, reports, strict=True))
        value = pair_mean(np.bincount(reports, minlength=3).astype(float), KERNEL, response)
        first, second = first + chance * value, second + chance * value**2
    return first, second - first**2


def true_mean(people: tuple[int, ...] = PEOPLE) -> float:
    pairs = [KERNEL[a, b] for i, a in enumerate(people) for j, b in enumerate(people) if i != j]
    return float(np.mean(pairs))


def test_the_estimate_is_unbiased_over_all_reports() -> None:
    assert enumerated(law())[0] == pytest.approx(true_mean(), abs=1e-12)


def test_the_variance_formula_is_exact_over_all_reports() -> None:
    histogram = np.bincount(PEOPLE, minlength=3).astype(float)
    assert enumerated(law())[1] == pytest.approx(pair_variance(histogram, KERNEL, law()), rel=1e-10)


def test_the_slides_probabilities_would_not_do() -> None:
    b = 3 / (3 + math.e - 1)
    slide = Response(1 - b, b / 3)  # as printed: the rows do not add up to 1
    assert slide.distributions(3).sum(axis=1) != pytest.approx(1)
    assert law().keep == pytest.approx(1 - b + b / 3)
    assert law().lie == pytest.approx(b / 3)
    wrong = Response(1 - b, b / 3)
    biased = sum(
        math.prod(law().distributions(3)[person, report] for person, report in zip(PEOPLE, reports, strict=True))
        * pair_mean(np.bincount(reports, minlength=3).astype(float), KERNEL, wrong)
        for reports in product(range(3), repeat=4)
    )
    assert abs(biased - true_mean()) > 0.05


def test_counts_give_what_the_sum_over_pairs_gives() -> None:
    reports = RNG.integers(0, 3, 25)
    response = law()
    each = (np.eye(3)[reports] - response.lie) / response.contrast
    pairs = each @ KERNEL @ each.T
    by_hand = (pairs.sum() - np.trace(pairs)) / (25 * 24)
    assert pair_mean(np.bincount(reports, minlength=3).astype(float), KERNEL, response) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("epsilon", "bins"), [(0.5, (4, 7, 12, 21)), (1, (6, 11, 19, 34)), (2, (11, 20, 36, 66)), (4, (26, 51, 98, 183))]
)
def test_the_number_of_bins_minimizes_the_bound(epsilon: float, bins: tuple[int, ...]) -> None:
    found = tuple(best_bins(10**power, epsilon, slope=1.0) for power in (3, 4, 5, 6))
    assert found == bins
    around = [error_bound(10**4, k, epsilon, slope=1.0) for k in (found[1] - 1, found[1], found[1] + 1)]
    assert around[1] == min(around)


def test_the_bound_is_the_lectures() -> None:
    b = 16 / (16 + math.e - 1)
    noise = 1 / (1000 * (1 - b) ** 2) + (1 + b) ** 2 / (2 * 1000 * 999 * (1 - b) ** 4)
    assert error_bound(1000, 16, 1.0, slope=2.0) == pytest.approx(noise + 4 / (2 * 256))
    assert error_bound(1000, 16, 1.0, density=3.0) == pytest.approx(noise + 36 / 256 + 4 * 81 / 16**4)


def test_no_kernel_and_no_people_exceed_the_bound() -> None:
    for trial in range(200):
        rng = np.random.default_rng(trial)
        size, epsilon, count = int(rng.integers(2, 9)), float(rng.choice([0.3, 1, 3])), int(rng.integers(4, 60))
        kernel = (rng.random((size, size)) < 0.5).astype(float) if trial % 2 else rng.random((size, size))
        histogram = rng.multinomial(count, rng.dirichlet(np.full(size, 0.3))).astype(float)
        exact = pair_variance(histogram, (kernel + kernel.T) / 2, law(epsilon, size))
        assert exact <= error_bound(count, size, epsilon, slope=0.0) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["gini", "variance"])
def test_intervals_cover_and_halved_ones_would_not(name: str, soak: int) -> None:
    statistic = UStatistic(name, epsilon=1, bins=8, lower=0, upper=1)
    values = np.linspace(0, 1, 10_000) ** 2
    histogram = np.bincount(statistic.codes(values), minlength=8).astype(float)
    truth = float(histogram @ statistic.matrix @ histogram - histogram @ np.diag(statistic.matrix)) / (10_000 * 9_999)
    found = [statistic.estimate(statistic.randomize(values, rng=seeded(seed))) for seed in range(250 * soak)]
    assert covers_95([one.interval(0.95) for one in found], truth)
    assert off_by([one.value for one in found], truth) < 5
    response = Response(statistic.randomizer.p, statistic.randomizer.q)
    assert variance_fits([one.value for one in found], pair_variance(histogram, statistic.matrix, response))
    narrow = [(one.value - one.standard_error, one.value + one.standard_error) for one in found]
    assert covered(narrow, truth) < 0.8
    assert np.mean([(one.value - truth) ** 2 for one in found]) < found[0].bound  # type: ignore[operator]


def test_kendalls_tau_is_that_of_the_rounded_pairs(soak: int) -> None:
    statistic = UStatistic("kendall", epsilon=3, bins=5, lower=(-2, -2), upper=(2, 2))
    pairs = np.random.default_rng(1).multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 3000)
    codes = statistic.codes(pairs)
    first, second = codes // 5, codes % 5
    concordant = np.sign(first[:, None] - first) * np.sign(second[:, None] - second)
    truth = concordant.sum() / (3000 * 2999)
    found = [statistic.estimate(statistic.randomize(pairs, rng=seeded(seed))) for seed in range(100 * soak)]
    assert off_by([one.value for one in found], truth) < 5
    assert covers_95([one.interval() for one in found], truth)
    assert 0 < truth < kendalltau(pairs[:, 0], pairs[:, 1]).statistic  # ties take from it
    assert found[0].bound is None


def test_a_function_and_a_matrix_are_kernels_too() -> None:
    values, rng = np.linspace(0, 1, 500), seeded(3)
    name = UStatistic("gini", epsilon=1, bins=6, lower=0, upper=1)
    function = UStatistic(lambda x, y: np.abs(x - y), epsilon=1, bins=6, lower=0, upper=1, lipschitz=math.sqrt(2))
    matrix = UStatistic(name.matrix, epsilon=1)
    reports = name.randomize(values, rng=rng)
    told = [made.estimate(reports).value for made in (name, function, matrix)]
    assert told == pytest.approx([told[0]] * 3)
    assert function.bound(500) == pytest.approx(name.bound(500))
    assert matrix.estimate(matrix.randomize([0, 5, 3, 99, -1], rng=rng)).count == 5


def test_bins_are_chosen_for_the_expected_number_of_people() -> None:
    assert UStatistic("gini", epsilon=1, lower=0, upper=1, expected=10**4).bins < (
        UStatistic("gini", epsilon=1, lower=0, upper=1, expected=10**6).bins
    )
    by_density = UStatistic(np.minimum, epsilon=1, lower=0, upper=1, expected=10**4, density_lipschitz=1)
    assert by_density.bound(10**4) is not None
    wide = UStatistic("variance", epsilon=1, lower=0, upper=1000, expected=10**4)
    assert wide.bins == UStatistic("variance", epsilon=1, lower=0, upper=1, expected=10**4).bins  # units do not matter


def test_many_people_overflow_nothing() -> None:
    statistic = UStatistic("gini", epsilon=1, bins=64, lower=0, upper=1)
    counts = np.full(64, 10**12 // 64)
    found = statistic.decode(counts)
    assert found.count == 64 * (10**12 // 64)
    assert 0 < found.variance < 1e-6
    assert found.value == pytest.approx(1 / 3, rel=0.01)  # all bins alike


def test_the_interval_widens_for_a_population_and_for_rounding() -> None:
    statistic = UStatistic("gini", epsilon=2, bins=8, lower=0, upper=1)
    found = statistic.estimate(statistic.randomize(np.linspace(0, 1, 2000), rng=seeded(1)))
    reach = [found.interval()[1], found.interval(population=True)[1], found.interval(population=True, rounding=True)[1]]
    assert reach[0] < reach[1] < reach[2]
    assert reach[2] - reach[1] == pytest.approx(1 / 8)  # two people, each moved by half a bin at most
    custom = UStatistic(lambda x, y: x * y, epsilon=2, bins=8, lower=0, upper=1)
    told = custom.estimate(custom.randomize(np.linspace(0, 1, 2000), rng=seeded(1)))
    assert told.interval(rounding=True) == (-math.inf, math.inf)


def test_the_likely_histogram_is_the_nearest_possible_one() -> None:
    given = np.array([7.0, -2.0, 4.0, 1.0])
    found = nearest_histogram(given)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(10)
    for _ in range(200):
        other = RNG.dirichlet(np.ones(4)) * 10
        assert np.sum((given - found) ** 2) <= np.sum((given - other) ** 2) + 1e-9


def test_nothing_in_the_data_makes_it_fail() -> None:
    statistic = UStatistic("gini", epsilon=1, bins=4, lower=0, upper=1)
    odd = [math.nan, math.inf, -math.inf, -5, 7, 1e300, 0.5]
    assert statistic.codes(odd).tolist() == [0, 3, 0, 0, 3, 3, 2]
    assert len(statistic.randomize(odd, rng=seeded(1))) == 7


def test_it_costs_what_one_report_costs() -> None:
    event = UStatistic("gini", epsilon=0.5, bins=4, lower=0, upper=1).event
    assert isinstance(event, PureStep)
    assert (float(event.epsilon), event.neighbours) == (0.5, Neighbours.REPLACE)


@pytest.mark.parametrize(
    ("kernel", "options", "error"),
    [
        ("mode", {"bins": 4}, OutOfRange),
        ("gini", {"bins": 1}, OutOfRange),
        ("gini", {"bins": 5000}, TooLarge),
        ("kendall", {"bins": 100}, TooLarge),
        ("gini", {}, MissingParameter),
        ("kendall", {"expected": 1000}, MissingParameter),
        (np.minimum, {"expected": 1000}, MissingParameter),
        ("gini", {"bins": 4, "upper": 0}, HubbubError),
        ("gini", {"bins": 4, "upper": None}, MissingParameter),
        ("kendall", {"bins": 4, "lower": (0, 0, 0)}, WrongShape),
        (lambda x, y: "no", {"bins": 4}, NotANumber),
        (lambda x, y: x / (y - y), {"bins": 4}, OutOfRange),
        (np.ones((2, 3)), {}, WrongShape),
        ("gini", {"bins": 4, "epsilon": 0}, OutOfRange),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_makes_no_sense_is_refused(kernel: object, options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        UStatistic(kernel, **{"epsilon": 1, "lower": 0, "upper": 1, **options})  # type: ignore[arg-type]


def test_wrong_shapes_and_too_few_reports_are_refused() -> None:
    statistic = UStatistic("kendall", epsilon=1, bins=4, lower=0, upper=1)
    for values in ([1, 2, 3], np.zeros((3, 3))):
        with pytest.raises(WrongShape):
            statistic.randomize(values)
    with pytest.raises(EmptyInput):
        statistic.estimate([3])
    with pytest.raises(EmptyInput):
        statistic.estimate([])


def test_the_report_reads_and_draws() -> None:
    statistic = UStatistic("gini", epsilon=1, bins=8, lower=0, upper=1)
    found = statistic.estimate(statistic.randomize(np.linspace(0, 1, 2000), rng=seeded(1)))
    assert "95 times out of 100" in found.text()
    assert "<svg" in found.html()
    assert json.loads(json.dumps(found.to_json()))["bins"] == 8
