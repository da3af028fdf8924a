from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hubbub.mechanisms import DiscreteGaussian, Geometric, Workload
from hubbub.mechanisms.common.ary_tree import AryTree
from hubbub.mechanisms.common.noise_combinations import variance_of
from hubbub.mechanisms.workload.marginals import Marginals, candidate_marginals
from hubbub.mechanisms.workload.queries import plan_queries
from hubbub.mechanisms.workload.strategies import Direct, Factor, Product
from hubbub.mechanisms.workload.strategy_choice import predicted_variance
from hubbub.mechanisms.workload.union_strategy import UnionStrategy, groups_of
from hubbub.noise.testing import seeded
from hubbub.terms import (
    EmptyInput,
    GaussianNoise,
    LaplaceNoise,
    MissingParameter,
    NotANumber,
    OutOfRange,
    ReversedBounds,
    TooLarge,
    WrongShape,
)

from .contract import BAD_NUMBERS, BAD_PROBABILITIES, Contract
from .laws import FALSE_ALARM, covered, laplace_masses
from .test_cdf import louder

MIXED = [{0: "each", 1: (1, 3)}, {1: "prefixes"}, {0: [0, 2], 2: "each"}, {}, {2: (0, 1)}, {2: [1, 0]}]
PAIRS = [{i: "each", j: "each"} for i, j in itertools.combinations(range(4), 2)]
DOMAIN = (8, 6, 10, 5)


def ranges(cells, count):
    ends = np.sort(np.random.default_rng(1).integers(0, cells, (count, 2)), axis=1)
    return [{0: (int(a), int(b))} for a, b in ends]


def dense_rows(shape, queries):
    """The queries as rows over the cells of the table, by their definition."""
    rows = []
    for query in queries:
        parts = []
        for axis, size in enumerate(shape):
            part = query.get(axis, range(size))
            if part == "each":
                parts.append([{cell} for cell in range(size)])
            elif part == "prefixes":
                parts.append([set(range(cell + 1)) for cell in range(size)])
            else:
                parts.append([set(range(part[0], part[1] + 1)) if isinstance(part, tuple) else set(part)])
        for sets in itertools.product(*parts):
            cells = itertools.product(*(range(size) for size in shape))
            rows.append([float(all(c in s for c, s in zip(cell, sets, strict=True))) for cell in cells])
    return np.array(rows)


def dense_strategy(strategy, plan, shape):
    """The strategy as a matrix over the cells of the table: what it measures of each single cell."""
    cells = math.prod(shape)
    tables = np.eye(cells, dtype=np.int64).reshape(cells, *shape)
    return np.array([strategy.measured(plan.merged(table)) for table in tables]).T


class TestWorkload(Contract):
    kind = Workload
    standard = {"shape": (1,), "queries": [{0: "each"}], "epsilon": 0.5}
    data = [7]
    neighbours = ([1], [0])
    bad = {
        "epsilon": [*BAD_NUMBERS, (None, MissingParameter)],
        "delta": BAD_PROBABILITIES,
        "rho": [(1, MissingParameter)],
        "max_rows": [(0, OutOfRange), (1.5, OutOfRange), ("1", NotANumber)],
        "objective": [("mean", OutOfRange)],
        "shape": [((0,), OutOfRange), ((), EmptyInput), ((1 << 21,), TooLarge), ((1.5,), OutOfRange)],
        "queries": [
            ([], EmptyInput),
            ([{1: "each"}], OutOfRange),
            ([{-1: "each"}], OutOfRange),
            ([{0: "all"}], OutOfRange),
            ([{0: (0, 1)}], OutOfRange),
            ([{0: []}], OutOfRange),
            ([{0: (0, 0, 0)}], OutOfRange),
            ([{0: [0.5]}], OutOfRange),
        ],
    }
    bad_data = [([1.0], NotANumber), ([math.nan], NotANumber), (["1"], NotANumber), ([1, 2], WrongShape)]
    odd_data = [[2**63], [-5], np.array([True]), np.array([2**63 - 1]), np.array([2**64 - 1], dtype=np.uint64)]

    def outcomes(self, data, trials, rng, **changes):
        wide = self.make(shape=(trials,), **changes)
        assert wide.strategy == "cells"
        values = wide.release(np.full(trials, data[0]), rng=rng).values
        assert np.all(values == np.rint(values))
        return [int(v) for v in values]

    def masses(self):
        return laplace_masses(2, center=7)

    def errors(self, trials, rng):
        wide = self.make(shape=(trials, 4), queries=[{0: "each"}], epsilon=0.05, max_rows=2)
        return wide.release(np.zeros((trials, 4), dtype=int), rng=rng).values, wide.error

    def test_ranges_must_not_be_reversed_and_not_be_too_many(self) -> None:
        with pytest.raises(ReversedBounds):
            self.make(shape=(5,), queries=[{0: (3, 2)}])
        with pytest.raises(TooLarge):
            self.make(shape=(5000,), queries=[{0: "prefixes"}])
        with pytest.raises(TooLarge):
            self.make(shape=(1 << 20,), queries=[{0: "each"}, {}])


SHAPE = (4, 5, 2)


def strategies():
    plan = plan_queries(SHAPE, MIXED)
    weights = {frozenset(s): w for s, w in [((0, 1), 3), ((1,), 2), ((0, 2), 5), ((), 1)]}
    return plan, {
        "cells": Product(plan, (Factor(None),) * 3),
        "trees": Product(plan, (Factor(AryTree(4, 2, rooted=True)), Factor(AryTree(5, 2, rooted=False)), Factor(None))),
        "marginals": Marginals(plan, weights),
        "best marginals": candidate_marginals(plan, pure=False)[-1],
        "direct": Direct(plan),
        "union": union_of(plan),
    }


def union_of(plan):
    """Each group of queries with trees of its own and another weight."""
    groups = groups_of(plan)
    parts = []
    for group in groups:
        own = plan.restricted(group)
        parts.append(Product(own, tuple(Factor(AryTree(n, 2, rooted=True) if n > 2 else None) for n in own.shape)))
    return UnionStrategy(plan, groups, parts, range(1, len(groups) + 1))


@pytest.mark.parametrize("name", strategies()[1])
class TestStrategies:
    def test_answers_and_their_errors_are_those_of_a_dense_solve(self, name) -> None:
        plan, known = strategies()
        strategy, queries = known[name], dense_rows(SHAPE, MIXED)
        matrix = dense_strategy(strategy, plan, SHAPE)
        weights = queries @ np.linalg.pinv(matrix.astype(float), rcond=1e-10)
        if name == "union":  # each group is answered from its own measurements alone
            weights = np.array([strategy.answered(row) for row in np.eye(len(matrix))]).T
            np.testing.assert_allclose(weights @ matrix, queries, atol=1e-9)
        noisy = np.random.default_rng(2).normal(0, 10, len(matrix))
        np.testing.assert_allclose(strategy.answered(noisy), weights @ noisy, atol=1e-9)
        squares = np.concatenate([strategy.moments(block, 2) for block in plan.blocks])
        np.testing.assert_allclose(squares, (weights**2).sum(axis=1), atol=1e-10)
        some = np.random.default_rng(3).permutation(len(queries))[:12]
        np.testing.assert_allclose(strategy.covariance(some), weights[some] @ weights[some].T, atol=1e-10)
        fourths = np.concatenate([strategy.moments(block, 4) for block in plan.blocks])
        assert np.all(fourths >= (weights**4).sum(axis=1) - 1e-10)
        if "marginals" not in name:
            np.testing.assert_allclose(fourths, (weights**4).sum(axis=1), atol=1e-10)

    def test_without_noise_every_answer_is_exact(self, name) -> None:
        plan, known = strategies()
        counts = np.random.default_rng(4).integers(0, 100, SHAPE)
        answers = known[name].answered(known[name].measured(plan.merged(counts)).astype(float))
        np.testing.assert_allclose(answers, dense_rows(SHAPE, MIXED) @ counts.ravel(), atol=1e-8)

    def test_norms_are_the_largest_of_the_integer_columns(self, name) -> None:
        plan, known = strategies()
        matrix = dense_strategy(known[name], plan, SHAPE)
        assert matrix.dtype == np.int64
        assert matrix.min() >= 0
        assert known[name].l1 == np.abs(matrix).sum(axis=0).max()
        assert known[name].l2_squared == (matrix**2).sum(axis=0).max()
        assert known[name].size == len(matrix)


class TestSensitivity:
    @pytest.mark.parametrize("relation", ["add-remove", "replace"])
    @pytest.mark.parametrize("most", [1, 3])
    @pytest.mark.parametrize(
        ("shape", "queries"), [(SHAPE, MIXED), ((40,), ranges(40, 300)), ((3, 4), [{0: "each"}, {1: "each"}])]
    )
    def test_no_unit_moves_what_is_measured_by_more_than_the_event_says(self, shape, queries, most, relation) -> None:
        rng = np.random.default_rng(5)
        cells = math.prod(shape)
        for cost, norm in (({"epsilon": 1}, 1), ({"rho": 0.1}, 2)):
            mechanism = Workload(shape=shape, queries=queries, max_rows=most, neighbours=relation, **cost)
            base = rng.integers(0, 5, cells)
            units = [most * np.eye(cells, dtype=int)[place] for place in range(cells)]
            units += [rng.multinomial(most, rng.dirichlet(np.full(cells, 0.1))) for _ in range(20)]
            others = units if relation == "replace" else [np.zeros(cells, dtype=int)]
            measured = [[mechanism._measured(base + u) for u in group] for group in (units, others)]
            moved = [float((np.abs(a - b) ** norm).sum() ** (1 / norm)) for a in measured[0] for b in measured[1]]
            assert max(moved) <= mechanism.event.sensitivity
            if relation == "add-remove":  # attained: a weight or a row forgotten would be noticed
                assert max(moved) >= float(mechanism.event.sensitivity) * 0.998

    def test_counts_beyond_the_bounds_are_moved_there_and_nothing_wraps(self) -> None:
        mechanism = Workload(shape=(4,), queries=[{}], epsilon=10)
        assert abs(mechanism.release([2**63 - 1] * 4, rng=seeded(6)).values[0] - 2.0**34) < 1000
        assert abs(mechanism.release([-(2**63)] * 4, rng=seeded(6)).values[0]) < 1000

    def test_the_choice_sees_no_counts_and_the_cost_decides_the_noise(self) -> None:
        made = [Workload(shape=SHAPE, queries=MIXED, rho=0.1) for _ in range(2)]
        made[0].release(np.full(SHAPE, 1000), rng=seeded(7))
        assert made[0].strategy == made[1].strategy
        assert made[0].event == made[1].event
        assert isinstance(made[0].event, GaussianNoise)
        assert made[0].event.rho <= 0.1
        assert made[0].event.mechanism == "workload"
        assert isinstance(Workload(shape=SHAPE, queries=MIXED, epsilon=1).event, LaplaceNoise)


class TestMerging:
    def test_cells_that_no_query_tells_apart_are_one(self) -> None:
        plan = plan_queries((1000, 7), [{0: (10, 19)}, {0: (15, 30), 1: "each"}])
        assert plan.shape == (4, 7)  # outside, only the first, both, only the second
        counts = np.random.default_rng(8).integers(0, 9, (1000, 7))
        told = plan.answered(plan.merged(counts).astype(float))
        assert told.tolist() == [counts[10:20].sum(), *counts[15:31].sum(axis=0)]

    def test_a_million_cells_are_no_trouble(self) -> None:
        mechanism = Workload(
            shape=(1024, 1024), queries=[{0: (3, 700)}, {1: (0, 4)}, {0: (600, 900), 1: (2, 9)}], rho=50
        )
        counts = np.random.default_rng(9).integers(0, 3, (1024, 1024))
        truth = [counts[3:701].sum(), counts[:, :5].sum(), counts[600:901, 2:10].sum()]
        assert np.abs(mechanism.release(counts, rng=seeded(10)).values - truth).max() < 10


def one_by_one(queries, cost):
    """The variance of every answer if each query, of sensitivity 1, gets an equal part of the budget."""
    kind = Geometric if "epsilon" in cost else DiscreteGaussian
    part = {name: value / len(queries) for name, value in cost.items()}
    return variance_of(kind(sensitivity=1, **part).event)


def mean_square(mechanism, counts, truth, times):
    """The squared error that happens, on average over answers and releases."""
    rng = seeded(11)
    return np.mean([((mechanism.release(counts, rng=rng).values - truth) ** 2).mean() for _ in range(times)])


class TestAccuracy:
    @pytest.mark.parametrize(
        ("cost", "ratio"), [({"rho": Fraction(1, 100)}, 0.025), ({"epsilon": Fraction(1, 10)}, 0.0002)]
    )
    def test_many_ranges_together_are_far_better_than_one_by_one(self, cost, ratio) -> None:
        queries = ranges(1024, 1000)
        mechanism = Workload(shape=(1024,), queries=queries, **cost)
        alone, told = one_by_one(queries, cost), (mechanism.std_dev**2).mean()
        assert told < ratio * alone
        counts = np.random.default_rng(11).integers(0, 20, 1024)
        truth = np.array([counts[a : b + 1].sum() for a, b in (q[0] for q in queries)])
        happened = mean_square(mechanism, counts, truth, 100)
        assert happened < ratio * alone
        assert happened == pytest.approx(told, rel=0.1)

    @pytest.mark.parametrize("cost", [{"rho": Fraction(1, 100)}, {"epsilon": Fraction(1, 10)}])
    def test_two_way_marginals_together_are_better_than_one_by_one(self, cost) -> None:
        mechanism = Workload(shape=DOMAIN, queries=PAIRS, **cost)
        told = (mechanism.std_dev**2).mean()
        counts = np.random.default_rng(12).integers(0, 20, DOMAIN)
        truth = dense_rows(DOMAIN, PAIRS) @ counts.ravel()
        happened = mean_square(mechanism, counts, truth, 100)
        assert happened == pytest.approx(told, rel=0.08)
        for error in (told, happened):
            assert error < 0.86 * one_by_one(PAIRS, cost)  # one marginal after the other
            assert error < 0.02 * one_by_one(range(mechanism.std_dev.size), cost)  # one count after the other

    def test_gaussian_marginals_are_near_the_best_that_any_strategy_could_be(self) -> None:
        plan = plan_queries(DOMAIN, PAIRS)
        best = min(predicted_variance(s, plan, pure=False, worst=False) for s in candidate_marginals(plan, pure=False))
        # no strategy has a smaller total error than (sum of the workload's singular values)^2 / cells
        bound = np.linalg.svd(dense_rows(DOMAIN, PAIRS), compute_uv=False).sum() ** 2 / math.prod(DOMAIN)
        assert bound <= best <= 1.06 * bound

    def test_no_single_strategy_beats_the_choice(self) -> None:
        plan, known = strategies()
        for pure, cost in ((True, {"epsilon": 1}), (False, {"rho": 1})):
            mechanism = Workload(shape=SHAPE, queries=MIXED, **cost)
            told = predicted_variance(mechanism._strategy, plan, pure=pure, worst=False)
            assert told <= min(predicted_variance(s, plan, pure=pure, worst=False) for s in known.values()) * (1 + 1e-9)

    def test_ordered_attributes_that_are_asked_for_apart_are_measured_apart(self) -> None:
        both = Workload(shape=(128, 128), queries=[{0: "prefixes"}, {1: "prefixes"}], rho=1)
        alone = Workload(shape=(128,), queries=[{0: "prefixes"}], rho=Fraction(1, 2))
        assert both.strategy.count("tree") == 2
        assert (both.std_dev**2).mean() <= 1.01 * (alone.std_dev**2).mean()

    def test_the_worst_answer_is_better_if_that_is_asked_for(self) -> None:
        queries = [{0: "each"}, *([{}] * 5), {0: (0, 30)}]
        total, worst = (Workload(shape=(64,), queries=queries, rho=1, objective=o) for o in ("total", "max"))
        assert worst.std_dev.max() <= total.std_dev.max()
        assert (total.std_dev**2).sum() <= (worst.std_dev**2).sum() * (1 + 1e-9)


TRIPLE = [{0: "each", 1: "each"}, {0: "each", 2: "each"}, {1: "each", 2: "each"}]
CASES = [(SHAPE, MIXED), ((64,), ranges(64, 400)), ((5, 4, 6), TRIPLE), ((30,), ranges(30, 5))]


def released(mechanism, times):
    rng, zeros = seeded(13), np.zeros(mechanism.shape, dtype=int)
    return np.array([mechanism.release(zeros, rng=rng).values for _ in range(times)])


class TestAnswers:
    @pytest.mark.parametrize("cost", [{"rho": 0.01}, {"epsilon": 0.1}], ids=str)
    @pytest.mark.parametrize("case", range(len(CASES)))
    def test_intervals_hold_and_ten_percent_more_or_less_noise_would_be_seen(self, case, cost, soak) -> None:
        shape, queries = CASES[case]
        mechanism = Workload(shape=shape, queries=queries, **cost)
        size, event = mechanism.std_dev.size, mechanism.event
        some = np.linspace(0, size - 1, min(size, 6)).astype(int)
        values, vectors = np.linalg.eigh(mechanism._errors.covariance(some.tolist()))
        real = values > 1e-9 * values[-1]
        for factor in (1, 0.9, 1.1):
            mechanism.event = louder(event, factor)
            errors = released(mechanism, 800 * soak)[:, some]
            squares = (errors @ vectors[:, real]) ** 2 / values[real]  # uncorrelated, of mean 1
            off = abs(squares.mean() - 1) * math.sqrt(squares.size) / squares.std()
            assert (off < stats.norm.isf(FALSE_ALARM / 2)) == (factor == 1), (factor, off)
            if factor == 1:
                for confidence in (0.8, 0.95, 0.99):
                    widths = mechanism._errors.widths(confidence)[some]
                    told = [covered(e, w, confidence) for e, w in zip(errors.T, widths, strict=True)]
                    assert all(told), (confidence, told)

    def test_values_come_query_by_query(self) -> None:
        counts = np.random.default_rng(14).integers(0, 1000, SHAPE)
        answers = Workload(shape=SHAPE, queries=MIXED, rho=1000).release(counts.ravel(), rng=seeded(15))
        truth = [counts[:, 1:4].sum(axis=(1, 2)), np.cumsum(counts.sum(axis=(0, 2))), counts[[0, 2]].sum(axis=(0, 1))]
        for query, right in enumerate(truth):
            assert answers.of(query).shape == right.shape
            assert np.abs(answers.of(query) - right).max() < 3
        assert abs(float(answers.of(3)) - counts.sum()) < 3
        assert repr(answers) == f"Answers({answers.values.size} answers to 6 queries)"
        low, high = answers.interval(0.95).T
        assert np.all((low < answers.values) & (answers.values < high))
        np.testing.assert_allclose(np.sqrt(np.diag(answers.covariance(range(4)))), answers.std_dev[:4])

    def test_bad_questions_are_refused(self) -> None:
        answers = Workload(shape=SHAPE, queries=MIXED, rho=1).release(np.zeros(SHAPE, dtype=int), rng=seeded(16))
        with pytest.raises(OutOfRange):
            answers.of(6)
        with pytest.raises(OutOfRange):
            answers.covariance([10**6])
        for value, error in BAD_PROBABILITIES:
            with pytest.raises(error):
                answers.interval(value)

    def test_the_noise_has_the_variance_that_is_told(self) -> None:
        for sigma in (0.3, 1, 3.9, 50):
            event = GaussianNoise(sigma=Fraction(sigma), sensitivity=1, grid=1)
            x = np.arange(-600, 601)
            masses = np.exp(-0.5 * (x / sigma) ** 2)
            assert variance_of(event) == pytest.approx((masses * x**2).sum() / masses.sum(), rel=1e-9)
            pure = LaplaceNoise(scale=Fraction(sigma), sensitivity=1, grid=1)
            masses = np.exp(-np.abs(np.arange(-3000, 3001)) / sigma)
            told = (masses * np.arange(-3000, 3001) ** 2).sum() / masses.sum()
            assert variance_of(pure) == pytest.approx(told, rel=1e-9)
