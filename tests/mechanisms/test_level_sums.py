"""Levels of a table, reconciled: against the pseudo-inverse of the whole matrix, and cell by cell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import reduce

import numpy as np
import pytest

from hubbub.mechanisms.workload import LevelSums, level_shares, whole_levels

Subset = frozenset[int]

SHAPE = (3, 4, 2)
ROLLUP = [frozenset(range(size)) for size in (3, 2, 1, 0)]
CUBE = [frozenset(s) for size in range(4) for s in itertools.combinations(range(3), size)]
SETS = [frozenset({0, 1}), frozenset({1, 2}), frozenset({0})]
LEVELS = {"rollup": ROLLUP, "cube": CUBE, "sets": SETS}


def matrix_of(level: Subset) -> np.ndarray:
    """The sums of a level as rows over all cells."""
    parts = [np.eye(cells) if axis in level else np.ones((1, cells)) for axis, cells in enumerate(SHAPE)]
    return reduce(np.kron, parts)


def reconciled(levels: Sequence[Subset]) -> tuple[LevelSums, dict[Subset, float], np.ndarray]:
    """Levels with noise of several variances, and the least-squares table as a matrix over what is measured."""
    variances = {level: 1.0 + place for place, level in enumerate(levels)}
    weighed = np.vstack([matrix_of(level) / math.sqrt(variances[level]) for level in levels])
    scales = np.concatenate([np.full(len(matrix_of(level)), 1 / math.sqrt(variances[level])) for level in levels])
    return LevelSums(SHAPE, told=levels, variances=variances), variances, np.linalg.pinv(weighed) * scales


@pytest.mark.parametrize("name", LEVELS)
def test_estimates_are_those_of_least_squares(name: str) -> None:
    table, variances, solved = reconciled(LEVELS[name])
    generator = np.random.default_rng(5)
    measured = {level: generator.normal(size=len(matrix_of(level))) for level in variances}
    cells = solved @ np.concatenate(list(measured.values()))
    for level, estimate in zip(table.told, table.estimates(measured), strict=True):
        assert estimate == pytest.approx(matrix_of(level) @ cells, abs=1e-5)


@pytest.mark.parametrize("name", LEVELS)
def test_terms_are_the_weights_of_all_draws(name: str) -> None:
    table, variances, solved = reconciled(LEVELS[name])
    sizes = np.cumsum([len(matrix_of(level)) for level in variances])[:-1]
    for level in table.told:
        terms = table.terms(level)
        for row in matrix_of(level) @ solved:  # every cell of a level has the same weights, each at another place
            for measured, weights in zip(variances, np.split(row, sizes), strict=True):
                mine = [(t.weight, t.draws) for t in terms if t.level == measured]
                listed = np.repeat([weight for weight, _ in mine], [draws for _, draws in mine])
                assert np.sort(listed) == pytest.approx(np.sort(weights), abs=1e-5)


def test_a_level_that_is_not_measured_is_told_from_others() -> None:
    table = LevelSums((2, 2), told=[frozenset({0}), frozenset()], variances={frozenset({0, 1}): 1.0})
    assert [each.tolist() for each in table.estimates({frozenset({0, 1}): [1, 2, 3, 4]})] == [[3.0, 7.0], [10.0]]
    [term] = table.terms(frozenset())
    assert (term.weight, term.draws) == (pytest.approx(1), 4)


# ---------------------------------------------------------------- shares of the price


def typical(shape: tuple[int, ...], shares: Sequence[int], *, pure: bool) -> float:
    """The geometric mean of the errors of a ROLLUP, in units of the finest level's at the whole price."""
    levels = [frozenset(range(size)) for size in range(len(shape), -1, -1)]
    parts = {level: share / sum(shares) for level, share in zip(levels, shares, strict=True) if share}
    variances = {level: part**-2 if pure else 1 / part for level, part in parts.items()}
    table = LevelSums(shape, told=levels, variances=variances)
    squares = [sum(t.draws * t.weight**2 * variances[t.level] for t in table.terms(level)) for level in levels]
    return math.prod(squares) ** (0.5 / len(levels))


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("shape", [(3,), (50,), (5000,), (4, 5), (10, 100)])
def test_shares_are_better_than_equal_ones_and_than_sums_alone(shape: tuple[int, ...], pure: bool) -> None:
    levels = [frozenset(range(size)) for size in range(len(shape), -1, -1)]
    shares = level_shares(shape, levels, lambda level, share: share**-2 if pure else 1 / share)
    best = typical(shape, shares, pure=pure)
    assert best <= 1.001 * typical(shape, [1] * len(levels), pure=pure)
    assert best <= 1.09 * typical(shape, [1] + [0] * (len(levels) - 1), pure=pure)  # the plan compares it itself


def test_few_groups_are_measured_alone_and_many_share() -> None:
    levels = [frozenset({0}), frozenset()]
    assert level_shares((3,), levels, lambda level, share: share**-2) == [1, 0]
    assert level_shares((500,), levels, lambda level, share: share**-2) == [1, 1]


# ---------------------------------------------------------------- whole numbers


@pytest.mark.parametrize("told", [ROLLUP, [ROLLUP[1], ROLLUP[3], ROLLUP[0]], [frozenset({1, 2}), frozenset({2})]])
def test_nested_levels_stay_sums_of_each_other_as_whole_numbers(told: list[Subset]) -> None:
    generator = np.random.default_rng(3)
    for _ in range(50):
        cells = generator.normal(scale=20, size=math.prod(SHAPE))
        estimates = [matrix_of(level) @ cells for level in told]
        rounded = whole_levels(SHAPE, told, estimates)
        for estimate, level in zip(estimates, rounded, strict=True):
            assert np.abs(estimate - level).max() < 1
        for (coarse, sums), (fine, parts) in itertools.permutations(zip(told, rounded, strict=True), 2):
            if coarse < fine:
                table = parts.reshape([SHAPE[axis] for axis in sorted(fine)])
                added = tuple(place for place, axis in enumerate(sorted(fine)) if axis not in coarse)
                assert (table.sum(axis=added).ravel() == sums).all()


def test_levels_that_are_not_nested_are_rounded_to_the_nearest() -> None:
    told = [frozenset({0}), frozenset({1})]
    rounded = whole_levels((2, 2), told, [np.array([1.4, 2.6]), np.array([-0.6, 4.4])])
    assert [level.tolist() for level in rounded] == [[1, 3], [-1, 4]]
