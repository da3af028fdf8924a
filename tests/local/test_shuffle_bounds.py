"""Amplification by shuffling: known values, soundness against brute force, and the trap that must be noticed."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from scipy.stats import binom

from hubbub.local import (
    BinaryResponse,
    Duchi,
    FiniteRandomizer,
    HadamardResponse,
    Hybrid,
    KaryResponse,
    LocalGaussian,
    LocalHashing,
    OneBitHadamard,
    ProjectiveGeometry,
    Randomizer,
    SubsetSelection,
    exact_distribution,
)
from hubbub.local.amplification import shuffle_bounds
from hubbub.local.amplification.clones import Clones, clones_epsilon, closed_form
from hubbub.local.amplification.privacy_blanket import blanket_epsilon, blanket_profile, pairs_of, two_levels
from hubbub.terms import ApproximateDP, Neighbours, NotProved, OutOfRange

DELTA = 1e-6
#        n, epsilon, closed form, clones, 2/(e+1) clones, lower bound
TABLE = [
    (10**4, 1, 0.2140, 0.0530, 0.0432, 0.0357),
    (10**4, 2, 0.5009, 0.1550, 0.1144, 0.0870),
    (10**4, 4, None, 0.6009, 0.4108, 0.3146),
    (10**4, 6, None, 5.721, 1.472, 1.311),
    (10**4, 8, None, 8, 8, 8),
    (10**5, 1, 0.0726, 0.0153, 0.0124, 0.0101),
    (10**5, 2, 0.1862, 0.0450, 0.0332, 0.0247),
    (10**5, 4, 0.5346, 0.1698, 0.1182, 0.0847),
    (10**5, 6, 1.0998, 0.5242, 0.3570, 0.2677),
    (10**5, 8, None, 2.189, 1.177, 1.010),
    (10**6, 1, 0.0235, 0.0043, 0.0035, 0.0028),
    (10**6, 2, 0.0626, 0.0130, 0.0095, 0.0070),
    (10**6, 4, 0.2010, 0.0493, 0.0343, 0.0240),
    (10**6, 6, 0.4865, 0.1493, 0.1031, 0.0730),
    (10**6, 8, 1.0027, 0.4445, 0.3037, 0.2250),
]


def near(found: float, known: float) -> bool:
    return abs(found - known) <= max(0.0006 * known, 0.6e-4)


@pytest.mark.parametrize(("n", "epsilon", "formula", "numeric", "stronger", "least"), TABLE)
def test_known_values(
    n: int, epsilon: int, formula: float | None, numeric: float, stronger: float, least: float
) -> None:
    found = closed_form(epsilon, honest=n, delta=DELTA)
    assert (found is None) == (formula is None)
    assert found is None or near(found, formula or 0)
    assert near(clones_epsilon(epsilon, honest=n, delta=DELTA), numeric)
    assert near(clones_epsilon(epsilon, honest=n, delta=DELTA, chance=2 / (math.exp(epsilon) + 1)), stronger)
    assert near(shuffle_bounds.lower_bound(epsilon, n=n, delta=DELTA), least)


@pytest.mark.parametrize(("n", "epsilon"), [(10**4, 1), (10**4, 4), (10**5, 6)])
def test_the_blanket_of_two_valued_response_is_its_clones(n: int, epsilon: int) -> None:
    pair = two_levels(epsilon, support=0.5, overlap=0.0)
    by_fourier = blanket_epsilon([pair], honest=n, delta=DELTA, most=epsilon)
    by_sums = clones_epsilon(epsilon, honest=n, delta=DELTA, chance=2 / (math.exp(epsilon) + 1))
    assert by_fourier == pytest.approx(by_sums, rel=0.01)
    assert by_fourier >= by_sums * 0.9999


# ---------------------------------------------------------------- soundness


def trap(epsilon: float, n: int) -> float:
    """Hoeffding's bound on the blanket with gamma = e^-epsilon, as if that held for every randomizer: unsound."""
    gamma = math.exp(-epsilon)
    spread = math.sqrt(n * gamma)
    m = np.arange(max(1, int(n * gamma - 9 * spread)), int(n * gamma + 9 * spread) + 2)
    masses = binom.pmf(m, n, gamma)

    def delta(loss: float) -> float:
        mean = math.expm1(loss)
        width = gamma * (math.exp(loss) + 1) * (math.exp(epsilon) - math.exp(-epsilon))
        return float(masses @ np.exp(-2 * m * mean**2 / width**2)) * width**2 / (4 * mean) / (gamma * n)

    low, high = 1e-6, epsilon
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if delta(middle) <= DELTA else (middle, high)
    return high


@pytest.mark.parametrize("epsilon", [1, 2, 6, 8])
def test_no_generic_bound_falls_below_what_two_valued_response_leaks(epsilon: int) -> None:
    for n in (10**4, 10**5):
        least = shuffle_bounds.lower_bound(epsilon, n=n, delta=DELTA)
        generic = [bound.epsilon for bound in shuffle_bounds.bounds(epsilon, n=n, delta=DELTA)]
        assert min(generic) >= least
        own = [bound.epsilon for bound in shuffle_bounds.bounds(BinaryResponse(epsilon=epsilon), n=n, delta=DELTA)]
        assert min(own) >= least


@pytest.mark.parametrize(("n", "epsilon"), [(10**4, 6), (10**5, 8)])
def test_the_trap_would_be_noticed(n: int, epsilon: int) -> None:
    assert trap(epsilon, n) < shuffle_bounds.lower_bound(epsilon, n=n, delta=DELTA)


def shuffled_profile(matrix: np.ndarray, n: int, loss: float) -> float:
    """The exact profile of n shuffled reports, over all data sets: the law of the multiset of reports."""
    size, worst = len(matrix), 0.0
    for others in combinations_with_replacement(range(size), n - 1):
        for x, y in permutations(range(size), 2):
            laws = []
            for own in (x, y):
                law: dict[tuple[int, ...], float] = {}
                for told in product(range(matrix.shape[1]), repeat=n):
                    chance = math.prod(matrix[v, r] for v, r in zip((own, *others), told, strict=True))
                    key = tuple(sorted(told))
                    law[key] = law.get(key, 0.0) + chance
                laws.append(law)
            gap = sum(max(0.0, mass - math.exp(loss) * laws[1][key]) for key, mass in laws[0].items())
            worst = max(worst, gap)
    return worst


def matrix_of(randomizer: Randomizer, size: int) -> np.ndarray:
    laws = [exact_distribution(randomizer, value) for value in range(size)]
    reports = sorted(set().union(*laws))
    return np.array([[float(law.get(report, 0)) for report in reports] for law in laws])


@pytest.mark.parametrize("loss", [0.1, 0.4, 0.8, 1.2])
def test_bounds_hold_for_every_small_collection(loss: float) -> None:
    kary = matrix_of(KaryResponse(epsilon=1.5, domain=3), 3)
    exact = shuffled_profile(kary, 4, loss)
    by_design = blanket_profile(two_levels(1.5, support=1 / 3, overlap=0.0), loss, honest=4)
    by_matrix = max(blanket_profile(pair, loss, honest=4) for pair in pairs_of(kary))
    assert by_design == pytest.approx(by_matrix, rel=1e-6)
    assert exact <= by_design
    assert exact <= Clones(1.5, 3, math.exp(-1.5), tail=1e-12).delta(loss)
    assert exact <= by_design < 2 * exact + 0.05  # and not by far


def test_a_blanket_of_half_the_reports_would_be_noticed() -> None:
    pair = two_levels(1.5, support=1 / 3, overlap=0.0)
    more = two_levels(0.8, support=1 / 3, overlap=0.0)  # as if reports were noisier than they are
    exact = shuffled_profile(matrix_of(KaryResponse(epsilon=1.5, domain=3), 3), 4, 0.4)
    assert blanket_profile(more, 0.4, honest=4) < exact <= blanket_profile(pair, 0.4, honest=4)


def test_overlapping_supports_hide_more() -> None:
    apart = two_levels(1.0, support=0.25, overlap=0.0)
    joint = two_levels(1.0, support=0.25, overlap=0.1)
    assert blanket_profile(joint, 0.1, honest=500) < blanket_profile(apart, 0.1, honest=500)


@pytest.mark.parametrize(
    "randomizer",
    [
        KaryResponse(epsilon=1, domain=20),
        BinaryResponse(epsilon=1),
        Duchi(epsilon=1, lower=0, upper=1),
        HadamardResponse(epsilon=1, domain=20),
        OneBitHadamard(epsilon=1, domain=20),
        ProjectiveGeometry(epsilon=1, domain=20),
        SubsetSelection(epsilon=1, domain=20),
        LocalHashing(epsilon=1, domain=20),
    ],
    ids=lambda made: made.protocol,
)
def test_a_known_law_amplifies_more_than_any_law(randomizer: Randomizer) -> None:
    generic = shuffle_bounds.amplify(1, n=5000, delta=DELTA)
    own = shuffle_bounds.amplify(randomizer, n=5000, delta=DELTA)
    assert isinstance(own, ApproximateDP)
    assert own.epsilon < generic.epsilon
    assert {bound.name for bound in shuffle_bounds.bounds(randomizer, n=5000, delta=DELTA)} >= {
        "blanket",
        "clones",
        "alone",
    }


@pytest.mark.parametrize(
    ("randomizer", "support", "overlap"),
    [
        (HadamardResponse(epsilon=1, domain=3), 0.5, 0.25),
        (OneBitHadamard(epsilon=1, domain=4), 0.5, 0.25),
        (ProjectiveGeometry(epsilon=1, domain=4, order=3), 1 / 4, 0.0),
        (SubsetSelection(epsilon=1, domain=4, size=2), 0.5, 1 / 6),
    ],
    ids=lambda made: getattr(made, "protocol", ""),
)
def test_the_designs_are_those_of_the_exact_laws(randomizer: Randomizer, support: float, overlap: float) -> None:
    design = shuffle_bounds._find_design(randomizer)
    assert design is not None
    assert (design.support, design.overlap) == pytest.approx((support, overlap))
    ideal = two_levels(1.0, support=support, overlap=overlap)
    found = pairs_of(matrix_of(randomizer, randomizer.domain))  # type: ignore[attr-defined]
    assert max(blanket_profile(pair, 0.1, honest=50) for pair in found) <= blanket_profile(ideal, 0.1, honest=50) * (
        1 + 1e-4
    )
    assert found[0].gamma >= ideal.gamma * (1 - 1e-9)


def test_a_matrix_has_its_own_blanket() -> None:
    kary = KaryResponse(epsilon=1, domain=4)
    twin = FiniteRandomizer.of(kary, range(4))
    told = [shuffle_bounds.amplify(made, n=2000, delta=DELTA).epsilon for made in (kary, twin)]
    assert float(told[0]) == pytest.approx(float(told[1]), rel=1e-3)


def test_a_law_without_a_known_shape_gets_the_generic_bound() -> None:
    hybrid = Hybrid(epsilon=1, lower=0, upper=1)
    assert (
        shuffle_bounds.amplify(hybrid, n=5000, delta=DELTA).epsilon
        == shuffle_bounds.amplify(1, n=5000, delta=DELTA).epsilon
    )


def test_only_honest_people_hide_anybody() -> None:
    half = shuffle_bounds.amplify(1, n=10_000, n_honest=5000, delta=DELTA)
    assert half.epsilon == shuffle_bounds.amplify(1, n=5000, delta=DELTA).epsilon
    assert shuffle_bounds.amplify(1, n=10_000, n_honest=1, delta=DELTA).epsilon == 1
    with pytest.raises(OutOfRange):
        shuffle_bounds.amplify(1, n=100, n_honest=101, delta=DELTA)


def test_bounds_are_rounded_against_us() -> None:
    pair = Clones(1.0, 9999, math.exp(-1), tail=1e-12)
    found = clones_epsilon(1.0, honest=10_000, delta=DELTA)
    assert pair.delta(found) <= DELTA
    assert pair.delta(found * (1 - 1e-5)) > DELTA * (1 - 1e-3)


def test_counting_clones_in_blocks_only_raises_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    for blocks in (10**9, 200, 20):
        monkeypatch.setattr("hubbub.local.amplification.clones._BLOCKS", blocks)
        told.append(Clones(2.0, 99_999, math.exp(-2), tail=1e-12).delta(0.05))
    assert told == sorted(told)
    assert told[1] < 1.2 * told[0]


def test_a_tiny_delta_leaves_the_law_of_words_out() -> None:
    many = ProjectiveGeometry(epsilon=1, domain=100_000)
    assert "blanket" not in {bound.name for bound in shuffle_bounds.bounds(many, n=10**4, delta=1e-12)}


def test_more_people_and_larger_delta_never_cost_more() -> None:
    by_people = [shuffle_bounds.amplify(2, n=n, delta=DELTA).epsilon for n in (1, 2, 10, 100, 1000, 10_000)]
    assert by_people == sorted(by_people, reverse=True)
    by_delta = [shuffle_bounds.amplify(2, n=1000, delta=delta).epsilon for delta in (1e-12, 1e-9, 1e-6, 1e-3)]
    assert by_delta == sorted(by_delta, reverse=True)


def test_the_local_epsilon_is_the_inverse() -> None:
    alone = shuffle_bounds.local_epsilon(0.3, n=20_000, delta=DELTA)
    assert clones_epsilon(alone, honest=20_000, delta=DELTA) <= 0.3 * (1 + 1e-6)
    assert clones_epsilon(alone * 1.001, honest=20_000, delta=DELTA) > 0.3
    assert shuffle_bounds.local_epsilon(0.3, n=1, delta=DELTA) == 0.3


def test_a_report_that_needs_a_delta_is_refused() -> None:
    with pytest.raises(NotProved):
        shuffle_bounds.amplify(LocalGaussian(epsilon=1, delta=1e-6, lower=0, upper=1), n=1000, delta=DELTA)


def test_the_event_says_what_holds() -> None:
    event = shuffle_bounds.event(KaryResponse(epsilon=1, domain=4), n=1000, delta=DELTA)
    assert (event.mechanism, event.neighbours) == ("shuffled-kary", Neighbours.REPLACE)
    assert 0 < event.epsilon < 1


def test_the_comparison_reads_and_draws() -> None:
    told = shuffle_bounds.compare(KaryResponse(epsilon=1, domain=4), n=1000, delta=DELTA, n_honest=900)
    assert "899 other honest people" in " ".join(told.text().split())
    assert "<svg" in told.html()
    assert told.to_json()["n_honest"] == 900
