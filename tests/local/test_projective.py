"""Projective geometry response."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hubbub.local import ProjectiveGeometry
from hubbub.local.randomizers.common.projective_space import Space, dimension_for
from hubbub.terms import OutOfRange

from .contract import FrequencyContract, LargeDomains


class TestOrderThree(LargeDomains):
    kind = ProjectiveGeometry
    small = {"epsilon": 1, "domain": 13, "missing": 12, "order": 3}
    values = range(13)
    looser = {"sets": 2}
    best = 3.761
    bad_payload = b"\x0d"
    bad = {**LargeDomains.bad, "order": [(4, OutOfRange), (1, OutOfRange), (100_003, OutOfRange)]}


class TestOrderFive(TestOrderThree):
    small = {"epsilon": 1, "domain": 25, "missing": 24, "order": 5}
    values = range(25)
    large = {"epsilon": 2, "domain": 1000}
    best = 0.7308
    bad_payload = b"\x1f"


class TestOrderTwo(FrequencyContract):
    kind = ProjectiveGeometry
    looser = {"sets": 2}
    small = {"epsilon": 1, "domain": 15, "order": 2}
    values = range(15)
    large = {"epsilon": 0.5, "domain": 1000, "order": 2}
    best = 16.63
    bad_payload = b"\x0f"


SPACES = [(2, 2), (2, 4), (3, 3), (3, 4), (5, 3), (7, 2)]


def digits(vector: int, order: int, dimension: int) -> list[int]:
    return [vector // order**i % order for i in range(dimension)]


@pytest.mark.parametrize(("order", "dimension"), SPACES)
def test_points_and_vectors_go_back_and_forth(order: int, dimension: int) -> None:
    space = Space(order, dimension)
    vectors = [space.vector(point) for point in range(space.points)]
    assert len(set(vectors)) == space.points == (order**dimension - 1) // (order - 1)
    assert [space.point(vector) for vector in vectors] == list(range(space.points))
    assert 0 not in vectors
    for factor in range(1, order):
        multiples = [int(space._times(vector, factor)) for vector in vectors]
        assert [space.point(vector) for vector in multiples] == list(range(space.points))
        assert space.point(np.array(multiples, dtype=np.int32)).tolist() == list(range(space.points))
    assert space.vector(np.arange(space.points)).tolist() == vectors


@pytest.mark.parametrize(("order", "dimension"), SPACES)
def test_free_digits_lead_to_every_point_once(order: int, dimension: int) -> None:
    """Inside and outside the hyperplane; and never to the zero vector, which is no point."""
    space = Space(order, dimension)
    for own in range(space.points):
        inside = [space.meet(own, space.vector(i), 0) for i in range(space.plane)]
        outside = [space.meet(own, i, 1) for i in range(space.outside)]
        assert sorted(inside + outside) == list(range(space.points))
        coordinates = digits(space.vector(own), order, dimension)
        for point, product in [*((p, True) for p in inside), *((p, False) for p in outside)]:
            dot = sum(a * b for a, b in zip(coordinates, digits(space.vector(point), order, dimension), strict=True))
            assert (dot % order == 0) is product


@pytest.mark.parametrize(("order", "dimension"), SPACES)
def test_the_transform_counts_what_is_orthogonal(order: int, dimension: int) -> None:
    space = Space(order, dimension)
    counts = np.random.default_rng(1).integers(0, 100, space.points)
    vectors = np.array([digits(space.vector(p), order, dimension) for p in range(space.points)])
    orthogonal = (vectors @ vectors.T) % order == 0
    expected = order * (orthogonal @ counts) - counts.sum()
    assert np.allclose(space.transform(counts), expected)


def test_reports_of_a_hundred_thousand_values_have_three_bytes() -> None:
    survey = ProjectiveGeometry(epsilon=1, domain=100_000)
    assert survey.payload_bytes == 3
    assert survey.variance(count=1) < 3.8
    assert survey.order == 3


@pytest.mark.parametrize("domain", [1000, 100_000])
@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 3, 4])
def test_the_error_is_close_to_the_best(epsilon: float, domain: int) -> None:
    odds = math.exp(epsilon)
    survey = ProjectiveGeometry(epsilon=epsilon, domain=domain)
    assert survey.variance(count=1) < 1.03 * 4 * odds / (odds - 1) ** 2


def test_dimensions_are_the_fewest() -> None:
    assert [dimension_for(3, d) for d in (2, 4, 5, 13, 14, 100_000)] == [2, 2, 3, 3, 4, 12]
