"""One odd row moves a sum as little as any other, and never makes a declared fit fail."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub.learn import LinearRegression, StandardScaler
from hubbub.learn.training.moments import Grid, unit_rows
from hubbub.terms import OutOfRange


def test_a_huge_row_over_a_small_norm_has_length_one() -> None:
    rows = unit_rows(np.array([[1e308, 0.0], [1e308, -1e308], [0.1, 0.1]]), 0.5, Grid(10))
    assert np.isfinite(rows).all()
    assert (np.einsum("ij,ij->i", rows, rows) <= 4**10).all()
    assert rows[0].tolist() == [1024, 0]


@pytest.mark.parametrize("odd", ["text", None, 10**400, float("nan"), float("-inf")])
def test_an_odd_target_counts_as_the_middle_where_rows_are_declared(odd: object) -> None:
    x = np.random.default_rng(1).uniform(-1, 1, (60, 2))
    y = np.array([*([0.5] * 59), odd], dtype=object)
    model = LinearRegression(epsilon=1, delta=1e-5, norm=1.0, target_bounds=(0, 1), rows=60)
    assert np.isfinite(model.fit(x, y).predict(x)).all()


def test_bounds_that_are_one_number_in_doubles_are_refused() -> None:
    with pytest.raises(OutOfRange, match="bounds is too small for a double"):
        StandardScaler(epsilon=1, delta=1e-5, bounds=(0, 5e-324)).fit(np.zeros((5, 1)))


def test_words_say_that_each_person_has_one_row() -> None:
    x = np.random.default_rng(1).uniform(0, 1, (50, 1))
    said = StandardScaler(epsilon=1, delta=1e-5, bounds=(0, 1), unit="people.id").fit(x).guarantee_.describe()
    assert "Each has one row." in said
