"""Junction trees, messages and fitting, beside brute force over the whole joint table."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.publish.graphical.belief import GraphicalModel, calibrate_cliques, spread_axes
from hubbub.publish.graphical.fitting import Zeros, fit_model
from hubbub.publish.graphical.junction import JunctionTree, junction_tree, tree_cells
from hubbub.publish.graphical.totals import to_total
from hubbub.publish.marginal_counts import Columns, Floats, Measurement
from hubbub.publish.synthetic.compress import groups_for
from hubbub.publish.synthetic.generate import draw_cells, draw_codes
from hubbub.publish.synthetic.mbi_engine import fitted_by_mbi

PAIRS = list(itertools.combinations(range(5), 2))
cliques = st.lists(st.sampled_from([*PAIRS, (0, 1, 2), (1, 3, 4)]), max_size=7)
sizes = st.tuples(*[st.integers(1, 4)] * 5)


@given(sizes=sizes, wanted=cliques)
def test_every_column_lies_in_a_connected_part_of_the_tree(sizes: tuple[int, ...], wanted: list[Columns]) -> None:
    tree = junction_tree(sizes, wanted)
    assert all(tree.home(clique) >= 0 for clique in wanted)
    for column in range(5):
        having = [place for place, clique in enumerate(tree.cliques) if column in clique]
        tops = [p for p in having if tree.parents[p] < 0 or column not in tree.cliques[tree.parents[p]]]
        assert len(having) >= 1
        assert len(tops) == 1
    assert tree_cells(sizes, wanted) == sum(math.prod(sizes[c] for c in clique) for clique in tree.cliques)


def joint(sizes: tuple[int, ...], tree: JunctionTree, potentials: list[Floats]) -> Floats:
    """The whole distribution, cell by cell."""
    whole = np.zeros(sizes)
    for clique, potential in zip(tree.cliques, potentials, strict=True):
        whole = whole + spread_axes(potential, clique, tuple(range(len(sizes))))
    weights = np.exp(whole)
    return np.asarray(weights / weights.sum())


@settings(max_examples=60)
@given(sizes=sizes, wanted=cliques, seed=st.integers(0, 1000))
def test_messages_give_the_marginals_of_the_whole_table(
    sizes: tuple[int, ...], wanted: list[Columns], seed: int
) -> None:
    generator = np.random.default_rng(seed)
    tree = junction_tree(sizes, wanted)
    potentials = [generator.normal(size=[sizes[c] for c in clique]) for clique in tree.cliques]
    whole = joint(sizes, tree, potentials)
    model = GraphicalModel(sizes, tree, tuple(calibrate_cliques(tree, potentials)), 1.0)
    for columns in [*PAIRS, (0, 2, 4), (1, 2, 3)]:
        gone = tuple(c for c in range(5) if c not in columns)
        assert np.allclose(model.project(columns), whole.sum(axis=gone), atol=1e-12)


def chain() -> tuple[tuple[int, ...], Floats]:
    generator = np.random.default_rng(3)
    table = generator.dirichlet(np.ones(3 * 4 * 2)).reshape(3, 4, 2)
    first, second = table.sum(axis=2), table.sum(axis=0)
    return (3, 4, 2), first[:, :, None] * second[None] / second.sum(axis=1)[None, :, None]


def exact(table: Floats, columns: Columns, *, total: float = 1000, variance: float = 1.0) -> Measurement:
    gone = tuple(c for c in range(table.ndim) if c not in columns)
    values = total * table.sum(axis=gone)
    return Measurement(columns, values, np.full(values.shape, variance))


def measured() -> tuple[tuple[int, ...], Floats, list[Measurement]]:
    sizes, table = chain()
    return sizes, table, [exact(table, c) for c in [(0,), (1,), (2,), (0, 1), (1, 2)]]


def test_exact_marginals_of_a_chain_give_the_chain_back() -> None:
    sizes, table, marginals = measured()
    model = fit_model(sizes, marginals, iterations=5000)
    assert np.allclose(model.project((0, 1, 2)), table, atol=1e-3)
    independent = fit_model(sizes, marginals[:3], iterations=5000)
    assert not np.allclose(independent.project((0, 1, 2)), table, atol=1e-2)


def test_a_loop_of_pairs_is_fitted_as_well() -> None:
    table = np.random.default_rng(5).dirichlet(np.ones(27)).reshape(3, 3, 3)
    pairs = [exact(table, c) for c in [(0, 1), (1, 2), (0, 2)]]
    model = fit_model((3, 3, 3), pairs, iterations=5000)
    for pair in pairs:
        assert np.allclose(1000 * model.project(pair.columns), pair.values, atol=1.0)


def test_mbi_finds_the_same_model_and_leaves_the_precision_of_jax_as_it_was() -> None:
    import jax

    table = np.random.default_rng(6).dirichlet(np.ones(6)).reshape(3, 2)
    marginals = [exact(table, c) for c in [(0,), (1,), (0, 1)]]
    before = jax.config.jax_enable_x64
    theirs = fitted_by_mbi((3, 2), marginals, iterations=2000)
    assert jax.config.jax_enable_x64 == before
    assert np.allclose(theirs.project((0, 1)), fit_model((3, 2), marginals, iterations=2000).project((0, 1)), atol=2e-3)
    assert np.allclose(theirs.project((0, 1)), table, atol=2e-3)


def test_what_cannot_be_has_no_chance_in_the_model() -> None:
    sizes, _, marginals = measured()
    mask = np.zeros((3, 2), dtype=bool)
    mask[0, 1] = True
    model = fit_model(sizes, marginals, zeros=[Zeros((0, 2), mask)])
    assert model.project((0, 2))[0, 1] == 0
    assert model.project((0, 2)).sum() == pytest.approx(1)


# ---------------------------------------------------------------- rows


def test_rows_appear_as_often_as_expected_to_within_one() -> None:
    chances = np.array([[0.5, 0.25, 0.25], [0.0, 0.1, 0.9]])
    groups = np.repeat([0, 1], [400, 1000])
    cells = draw_cells(chances, groups, np.random.default_rng(0))
    for group, count in ((0, 400), (1, 1000)):
        found = np.bincount(cells[groups == group], minlength=3)
        assert np.all(np.abs(found - count * chances[group]) <= 1)


def test_rows_of_a_model_have_its_marginals() -> None:
    sizes, table, marginals = measured()
    model = fit_model(sizes, marginals, iterations=2000)
    codes = draw_codes(model, 50_000, np.random.default_rng(0))
    counts = np.bincount(np.ravel_multi_index(tuple(codes.T), sizes), minlength=24).reshape(sizes)
    assert np.abs(counts / 50_000 - table).sum() < 0.02


def test_given_columns_stay_and_the_others_go_with_them() -> None:
    sizes, table, marginals = measured()
    model = fit_model(sizes, marginals, iterations=2000)
    last = np.ones(30_000, dtype=np.int64)
    codes = draw_codes(model, 30_000, np.random.default_rng(0), known={2: last})
    assert np.array_equal(codes[:, 2], last)
    expected = table[:, :, 1] / table[:, :, 1].sum()
    counts = np.bincount(codes[:, 0] * 4 + codes[:, 1], minlength=12).reshape(3, 4)
    assert np.abs(counts / 30_000 - expected).sum() < 0.03


# ---------------------------------------------------------------- coarser cells


@given(
    counts=st.lists(st.floats(0, 1000), min_size=1, max_size=60),
    ordered=st.booleans(),
    missing=st.booleans(),
    sigma=st.floats(0.1, 200),
)
def test_coarser_cells_are_numbered_without_gaps(
    counts: list[float], ordered: bool, missing: bool, sigma: float
) -> None:
    total = max(1.0, sum(counts))
    groups = groups_for(np.array(counts), sigma=sigma, total=total, ordered=ordered, missing=missing)
    assert sorted(set(groups.tolist())) == list(range(int(groups.max()) + 1))
    inner = groups[:-1] if missing else groups
    if ordered and len(inner):
        assert np.all(np.diff(inner) >= 0)


@given(values=st.lists(st.floats(-100, 100), min_size=1, max_size=30), total=st.floats(1, 1000))
def test_counts_are_made_to_add_up_and_not_to_be_negative(values: list[float], total: float) -> None:
    near = to_total(np.array(values), total)
    assert near.min() >= 0
    assert near.sum() == pytest.approx(total)
