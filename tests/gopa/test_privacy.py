"""Gaussian masks: the exact theta and the lectures' theorem. Uniform masks: perfect where the honest hold together."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter

import numpy as np
import pytest

from hubbub.accounting.gaussian_tradeoff import delta_of
from hubbub.gopa import Graph, HonestGraph, graph
from hubbub.gopa.lectures import theorems
from hubbub.gopa.lectures.gaussian_privacy import theta_complete, theta_for
from hubbub.terms import EmptyInput, NotProved, OutOfRange, TooLarge, Unreachable

SEED = hashlib.sha256(b"a graph").digest()


def test_theta_is_the_largest_diagonal_entry_of_the_inverse_covariance() -> None:
    drawn, honest = graph(SEED, range(40), 4), range(25)
    laplacian = np.zeros((25, 25))
    for i, j in drawn.edges.tolist():
        if j < 25:
            laplacian[i, i] += 1
            laplacian[j, j] += 1
            laplacian[i, j] = laplacian[j, i] = -1
    direct = np.linalg.inv(0.3 * np.eye(25) + 2.0 * laplacian).diagonal().max()
    told = HonestGraph.of(drawn, honest).theta(noise_variance=0.3, mask_variance=2)
    assert direct <= told <= direct * 1.00001


def test_a_complete_graph_has_a_closed_form() -> None:
    net = HonestGraph.of(graph(SEED, range(30), 29), range(20))
    for own, shared in ((0.1, 0.5), (1, 10), (0.01, 100)):
        closed = theta_complete(20, noise_variance=own, mask_variance=shared)
        assert net.theta(noise_variance=own, mask_variance=shared) == pytest.approx(closed, rel=1e-5)


def test_with_large_masks_the_honest_noise_counts_together() -> None:
    net = HonestGraph.of(graph(SEED, range(60), 8), range(30))
    assert net.connected
    assert net.theta(noise_variance=0.2, mask_variance=1e9) == pytest.approx(1 / (30 * 0.2), rel=1e-4)


def test_a_piece_hides_among_itself_only() -> None:
    """Five parties in a ring, and one alone: that one has its own noise and no more, whatever the masks."""
    ring = Graph(tuple(range(6)), np.array([[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]]))
    net = HonestGraph.of(ring, range(6))
    assert not net.connected
    assert net.theta(noise_variance=0.5, mask_variance=1e12) == pytest.approx(2, rel=1e-4)
    with pytest.raises(Unreachable):
        net.mask_variance(1, 1e-6, noise_variance=2 / (6 * theta_for(1, 1e-6)))


def test_edges_to_the_corrupted_hide_nothing() -> None:
    star = Graph(tuple(range(4)), np.array([[0, 3], [1, 3], [2, 3]]))
    assert HonestGraph.of(star, range(4)).connected
    assert not HonestGraph.of(star, range(3)).connected


@pytest.mark.parametrize(("rho", "k", "known"), [(0.5, 10, 31.7), (0.5, 20, 17.7), (0.5, 40, 8.58), (0.8, 20, 9.88)])
def test_exact_masks_are_smaller_than_the_theorems(rho: float, k: int, known: float) -> None:
    """``known`` was worked out for another random graph of the same kind."""
    honest = round(1000 * rho)
    net = HonestGraph.of(graph(SEED, range(1000), k), range(honest))
    own = 1.01 / (honest * theta_for(1, 1e-6))
    mask = net.mask_variance(1, 1e-6, noise_variance=own)
    assert known / 1.35 < math.sqrt(mask) < known * 1.35
    assert delta_of(1.0, math.sqrt(net.theta(noise_variance=own, mask_variance=mask))) <= 1e-6
    assert net.delta(1, noise_variance=own, mask_variance=mask / 2) > 1e-6  # and smaller ones do not do
    assert net.delta(1, noise_variance=own / 2, mask_variance=mask) > 1e-5


def test_bad_questions_are_refused() -> None:
    with pytest.raises(EmptyInput):
        HonestGraph.of(graph(SEED, range(5), 2), [])
    with pytest.raises(TooLarge):
        HonestGraph.of(graph(SEED, range(3_100), 2), range(3_100))
    with pytest.raises(OutOfRange):
        theta_for(1, 2)


# ---------------------------------------------------------------- the theorem and its corollary

COROLLARY = {  # rho: own noise, and masks of the three kinds of graph, for n = 10,000, epsilon = 0.1
    1.0: (0.6106, {"complete": 1.63, "k-out": 44.72, "connected": 9391.97}, 105),
    0.5: (0.8308, {"complete": 2.12, "k-out": 45.45, "connected": 6112.42}, 194),
}


@pytest.mark.parametrize("rho", COROLLARY)
@pytest.mark.parametrize("kind", ["complete", "k-out", "connected"])
def test_the_table_of_the_paper_comes_out(rho: float, kind: theorems.Kind) -> None:
    noise, masks, k = COROLLARY[rho]
    inner = 1 / (rho * 10_000) ** 2
    told = theorems.corollary(
        kind, epsilon=0.1, delta=10 * inner, inner=inner, parties=10_000, honest=rho, k=k if kind == "k-out" else None
    )
    assert told.noise == pytest.approx(noise, abs=5e-5)
    assert told.mask == pytest.approx(masks[kind], abs=6e-3)


def test_the_rule_for_k_comes_out() -> None:
    asked = [(1_000, 0.5, 1e-6), (1_000, 0.8, 1e-6), (10_000, 0.8, 1e-7), (100_000, 0.5, 1e-8)]
    assert [theorems.least_neighbours(*one) for one in asked] == [157, 101, 124, 231]


def test_neighbours_grow_with_the_logarithm_of_the_parties() -> None:
    few, many = (theorems.least_neighbours(n, 0.5, 1e-6) for n in (1_000, 1_000_000))
    assert many < 2 * few


def test_the_theorem_spends_more_than_the_exact_formula() -> None:
    assert theorems.theta_max(1, 1e-6) == pytest.approx(0.03550, abs=5e-6)
    assert theorems.theta_max(0.1, 1e-8) == pytest.approx(0.0002740, abs=5e-8)
    assert theta_for(1, 1e-6) == pytest.approx(0.05603, abs=5e-6)


@pytest.mark.parametrize("kind", ["complete", "k-out"])
def test_what_the_theorem_allows_is_private_by_the_exact_formula(kind: theorems.Kind) -> None:
    delta, k = 1e-4, 130
    net = HonestGraph.of(graph(SEED, range(500), 499 if kind == "complete" else k), range(400))
    part = theorems.bracket(kind, 500, 0.8, k=k, delta=delta)
    theta = theorems.theta_max(0.8, delta)
    own = 1.5 / (400 * theta)
    mask = part / (theta - 1 / (400 * own))
    assert net.theta(noise_variance=own, mask_variance=mask) <= theta
    assert net.delta(0.8, noise_variance=own, mask_variance=mask) <= delta


def test_outside_its_conditions_the_theorem_says_nothing() -> None:
    with pytest.raises(NotProved):
        theorems.least_neighbours(100, 0.5, 1e-6)
    with pytest.raises(NotProved):
        theorems.bracket("k-out", 1_000, 0.5, k=20, delta=1e-6)
    with pytest.raises(NotProved):
        theorems.corollary("complete", epsilon=2, delta=1e-6, inner=1e-7, parties=1_000, honest=0.5)
    with pytest.raises(Unreachable):
        theorems.corollary("complete", epsilon=0.5, delta=1e-7, inner=1e-6, parties=1_000, honest=0.5)
    with pytest.raises(OutOfRange):
        theorems.bracket("ring", 1_000, 0.5)  # type: ignore[arg-type]


# ---------------------------------------------------------------- uniform masks, all of them

MODULUS = 5


def views(edges: list[tuple[int, int]], values: tuple[int, ...], corrupted: int) -> Counter[tuple[int, ...]]:
    """What corrupted party (the last one, if any) and public see, over all masks: its own masks, and all reveals."""
    seen: Counter[tuple[int, ...]] = Counter()
    for masks in itertools.product(range(MODULUS), repeat=len(edges)):
        shown = list(values)
        for (i, j), mask in zip(edges, masks, strict=True):
            shown[i] += mask
            shown[j] -= mask
        own = tuple(m for (i, j), m in zip(edges, masks, strict=True) if corrupted in (i, j))
        seen[(*own, *(one % MODULUS for one in shown))] += 1
    return seen


def test_all_that_is_seen_depends_on_the_honest_sum_alone() -> None:
    """Multiparty privacy at its smallest: the joint law of a semi-honest party's view, masks enumerated."""
    triangle_and_spy = [(0, 1), (1, 2), (0, 3), (2, 3)]
    assert views(triangle_and_spy, (1, 2, 3, 4), 3) == views(triangle_and_spy, (4, 0, 2, 4), 3)
    assert views(triangle_and_spy, (1, 2, 3, 4), 3) != views(triangle_and_spy, (1, 2, 4, 4), 3)


def test_honest_parties_in_two_pieces_are_told_apart() -> None:
    apart = [(0, 1), (1, 3), (2, 3)]
    assert views(apart, (1, 2, 3, 4), 3) != views(apart, (4, 0, 2, 4), 3)
