"""Ranges and quantiles: least squares checked by hand, exact variances, coverage, and what consistency is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hubbub.local import KaryResponse, OneBitHadamard, ProjectiveGeometry, Ranges
from hubbub.local.randomizers.base import FrequencyRandomizer
from hubbub.local.statistics.interval_tree import Forest, Haar
from hubbub.local.statistics.one_level_reports import report_scores
from hubbub.noise.testing import seeded
from hubbub.terms import BadReport, EmptyInput, OutOfRange, PureStep, TooLarge

from ._statistics import covered, covers_95, off_by, variance_fits

RNG = np.random.default_rng(2)
VALUES = np.random.default_rng(4).beta(2, 5, 6000)
RANGES = ((0.0, 0.25), (0.125, 0.5), (0.0, 0.75))


def share(low: float, high: float, cells: int = 64) -> float:
    codes = np.minimum((VALUES * cells).astype(int), cells - 1)
    return float(np.mean((codes >= low * cells) & (codes < high * cells)))


def nodes_of(leaves: Any, branching: int, depth: int) -> list[Any]:
    return [leaves.reshape(branching**level, -1).sum(axis=1) for level in range(1, depth + 1)]


# ---------------------------------------------------------------- the arithmetic


def test_consistent_leaves_are_weighted_least_squares() -> None:
    variances = (0.5, 1.0, 3.0)
    measured = [RNG.normal(size=2**level) for level in (1, 2, 3)]
    rows, wanted = [], []
    for level, told in enumerate(measured):
        for node, value in enumerate(told):
            row = np.zeros(8)
            row[node * 2 ** (2 - level) : (node + 1) * 2 ** (2 - level)] = 1
            rows.append(row / np.sqrt(variances[level]))
            wanted.append(value / np.sqrt(variances[level]))
    rows.append(np.full(8, 1e6))  # the whole is 1
    wanted.append(1e6)
    best = np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0]
    assert Forest(2, variances, 8).leaves(measured) == pytest.approx(best, abs=1e-6)


def test_what_lies_beyond_the_cells_is_known_to_be_empty() -> None:
    variances = (0.5, 1.0, 3.0)
    measured = [RNG.normal(size=2**level) for level in (1, 2, 3)]
    rows, wanted = [np.full(8, 1e6)], [1e6]
    for level, told in enumerate(measured):
        for node, value in enumerate(told):
            width = 2 ** (2 - level)
            if node * width < 5:
                row = np.zeros(8)
                row[node * width : (node + 1) * width] = 1
                rows.append(row / np.sqrt(variances[level]))
                wanted.append(value / np.sqrt(variances[level]))
    best = np.linalg.lstsq(np.array(rows)[:, :5], np.array(wanted), rcond=None)[0]
    found = Forest(2, variances, 5).leaves(measured)
    assert found[:5] == pytest.approx(best, abs=1e-6)
    assert not found[5:].any()


@pytest.mark.parametrize(
    "shape", [Forest(3, (1.0, 2.0, 0.5), 27), Forest(3, (1.0, 2.0, 0.5), 16), Haar(4, 16), Haar(4, 11)]
)
def test_weights_are_those_of_the_leaves(shape: Any) -> None:
    sizes = [3, 9, 27] if isinstance(shape, Forest) else [1, 2, 4, 8]
    told = [RNG.normal(size=size) for size in sizes]
    cells = shape.leaves(told)
    question = RNG.normal(size=cells.size)
    weights = shape.weights(question)
    nothing = question @ shape.leaves([np.zeros_like(level) for level in told])
    direct = sum(float(w[: level.size] @ level) for w, level in zip(weights, told, strict=True))
    assert question @ cells == pytest.approx(nothing + direct)


def test_a_consistent_tree_is_left_alone() -> None:
    leaves = RNG.dirichlet(np.ones(27))
    assert Forest(3, (1.0, 2.0, 0.5), 27).leaves(nodes_of(leaves, 3, 3)) == pytest.approx(leaves)
    halves = RNG.dirichlet(np.ones(16))
    differences = [level[0::2] - level[1::2] for level in nodes_of(halves, 2, 4)]
    assert Haar(4, 16).leaves(differences) == pytest.approx(halves)


@pytest.mark.parametrize(
    "randomizer",
    [
        KaryResponse(epsilon=1, domain=7),
        OneBitHadamard(epsilon=1, domain=13),
        ProjectiveGeometry(epsilon=2, domain=30),
    ],
    ids=lambda made: made.protocol,
)
def test_the_mean_score_is_the_estimate(randomizer: FrequencyRandomizer) -> None:
    state = randomizer.accumulate(randomizer.randomize(RNG.integers(0, randomizer.domain, 500), rng=seeded(1)))
    weights = RNG.normal(size=randomizer.domain)
    told = float(state @ report_scores(randomizer, weights)) / 500
    assert told == pytest.approx(float(weights @ randomizer.decode(state, count=500).values), abs=1e-9)


# ---------------------------------------------------------------- the estimate


@pytest.mark.parametrize(
    ("method", "branching", "epsilon"), [("tree", 4, 1), ("tree", 3, 2), ("tree", 2, 3), ("haar", 2, 1)]
)
def test_ranges_are_unbiased_with_exact_variances(method: str, branching: int, epsilon: int, soak: int) -> None:
    ranges = Ranges(epsilon=epsilon, cells=64, lower=0, upper=1, method=method, branching=branching)
    found = [ranges.estimate(ranges.randomize(VALUES, rng=seeded(s))) for s in range(80 * soak)]
    for low, high in RANGES:
        told = [curve.share(low, high) for curve in found]
        assert off_by(told, share(low, high)) < 5
        assert variance_fits(told, float(np.mean([curve.variance(low, high) for curve in found[:20]])), slack=0.1)
    intervals = [curve.interval(*RANGES[1]) for curve in found]
    assert covers_95(intervals, share(*RANGES[1]))
    narrow = [((2 * low + high) / 3, (low + 2 * high) / 3) for low, high in intervals]
    assert covered(narrow, share(*RANGES[1])) < 0.75


def test_the_consistency_step_lowers_the_error() -> None:
    ranges = Ranges(epsilon=1, cells=64, lower=0, upper=1, method="tree", branching=4)
    truth = np.cumsum([share(i / 64, (i + 1) / 64) for i in range(64)])
    raw, better = [], []
    for seed in range(25):
        states = ranges.levels.states(ranges.randomize(VALUES, rng=seeded(seed)))
        raw.append(np.mean((np.cumsum(ranges.levels.shares(states)[-1]) - truth) ** 2))
        better.append(np.mean((np.cumsum(ranges.decode(states).cells) - truth) ** 2))
    assert np.mean(better) < 0.5 * np.mean(raw)


@pytest.mark.parametrize("method", ["tree", "haar"])
def test_the_predicted_error_is_near_what_comes_out(method: str, soak: int) -> None:
    ranges = Ranges(epsilon=1, cells=64, lower=0, upper=1, method=method)
    even = (np.arange(4000) + 0.5) / 4000
    truth = np.cumsum(np.bincount((even * 64).astype(int), minlength=64)) / 4000
    errors = [
        np.mean((np.cumsum(ranges.estimate(ranges.randomize(even, rng=seeded(s))).cells) - truth) ** 2)
        for s in range(80 * soak)
    ]
    assert np.mean(errors) == pytest.approx(ranges.predicted(4000), rel=0.35)


def test_the_better_method_is_taken() -> None:
    for epsilon in (0.5, 1, 4):
        chosen = Ranges(epsilon=epsilon, cells=256, lower=0, upper=1)
        both = [Ranges(epsilon=epsilon, cells=256, lower=0, upper=1, method=m) for m in ("tree", "haar")]
        assert chosen.predicted(1000) == min(one.predicted(1000) for one in both)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_quantile_intervals_hold_the_quantile(level: float, soak: int) -> None:
    ranges = Ranges(epsilon=2, cells=64, lower=0, upper=1)
    end = np.ceil(np.quantile(VALUES, level) * 64) / 64  # of the cell that the quantile lies in
    held = []
    for seed in range(25 * soak):
        curve = ranges.estimate(ranges.randomize(VALUES, rng=seeded(seed)))
        low, high = curve.quantile_interval(level)
        held.append(low < end <= high + 1e-12)
        assert low <= curve.quantile(level) <= high
    assert np.mean(held) > 0.85


def test_the_curve_that_quantiles_are_read_from_rises_to_one() -> None:
    ranges = Ranges(epsilon=0.5, cells=64, lower=0, upper=1)
    curve = ranges.estimate(ranges.randomize(VALUES[:500], rng=seeded(3)))
    assert np.all(np.diff(curve.rising) >= 0)
    assert (curve.rising[0] >= 0, curve.rising[-1]) == (True, 1)
    assert np.any(curve.cells < 0)  # the cells themselves are left as they are
    assert curve.share(0, 1) == pytest.approx(1)


def test_any_number_of_cells_and_any_bounds_will_do() -> None:
    ages = Ranges(epsilon=4, cells=100, lower=-50, upper=150)
    curve = ages.estimate(ages.randomize(np.full(20_000, 37.0), rng=seeded(1)))
    assert curve.share(36, 38) == pytest.approx(1, abs=0.05)
    assert curve.share(-50, 150) == pytest.approx(1)  # 100 cells are no power of anything
    assert curve.variance(-50, 150) == pytest.approx(0, abs=1e-12)
    assert curve.quantile(0.5) == 38  # the end of its cell
    odd = ages.randomize([np.nan, np.inf, -np.inf, 1e300], rng=seeded(1))
    assert odd.shape == (4, 2)


def test_it_costs_one_report() -> None:
    for method in ("tree", "haar"):
        event = Ranges(epsilon=0.5, cells=16, lower=0, upper=1, method=method).event
        assert isinstance(event, PureStep)
        assert float(event.epsilon) == 0.5


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"cells": 1}, OutOfRange),
        ({"cells": 2**18}, TooLarge),
        ({"method": "trie"}, OutOfRange),
        ({"method": "haar", "branching": 4}, OutOfRange),
        ({"branching": 1}, OutOfRange),
        ({"upper": 0}, ValueError),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        Ranges(**{"epsilon": 1, "cells": 64, "lower": 0, "upper": 1, **options})  # type: ignore[arg-type]


def test_reports_of_another_kind_are_refused() -> None:
    ranges = Ranges(epsilon=1, cells=16, lower=0, upper=1)
    with pytest.raises(BadReport):
        ranges.estimate([[99, 0]])
    with pytest.raises(EmptyInput):
        ranges.estimate([])


def test_the_report_reads_and_draws() -> None:
    ranges = Ranges(epsilon=2, cells=32, lower=0, upper=1)
    curve = ranges.estimate(ranges.randomize(VALUES, rng=seeded(1)))
    assert "of the people lie below" in curve.text()
    assert "<svg" in curve.html()
    assert len(curve.to_json()["quantiles"]) == 5  # type: ignore[arg-type]
