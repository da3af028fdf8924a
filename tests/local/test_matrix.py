"""Any finite randomizer by its matrix."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hubbub.local import (
    BinaryResponse,
    FiniteRandomizer,
    HadamardResponse,
    KaryResponse,
    ProjectiveGeometry,
    exact_distribution,
)
from hubbub.noise.testing import seeded
from hubbub.terms import NoBound, OutOfRange, WrongShape

from .contract import FrequencyContract, exp

MATRIX = [[0.5, 0.3, 0.2], [0.25, 0.5, 0.25], [0.2, 0.3, 0.5]]


class TestFiniteRandomizer(FrequencyContract):
    """The matrix decides epsilon, so there is nothing to calibrate: instead, epsilon is the least that holds."""

    kind = FiniteRandomizer
    small = {"matrix": MATRIX, "missing": 1}
    values = range(3)
    large = {"matrix": MATRIX}
    people, repeats = 1_000, 1500
    bad_payload = b"\x03"
    bad = {
        "missing": [(3, OutOfRange)],
        "matrix": [
            ([[1, 0], [0, 1]], NoBound),
            ([[0.5, 0.5], [0.5, 0.5]], OutOfRange),
            ([[0.5, 0.6], [0.5, 0.5]], OutOfRange),
            ([[-0.5, 1.5], [0.5, 0.5]], OutOfRange),
            ([[0.5, 0.5]], WrongShape),
            ([[0.5, 0.5], [0.2, 0.3, 0.5]], WrongShape),
        ],
    }

    def make(self, **changes: object) -> FiniteRandomizer:
        epsilon = changes.pop("epsilon", None)
        if epsilon is not None:
            e = exp(Fraction(epsilon))  # type: ignore[arg-type]
            changes["matrix"] = [[(e if x == y else 1) / (e + 2) for y in range(3)] for x in range(3)]
        return super().make(**changes)

    def test_a_threshold_too_high_is_noticed(self) -> None:
        assert self.make().epsilon < self.make(matrix=[[0.51, 0.29, 0.2], *MATRIX[1:]]).epsilon

    def test_bad_parameters_are_refused(self) -> None:
        for name, cases in self.bad.items():
            for value, error in cases:
                with pytest.raises(error):
                    self.make(**{name: value})


def test_exercise_three_three() -> None:
    """H = [[p, 1-p], [1-p, p]] is invertible unless p = 1/2, that is, unless epsilon = 0."""
    p = math.e / (math.e + 1)
    coin = FiniteRandomizer([[p, 1 - p], [1 - p, p]])
    assert coin.inverse == pytest.approx(np.array([[p, p - 1], [p - 1, p]]) / (2 * p - 1))
    assert float(coin.epsilon) == pytest.approx(1)
    with pytest.raises(OutOfRange, match="cannot be inverted"):
        FiniteRandomizer([[0.5, 0.5], [0.5, 0.5]])


@pytest.mark.parametrize(
    "survey",
    [
        BinaryResponse(epsilon=1),
        KaryResponse(epsilon=2, domain=5),
        HadamardResponse(epsilon=1, domain=6),
        ProjectiveGeometry(epsilon=1, domain=10, order=3),
    ],
    ids=lambda survey: survey.protocol,
)
def test_inverting_the_matrix_does_what_each_estimator_does(survey: object) -> None:
    """The general way, from the exact law alone; with more reports than values it may even have less variance."""
    finite = FiniteRandomizer.of(survey, range(survey.domain))
    assert float(finite.epsilon) == pytest.approx(float(survey.epsilon), abs=1e-9)
    reports = survey.randomize(np.arange(20_000) % survey.domain, rng=seeded(1))
    special, general = survey.estimate(reports), finite.estimate(reports)
    if survey.symbols == survey.domain:
        assert general.values == pytest.approx(special.values)
        assert general.variances == pytest.approx(special.variances, rel=1e-3)
    else:
        assert np.abs(general.values - special.values).max() < 6 * math.sqrt(special.variances.max())
    even = np.full(survey.domain, 1 / survey.domain)
    assert (finite._variances(even, 1) <= survey._variances(even, 1) * (1 + 1e-9)).all()


def test_rows_are_kept_to_the_last_unit() -> None:
    finite = FiniteRandomizer([[Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]])
    assert [sum(row) for row in finite.masses] == [1 << 64] * 2


def test_a_report_that_never_occurs_may_be_the_last() -> None:
    """Its place begins at 2^64, which is no word."""
    finite = FiniteRandomizer([[0.75, 0.25, 0], [0.25, 0.75, 0]])
    words = np.array([[0], [(1 << 64) - 1]], dtype=np.uint64)
    assert finite.respond([0, 0], words).tolist() == [0, 1]
    assert set(exact_distribution(finite, 0)) == {b"\0", b"\1"}
    assert set(finite.randomize([0, 1] * 500, rng=seeded(2)).tolist()) == {0, 1}


def test_variances_are_those_of_possible_shares() -> None:
    """Negative estimates put to 0, and the others left as they are, would add up to more than everybody."""
    survey = KaryResponse(epsilon=0.5, domain=12)
    finite = FiniteRandomizer.of(survey, range(12))
    reports = survey.randomize([0] * 3000, rng=seeded(4))
    claimed, known = finite.estimate(reports).variances, survey._variances(np.eye(12)[0], 3000)
    assert claimed.mean() == pytest.approx(known.mean(), rel=0.05)
    clipped = finite._spreads @ np.clip(finite.estimate(reports).values, 0, 1) / 3000
    assert clipped.mean() > 1.1 * known.mean()
