"""Arithmetic on released numbers: the right value, the right spread, the right correlation."""

from __future__ import annotations

import dataclasses
import json
import math
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hubbub.releases import Noisy, Release
from hubbub.releases.formulas import points
from hubbub.terms import NotANumber, OutOfRange, UnknownName, WrongShape

from ..renaming import renamed_classes
from ._made import by_ward, receipt, total


def sole(column: Noisy) -> tuple[object, object]:
    """Both ends of a column of one row."""
    [low], [high] = column.interval()
    return low, high


def test_a_column_minus_itself_is_zero_exactly() -> None:
    release = by_ward()
    for name in ("n", "cost"):
        difference = release[name] - release[name]
        assert [v for v in difference.values if v is not None] == [0] * sum(v is not None for v in difference.values)
        assert difference.low == difference.high == difference.values


def test_an_answer_that_was_repeated_is_the_same_answer() -> None:
    first = by_ward()
    again = Release.from_json(json.loads(json.dumps(by_ward(repeated=True).to_json())))
    assert (first["n"] - again["n"]).interval() == ([0, 0, 0], [0, 0, 0])


def test_another_answer_has_noise_of_its_own() -> None:
    fresh = by_ward(receipt=receipt(13))
    [half] = set((by_ward()["n"] - fresh["n"]).high)
    assert 27 <= half <= 29  # 1.96 times sqrt(2) times 10


def test_without_a_receipt_equal_numbers_are_not_taken_for_the_same_noise() -> None:
    one, other = total(), total()
    assert sole(one["n"] - one["n"]) == (0, 0)
    assert sole(one["n"] - other["n"]) != (0, 0)
    assert sole(one["n"] - dataclasses.replace(one, notes=("A copy.",))["n"]) == (0, 0)


def test_rows_are_independent_and_remember_which_they_were() -> None:
    n = by_ward()["n"]
    assert sole(n[0] - n[0]) == (0, 0)
    assert (n[0] - n[1]).value == 1203 - 342
    low, high = sole(n[0] - n[1])
    assert high - low == 2 * 28
    assert sum(n[i] for i in range(3)).value == 1541
    assert len(list(n)) == 3
    assert n[-1].value == -4
    with pytest.raises(IndexError):
        n[3]


@pytest.mark.parametrize("other", [2, 0.5, Decimal("0.1"), Fraction(1, 3)])
@pytest.mark.parametrize("sign", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_numbers_come_in_from_either_side(sign: object, other: object) -> None:
    assert callable(sign)
    n, plain = total()["n"], 1203.0
    assert sign(n, other).value == pytest.approx(sign(plain, float(other)))
    assert sign(other, n).value == pytest.approx(sign(float(other), plain))


def test_the_spread_of_a_sum_adds_in_squares() -> None:
    a, b = total()["n"], total(500, sigma=20)["n"]
    assert (3 * a - b + 7).std_dev == [pytest.approx(math.hypot(30, 20), rel=1e-6)]
    assert (-a).value == -1203
    assert ((a + b) / (a + b)).interval() == ([1.0], [1.0])


def test_simulated_columns_agree_on_the_noise_that_they_share() -> None:
    release = by_ward()
    n, cost = release["n"], release["cost"]
    drawn = n.simulate(4000)
    assert drawn.shape == (4000, 3)
    assert np.array_equal(drawn, n.simulate(4000))
    assert np.array_equal((n + n).simulate(4000), 2 * drawn)
    assert drawn.std(axis=0) == pytest.approx([10, 10, 10], rel=0.05)
    assert abs(np.corrcoef(drawn.T) - np.eye(3)).max() < 0.08
    assert np.isnan(cost.simulate(100)[:, 2]).all()
    assert np.allclose((n * cost).simulate(50)[:, :2], (n.simulate(50) * cost.simulate(50))[:, :2])


def test_no_class_name_seeds_a_simulation() -> None:
    measure = by_ward().measures[0]
    text = "COUNT(*)|Noise(law='gaussian', scale=Fraction(10, 1))|(1203, 342, -4)|['people', 3]"
    with renamed_classes():
        assert points._seed_text(measure, ("people", 3, None)) == text


def test_simulations_of_two_releases_are_independent() -> None:
    drawn = [total(receipt=receipt(i))["n"].simulate(4000)[:, 0] for i in (1, 2)]
    assert abs(np.corrcoef(drawn)[0, 1]) < 0.06
    twins = total()["n"] - total()["n"]  # alike in every number, but drawn apart
    assert twins.simulate(4000).std() == pytest.approx(math.sqrt(200), rel=0.06)


def test_percentiles_of_a_simulation_are_the_interval() -> None:
    share = by_ward()["n"][1] / by_ward()["n"][0]
    drawn = np.quantile(share.simulate(40_000), [0.025, 0.975])
    assert sole(share) == pytest.approx(tuple(drawn), abs=0.001)


def test_what_cannot_be_combined_is_refused() -> None:
    release = by_ward()
    with pytest.raises(WrongShape, match="3 rows and one of 1"):
        release["n"] + total()["n"]
    with pytest.raises(NotANumber, match="'ward'"):
        release["ward"] + 1
    with pytest.raises(UnknownName, match="'m'"):
        release["m"]
    with pytest.raises(WrongShape):
        assert release["n"].value
    with pytest.raises(OutOfRange):
        release["n"] + float("nan")
    with pytest.raises(TypeError):
        release["n"] + "1"


def test_a_column_reads_as_numbers_with_errors() -> None:
    assert repr(by_ward()["n"]) == "n  1,203 ±20, 342 ±20, -4 ±20 (95%)"
    assert repr(total()["n"] / 7) == "n / 7  171.9 ±2.9 (95%)"
