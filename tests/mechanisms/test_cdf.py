from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hubbub.mechanisms import NoisyCDF
from hubbub.mechanisms.common.additive import draw_noise
from hubbub.mechanisms.common.ary_tree import AryTree, choose_tree, consistent_cells, node_sums, rank_moment
from hubbub.mechanisms.common.noise_combinations import critical_value, variance_of
from hubbub.mechanisms.common.noisy_curve import NoisyCurve
from hubbub.noise.testing import seeded
from hubbub.terms import GaussianNoise, LaplaceNoise, MissingParameter, NotANumber, OutOfRange, TooLarge, WrongShape

from .contract import BAD_NUMBERS, BAD_PROBABILITIES, Contract
from .laws import FALSE_ALARM, covered, laplace_masses

TREES = [
    AryTree(1, 2, rooted=True),
    AryTree(2, 2, rooted=True),
    AryTree(7, 2, rooted=True),
    AryTree(7, 3, rooted=False),
    AryTree(16, 4, rooted=True),
    AryTree(30, 4, rooted=False),
    AryTree(13, 13, rooted=False),
    AryTree(5, 8, rooted=True),
    AryTree(65, 4, rooted=True),
]


def matrix_of(tree):
    """The measured nodes as rows over the cells, built from spans and not by the code under test."""
    rows = []
    for level in range(tree.levels):
        width = tree.branching**level
        for start in range(0, tree.cells, width):
            rows.append([float(start <= cell < start + width) for cell in range(tree.cells)])
    return np.array(rows)


def rank_weights(tree, q):
    """The weights of the noise in (rows up to each cell) - q * (all rows), from a dense solve."""
    return (np.tri(tree.cells) - q) @ np.linalg.pinv(matrix_of(tree))


class TestNoisyCDF(Contract):
    kind = NoisyCDF
    standard = {"cells": 1, "epsilon": 0.5}
    data = [7]
    neighbours = ([1], [0])
    bad = {
        "epsilon": [*BAD_NUMBERS, (None, MissingParameter)],
        "delta": BAD_PROBABILITIES,
        "rho": [(1, MissingParameter)],
        "cells": [(0, OutOfRange), (1.5, OutOfRange), ("1", NotANumber), (1 << 18, TooLarge)],
        "keys": [(0, OutOfRange), (1.5, OutOfRange), ((1 << 24) + 1, TooLarge)],
        "max_rows": [(0, OutOfRange), (1.5, OutOfRange), ("1", NotANumber)],
        "branching": [(0, OutOfRange), (1, OutOfRange), (2.5, OutOfRange)],
    }
    bad_data = [([1.0], NotANumber), ([math.nan], NotANumber), (["1"], NotANumber), ([1, 2], WrongShape)]
    odd_data = [[2**63], [-5], [[3]], np.array([True]), np.array([2**63 - 1]), np.array([2**64 - 1], dtype=np.uint64)]

    def outcomes(self, data, trials, rng, **changes):
        totals = self.make(keys=trials, **changes).release(np.full((trials, 1), data[0]), rng=rng).total
        assert np.all(totals == np.rint(totals))
        return [int(t) for t in totals]

    def masses(self):
        return laplace_masses(2, center=7)

    def errors(self, trials, rng):
        wide = self.make(cells=16, keys=trials // 10 or 1, branching=4, epsilon=0.05)
        rows = wide.release(np.full((wide.keys, 16), 10), rng=rng).cumulative
        worst = int(np.argmax(rank_moment(wide.tree, np.arange(16), 0.5, 2)))
        return rows[:, worst] - rows[:, -1] / 2 - (10 * (worst + 1) - 80), wide.error


class TestLeastSquares:
    @pytest.mark.parametrize("tree", TREES, ids=str)
    def test_two_passes_are_the_dense_solution(self, tree) -> None:
        noisy = np.random.default_rng(1).normal(0, 10, (3, tree.nodes))
        levels = np.split(noisy, np.cumsum(tree.sizes[: tree.levels])[:-1], axis=1)
        dense = np.linalg.lstsq(matrix_of(tree), noisy.T, rcond=None)[0].T
        np.testing.assert_allclose(consistent_cells(tree, levels), dense, atol=1e-9)

    @pytest.mark.parametrize("q", [0, 0.3, 0.5, 1])
    @pytest.mark.parametrize("tree", TREES, ids=str)
    def test_variances_and_fourth_moments_are_those_of_the_dense_solution(self, tree, q) -> None:
        weights = rank_weights(tree, q)
        for power in (2, 4):
            told = rank_moment(tree, np.arange(tree.cells), q, power)
            np.testing.assert_allclose(told, (weights**power).sum(axis=1), atol=1e-12)

    @pytest.mark.parametrize("tree", TREES, ids=str)
    def test_node_sums_are_sums_over_spans(self, tree) -> None:
        counts = np.random.default_rng(2).integers(0, 1000, (2, tree.cells))
        told = np.concatenate(node_sums(tree, counts), axis=1)
        np.testing.assert_array_equal(told, counts @ matrix_of(tree).T.astype(np.int64))
        assert told.shape[1] == tree.nodes

    @pytest.mark.parametrize("loss", [1, 2])
    @pytest.mark.parametrize("cells", [2, 10, 64, 300])
    def test_no_other_fan_out_is_better(self, cells, loss) -> None:
        def score(tree):
            return rank_moment(tree, np.arange(cells), 0, 2).mean() * tree.levels**loss

        others = [AryTree(cells, b, rooted) for b in (2, 3, 4, 5, 8, 16, cells) for rooted in (False, True)]
        assert score(choose_tree(cells, None, loss)) <= min(score(t) for t in others) * (1 + 1e-9)


class TestSensitivity:
    @pytest.mark.parametrize("relation", ["add-remove", "replace"])
    @pytest.mark.parametrize("most", [1, 3])
    @pytest.mark.parametrize("shape", [(1, 9), (3, 16), (2, 1)])
    def test_no_unit_moves_the_nodes_by_more_than_the_event_says(self, shape, most, relation) -> None:
        keys, cells = shape
        made = {"cells": cells, "keys": keys, "branching": 2, "max_rows": most, "neighbours": relation}
        rng = np.random.default_rng(3)
        for cost, norm in (({"epsilon": 1}, 1), ({"rho": 0.1}, 2)):
            mechanism = NoisyCDF(**made, **cost)
            base = rng.integers(0, 5, shape)
            units = [rng.multinomial(rng.integers(0, most + 1), np.full(keys * cells, 1 / (keys * cells)))]
            units += [most * np.eye(keys * cells, dtype=int)[place] for place in (0, -1)]
            units += [rng.multinomial(most, rng.dirichlet(np.full(keys * cells, 0.1))) for _ in range(100)]
            moved = [
                self.distance(mechanism.tree, base + a.reshape(shape), base + b.reshape(shape), norm)
                for a in units
                for b in (units if relation == "replace" else [np.zeros_like(a)])
            ]
            assert max(moved) <= mechanism.event.sensitivity
            if relation == "add-remove" or keys > 1:  # attained: a level or a row forgotten would be noticed
                assert max(moved) >= float(mechanism.event.sensitivity) * 0.998

    @staticmethod
    def distance(tree, first, second, norm):
        apart = np.concatenate(
            [(a - b).ravel() for a, b in zip(*(node_sums(tree, x) for x in (first, second)), strict=True)]
        )
        return float((np.abs(apart) ** norm).sum() ** (1 / norm))

    def test_one_event_covers_every_node_of_every_key(self) -> None:
        mechanism = NoisyCDF(cells=100, keys=7, rho=0.1, branching=4)
        assert isinstance(mechanism.event, GaussianNoise)
        assert mechanism.event.rho <= 0.1
        assert mechanism.event.dimension == 7 * mechanism.tree.nodes
        assert isinstance(NoisyCDF(cells=100, epsilon=1).event, LaplaceNoise)
        assert isinstance(NoisyCDF(cells=100, epsilon=1, delta=1e-6).event, GaussianNoise)
        assert mechanism.event.mechanism == "noisy-cdf"

    def test_counts_beyond_the_bounds_are_moved_there_and_nothing_wraps(self) -> None:
        mechanism = NoisyCDF(cells=4, epsilon=10, branching=2)
        high = mechanism.release([2**63 - 1] * 4, rng=seeded(4)).total
        assert abs(high - 4 * 2.0**44) < 1000
        assert abs(mechanism.release([-(2**63)] * 4, rng=seeded(4)).total) < 1000


def louder(event, factor):
    """The same event with noise that is so many times as wide."""
    if isinstance(event, LaplaceNoise):
        return replace(event, scale=event.scale * Fraction(factor))
    return replace(event, sigma=event.sigma * Fraction(factor))


COSTS = [{"rho": 0.02}, {"epsilon": 0.3}, {"epsilon": 0.5, "delta": 1e-6}]


def tables():
    """Some tables of 60 cells: level, with long ties, with one heavy cell, with few rows, without rows."""
    rng = np.random.default_rng(5)
    level = np.full(60, 40)
    ties = np.zeros(60, dtype=int)
    ties[[10, 30, 50, 59]] = 500
    heavy = rng.poisson(5, 60)
    heavy[31] = 3000
    return {"level": level, "ties": ties, "heavy": heavy, "few": rng.poisson(0.5, 60), "none": np.zeros(60, dtype=int)}


def true_cells(counts, q):
    """The first cell up to which at least a share q lies, and the first up to which more than that lies."""
    ranks = np.cumsum(counts)
    aim = round(q * 1000) * int(ranks[-1])
    more = np.flatnonzero(1000 * ranks > aim)
    return int(np.flatnonzero(1000 * ranks >= aim)[0]), int(more[0]) if more.size else counts.size - 1


class TestIntervals:
    @pytest.mark.parametrize("cost", [*COSTS, {"rho": 10}, {"epsilon": 20}], ids=str)  # the last two: hardly any noise
    @pytest.mark.parametrize("name", tables())
    def test_they_hold_the_true_quantile(self, name, cost, soak) -> None:
        counts, trials = tables()[name], 2000 * soak
        mechanism = NoisyCDF(cells=60, keys=trials, **cost)
        curve = mechanism.release(np.tile(counts, (trials, 1)), rng=seeded(21))
        for q in (0, 0.1, 0.25, 0.5, 0.9, 1):
            first, _ = true_cells(counts, q)
            for confidence in (0.8, 0.95, 0.99):
                low, high = curve.interval(q, confidence).T
                assert np.all((low >= 0) & (low <= high) & (high < 60))
                missed = (low > first) | (high < first)
                assert covered(missed.astype(float), 0.5, confidence), (q, confidence, missed.mean())

    @pytest.mark.parametrize("cost", COSTS, ids=str)
    def test_ranks_stray_as_told_and_ten_percent_more_or_less_noise_would_be_seen(self, cost, soak) -> None:
        trials = 2000 * soak
        mechanism = NoisyCDF(cells=60, keys=trials, **cost)
        told = np.array(
            [NoisyCurve(np.zeros(60), mechanism.tree, mechanism.event).std_dev_of_rank(x, 0.5) for x in (5, 29)]
        )
        for factor, right in ((1, True), (0.9, False), (1.1, False)):
            other = NoisyCDF(cells=60, keys=trials, **cost)
            other.event = louder(other.event, factor)
            rows = other.release(np.zeros((trials, 60), dtype=int), rng=seeded(22)).cumulative
            ratio = ((rows[:, [5, 29]] - rows[:, -1:] / 2).std(axis=0) / told) ** 2
            # variance of a sample variance: (2 + excess kurtosis) / trials, the excess below 1 here
            fits = np.abs(ratio - 1) < stats.norm.isf(FALSE_ALARM / 4) * math.sqrt(
                (3.0 if "rho" not in cost else 2) / trials
            )
            assert fits.all() if right else not fits.all(), (factor, ratio)

    @pytest.mark.parametrize("cost", COSTS, ids=str)
    @pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
    def test_they_are_at_most_a_tenth_wider_than_the_shortest_from_the_same_tree(self, cost, confidence) -> None:
        mechanism = NoisyCDF(cells=256, keys=50, **cost)
        curve = mechanism.release(np.full((50, 256), 20), rng=seeded(23))
        deviations = np.sqrt(variance_of(mechanism.event) * (rank_weights(mechanism.tree, 0.5) ** 2).sum(axis=1))
        reach = stats.norm.isf((1 - confidence) / 2) * deviations
        ahead = curve.cumulative - curve.cumulative[:, -1:] / 2
        shortest = []
        for row in ahead:
            inside = np.flatnonzero(np.abs(row) <= reach)
            shortest.append(inside[-1] - inside[0] + 1)
        low, high = curve.interval(0.5, confidence).T
        assert (high - low).mean() <= 1.1 * np.mean(shortest) + 1

    @pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99, 0.999])
    def test_sums_of_laplace_draws_stay_within_the_critical_value(self, confidence, soak) -> None:
        event = LaplaceNoise(scale=200, sensitivity=1, grid=1)
        draws = draw_noise(event, (20_000 * soak, 12), rng=seeded(24))
        for weights in ([1] + [0] * 11, [1] * 12, [1] + [0.2] * 11, [1, 0.5, 0.25] + [0] * 9, [1, 1] + [0.3] * 10):
            w = np.array(weights, dtype=float)
            width = critical_value(event, np.array([(w**4).sum() / (w**2).sum() ** 2]), confidence)[0]
            width *= math.sqrt(variance_of(event) * (w**2).sum())
            assert covered(draws @ w, width, confidence)
            assert not covered(draws @ w, 0.8 * width, confidence)


class TestCurve:
    def test_one_key_gives_numbers_and_several_give_one_for_each(self) -> None:
        one = NoisyCDF(cells=50, epsilon=5).release([100] * 50, rng=seeded(31))
        assert isinstance(one.quantile(0.5), int)
        assert isinstance(one.interval(0.5, 0.95), tuple)
        assert one.cumulative.shape == (50,)
        assert repr(one) == "Curve(cells=50, keys=1)"
        several = NoisyCDF(cells=50, keys=3, epsilon=5).release(np.full((3, 50), 100), rng=seeded(32))
        assert [abs(x - 24) <= 1 for x in several.quantile(0.5)] == [True] * 3
        assert several.interval(0.5, 0.95).shape == (3, 2)
        assert several.total.shape == (3,)

    def test_an_empty_group_has_no_quantile_and_a_full_one_has(self, soak) -> None:
        trials = 1000 * soak
        for counts, share in ((0, 0.05), (100, 0.0)):
            mechanism = NoisyCDF(cells=20, keys=trials, rho=0.05)
            told = mechanism.release(np.full((trials, 20), counts), rng=seeded(33)).quantile(0.5)
            shown = sum(x is not None for x in told)
            if counts:
                assert shown == trials
            else:
                assert stats.binomtest(shown, trials, share, alternative="greater").pvalue > FALSE_ALARM

    def test_whether_there_is_a_quantile_is_decided_by_the_noisy_total_alone(self) -> None:
        mechanism = NoisyCDF(cells=3, rho=0.05)
        for total in (1.0, 500.0):
            shapes = ([0.0, 0.0, total], [total, total, total], [-300.0, 900.0, total])
            told = {NoisyCurve(np.array(s), mechanism.tree, mechanism.event).quantile(0.5) is None for s in shapes}
            assert told == {total == 1.0}

    def test_the_quantile_is_the_first_crossing_of_the_smoothed_curve(self) -> None:
        mechanism = NoisyCDF(cells=6, epsilon=100)
        curve = NoisyCurve(np.array([100.0, 400, 380, 600, 560, 1000]), mechanism.tree, mechanism.event)
        assert [curve.quantile(q) for q in (0, 0.1, 0.39, 0.395, 0.58, 0.6, 1)] == [0, 0, 1, 3, 3, 5, 5]

    @pytest.mark.parametrize("name", ["level", "heavy"])
    def test_the_released_median_is_within_the_told_rank_error(self, name, soak) -> None:
        counts, trials = tables()[name], 1000 * soak
        mechanism = NoisyCDF(cells=60, keys=trials, rho=0.02)
        cells = np.array(mechanism.release(np.tile(counts, (trials, 1)), rng=seeded(34)).quantile(0.5))
        ranks = np.concatenate([[0], np.cumsum(counts)])
        half = ranks[-1] / 2
        off = np.maximum(0, np.maximum(ranks[cells] - half, half - ranks[cells + 1]))
        assert covered(off, mechanism.error(0.9), 0.9)

    def test_bad_questions_are_refused(self) -> None:
        curve = NoisyCDF(cells=5, epsilon=1).release([1] * 5, rng=seeded(35))
        for bad in (-0.1, 1.1, math.nan):
            with pytest.raises(OutOfRange):
                curve.quantile(bad)
            with pytest.raises(OutOfRange):
                curve.interval(bad, 0.95)
        for value, error in BAD_PROBABILITIES:
            with pytest.raises(error):
                curve.interval(0.5, value)
        with pytest.raises(OutOfRange):
            curve.std_dev_of_rank(5)

    def test_a_list_of_entries_is_the_same_as_the_table(self) -> None:
        mechanism = NoisyCDF(cells=5, keys=2, epsilon=1)
        dense = mechanism.release([[0, 4, 0, 0, 0], [0, 0, 0, 7, 1]], rng=seeded(36))
        sparse = mechanism.release_sparse(
            [1, 3, 4, 1, 9, 0, -1], [3, 7, 1, 1, 5, 5, 5], keys=[0, 1, 1, 0, 0, 2, 0], rng=seeded(36)
        )
        np.testing.assert_array_equal(dense.cumulative, sparse.cumulative)
        huge = NoisyCDF(cells=2, epsilon=10).release_sparse([0] * 200_000, [2**63 - 1] * 200_000, rng=seeded(37))
        assert abs(huge.total - 2.0**44) < 1000
        with pytest.raises(WrongShape):
            mechanism.release_sparse([1], [1])
        with pytest.raises(WrongShape):
            mechanism.release_sparse([1, 2], [1], keys=[0, 0])
