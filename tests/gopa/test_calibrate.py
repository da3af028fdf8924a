"""Plans: what they promise holds, nothing is wasted, and the impossible is refused with a way out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from hubbub.gopa import RunPlan, Sensitivity, achieved, plan
from hubbub.gopa.privacy import connectivity
from hubbub.terms import NotANumber, OutOfRange, Unreachable

from . import exactly

PLANS = [(10, 0.5, 0.2), (20, 0.8, 0.1), (100, 0.5, 0.05), (300, 0.8, 0.05), (1_000, 0.5, 0.05), (10_000, 0.9, 0.02)]


@pytest.mark.parametrize(("parties", "honest", "dropouts"), PLANS)
def test_a_plan_keeps_its_promise_and_one_bit_less_would_not(parties: int, honest: float, dropouts: float) -> None:
    made = plan(1, 1e-6, parties, honest, dropouts)
    assert Fraction(made.delta_noise) + Fraction(made.delta_graph) <= made.delta
    assert achieved(made, made.survivors).enough
    fewer = replace(made, noise_bits=made.noise_bits - 1)
    assert not achieved(fewer, made.survivors).enough


def test_the_noise_of_a_small_plan_is_private_by_exact_arithmetic() -> None:
    made = plan(2, 1e-3, 6, honest=1, dropouts=0, loss=1)
    coins = made.noise_bits * made.honest
    assert exactly.delta(coins, (made.steps,), Fraction(2)) <= Fraction(made.delta_noise) <= Fraction(1, 1000)


@pytest.mark.parametrize(("parties", "honest", "dropouts"), PLANS)
def test_two_different_cuts_cannot_both_have_a_quorum(parties: int, honest: float, dropouts: float) -> None:
    made = plan(1, 1e-6, parties, honest, dropouts)
    assert parties - made.corrupted == -(-Fraction(str(honest)) * parties // 1)
    assert 2 * made.quorum - parties > made.corrupted  # an honest party would have signed both
    assert made.quorum <= made.survivors


@pytest.mark.parametrize(("parties", "honest", "dropouts"), PLANS)
def test_the_worst_number_of_parties_in_the_graph_is_one_of_the_two_ends(
    parties: int, honest: float, dropouts: float
) -> None:
    made = plan(1, 1e-6, parties, honest, dropouts)
    sizes = range(made.survivors, parties + 1, max(1, (parties - made.survivors) // 20))
    failing = [
        connectivity.cut_off(n, k, made.corrupted, made.threshold(k)) for n in sizes for k in [min(made.degree, n - 1)]
    ]
    assert max(failing) <= made.delta_graph * (1 + 1e-9)


def test_more_survivors_never_hurt_and_too_few_are_refused() -> None:
    made = plan(1, 1e-6, 200, honest=0.6, dropouts=0.1)
    told = [achieved(made, m).delta for m in range(made.survivors, 201)]
    assert all(after <= before for before, after in pairwise(told))
    assert not achieved(made, made.survivors - 5).enough
    assert achieved(made, made.quorum - 1).delta == 1.0
    assert achieved(made, 200).least_epsilon < 1


def test_a_run_asks_for_one_delta_and_a_report_for_the_least_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    made = plan(1, 1e-6, 60, honest=0.9, dropouts=0.1)
    asked: list[float] = []
    known = Sensitivity.delta

    def counted(self: Sensitivity, trials: int, steps: int, epsilon: float) -> float:
        asked.append(epsilon)
        return known(self, trials, steps, epsilon)

    monkeypatch.setattr(Sensitivity, "delta", counted)
    found = achieved(made, 60)
    assert found.enough and asked == [1.0]
    least = found.least_epsilon
    many = len(asked)
    assert least < 1 and many > 10 and found.least_epsilon == least and len(asked) == many


def test_who_joined_matters() -> None:
    """If many never joined, the corrupted are a larger share of those who did, and the graph fails more easily."""
    made = plan(1, 1e-6, 1_000, honest=0.5, dropouts=0.05)
    everybody, fewer = (achieved(made, 950, joined=joined).delta for joined in (1_000, 955))
    assert everybody < fewer <= 1e-6


@pytest.mark.parametrize("parties", [100, 1_000, 10_000])
def test_the_variance_is_the_curators_over_the_honest_share_that_stays(parties: int) -> None:
    from hubbub.accounting.gaussian_tradeoff import mu_for

    made = plan(1, 1e-6, parties, honest=0.6, dropouts=0.1)
    central = 1 / (mu_for(1.0, 1e-6) * parties) ** 2
    assert made.loss <= 0.02
    assert 1 / 0.5 < made.variance / central < 1.06 / 0.5


def test_rounding_costs_what_was_allowed_and_noise_bits_stay_few() -> None:
    bits = [plan(1, 1e-6, n, 0.5, 0.05).noise_bits for n in (100, 1_000, 10_000, 100_000)]
    assert all(50 <= b <= 60 for b in bits)
    assert plan(1, 1e-6, 1_000, loss=0.1).noise_bits < 15


def test_neighbours_grow_slowly() -> None:
    few, many = (plan(1, 1e-6, n, 0.8).degree for n in (1_000, 100_000))
    assert many < 1.5 * few


def test_steps_may_be_given() -> None:
    made = plan(1, 1e-6, 1_000, steps=1)
    assert (made.steps, made.noise_bits) == (1, 1)


def test_a_histogram_moves_two_cells() -> None:
    scalar, cells = plan(1, 1e-6, 1_000), plan(1, 1e-6, 1_000, sensitivity=Sensitivity("one-hot", coordinates=8))
    assert cells.loss == 0.0
    assert 1.8 < cells.variance / scalar.variance < 2.1


def test_a_hospital_that_protects_patients_needs_less_noise() -> None:
    parties = plan(1, 1e-6, 100)
    patients = plan(1, 1e-6, 100, sensitivity=Sensitivity(share=Fraction(1, 1000)))
    assert patients.variance < 1.1e-6 * parties.variance


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"parties": 10, "honest": 0.1, "dropouts": 0}, "fewer than two honest"),
        ({"parties": 10, "honest": 0.5, "dropouts": 0.3}, "8 of 10 signatures"),
        ({"parties": 100, "honest": 0.5, "dropouts": 0.4}, "76 of 100 signatures"),
    ],
)
def test_the_impossible_is_refused_with_a_way_out(asked: dict[str, float], told: str) -> None:
    with pytest.raises(Unreachable, match=told):
        plan(1, 1e-6, **asked)


def test_nonsense_is_refused() -> None:
    for wrong in (
        {"epsilon": 0},
        {"delta": 0},
        {"delta": 1},
        {"parties": 1},
        {"honest": 0},
        {"dropouts": 1},
        {"loss": 0},
    ):
        with pytest.raises(OutOfRange):
            plan(**{"epsilon": 1, "delta": 1e-6, "parties": 10} | wrong)
    with pytest.raises(NotANumber):
        plan("one", 1e-6, 10)
    with pytest.raises(OutOfRange):
        Sensitivity("square")  # type: ignore[arg-type]
    with pytest.raises(OutOfRange):
        Sensitivity(share=Fraction(3, 2))
    with pytest.raises(OutOfRange):
        Sensitivity("one-hot")


def test_a_threshold_stays_above_the_corrupted_when_everybody_picks_everybody() -> None:
    made = plan(1, 1e-6, 12, honest=0.5, dropouts=0.1)
    complete = replace(made, degree=11, share_threshold=Fraction(made.corrupted, made.survivors - 1))
    for joined in range(made.survivors, 13):
        assert complete.threshold(joined - 1) > made.corrupted


def test_a_plan_is_a_value() -> None:
    assert isinstance(plan(1, 1e-6, 10), RunPlan)
    assert plan(1, 1e-6, 10) == plan(Fraction(1), Fraction(1, 10**6), 10)
