"""What people average: to whole numbers and back, and how far one protected unit moves them."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from hubbub.gopa.average import Average, average, people_for_plan, publish_run
from hubbub.gopa.privacy.sensitivity import Sensitivity
from hubbub.gopa.protocol.agreement import Agreement, Quantity
from hubbub.gopa.protocol.certificate import verify
from hubbub.gopa.protocol.identities import Identity
from hubbub.gopa.quantities import bounded_vectors
from hubbub.gopa.quantities.base import PartyInput, RunEstimate
from hubbub.gopa.quantities.bounded_vectors import Gradient, clip_vector
from hubbub.gopa.quantities.grid import round_to_steps
from hubbub.gopa.quantities.many_people import Subjects
from hubbub.gopa.quantities.numbers import BoundedNumber, CategoryShares, Vector
from hubbub.gopa.quantities.repeated_runs import delta_over, plan_over
from hubbub.gopa.quantities.weighted import PrivatelyWeighted, Weighted
from hubbub.terms import EmptyInput, MissingParameter, OutOfRange, ReversedBounds, Unreachable, WrongShape

AGES = BoundedNumber(18, 100)


def agreement(of: PartyInput, parties: int = 12, epsilon: float = 2) -> Agreement:
    return people_for_plan(of.plan(parties, epsilon=epsilon, delta=1e-6, honest=0.8), of).agreement


def tried(values: list[Any], of: PartyInput, epsilon: float = 4) -> Average:
    return average(values, of, epsilon=epsilon, delta=1e-6, honest=0.8, proofs=False)


CASES: dict[str, tuple[PartyInput, list[Any], dict[str, float]]] = {
    "number": (AGES, [20, 40, 90] * 100, {"mean": 50}),
    "vector": (Vector(2, -1, 1), [[-1, 0.5], [1, 0.5]] * 100, {"0": 0, "1": 0.5}),
    "histogram": (CategoryShares(("A", "B", "0")), ["A", "A", "B", "0"] * 100, {"A": 0.5, "B": 0.25, "0": 0.25}),
    "gradient": (Gradient(2, norm=2), [[0.6, 0.8], [0.2, -0.4]] * 100, {"0": 0.4, "1": 0.2}),
    "weighted": (Weighted(AGES, [1, 3] * 100), [20, 60] * 100, {"mean": 50}),
    "private weights": (PrivatelyWeighted(AGES, most=4), [(20, 1), (60, 3)] * 100, {"mean": 50, "weight": 2}),
    "people": (Subjects(AGES, most=9), [[20], [60, 60, 60]] * 50, {"mean": 50, "people per party": 2}),
    "people, public": (Subjects(AGES, most=9, sizes=(1, 3) * 50), [[20], [60, 60, 60]] * 50, {"mean": 50}),
    "people's cells": (
        Subjects(CategoryShares(("A", "B")), most=9),
        [["A"], ["B", "B", "A"]] * 50,
        {"A": 0.5, "B": 0.5},
    ),
    "people's vectors": (
        Subjects(Vector(2), most=4),
        [[[0.5, 1]] * 2] * 100,
        {"0": 0.5, "1": 1, "people per party": 2},
    ),
    "people's gradients": (
        Subjects(Gradient(2, norm=2), most=2, sizes=(2,) * 100),
        [[[0.6, 0.8], [0.2, -0.4]]] * 100,
        {"0": 0.4, "1": 0.2},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_read_is_what_was_put_in_up_to_the_noise_that_is_told(case: str) -> None:
    of, values, truth = CASES[case]
    told = tried(values, of)
    assert set(told.values) == set(truth)
    for name, deviation in zip(told.reading.labels, told.reading.std_devs, strict=True):
        assert abs(told.values[name] - truth[name]) < 6 * deviation, name


@pytest.mark.parametrize("case", CASES)
def test_the_deviation_that_is_told_is_the_one_of_many_runs(case: str, soak: int) -> None:
    of, values, truth = CASES[case]
    runs = 60 * soak
    made = of.plan(len(values), epsilon=4, delta=1e-6, honest=0.8)
    who = people_for_plan(made, of)

    def once() -> RunEstimate:
        steps = [of.encode(value, who.agreement, place=place) for place, value in enumerate(values)]
        return publish_run(who, steps, of, proofs=False).reading

    found = [once() for _ in range(runs)]
    least = 0.6 / math.sqrt(1 + made.loss)  # what is told has room for rounding, which counts do not need
    for place, name in enumerate(found[0].labels):
        spread = math.sqrt(sum((one.values[place] - truth[name]) ** 2 for one in found) / runs)
        told = math.sqrt(sum(one.std_devs[place] ** 2 for one in found) / runs)
        assert least < spread / told < 1.45, name  # five standard errors at 60 runs


def test_rounding_keeps_the_mean() -> None:
    agreed = agreement(BoundedNumber(0, 7))
    place = Fraction(3) * agreed.plan.steps / 7
    drawn = [BoundedNumber(0, 7).encode(3, agreed)[0] for _ in range(2000)]
    assert set(drawn) <= {math.floor(place), math.ceil(place)}
    assert abs(sum(drawn) / 2000 - place) < 5 * 0.5 / 2000**0.5


def test_exact_numbers_are_not_rounded() -> None:
    agreed = agreement(Subjects(CategoryShares(("A", "B")), most=5))
    assert Subjects(CategoryShares(("A", "B")), most=5).encode(["A", "B", "B"], agreed) == (1, 2)


# ---------------------------------------------------------------- what one unit moves


def moved(of: PartyInput, first: Any, second: Any, agreed: Agreement, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """By how many steps two neighbours differ if they are rounded with the same coins."""
    found = []
    for value in (first, second):
        chance = random.Random(5)
        same = lambda bound, chance=chance: int(chance.random() * bound)  # noqa: E731
        monkeypatch.setattr("secrets.randbelow", same)
        found.append(of.encode(value, agreed))
    return [abs(a - b) for a, b in zip(*found, strict=True)]


NEIGHBOURS: dict[str, tuple[PartyInput, Any, Any]] = {
    "number": (AGES, 18, 100),
    "vector": (Vector(3), [0, 0, 0], [1, 1, 1]),
    "histogram": (CategoryShares(("A", "B", "0")), "A", "B"),
    "gradient": (Gradient(3, norm=2), [5, 0, 0], [-5, 0, 0]),
    "weight": (PrivatelyWeighted(AGES, most=4), (100, 4), (18, 0)),
    "a person": (Subjects(AGES, most=50), [50] * 20 + [18], [50] * 20 + [100]),
    "a person comes": (Subjects(AGES, most=50), [50] * 20, [50] * 20 + [100]),
    "a person's cell": (Subjects(CategoryShares(("A", "B")), most=50), ["A"] * 20, ["A"] * 19 + ["B"]),
    "a person's gradient": (
        Subjects(Gradient(3, norm=1), most=20, sizes=(20,)),
        [[0.123, 0.2, 0.3]] * 19 + [[1, 1, 1]],
        [[0.123, 0.2, 0.3]] * 19 + [[-1, -1, -1]],
    ),
    "a whole hospital": (Subjects(AGES, most=50, unit="party"), [], [100] * 50),
}


@pytest.mark.parametrize("case", NEIGHBOURS)
def test_neighbours_differ_by_no_more_than_the_sensitivity_says(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of, first, second = NEIGHBOURS[case]
    agreed = agreement(of)
    apart = moved(of, first, second, agreed, monkeypatch)
    limit = of.sensitivity.shifts(agreed.plan.steps)
    if limit:
        assert sorted(one for one in apart if one)[::-1] <= sorted(limit)[::-1]
        assert sum(one > 0 for one in apart) <= len(limit)
        assert max(apart) <= max(limit)
    assert sum(one * one for one in apart) <= of.sensitivity.squared(agreed.plan.steps)
    assert any(apart)


def test_a_sensitivity_that_forgets_the_rounding_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    of = Subjects(Gradient(3, norm=1), most=20, sizes=(20,))
    agreed, worst = agreement(of), 0
    chance = random.Random(3)
    for _ in range(60):
        rest = [[chance.uniform(-0.5, 0.5) for _ in range(3)] for _ in range(19)]
        first, second = [*rest, [1, 1, 1]], [*rest, [-1, -1, -1]]
        apart = moved(of, first, second, agreed, monkeypatch)
        worst = max(worst, sum(one * one for one in apart))
    assert (of._fine) ** 2 < worst <= of._reach**2


def test_a_patient_needs_far_less_noise_than_a_hospital() -> None:
    hospitals = [[40] * 100] * 20
    patient, hospital = (tried(hospitals, Subjects(AGES, most=100, unit=unit), 1) for unit in ("subject", "party"))
    assert hospital.std_dev > 50 * patient.std_dev


def test_a_vector_is_accounted_as_a_vector() -> None:
    one, ten = (Vector(d).plan(100, epsilon=1, delta=1e-6, honest=0.8) for d in (1, 10))
    ratio = ten.variance / one.variance
    assert 9 < ratio < 14  # ten moves at once, and the bound from moments


# ---------------------------------------------------------------- vectors in a ball


def test_a_vector_is_shortened_and_never_leaves_the_ball() -> None:
    of = Gradient(5, norm=1)
    agreed = agreement(of)
    for value in ([9, 9, 9, 9, 9], [1, 0, 0, 0, 0], [0.3] * 5, [0] * 5):
        steps = of.encode(value, agreed)
        assert sum((2 * v - agreed.plan.steps) ** 2 for v in steps) <= agreed.plan.steps**2


@pytest.mark.parametrize("vector", [[3, 4], [1e9, 1], [Fraction(1, 3)] * 4])
def test_clipping_is_exact(vector: list[Any]) -> None:
    norm = Fraction(1, 2)
    short = clip_vector([Fraction(x) for x in vector], norm)
    squared = sum(x * x for x in short)
    assert squared <= 1 and abs(float(squared) - 1) < 1e-9
    assert all(abs(float(a * vector[0] - short[0] * b)) < 1e-9 * vector[0] for a, b in zip(short, vector, strict=True))


@pytest.mark.parametrize("coordinates", [1, 3, 30])
def test_rounding_into_the_ball_seldom_needs_many_tries(coordinates: int, monkeypatch: pytest.MonkeyPatch) -> None:
    of, tries = Gradient(coordinates), itertools.count()
    known = bounded_vectors.round_by_coin

    def counted(place: Fraction) -> int:
        next(tries)
        return known(place)

    monkeypatch.setattr(bounded_vectors, "round_by_coin", counted)
    rim = [1 / math.sqrt(coordinates)] * coordinates
    for _ in range(100):
        of.numbers(rim)
    assert next(tries) / (100 * coordinates) < 2.5


# ---------------------------------------------------------------- runs with proofs


def test_a_histogram_with_a_dropout_is_proved_and_can_be_checked_offline() -> None:
    of = CategoryShares(("A", "B"))
    told = average(
        ["A", "B", "A", "A", "B", "A", "A"], of, epsilon=4, delta=1e-6, honest=0.7, dropouts=0.15, drops={3: "reveal"}
    )
    assert told.certificate is not None and len(told.parties) == 6 and "p3" not in told.parties
    assert abs(sum(told.values.values()) - 1) < 6 * math.sqrt(2) * told.std_dev
    assert told.achieved.enough


def test_hospitals_with_names_and_a_gradient_in_a_ball() -> None:
    of = Gradient(2, norm=1)
    told = average([[0.3, 0.4]] * 5, of, epsilon=20, delta=1e-2, honest=0.8, dropouts=0, names=list("abcde"))
    assert told.parties == tuple("abcde") and told.certificate is not None
    assert told.certificate.agreement.quantity.ball
    assert "An average among 5 parties" in str(told) and told.to_json()["proved"] is True


def test_a_run_with_too_few_left_has_no_average() -> None:
    with pytest.raises(Unreachable, match="too-few"):
        average([0.5] * 5, epsilon=9, delta=1e-2, honest=0.8, dropouts=0, drops={0: "reveal"})


# ---------------------------------------------------------------- several runs


def test_runs_together_cost_more_than_one_and_less_than_their_sum() -> None:
    made = BoundedNumber().plan(50, epsilon=0.3, delta=1e-8, honest=0.8)
    assert made.delta_noise < delta_over(made, 1, 0.3) < delta_over(made, 5, 0.3)
    assert delta_over(made, 10, 10 * 0.3) < 10 * 1e-8


@pytest.mark.parametrize("of", [BoundedNumber(), CategoryShares(("A", "B")), Gradient(3)])
def test_a_plan_over_runs_fits_and_a_little_less_noise_would_not(of: PartyInput) -> None:
    made = plan_over(of, 40, runs=5, epsilon=2, delta=1e-6, honest=0.8)
    assert delta_over(made, 5, 2) <= 1e-6
    weaker = of.plan(40, epsilon=made.epsilon * Fraction(11, 10), delta=made.delta, honest=0.8)
    assert delta_over(weaker, 5, 2) > 1e-6


# ---------------------------------------------------------------- bad input

REFUSED: list[tuple[Any, Any, type[Exception]]] = [
    (lambda: BoundedNumber(5, 5), None, ReversedBounds),
    (lambda: CategoryShares(("A", "A")), None, WrongShape),
    (lambda: Subjects(Gradient(2), most=4), None, MissingParameter),
    (lambda: Subjects(Gradient(2), most=1, sizes=(1,)), None, OutOfRange),
    (lambda: Subjects(AGES, most=4, unit="ward"), None, OutOfRange),  # type: ignore[arg-type]
    (lambda: Subjects(AGES, most=4, sizes=(5,)), None, OutOfRange),
    (lambda: AGES, 17, OutOfRange),
    (lambda: CategoryShares(("A", "B")), "C", OutOfRange),
    (lambda: Vector(2), [1], WrongShape),
    (lambda: Vector(2), "ab", WrongShape),
    (lambda: Subjects(AGES, most=2), [20, 20, 20], WrongShape),
    (lambda: Subjects(AGES, most=2), [17], OutOfRange),
    (lambda: PrivatelyWeighted(AGES, most=2), (20, 3), OutOfRange),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_does_not_fit_is_refused(case: int) -> None:
    make, value, error = REFUSED[case]
    with pytest.raises(error):
        of = make()
        of.encode(value, agreement(of))


def test_one_cannot_hide_alone_and_names_are_one_for_each() -> None:
    with pytest.raises(EmptyInput):
        tried([0.5], BoundedNumber())
    with pytest.raises(WrongShape):
        average([0.5] * 5, epsilon=1, delta=1e-6, names=["ann"], proofs=False)


def test_the_log_of_an_average_says_the_same() -> None:
    from hubbub.gopa import in_process

    of = BoundedNumber(0, 10)
    who = people_for_plan(of.plan(5, epsilon=9, delta=1e-2, honest=0.8, dropouts=0), of)
    ran = in_process.run(who, [of.encode(v, who.agreement) for v in (1, 2, 3, 4, 5)])
    checked = verify(ran.log)
    assert checked.means == ran.certificate.means and checked.agreement.quantity == of.quantity


def test_a_small_share_of_a_ball_is_refused_since_rounding_moves_more() -> None:
    """A unit that moves 100 coordinates by a twentieth of a step moves all of the rounded ones by one."""
    width, steps = 100, 40
    wide = Gradient(width).plan(5, epsilon=20, delta=0.2, honest=0.8, dropouts=0)
    made = replace(wide, steps=steps, sensitivity=Sensitivity("norm", width, Fraction(1, 80)))
    identities = [Identity.new(f"p{place}") for place in range(6)]
    roster, board = tuple(one.member for one in identities[:5]), identities[5].member.key
    ball = Quantity("gradient", width, Fraction(-1), Fraction(1), ball=True)
    with pytest.raises(OutOfRange, match="of the diameter of a ball"):
        Agreement(roster, board, made, ball)
    agreed = Agreement(roster, board, replace(made, sensitivity=Sensitivity("norm", width)), ball)
    step = Fraction(2, steps)
    here, there = ([one * step] * width for one in (Fraction(-1), Fraction(-19, 20)))
    moved = [b - a for a, b in zip(round_to_steps(agreed, here), round_to_steps(agreed, there), strict=True)]
    assert math.dist(map(float, here), map(float, there)) / step == pytest.approx(0.5)  # steps: 1/80 of the diameter
    assert moved == [1] * width  # an L2 distance of 10 steps
