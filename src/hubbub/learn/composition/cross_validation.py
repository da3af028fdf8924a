"""Cross-validation that is paid for."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hubbub import noise
from hubbub.learn.base.inputs import private_table
from hubbub.learn.base.jobs import FitJob, job_facts, release_fit
from hubbub.learn.base.parameters import account_of, exact_price
from hubbub.learn.base.private_estimator import PrivateClassifier, PrivateEstimator
from hubbub.learn.base.shapes import check_target, need_target, shape_of, with_width
from hubbub.learn.base.targets import column_of, labels_of
from hubbub.learn.composition.delegation import answers_alone
from hubbub.learn.composition.stages import Stage, check_stage, epsilon_for, largest_affordable, stage_of
from hubbub.learn.training.moments import Grid, Integers, noisy_sum
from hubbub.learn.training.network import Floats, Labels
from hubbub.ledger import Account, AccountLike
from hubbub.terms import (
    Compose,
    GaussianNoise,
    MissingParameter,
    Neighbours,
    NotANumber,
    Real,
    Repeat,
    Unit,
    root_of,
    whole,
)

_GRID = Grid(16)
_FOR_SCORES = Fraction(1, 10)  # of the squared budget


@dataclass(frozen=True, slots=True)
class Folds:
    """A cross-validation whose every decision is made."""

    stage: Stage
    scoring: GaussianNoise
    event: Repeat
    count: int

    def scores(self, X: ArrayLike, y: ArrayLike) -> Floats:
        """The noisy accuracy in each fold."""
        table, labels = private_table(X), column_of(y)
        folds = noise.uniform(self.count, len(table))  # each row by itself: a fold does not depend on other rows
        right = np.zeros(len(table), dtype=bool)
        for fold in range(self.count):
            held = folds == fold
            fitted = self.stage.fitted(self.stage.release(table[~held], labels[~held]))
            answers = labels_of(answers_alone(fitted, table[held]), fitted.classes_)  # -1 where there is none
            right[held] = (answers == labels_of(labels[held], fitted.classes_)) & (answers >= 0)
        sums = noisy_sum(fold_sums(right, folds, self.count), self.scoring)
        return np.clip(sums[: self.count] / np.maximum(sums[self.count :], 1.0), 0, 1)


def fold_sums(right: np.ndarray[Any, np.dtype[np.bool_]], folds: Labels, count: int) -> Integers:
    """How many rows of each fold are predicted rightly, and how many there are, in steps of 4^-bits.

    Guarantee: adding or removing a row moves them by at most sqrt(2) in L2.
    Because: a row is in one fold; ``docs/proofs/moments.md``, sums of integers [CKS20].
    """
    sums = [np.bincount(folds, weights=weights, minlength=count) for weights in (right.astype(float), None)]
    return np.concatenate(sums).astype(np.int64) * _GRID.unit


def cross_val_score(
    estimator: PrivateEstimator,
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: Real | None = None,
    delta: Real | None = None,
    cv: int = 5,
    neighbours: Neighbours | str = "add-remove",
    unit: str = "",
    account: AccountLike | None = None,
    population: str | None = None,
    dataset: str | None = None,
) -> Floats:
    """The noisy accuracy of a classifier in each of ``cv`` folds; it is never free.

    Each fold trains a model that sees the rows of the others, and asks the held rows one by one. All models and all
    scores are paid for by one price. ``estimator`` has none of its own.

    Guarantee: the scores are (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: ``cv`` fits and one Gaussian release of counts, accounted together [ZDW22, Thm. 10]; a row's fold is drawn
    by itself, so neighbours differ in one fold.
    Error: with m rows in a fold a score is off by about sigma/m, with sigma of the last event.
    Not covered: running time; the number of rows, which counts as public.
    """
    if epsilon is None or delta is None:
        raise MissingParameter(
            "cross_val_score needs epsilon and delta.",
            why="Every fold trains on private rows and every score looks at some: none of it is free.",
            fix="Write cross_val_score(..., epsilon=1, delta=1e-6).",
        )
    check_stage(estimator, whole="cross-validation")
    if not isinstance(estimator, PrivateClassifier):
        raise NotANumber(
            f"{type(estimator).__name__} is no classifier.",
            why="Scores are shares of rows that are predicted rightly.",
            fix="Use public rows for the score of a regressor.",
        )
    table = with_width(X, estimator._declared_width())
    paying = account_of(account, population)
    price = exact_price(epsilon, delta)
    plan = _plan_folds(
        estimator, table, y, paying, price, Neighbours.parse(neighbours), Unit(unit), whole(cv, name="cv", least=2)
    )
    facts = job_facts(
        plan.event,
        delta=price[1],
        size=plan.count,
        dataset=dataset,
        job="cross-validate",
        identity={"stage": plan.stage.identity, "cv": plan.count},
        title="cross-validate",
    )
    return release_fit(FitJob(facts, lambda: plan.scores(table, y)), paying)[0]


def _plan_folds(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    account: Account | None,
    price: tuple[Fraction, Fraction],
    relation: Neighbours,
    unit: Unit,
    count: int,
) -> Folds:
    """The largest share for each fit with which everything together keeps the promise."""
    rows, columns = shape_of(X)
    need_target(y)
    check_target(y, rows)
    shared = {"neighbours": relation, "unit": unit.path, "rows": max(1, rows * (count - 1) // count)}
    apart = 2 if relation is Neighbours.REPLACE else 1

    def planned(budget: float) -> Folds:
        each = epsilon_for(price[1], budget * float((1 - _FOR_SCORES) / count) ** 0.5)
        stage = stage_of(estimator, (rows, columns), y, account, epsilon=each, delta=price[1], shared=shared)
        sensitivity = root_of(2)
        scoring = GaussianNoise(
            sigma=-(-sensitivity * apart / Fraction(budget * float(_FOR_SCORES) ** 0.5) // _GRID.step) * _GRID.step,
            sensitivity=sensitivity,
            grid=_GRID.step,
            dimension=2 * count,
            mechanism="fold-scores",
            unit=unit,
        )
        return Folds(stage, scoring, Repeat(Compose((Repeat(stage.event, count), scoring)), 1), count)

    return largest_affordable(planned, price, relation, fits=count)
