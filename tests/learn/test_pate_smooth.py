"""What answers cost on given votes: the table against exact laws, its sensitivity against all neighbours, its price."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from hubbub.accounting import epsilon
from hubbub.audit import examine
from hubbub.learn.pate.aggregation import Ballot, ballot_for
from hubbub.learn.pate.data_dependent_cost import (
    FINE,
    MarginTable,
    largest_jumps,
    largest_sum,
    likely_divergence,
    margins_of,
    order_for,
    table_for,
)
from hubbub.learn.pate.smooth_sensitivity import ABOVE, LEAST, CostReport, report_epsilon, report_for
from hubbub.noise.testing import seeded
from hubbub.terms import ApproximateStep, GaussianNoise, Neighbours, Unit, Unreachable, root_of

from .test_pate_aggregation import divergence, law, pairs

DELTA = Fraction("1e-5")


def ballot(sigma: int, classes: int, asked: int = 20, answered: int = 20) -> Ballot:
    answer = GaussianNoise(sigma=Fraction(sigma), sensitivity=root_of(2), grid=Fraction(1), dimension=classes)
    return Ballot(asked, answered, answer)


def report(steps: Any, *, rate: str = "1/8", multiple: int = 4, answered: int = 5) -> CostReport:
    event = ApproximateStep(epsilon=Fraction(1), delta=DELTA, mechanism="smooth-gaussian")
    return CostReport(MarginTable(np.array(steps), 1e-6), 8.0, Fraction(rate), Fraction(multiple), answered, event)


FALLING = [FINE, FINE, FINE, 900_000, 500_000, 200_000, 90_000, 40_000, 4000, 300, 20, 5, 1]


# ---------------------------------------------------------------- the bound


@pytest.mark.parametrize("sigma", [1, 2])
def test_the_table_bounds_every_pair_of_neighbours_in_both_directions(sigma: int) -> None:
    teachers, orders = 10, (2.0, 3.0, 8.0)
    tables = {order: table_for(ballot(sigma, 3), teachers=teachers, order=order) for order in orders}
    known = cache(lambda *counts: law(np.array(counts), sigma))
    saved = 0
    for a, b in pairs(teachers, 3):
        if a[0] < a[1] or a[1] < a[2]:
            continue  # the others are the same up to names
        first, second = known(*a.tolist()), known(*b.tolist())
        for order, table in tables.items():
            bound = table.steps[margins_of(a[None])[0]] * table.step
            assert divergence(first, second, order) <= bound
            assert divergence(second, first, order) <= bound
            saved += bound < 0.9 * order / sigma**2
    assert saved > 0 or sigma == 2  # and it is no mere worst case


def test_agreement_makes_answers_cheap_and_never_dearer_than_the_worst_case() -> None:
    table = table_for(ballot(10, 10), teachers=200, order=10.0)
    assert (np.diff(table.steps) <= 0).all()
    assert table.steps[0] <= FINE + 2 and table.steps[200] < FINE / 1000


def test_a_bound_that_forgot_the_other_direction_would_be_wrong() -> None:
    """On the neighbour the margin is smaller: the shift by two in the table is needed."""
    table = table_for(ballot(2, 3), teachers=60, order=4.0)
    jumps = np.flatnonzero(np.diff(table.steps) < 0)
    one_sided = [likely_divergence(math.log(2) - m**2 / 16, 4.0, 4.0) for m in range(61)]
    assert any(one_sided[m] < table.steps[m] * table.step * 0.99 for m in jumps)


def test_the_bound_is_the_worst_case_where_the_theorem_does_not_apply() -> None:
    assert likely_divergence(0.0, 100.0, 5.0) == likely_divergence(-0.001, 100.0, 5.0) == 0.05
    assert likely_divergence(-30.0, 100.0, 1000.0) == 10.0  # an order above what the tail allows


def test_margins_move_by_two_at_most() -> None:
    for a, b in pairs(6, 3):
        assert abs(margins_of(a[None])[0] - margins_of(b[None])[0]) <= 2


def test_the_order_comes_from_public_facts() -> None:
    made = ballot_for(asked=50, answered=40, classes=10, threshold=30, epsilon=Fraction(1), delta=DELTA)
    assert order_for(made, DELTA) > 4


# ---------------------------------------------------------------- its sensitivity


def neighbours_of(margins: Any, top: int) -> Any:
    """Votes on every question change at once: some of all margins that one unit can make."""
    generator = np.random.default_rng(1)
    for _ in range(60):
        yield np.clip(margins + generator.integers(-2, 3, len(margins)), 0, top)
    for move in (-2, -1, 1, 2):
        yield np.clip(margins + move, 0, top)


@pytest.mark.parametrize("answered", [2, 5])
@pytest.mark.parametrize("margins", [[0, 0, 0, 0, 0], [12, 12, 12, 12, 12], [3, 5, 7, 9, 11], [4, 4, 12, 12, 0]])
def test_smooth_sensitivity_is_large_enough_and_smooth(margins: list[int], answered: int) -> None:
    told = report(FALLING, answered=answered)
    here = np.array(margins)
    cost, sensitivity = told.table.cost(here, answered), told.sensitivity(here)
    for other in neighbours_of(here, 12):
        assert abs(told.table.cost(other, answered) - cost) <= sensitivity
        assert sensitivity * (1 - told.rate) <= told.sensitivity(other) <= sensitivity / (1 - told.rate)


def test_smooth_sensitivity_is_the_definition() -> None:
    told, margins = report(FALLING), np.array([12, 11, 12, 9, 12])
    jumps, found = largest_jumps(told.table), Fraction(LEAST)
    for distance in range(40):
        near = [max(jumps[max(0, m - 2 * distance) : m + 2 * distance + 1]) for m in margins]
        found = max(found, (1 - told.rate) ** distance * largest_sum(np.array(near), 5))
    assert found <= told.sensitivity(margins) <= found * (1 + Fraction(1, 10**6))


def test_agreement_lowers_the_sensitivity() -> None:
    table = table_for(ballot(10, 10), teachers=1000, order=10.0)
    told = CostReport(table, 10.0, Fraction(1, 32), Fraction(4), 20, report(FALLING).event)
    assert told.sensitivity(np.full(20, 950)) < told.sensitivity(np.full(20, 60)) / 100


# ---------------------------------------------------------------- its price


def exact_divergence(order: float, shift: float, ratio: float) -> float:
    """Of N(shift, ratio^2) from N(0, 1), by summation."""
    x = np.linspace(-60, 60, 400_001)
    log_p = -((x - shift) ** 2) / (2 * ratio**2) - math.log(ratio)
    total = np.exp(order * log_p - (order - 1) * (-(x**2) / 2)).sum() * (x[1] - x[0]) / math.sqrt(2 * math.pi)
    return math.log(total) / (order - 1)


@pytest.mark.parametrize("order", [1.5, 3.0, 6.0])
def test_the_price_covers_all_shifts_and_spreads_of_neighbours(order: float) -> None:
    rate, multiple = Fraction(1, 16), Fraction(6)
    ratio = 1 / (1 - float(rate))
    far = 1 + float(ABOVE * multiple) * (ratio - 1)
    worst = 0.0
    for spread in np.geomspace(1 / ratio, ratio, 15):  # the other's smooth sensitivity is 1
        shift = far * min(1.0, spread) / float(multiple)
        worst = max(worst, exact_divergence(order, shift, float(spread)))
    narrow = order - (order - 1) * ratio**2
    claimed = max(
        -math.log(ratio) - math.log(narrow) / (2 * (order - 1)) + order * (far / 6) ** 2 / (2 * narrow),
        math.log(ratio) - math.log(order - (order - 1) / ratio**2) / (2 * (order - 1)) + order * (far / 6) ** 2 / 2,
    )
    assert worst <= claimed + 1e-9
    assert worst > claimed / 2


def test_the_price_is_above_that_of_fixed_noise_and_falls_with_the_rate() -> None:
    fixed = float(
        epsilon(GaussianNoise(sigma=Fraction(20), sensitivity=Fraction(1), grid=Fraction(1, 64)), delta=DELTA)
    )
    prices = [report_epsilon(Fraction(1, 1 << k), Fraction(20), DELTA) for k in (5, 7, 9, 12)]
    assert prices == sorted(prices, reverse=True) and fixed < prices[-1] < 1.4 * fixed


def test_a_report_that_no_noise_makes_private_is_refused() -> None:
    with pytest.raises(Unreachable):
        report_for(
            ballot(30, 10),
            teachers=100,
            epsilon=Fraction(1, 10**6),
            delta=Fraction("1e-12"),
            answers_delta=DELTA,
            neighbours=Neighbours.ADD_REMOVE,
            unit=Unit(),
        )


@pytest.mark.parametrize(("share", "refuted"), [(1, False), (Fraction(1, 8), True)])
def test_an_audit_refutes_a_report_with_too_little_noise(share: Fraction, refuted: bool) -> None:
    made = report_for(
        ballot(10, 2, asked=30, answered=30),
        teachers=60,
        epsilon=Fraction(1),
        delta=Fraction("1e-3"),
        answers_delta=DELTA,
        neighbours=Neighbours.ADD_REMOVE,
        unit=Unit(),
    )
    noisy = CostReport(made.table, made.order, made.rate, made.multiple * share, made.answered, made.event)
    source = seeded(21)
    votes = {margin: np.tile([30 + margin // 2, 30 - margin // 2], (30, 1)) for margin in (36, 38)}

    def draw(margin: int, size: int) -> Any:
        return [noisy.release(votes[margin], rng=source) for _ in range(size)]

    found = examine(draw, 36, 38, trials=2000, delta=1e-3, confidence=0.9999, claim=1.0, vectorized=True)
    assert found.problem is None
    assert found.refuted == refuted


# ---------------------------------------------------------------- what it tells


def test_a_report_is_too_small_in_one_of_twenty_runs_at_most() -> None:
    told, source = report(FALLING), seeded(22)
    counts = np.tile([9, 3], (5, 1))
    truth = told.table.cost(margins_of(counts), 5)
    drawn = [told.release(counts, rng=source) for _ in range(1000)]
    assert np.mean(np.array(drawn) < truth) <= 0.05
    assert len(set(drawn)) > 900


def test_with_many_teachers_that_agree_a_report_tells_less_than_the_worst_case() -> None:
    price = Fraction(2), Fraction("1e-5")
    made = ballot_for(asked=200, answered=200, classes=10, threshold=None, epsilon=price[0], delta=price[1])
    told = report_for(
        made,
        teachers=5000,
        epsilon=Fraction(1, 2),
        delta=Fraction("1e-6"),
        answers_delta=price[1],
        neighbours=Neighbours.ADD_REMOVE,
        unit=Unit(),
    )
    agreed = np.zeros((200, 10), dtype=np.int64)
    agreed[:, 0], agreed[:, 1] = 4800, 200
    cheap = told.instance_cost(made, told.release(agreed, rng=seeded(23)), price)
    split = told.instance_cost(made, told.release(agreed // 20 * 10 + 1, rng=seeded(24)), price)
    assert cheap.epsilon < 1 and split.epsilon <= 2
    assert "95% sure" in cheap.words()
