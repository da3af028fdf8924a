"""Numbers that people type are exact; where they become doubles, one that doubles do not have is refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hubbub import learn
from hubbub.learn import solvers
from hubbub.learn.base.parameters import double_of
from hubbub.learn.torch import AdaptiveClip
from hubbub.learn.training.moments import Grid, unit_rows
from hubbub.ledger import Ledger
from hubbub.terms import Budget, HubbubError, OutOfRange

TINY, HUGE = Decimal("1e-400"), Decimal("1e400")
SMALL, LARGE = 1e-200, 1e200  # whose squares are 0 and infinite
X = np.random.default_rng(1).uniform(-1, 1, (40, 2))
Y = np.arange(40) % 2
ESTIMATORS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "LogisticRegression": (learn.LogisticRegression, {"norm": 1.0, "classes": [0, 1], "max_iter": 2}),
    "LinearSVC": (learn.LinearSVC, {"norm": 1.0, "classes": [0, 1], "max_iter": 2}),
    "MLPClassifier": (learn.MLPClassifier, {"norm": 1.0, "classes": [0, 1], "max_iter": 2}),
    "MLPRegressor": (learn.MLPRegressor, {"norm": 1.0, "target_bounds": (0, 1), "max_iter": 2}),
    "BipartiteRanker": (learn.BipartiteRanker, {"norm": 1.0, "classes": [0, 1], "max_iter": 2}),
    "MetricLearner": (learn.MetricLearner, {"norm": 1.0, "classes": [0, 1], "max_iter": 2}),
    "LinearRegression": (learn.LinearRegression, {"norm": 1.0, "target_bounds": (0, 1)}),
    "Ridge": (learn.Ridge, {"norm": 1.0, "target_bounds": (0, 1)}),
    "PCA": (learn.PCA, {"norm": 1.0}),
    "CentreScaler": (learn.CentreScaler, {"norm": 1.0}),
    "StandardScaler": (learn.StandardScaler, {"bounds": (0, 1)}),
    "KMeans": (learn.KMeans, {"bounds": (0, 1)}),
    "GaussianNB": (learn.GaussianNB, {"bounds": (0, 1), "classes": [0, 1]}),
    "AdditiveTreesRegressor": (learn.AdditiveTreesRegressor, {"bounds": (0, 1), "target_bounds": (0, 1), "rounds": 2}),
}
NUMBERS = {
    "epsilon": (TINY, HUGE),
    "delta": (TINY,),
    "norm": (TINY, HUGE, SMALL, LARGE),
    "clip": (TINY, HUGE, SMALL, LARGE),
    "learning_rate": (TINY, HUGE),
    "alpha": (TINY, HUGE),
    "bounds": ((0, TINY), (TINY, 1), (-HUGE, 1), (0, HUGE), [(0, 1), (0, HUGE)]),
    "target_bounds": ((0, TINY), (TINY, 1), (-HUGE, 1), (0, HUGE)),
    "bins": ([[0, TINY], [0, 1]], [[0, HUGE], [0, 1]]),
}
WITHIN = {
    "norm": (1e-150, 1e150),
    "clip": (1e-150,),
    "learning_rate": (1e-150,),
    "alpha": (0, 1e-150, 1e150),
    "bounds": ((-1e150, 1e150), (0, 1e-150)),
    "target_bounds": ((-1e150, 1e150), (0, 1e-150)),
}


def cases(numbers: dict[str, Any]) -> list[tuple[str, str, Any]]:
    found = []
    for name, (kind, settings) in ESTIMATORS.items():
        parameters = kind(**settings).get_params()
        found += [(name, key, value) for key, values in numbers.items() if key in parameters for value in values]
    return found


@pytest.mark.parametrize(("name", "key", "value"), cases(NUMBERS))
def test_a_number_that_is_no_double_is_refused_before_a_charge(name: str, key: str, value: Any, tmp_path: Path) -> None:
    kind, settings = ESTIMATORS[name]
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as ledger:
        ledger.open_population("people", Budget(9, 1e-3), plans=Budget(9, 1e-3), by="board", why="a test")
        with pytest.raises(HubbubError):
            kind(**{"epsilon": 1, "delta": 1e-6, "account": ledger, **settings, key: value}).fit(X, Y)
        assert not [entry for entry in ledger.log() if entry.fields()["kind"] == "charge"]


@pytest.mark.parametrize(("name", "key", "value"), cases(WITHIN))
def test_the_smallest_and_the_largest_number_are_fitted_with(name: str, key: str, value: Any) -> None:
    kind, settings = ESTIMATORS[name]
    kind(**{"epsilon": 1, "delta": 1e-6, "rows": 40, **settings, key: value}).fit(X, Y)


def test_a_norm_that_is_zero_in_doubles_would_have_no_sensitivity() -> None:
    """Why: integers of rows that are divided by 0 are any numbers."""
    with np.errstate(all="ignore"):
        assert np.isnan(unit_rows(np.array([[0.0, 1.0]]), 0.0, Grid(20))).all()
    smallest = unit_rows(np.array([[0.0, 1.0], [5e-324, 0.0]]), 5e-324, Grid(20)).astype(np.int64)
    assert (np.einsum("ij,ij->i", smallest, smallest) <= 1 << 40).all()


@pytest.mark.parametrize("value", [TINY, HUGE, Decimal("1e-200"), Decimal("1e200")])
def test_solvers_and_networks_refuse_it_too(value: Decimal) -> None:
    price: dict[str, Any] = {"epsilon": 1, "delta": 1e-5}
    signs = 2 * Y - 1
    for asked in (
        lambda: solvers.output_perturbation(X, signs, l2=value, norm=1, **price),
        lambda: solvers.output_perturbation(X, signs, l2=1, norm=value, **price),
        lambda: solvers.objective_perturbation(X, signs, l2=value, norm=1, **price),
        lambda: solvers.objective_perturbation(X, signs, norm=1, epsilon=value, delta=1e-5),
        lambda: solvers.gradient_descent(X, signs, domain=solvers.Ball(1), steps=2, l2=value, norm=1, **price),
        lambda: solvers.Ball(value),  # type: ignore[arg-type]
        lambda: AdaptiveClip(start=value),  # type: ignore[arg-type]
        lambda: learn.cross_val_score(learn.LogisticRegression(norm=1.0), X, Y, epsilon=value, delta=1e-5),
    ):
        with pytest.raises(HubbubError):
            asked()


def test_the_refusal_says_which_number_and_which_way() -> None:
    for number, way in ((Fraction(TINY), "small"), (Fraction(HUGE), "large"), (-Fraction(HUGE), "large")):
        with pytest.raises(OutOfRange, match=f"clip is too {way} for a double"):
            double_of(number, name="clip")
    within = ("0", "1e-150", "-1e150")
    assert [double_of(Fraction(each), name="clip") for each in within] == [0, 1e-150, -1e150]
