"""The simulator: as accurate as the formula, as private as the plan, and its noise comes from a secure source."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hubbub import noise
from hubbub.audit import examine
from hubbub.gopa import RunPlan, Simulation, plan, simulate
from hubbub.gopa.privacy.trust_comparison import compare
from hubbub.gopa.simulate import Profile, _run_verifiable
from hubbub.noise.testing import seeded
from hubbub.terms import EmptyInput, NotANumber, OutOfRange, ReversedBounds, Unreachable, WrongShape

VALUES = np.linspace(0, 1, 200)


def test_who_dropped_out_is_said() -> None:
    some = simulate(VALUES, epsilon=1, delta=1e-6, honest=0.8, dropouts=0.05)
    assert "10 of 200 dropped out" in some.text(width=10**6)
    assert "dropped out," not in simulate(VALUES, epsilon=1, delta=1e-6, honest=0.8, dropouts=0).text(width=10**6)
    [section] = some.sections()
    assert section.table is not None and all(section.table.header)


@pytest.fixture
def same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """All noise, all rounding and all masks from a seeded source, and the same dropouts and picks."""
    source, generator, other = seeded(11), np.random.default_rng(11), np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda *seed: other(*seed) if seed else generator)

    picking = SimpleNamespace(token_bytes=np.random.default_rng(12).bytes)  # how many masks are drawn hangs on it
    monkeypatch.setattr(sys.modules["hubbub.gopa.simulate"], "secrets", picking)

    def drawing(draw: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, **more: draw(*given, rng=source, **more)

    for name in ("binomial", "uniform", "discrete_gaussian"):
        monkeypatch.setattr(noise, name, drawing(getattr(noise, name)))


def spread(found: list[Simulation], values: np.ndarray) -> tuple[float, float]:
    """The mean error in standard deviations, and the mean squared error over the variance that was told."""
    errors = np.array([one.mean - values[one.included].mean() for one in found])
    told = found[0].variance
    return float(errors.mean() / math.sqrt(told / len(errors))), float(np.mean(errors**2) / told)


@pytest.mark.usefixtures("same_noise")
@pytest.mark.parametrize("profile", ["verifiable", "classic"])
def test_the_mean_is_unbiased_and_as_accurate_as_told(profile: Profile, soak: int) -> None:
    values = VALUES[::5] if profile == "classic" else VALUES
    found = [
        simulate(values, 1, 1e-3, 0.8, dropouts=0.1, profile=profile)
        for _ in range((60 if profile == "classic" else 150) * soak)
    ]
    bias, ratio = spread(found, values)
    assert abs(bias) < 4
    assert abs(ratio - 1) < 4 * math.sqrt(2 / len(found))


@pytest.mark.usefixtures("same_noise")
def test_half_the_noise_would_be_noticed() -> None:
    made = plan(1, 1e-3, 200, 0.8, 0.1)
    found = [_run_verifiable(VALUES, replace(made, noise_bits=made.noise_bits // 2)) for _ in range(400)]
    _, ratio = spread([replace(one, variance=made.variance_of(made.survivors)) for one in found], VALUES)
    assert abs(ratio - 1) > 4 * math.sqrt(2 / len(found))


def test_masks_cancel_exactly_and_all_noise_is_drawn_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values on the grid and coins that are held still: the sum is right to the last digit, 20 parties having gone."""
    monkeypatch.setattr(noise, "binomial", lambda trials, _, size: np.full(size, trials // 2))
    values = np.repeat([0.25, 0.5, 0.75, 1.0], 25)
    found = _run_verifiable(values, replace(plan(1, 1e-3, 100, 0.8, 0.2, steps=4), noise_bits=20))
    assert len(found.included) == 80
    assert found.repaired > 0
    assert found.mean == pytest.approx(values[found.included].mean(), abs=1e-15)


def test_reveals_look_like_random_words() -> None:
    made = plan(1, 1e-6, 5_000, 0.8)
    shown = _run_verifiable(np.zeros(5_000), made).reveals
    bits = np.unpackbits(shown.view(np.uint8)).mean()
    assert abs(bits - 0.5) < 5 * 0.5 / math.sqrt(64 * len(shown))
    assert len(np.unique(shown)) == len(shown)


def test_a_range_other_than_zero_to_one_is_scaled() -> None:
    found = simulate(100 * VALUES + 50, 1, 1e-6, 0.8, lower=50, upper=150)
    assert 50 < found.mean < 150
    assert found.variance == pytest.approx(1e4 * simulate(VALUES, 1, 1e-6, 0.8).variance)


def test_values_outside_of_the_bounds_are_clamped_and_never_refused() -> None:
    wild = np.array([math.nan, math.inf, -math.inf, 1e300, -5.0] * 40)
    found = simulate(wild, 1, 1e-6, 0.8)
    assert abs(found.mean - 0.4) < 6 * math.sqrt(found.variance) + 0.1


def test_masks_of_lost_parties_drown_a_classic_sum_that_is_not_repaired() -> None:
    kept, broken = (
        simulate(VALUES, 1, 1e-6, 0.5, dropouts=0.05, profile="classic", repair=repair) for repair in (True, False)
    )
    assert broken.variance > 100 * kept.variance
    assert kept.achieved.enough
    assert broken.repaired == 0


def test_a_classic_graph_in_pieces_is_refused() -> None:
    with pytest.raises(Unreachable):
        for _ in range(20):
            simulate(VALUES, 1, 1e-6, 0.3, profile="classic", degree=1)


def test_too_few_picks_are_told() -> None:
    assert simulate(np.zeros(1_000), 1, 1e-6, 0.5).achieved.enough
    assert not simulate(np.zeros(1_000), 1, 1e-6, 0.5, degree=12).achieved.enough


@pytest.mark.parametrize(
    ("given", "more", "error"),
    [
        ([0.5], {}, EmptyInput),
        ([[0.5, 0.1]], {}, WrongShape),
        (["a", "b"], {}, NotANumber),
        ([0.1, 0.2], {"lower": 1, "upper": 0}, ReversedBounds),
        ([0.1] * 10, {"profile": "trusting"}, OutOfRange),
        ([0.1] * 10, {"profile": "classic", "honest": 0.2, "dropouts": 0.1}, OutOfRange),
        ([0.1] * 10, {"honest": 0.1}, Unreachable),
    ],
)
def test_bad_input_is_refused_before_noise_is_drawn(
    given: Any, more: dict[str, Any], error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise, "binomial", lambda *_, **__: pytest.fail("noise was drawn"))
    with pytest.raises(error):
        simulate(given, 1, 1e-6, **more)


def test_the_report_says_whom_a_simulation_does_not_protect() -> None:
    found = simulate(VALUES, 1, 1e-6, 0.8)
    assert "protects nobody from that machine" in " ".join(found.text().split())
    assert json.loads(json.dumps(found.to_json()))["parties"] == 200
    assert "simulated" in found.html()


# ---------------------------------------------------------------- an audit that could refute it


def published(agreed: RunPlan) -> Callable[[float, int], np.ndarray]:
    def draw(value: float, size: int) -> np.ndarray:
        return np.array([_run_verifiable(np.array([value, 0.5, 0.5]), agreed).mean for _ in range(size)])

    return draw


@pytest.mark.usefixtures("same_noise")
def test_an_audit_does_not_refute_a_run_and_refutes_one_with_half_the_bits(soak: int) -> None:
    agreed = plan(0.5, 0.2, 3, honest=1, dropouts=0, steps=2)
    more = {"trials": 2_000 * soak, "delta": 0.2, "claim": 0.5, "vectorized": True}
    right = examine(published(agreed), 0.0, 1.0, **more)  # type: ignore[arg-type]
    wrong = examine(published(replace(agreed, noise_bits=agreed.noise_bits // 2)), 0.0, 1.0, **more)  # type: ignore[arg-type]
    assert right.bound is not None and not right.refuted
    assert wrong.refuted


# ---------------------------------------------------------------- beside a curator and beside nobody


def test_gopa_is_near_the_curator_and_far_below_the_local_model() -> None:
    told = compare(1, 1e-6, sizes=(100, 1_000, 10_000))
    over = [point.over_curator for point in told.points]
    under = [point.under_local for point in told.points]
    assert all(1 / 0.45 < ratio < 1.06 / 0.45 for ratio in over)
    assert under[1] > 20
    assert under[2] > 9 * under[1] > 80 * under[0]


def test_with_everybody_honest_it_is_the_curators_but_for_rounding() -> None:
    [point] = compare(1, 1e-6, honest=1, dropouts=0, sizes=(1_000,)).points
    assert 1 < point.over_curator < 1.06


def test_the_comparison_is_drawn_and_told() -> None:
    told = compare(1, 1e-6, sizes=(100, 1_000))
    assert told.svg().startswith("<svg")
    assert "1,000 parties" in told.text()
    assert [one["parties"] for one in told.to_json()["variances"]] == [100, 1_000]  # type: ignore[index, union-attr]
    assert Fraction(told.epsilon) == 1
