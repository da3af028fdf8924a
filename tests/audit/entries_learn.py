"""Estimators and solvers: fitted again and again on data with and without one person.

An estimator is made from its signature with the public facts below, so that a new one is audited without being named
here; what needs more than that has a line in ``MADE``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from hubbub import learn
from hubbub.learn import solvers

from ._entries import Entry

X = np.array([[0.5, 0.1], [0.2, -0.3], [-0.4, 0.3], [0.1, 0.5]] * 3)
Y = np.array([-1, 1, -1, 1] * 3)
ONE, NOBODY = (np.array([1.0, 0.0]), 1), (np.zeros(2), 1)  # to a linear model without intercept, zeros are nobody
DELTA = 0.01
BALL = solvers.Ball(2.0)
PUBLIC = {"norm": 1.0, "bounds": (-1, 1), "target_bounds": (-1, 1), "classes": (-1, 1), "rows": 12}
MADE: dict[str, dict[str, Any]] = {  # what makes it quick, or is asked for beside the public facts
    "AdditiveTreesClassifier": {"rounds": 2, "bins": 2},
    "AdditiveTreesRegressor": {"rounds": 2, "bins": 2},
    "BipartiteRanker": {"max_iter": 3},
    "KMeans": {"n_clusters": 2, "max_iter": 1},
    "LinearSVC": {"max_iter": 3},
    "LogisticRegression": {"max_iter": 3},
    "MLPClassifier": {"max_iter": 2, "hidden_layer_sizes": (2,)},
    "MLPRegressor": {"max_iter": 2, "hidden_layer_sizes": (2,)},
    "MetricLearner": {"max_iter": 3},
    "PATEClassifier": {"public": X[:4], "teachers": 3, "answers": 4, "queries": 4},
}
SOLVERS: dict[str, dict[str, Any]] = {
    "gradient_descent": {"domain": BALL, "steps": 3},
    "projected_sgd": {"domain": BALL, "steps": 3},
    "output_perturbation": {"l2": 0.5},
    "objective_perturbation": {"l2": 0.5},
}


def public() -> list[str]:
    """All estimators, and all functions that fit."""
    estimators = [name for name in learn.__all__ if hasattr(getattr(learn, name), "fit")]
    return [*estimators, *(name for name in solvers.__all__ if name.endswith(("descent", "sgd", "perturbation")))]


def _estimator(name: str, price: dict[str, Any]) -> Any:
    kind = getattr(learn, name)
    if name == "Pipeline":
        parts = [_estimator("StandardScaler", {}), _estimator("LogisticRegression", {})]
        return kind(parts, **price, rows=12)
    if name == "PrivateSearch":
        ridge = _estimator("Ridge", {})
        return kind(ridge, [{"alpha": 1}], validation=(X, Y), trials=2, rows=12, **price)
    takes = inspect.signature(kind).parameters
    return kind(**{k: v for k, v in PUBLIC.items() if k in takes}, **MADE.get(name, {}), **price)


def _fit(name: str, price: dict[str, Any]) -> Callable[[Any, Any], Any]:
    if name in SOLVERS:
        solve, more = getattr(solvers, name), SOLVERS[name]
        return lambda x, y: solve(x, y, norm=1.0, **price, **more).weights
    return lambda x, y: _learned(_estimator(name, price).fit(x, y))


def _learned(fitted: Any) -> Any:
    """All numbers that an estimator has learned, in one vector; of a pipeline, those of its last step."""
    last = fitted.steps_[-1] if hasattr(fitted, "steps_") else getattr(fitted, "best_estimator_", fitted)
    known = [value for name, value in sorted(vars(last).items()) if name.endswith("_")]
    parts = [np.ravel(part) for value in known for part in (value if isinstance(value, list | tuple) else [value])]
    return np.concatenate([part for part in parts if part.dtype.kind == "f"])


def entry(name: str, *, epsilon: float = 6.0, claim: float = 6.0) -> Entry:
    """A fit that costs ``epsilon`` and claims ``claim``."""
    fit = _fit(name, {"epsilon": epsilon, "delta": DELTA})

    def draw(people: Any, size: int) -> Any:
        x, y = np.vstack([X, *(row for row, _ in people)]), np.array([*Y, *(label for _, label in people)])
        return [fit(x, y) for _ in range(size)]

    return Entry(
        name=f"learn {name}",
        covers=name,
        draw=draw,
        a=(NOBODY,) if name in SOLVERS else (),  # there the number of rows is public
        b=(ONE,),
        epsilon=claim,
        delta=DELTA,
        trials=300,
    )


ENTRIES = [entry(name) for name in public()]
