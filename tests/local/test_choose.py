"""Which randomizer is picked."""

from __future__ import annotations

import json
import math

import pytest

from hubbub.local import KaryResponse, OneBitHadamard, ProjectiveGeometry, SubsetSelection, choose
from hubbub.terms import OutOfRange


@pytest.mark.parametrize(
    ("domain", "epsilon", "size", "kind"),
    [
        (2, 1, None, KaryResponse),
        (4, 1, 1, KaryResponse),
        (10, 1, None, SubsetSelection),
        (1000, 1, None, ProjectiveGeometry),
        (100_000, 1, 3, ProjectiveGeometry),
        (100_000, 4, None, ProjectiveGeometry),
        (1000, 8, None, KaryResponse),
        (1 << 22, 1, None, OneBitHadamard),
    ],
)
def test_the_pick_is_the_expected_one(domain: int, epsilon: int, size: int | None, kind: type) -> None:
    assert isinstance(choose(domain=domain, epsilon=epsilon, bytes=size).randomizer, kind)


@pytest.mark.parametrize("domain", [2, 5, 9, 12, 50, 300, 5000])
@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4, 7])
def test_nothing_that_fits_is_much_better(domain: int, epsilon: float) -> None:
    made = choose(domain=domain, epsilon=epsilon)
    assert made.randomizer.variance(count=1) <= 1.05 * min(r.variance(count=1) for r in made.considered)


def test_naming_a_value_outright_is_best_for_few() -> None:
    """Below 3 e^epsilon + 2, against unary encoding of n * variance 4 e^epsilon / (e^epsilon - 1)^2."""
    for epsilon in (0.5, 1, 2):
        odds = math.exp(epsilon)
        limit = 3 * odds + 2
        best = 4 * odds / (odds - 1) ** 2
        assert KaryResponse(epsilon=epsilon, domain=math.floor(limit)).variance(count=1) <= best
        assert KaryResponse(epsilon=epsilon, domain=math.ceil(limit) + 1).variance(count=1) > best


def test_the_reason_is_told() -> None:
    made = choose(domain=100_000, epsilon=1)
    assert "one transform" in made.reason
    assert "ProjectiveGeometry" in made.text()
    assert json.loads(json.dumps(made.to_json()))["picked"]["protocol"] == "projective"


def test_too_few_bytes_are_refused() -> None:
    with pytest.raises(OutOfRange, match="fits"):
        choose(domain=100_000, epsilon=1, bytes=2)
