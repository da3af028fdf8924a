"""Estimators from noisy sums on Adult, with default settings: regression, additive trees, margins, clusters."""

from __future__ import annotations

import bisect
import statistics
from collections.abc import Callable

import numpy as np
from sklearn import cluster

from bench.learn.data import CATEGORIES, DELTA, NORM, adult, codes, persons_of, there
from bench.rows import Row
from hubbub.learn import AdditiveTreesClassifier, KMeans, LinearRegression, LinearSVC
from hubbub.learn.training.network import Floats

# Beside the 99 categories, 17 bins of gains, losses and hours: 116 features of which none is an age.
FEW = {10: (1, 3000, 6000, 10_000), 11: (1, 1500, 1900, 2250), 12: (15, 30, 40, 41, 50, 60)}


def rows(quick: bool) -> list[Row]:
    """Every figure asked for."""
    if not there():
        return []
    seeds = 3 if quick else 5
    return [*_regression(seeds), *_classifiers(seeds), *_clusters(seeds)]


def _row(name: str, value: Callable[[], float], seeds: int, target: float, better: str, note: str) -> Row:
    found = [value() for _ in range(seeds)]
    told = f"median of {seeds} runs, {min(found):.4f} to {max(found):.4f}; {note}"
    return Row(name, statistics.median(found), "", target, better, told)


# ---------------------------------------------------------------- regression


def ages(part: str) -> tuple[Floats, Floats]:
    """116 features from public lists alone, and the age."""
    persons = persons_of(part)
    groups = [np.eye(len(b) + 1)[[bisect.bisect_right(b, float(p[j])) for p in persons]] for j, b in FEW.items()]
    for j, names in CATEGORIES.items():
        places = {name: i for i, name in enumerate(names.split())}
        groups.append(np.eye(len(places) + 1)[[places.get(p[j], len(places)) for p in persons]][:, :-1])
    return np.hstack(groups), np.array([float(p[0]) for p in persons])


def _regression(seeds: int) -> list[Row]:
    (people, age), (test, truth) = ages("train"), ages("test")
    plain = np.linalg.lstsq(np.column_stack([people, np.ones(len(people))]), age, rcond=None)[0]
    left = truth - np.column_stack([test, np.ones(len(test))]) @ plain
    best = 1 - float(np.mean(left**2) / np.var(truth))
    norm = (len(FEW) + len(CATEGORIES)) ** 0.5

    def gap(epsilon: float) -> Callable[[], float]:
        model = LinearRegression(epsilon=epsilon, delta=DELTA, norm=norm, target_bounds=(10, 100))
        return lambda: best - model.fit(people, age).score(test, truth)

    note = f"least squares without privacy {best:.4f}"
    return [
        _row("Adult age, 116 features, epsilon 1: R^2 that LinearRegression loses", gap(1), seeds, 0.15, "lower", note),
        _row("Adult age, 116 features, epsilon 0.1: R^2 that it loses", gap(0.1), seeds, 0.5, "lower", note),
    ]


# ---------------------------------------------------------------- classes


def _classifiers(seeds: int) -> list[Row]:
    (one_hot, y), (test_one_hot, truth) = adult("train"), adult("test")
    (people, bins, bounds), (test, _, _) = codes("train"), codes("test")

    def trees(epsilon: float) -> Callable[[], float]:
        model = AdditiveTreesClassifier(epsilon=epsilon, delta=DELTA, bounds=bounds, bins=bins)
        return lambda: model.fit(people, y).score(test, truth)

    def margins(epsilon: float) -> Callable[[], float]:
        model = LinearSVC(epsilon=epsilon, delta=DELTA, norm=NORM)
        return lambda: model.fit(one_hot, y).score(test_one_hot, truth)

    note = "delta 1e-5, default settings"
    return [
        _row("Adult, epsilon 1: AdditiveTreesClassifier, test accuracy", trees(1), seeds, 0.853, "higher", note),
        _row("Adult, epsilon 0.1: AdditiveTreesClassifier, test accuracy", trees(0.1), seeds, 0.838, "higher", note),
        _row("Adult, epsilon 1: LinearSVC, test accuracy", margins(1), seeds, 0.853, "higher", note),
        _row("Adult, epsilon 0.1: LinearSVC, test accuracy", margins(0.1), seeds, 0.838, "higher", note),
    ]


# ---------------------------------------------------------------- clusters


def _clusters(seeds: int) -> list[Row]:
    table = np.array([[float(p[0]) / 73, float(p[4]) / 15, float(p[12]) / 98] for p in persons_of("train")])
    lower = np.array([17 / 73, 1 / 15, 1 / 98])
    places = table - lower  # age, years of school and hours of work between 0 and 1

    def inertia(epsilon: float) -> Callable[[], float]:
        model = KMeans(8, epsilon=epsilon, delta=DELTA, bounds=(0, 1))
        return lambda: -model.fit(places).score(places)

    plain = cluster.KMeans(8, n_init=3, random_state=0).fit(places).inertia_
    note = f"scikit-learn without privacy {plain:.0f}"
    return [_row("Adult, three columns, epsilon 1: inertia of KMeans(8)", inertia(1), seeds, 800, "lower", note)]
