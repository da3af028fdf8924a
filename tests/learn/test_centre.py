"""CentreScaler: the contract, its mean, and rows that stay their own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hubbub.learn import CentreScaler, LogisticRegression, make_pipeline
from hubbub.learn.training.sampling import step_of

from .sums_contract import SumContract


class TestCentreScaler(SumContract):
    kind = CentreScaler
    standard = {"norm": 1.0}
    needed = ("norm",)
    method = "transform"


def test_without_noise_it_is_the_mean_of_clipped_rows() -> None:
    X = np.random.default_rng(1).normal(0.2, 0.3, (500, 6))
    fitted = CentreScaler(epsilon=1e8, delta=1e-5, norm=0.5).fit(X)
    short = X * np.minimum(1, 0.5 / np.linalg.norm(X, axis=1))[:, None]
    assert np.allclose(fitted.mean_, short.mean(axis=0), atol=1e-4)
    middle = X - fitted.mean_
    assert np.allclose(fitted.transform(X), middle / np.linalg.norm(middle, axis=1)[:, None])


def test_a_row_and_its_constant_move_the_sum_by_at_most_the_sensitivity() -> None:
    fitted = CentreScaler(epsilon=1, delta=1e-5, norm=1.0).fit(np.eye(4))
    assert Fraction(5, 4) <= step_of(fitted.event_).sensitivity ** 2 < Fraction(5, 4) * Fraction(1001, 1000)


@pytest.mark.parametrize("columns", [3, 64, 1416])
def test_a_row_is_transformed_the_same_wherever_it_stands(columns: int) -> None:
    X = np.random.default_rng(2).uniform(0, 1, (600, columns))
    fitted = CentreScaler(epsilon=1, delta=1e-5, norm=columns**0.5).fit(X)
    together = fitted.transform(X)
    assert all(np.array_equal(together[i : i + 1], fitted.transform(X[i : i + 1])) for i in (0, 1, 255, 256, 599))
    assert np.array_equal(fitted.transform(X[::-1])[::-1], together)


def test_rows_have_length_one_whatever_their_size_and_the_mean_itself_has_none() -> None:
    fitted = CentreScaler(epsilon=1, delta=1e-5, norm=1.0).fit(np.eye(4))
    found = fitted.transform(np.array([[1e300] * 4, [1e-300, 0, 0, 0], fitted.mean_]))
    assert np.allclose(np.linalg.norm(found[:2], axis=1), 1) and not found[2].any()


def test_what_rows_have_in_common_costs_a_model_dearly_and_a_few_hundredths_of_the_budget_take_it_away() -> None:
    generator = np.random.default_rng(3)
    y = generator.integers(0, 3, 3000)
    X = np.hstack([np.ones((3000, 1)), 0.01 * np.eye(3)[y] + generator.normal(0, 0.003, (3000, 3))])
    norm = float(np.linalg.norm(X, axis=1).max())
    plain = LogisticRegression(epsilon=0.5, delta=1e-5, norm=norm)
    centred = make_pipeline(
        CentreScaler(norm=norm), LogisticRegression(norm=1.0), epsilon=0.5, delta=1e-5, shares=[1, 19]
    )
    # one fit in forty is lucky or unlucky enough to hide the difference; the median of five is not
    without, with_centre = (np.median([model.fit(X, y).score(X, y) for _ in range(5)]) for model in (plain, centred))
    assert with_centre > 0.8 and with_centre > without + 0.05
