"""Two networks: a few known people lead to nearly all, unless the networks have nothing to do with each other."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub.attacks import match_graphs, populations
from hubbub.attacks.populations import Networks
from hubbub.terms import Unsuitable


@pytest.fixture(scope="module")
def both() -> Networks:
    return populations.friends()


@pytest.mark.parametrize("seed", [0, 1])
def test_twenty_seeds_lead_to_nearly_everybody(seed: int) -> None:
    both = populations.friends(seed=seed)
    found = match_graphs(both.released, both.known, seeds=both.seeds(20), truth=both.truth)
    assert found.precision > 0.98
    assert found.recall > 0.95
    assert found.succeeded
    assert found.history[0] == 20


def test_too_few_seeds_die_out(both: Networks) -> None:
    found = match_graphs(both.released, both.known, seeds=both.seeds(3), truth=both.truth)
    assert found.recall < 0.05


def test_unrelated_networks_are_not_matched(both: Networks) -> None:
    other = populations.friends(seed=9)
    truth = {one: int(np.unique(other.known)[i]) for i, one in enumerate(list(both.truth)[:700])}
    seeds = {one: truth[one] for one in list(truth)[:20]}
    found = match_graphs(both.released, other.known, seeds=seeds, truth=truth)
    assert found.right <= 5
    assert not found.succeeded


def test_seeds_stay_as_they_were_given(both: Networks) -> None:
    seeds = both.seeds(20)
    found = match_graphs(both.released, both.known, seeds=seeds)
    assert all(found.matches[one] == other for one, other in seeds.items())
    assert not seeds.keys() & found.new_matches.keys()
    assert len(set(found.matches.values())) == len(found.matches)


def test_a_friendship_listed_twice_changes_nothing(both: Networks) -> None:
    once = match_graphs(both.released, both.known, seeds=both.seeds(20))
    twice = match_graphs(np.concatenate([both.released, both.released]), both.known, seeds=both.seeds(20))
    assert once.matches == twice.matches


def test_the_two_views_overlap_and_are_numbered_anew(both: Networks) -> None:
    ours = {frozenset(pair) for pair in both.released.tolist()}
    theirs = {frozenset(pair) for pair in both.known.tolist()}
    mapped = {frozenset(both.truth.get(i, -1) for i in pair) for pair in ours}
    assert 0.4 < len(mapped & theirs) / len(theirs) < 0.8
    assert len(ours & theirs) / len(theirs) < 0.2


@pytest.mark.parametrize(
    ("released", "seeds", "told"),
    [
        ([], {0: 0}, "not a list of friendships"),
        ([[0, 1, 2]], {0: 0}, "not a list of friendships"),
        ([["a", "b"]], {0: 0}, "not a list of friendships"),
        ([[0, 1]], {}, "seeds are not different people"),
        ([[0, 1]], {7: 0}, "seeds are not different people"),
        ([[0, 1]], {0: 0, 1: 0}, "seeds are not different people"),
        (np.stack([np.arange(7000), np.arange(7000) + 1], axis=1), {0: 0}, "more than 6,000 people"),
    ],
)
def test_what_is_no_network_is_refused(released: object, seeds: dict[int, int], told: str) -> None:
    with pytest.raises(Unsuitable, match=told):
        match_graphs(released, [[0, 1], [1, 2]], seeds=seeds)


def test_pairs_of_unequal_length_and_seeds_that_map_nothing_are_refused() -> None:
    with pytest.raises(Unsuitable, match="friendships"):
        match_graphs([[1, 2], [3]], [[1, 2]], seeds={1: 1})  # type: ignore[list-item]
    with pytest.raises(Unsuitable, match="seeds"):
        match_graphs([[1, 2]], [[1, 2]], seeds=[1])  # type: ignore[arg-type]
