"""Searching for bad neighbours finds them, and pays for the search."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from hubbub.audit import neighbour_pairs, search
from hubbub.audit.zoo.sparse import SparseVector
from hubbub.terms import EmptyInput, Neighbours, OutOfRange, ReversedBounds

from ._laws import laplace, on_grid


def bulk(mechanism: Any, tried: Any, **more: Any) -> Any:
    return search(mechanism, tried, vectorized=True, trials=20_000, looks=1_000, **more)


def test_the_pair_that_breaks_a_sparse_vector_is_found() -> None:
    found = bulk(SparseVector(threshold_scale=2.0, answer_scale=2.0, count=None), neighbour_pairs.answers(10), claim=1)
    assert found.refuted
    assert found.pair_name in {"half down, half up", "alternating", "crossed"}


def test_a_person_who_matters_only_in_one_crowd_is_found() -> None:
    """A mean of whoever is there: one more person moves it most where nobody else is."""
    rng = np.random.default_rng(1)

    def mean(values: list[float], size: int) -> Any:
        return on_grid((np.mean(values) if values else 0.0) + rng.laplace(0, 0.1, size))

    found = bulk(mean, neighbour_pairs.numbers(10, lower=0, upper=1), claim=1)
    assert found.refuted
    assert "nobody else" in found.pair_name


def test_a_correct_mechanism_stays_quiet_over_many_pairs() -> None:
    """Twenty looks at tight pairs: the highest of them would be above 1, the audit of its pair is not."""
    rng = np.random.default_rng(2)

    def noisy(value: float, size: int) -> Any:
        return on_grid(rng.laplace(value, 1, size))

    found = bulk(noisy, [(i, i + 1) for i in range(20)], claim=1)
    assert not found.refuted
    assert max(about for _, about in found.looks if about is not None) > 0.9
    assert 0.8 < found.bound <= 1


def test_the_search_is_told() -> None:
    found = bulk(laplace(3), {"near": (0, 0.1), "far": (0, 1)}, name="laplace")
    assert found.pair == (0, 1)
    assert "How the pair was found" in str(found)
    document = json.loads(json.dumps(found.to_json()))
    assert document["pair"] == "far"
    assert {look["pair"] for look in document["looks"]} == {"near", "far"}


def test_a_pair_that_cannot_be_run_does_not_stop_the_search() -> None:
    def picky(value: float, size: int) -> Any:
        if value < 0:
            raise ValueError
        return laplace(4)(value, size)

    found = bulk(picky, {"bad": (-1, 0), "good": (0, 1)})
    assert found.pair_name == "good"
    assert dict(found.looks)["bad"] is None
    assert bulk(picky, {"bad": (-1, 0)}).audit.problem is not None


def test_no_pairs_are_refused() -> None:
    with pytest.raises(EmptyInput):
        bulk(laplace(5), [])


# ---------------------------------------------------------------- patterns


def test_answers_move_by_at_most_one_step() -> None:
    for a, b in neighbour_pairs.answers(7, step=2).values():
        assert len(a) == len(b) == 7
        assert a != b
        assert max(abs(x - y) for x, y in zip(a, b, strict=True)) == 2


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_lists_and_tables_differ_in_one_person(neighbours: Neighbours) -> None:
    tried = {
        **neighbour_pairs.numbers(6, lower=0, upper=1, neighbours=neighbours),
        **neighbour_pairs.tables({"ward": ["n", "s"], "cost": (0, 9)}, rows=5, neighbours=neighbours),
    }
    for a, b in tried.values():
        if neighbours is Neighbours.ADD_REMOVE:
            assert b[:-1] == a
        else:
            assert (a[:-1], len(a)) == (b[:-1], len(b))
            assert a[-1] != b[-1]


@pytest.mark.parametrize(("neighbours", "moved"), [("add-remove", 1), ("replace", 2)])
def test_histograms_differ_in_one_person(neighbours: str, moved: int) -> None:
    for a, b in neighbour_pairs.histograms(4, neighbours=neighbours).values():
        assert sum(abs(x - y) for x, y in zip(a, b, strict=True)) == moved


def test_patterns_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ReversedBounds):
        neighbour_pairs.numbers(3, lower=1, upper=1)
    with pytest.raises(OutOfRange):
        neighbour_pairs.answers(0)
    with pytest.raises(EmptyInput):
        neighbour_pairs.tables({})
