"""Random graphs: the same everywhere, unbiased, and failing no more often than the bounds say."""

from __future__ import annotations

import hashlib
import itertools
import math

import numpy as np
import pytest

from hubbub.gopa import Graph, graph
from hubbub.gopa.lectures.random_graphs import pairs, picks
from hubbub.gopa.privacy import connectivity
from hubbub.terms import EmptyInput, OutOfRange, WrongShape


def seed(number: int) -> bytes:
    return hashlib.sha256(number.to_bytes(8, "big")).digest()


def test_the_same_seed_gives_the_same_graph_for_ever() -> None:
    drawn = graph(seed(1), range(100), 5)
    told = hashlib.sha256(drawn.edges.astype("<i8").tobytes()).hexdigest()
    assert told.startswith("ab3a4cb015bb6851")
    assert not np.array_equal(drawn.edges, graph(seed(2), range(100), 5).edges)


def test_each_party_picks_k_others_and_never_itself() -> None:
    chosen = picks(seed(3), 50, 7)
    assert chosen.shape == (7, 50)
    assert all(len(set(column)) == 7 and i not in column for i, column in enumerate(chosen.T.tolist()))


def test_picks_are_uniform_subsets() -> None:
    """All ten subsets of two of five others, over 2,000 draws of 6 positions: chi-square with 9 degrees of freedom."""
    counts: dict[tuple[int, ...], int] = {}
    for number in range(2_000):
        chosen = picks(seed(number), 6, 2)
        for i, column in enumerate(chosen.T.tolist()):
            subset = tuple(sorted(other - (other > i) for other in column))
            counts[subset] = counts.get(subset, 0) + 1
    statistic = sum((count - 1_200) ** 2 / 1_200 for count in counts.values())
    assert len(counts) == 10
    assert statistic < 33.7  # exceeded once in 10,000


def test_edges_are_the_union_each_once() -> None:
    drawn = graph(seed(4), [3, 9, 11, 20, 31], 2)
    told = {tuple(edge) for edge in drawn.edges.tolist()}
    assert len(told) == len(drawn.edges)
    assert all(i < j for i, j in told)
    for party in drawn.parties:
        assert drawn.neighbours(party) == tuple(sorted({i + j - party for i, j in told if party in (i, j)}))
        assert drawn.degree(party) >= 2


def test_the_graph_is_complete_when_k_reaches_everybody() -> None:
    assert len(graph(seed(5), range(8), 7).edges) == 28
    assert len(graph(seed(5), range(8), 100).edges) == 28


def test_pieces_are_found() -> None:
    drawn = Graph(tuple(range(6)), np.array([[0, 1], [1, 2], [3, 4]]))
    assert drawn.pieces() == [(0, 1, 2), (3, 4), (5,)]
    assert drawn.connected([0, 1, 2])
    assert not drawn.connected([0, 2])  # the edge leads through somebody who is not among them


def test_bad_graphs_are_refused() -> None:
    with pytest.raises(WrongShape):
        graph(b"short", range(5), 2)
    with pytest.raises(EmptyInput):
        graph(seed(1), [], 2)
    with pytest.raises(OutOfRange):
        graph(seed(1), [1, 1, 2], 2)
    with pytest.raises(OutOfRange):
        graph(seed(1), range(5), 0)


# ---------------------------------------------------------------- how often they fail, counted exactly


def all_picks(parties: int, k: int, pickers: int) -> list[tuple[frozenset[int], ...]]:
    """Every way in which the first parties can pick."""
    each = [
        [frozenset(chosen) for chosen in itertools.combinations([j for j in range(parties) if j != i], k)]
        for i in range(pickers)
    ]
    return list(itertools.product(*each))


@pytest.mark.parametrize(("parties", "k", "honest"), [(5, 1, 4), (5, 2, 4), (6, 1, 4), (6, 2, 3)])
def test_the_bound_on_pieces_holds_against_all_graphs(parties: int, k: int, honest: int) -> None:
    ways = all_picks(parties, k, honest)
    apart = 0
    for way in ways:
        edges = [sorted((i, j)) for i, chosen in enumerate(way) for j in chosen if j < honest]
        apart += not Graph(tuple(range(honest)), np.array(sorted(edges)).reshape(-1, 2)).connected()
    assert apart / len(ways) <= connectivity.disconnection_chance(parties, k, honest)


@pytest.mark.parametrize(
    ("parties", "k", "corrupted", "threshold"), [(6, 2, 2, 2), (5, 2, 1, 2), (6, 3, 2, 3), (5, 2, 2, 1), (5, 3, 1, 2)]
)
def test_the_bound_on_being_cut_off_holds_against_all_graphs(
    parties: int, k: int, corrupted: int, threshold: int
) -> None:
    honest = parties - corrupted
    ways = all_picks(parties, k, honest)
    bad = frozenset(range(honest, parties))
    groups = [
        frozenset(group) for size in range(1, honest // 2 + 1) for group in itertools.combinations(range(honest), size)
    ]
    failed = sum(any(all(len(way[i] & (group | bad)) >= threshold for i in group) for group in groups) for way in ways)
    assert failed / len(ways) <= connectivity.cut_off(parties, k, corrupted, threshold)
    if failed == 0:
        assert connectivity.cut_off(parties, k, corrupted, threshold) < 1


@pytest.mark.parametrize(("parties", "k", "corrupted", "threshold"), [(6, 3, 2, 3), (7, 4, 2, 4)])
def test_nobody_whom_an_adversary_drops_can_cut_the_others_off(
    parties: int, k: int, corrupted: int, threshold: int
) -> None:
    """The argument itself: whoever is left, a piece that passes its checks is cut off in the sense of the bound."""
    honest, generator = parties - corrupted, np.random.default_rng(5)
    bad, ways = frozenset(range(honest, parties)), all_picks(parties, k, honest)
    for way in [ways[i] for i in generator.choice(len(ways), size=80)]:
        for size in range(2, honest + 1):
            for left in map(frozenset, itertools.combinations(range(honest), size)):
                edges = [sorted((i, j)) for i in left for j in way[i] if j in left]
                drawn = Graph(tuple(sorted(left)), np.array(sorted(edges)).reshape(-1, 2))
                for piece in map(frozenset, drawn.pieces()):
                    checked = all(len(way[i] & (left | bad)) >= threshold for i in piece)
                    if piece != left and checked and len(piece) <= size // 2:
                        assert all(len(way[i] & (piece | bad)) >= threshold for i in piece)


# ---------------------------------------------------------------- and against sampled frequencies


@pytest.mark.parametrize(("k", "known"), [(5, 0.71), (8, 0.037), (10, 0.007)])
def test_sampled_graphs_fall_apart_no_more_often_than_the_bound(k: int, known: float, soak: int) -> None:
    draws, honest = 60 * soak, range(500)
    apart = 0
    for number in range(draws):
        drawn = pairs(picks(seed(1000 * k + number), 1000, k))
        inside = drawn[(drawn < 500).all(axis=1)]
        apart += not Graph(tuple(honest), inside).connected()
    bound = connectivity.disconnection_chance(1000, k, 500)
    for count, of in ((apart, draws), (300 * known, 300)):  # 300 others were drawn once, elsewhere
        assert count <= of * bound + 4 * math.sqrt(of * bound * (1 - bound)) + 1


def test_isolated_parties_are_only_the_first_term() -> None:
    for k in (8, 12, 20):
        chance = math.comb(999 - 499, k) / math.comb(999, k)
        alone = 500 * chance * (1 - k / 999) ** 499
        assert alone <= connectivity.disconnection_chance(1000, k, 500) < 1.2 * alone + 0.05


def test_parties_are_surrounded_as_often_as_sampled() -> None:
    """Own picks of which at least 13 of 20 are corrupted, half of all being so."""
    generator = np.random.default_rng(7)
    counts = generator.hypergeometric(500, 499, 20, size=200_000)
    frequency = float(np.mean(counts >= 13))
    told = math.exp(float(connectivity._at_least(999, np.array([500.0]), 20, 13)[0]))
    assert told == pytest.approx(frequency, rel=0.05)
    assert connectivity.cut_off(1000, 20, 500, 13) == 1.0  # 500 parties times that


def test_a_threshold_below_half_of_the_rest_lets_an_adversary_split_the_honest() -> None:
    """One party alone is hardly ever surrounded by 70 of 100, but there are many ways to halve the honest."""
    alone = 500 * math.exp(float(connectivity._at_least(999, np.array([500.0]), 100, 74)[0]))
    assert alone < 1e-3
    assert connectivity.cut_off(1000, 100, 500, 74) == 1.0


def test_blocks_of_sizes_bound_the_single_sizes() -> None:
    first, last = connectivity._size_blocks(5_000)
    assert first[0] == 1
    assert last[-1] == 5_000
    assert np.array_equal(first[1:], last[:-1] + 1)
    sizes = np.arange(1.0, 201.0)
    inside = connectivity._at_least(799, 399 + sizes, 60, 54)
    singly = connectivity._sum_chances(connectivity._log_choose(400, sizes) + sizes * inside)
    assert singly <= connectivity.cut_off(800, 60, 400, 54) <= 1.01 * singly


def test_accidents_block_a_run_as_rarely_as_said() -> None:
    generator = np.random.default_rng(8)
    left = 33 - generator.hypergeometric(50, 949, 33, size=(2_000, 1_000))
    frequency = float(np.mean((left < 27).any(axis=1)))
    assert frequency <= connectivity.stuck_chance(1000, 33, 50, 27) < 4 * frequency + 0.02
