"""One row chosen by an attacker: huge, odd or of another type. It may move its own gradient and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hubbub.learn import LogisticRegression
from hubbub.learn.base.inputs import numbers_of, private_table, scale_rows
from hubbub.learn.base.targets import labels_of
from hubbub.learn.solvers import Ball, gradient_descent, objective_perturbation, output_perturbation, projected_sgd
from hubbub.learn.training.network import Examples, Network

from .contract import plan_of

ODD: list[Any] = ["abc", None, 10**400, 2j, [1], np.nan, np.inf, -(10**30)]


@pytest.mark.parametrize("norm", [0.5, 1e-3, 1e-300, 5e-324])
def test_a_row_too_large_for_doubles_after_scaling_stays_within_the_unit_ball(norm):
    table, squares = scale_rows(np.array([[1.7e308, -1.0, 0.0], [0.0, norm / 2, 0.0]]), norm)
    assert np.isfinite(table).all() and (squares <= 1 + 1e-15).all() and squares[0] > 0.9


def test_a_huge_row_moves_the_sum_by_no_more_than_the_sensitivity():
    network, clip = Network((2, 1), bias=0.3), 0.5
    rows = np.random.default_rng(1).uniform(-0.5, 0.5, (40, 2))
    rows[0] = 1.7e308, 1.0
    weights, labels = np.array([1.0, -2.0, 0.5]), np.arange(40) % 2

    def summed(keep):
        data = Examples(*scale_rows(private_table(rows[keep]), 0.5), labels_of(labels[keep], np.array([0, 1])))
        return network.clipped_sum(weights, data, None, clip=clip)

    moved = np.linalg.norm(summed(slice(0, None)) - summed(slice(1, None)))
    assert 0 < moved <= clip + 2 * network.error(rows=40, clip=clip)


@pytest.mark.parametrize("odd", ODD, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize(("classes", "others"), [([0, 1], [0, 1, 1]), (["a", "b"], ["a", "b", "b"])])
def test_an_odd_label_changes_no_other_label(odd, classes, others):
    given = np.empty(4, dtype=object)
    given[:3], given[3] = others, odd
    assert labels_of(given, np.array(classes)).tolist() == [0, 1, 1, -1]
    if not isinstance(odd, list):  # a list in a list is no column
        assert labels_of([*others, odd], np.array(classes)).tolist() == [0, 1, 1, -1]


@pytest.mark.parametrize("odd", ODD, ids=lambda value: repr(value)[:12])
def test_an_odd_value_changes_no_other_value_and_raises_nothing(odd):
    table = np.array([[0.25, 1], [2, 3]], dtype=object)
    table[0, 1] = odd
    found = private_table(table)
    expected = float(odd) if isinstance(odd, int) and abs(odd) < 10**300 else 0.0
    assert found.tolist() == [[0.25, expected], [2, 3]]


@pytest.mark.parametrize("odd", ["abc", 2j, 10**400])
def test_lists_are_read_value_by_value_too(odd):
    assert private_table([[0.25, odd], [2, 3]]).tolist() == [[0.25, 0], [2, 3]]
    assert np.isnan(numbers_of([1, odd])).tolist() == [False, True]


def test_an_odd_row_does_not_stop_a_fit_whose_rows_and_classes_are_declared():
    table = np.zeros((20, 2), dtype=object)
    table[3] = "x", 10**400
    labels = np.array([0, 1] * 9 + [None, "b"], dtype=object)
    model = LogisticRegression(epsilon=1, delta=1e-5, norm=1e-3, classes=[0, 1], rows=20, max_iter=3)
    assert np.isfinite(model.fit(table, labels).weights_).all()


def test_a_stored_model_for_numbers_is_not_one_for_their_names():
    prints = []
    for classes in ([0, 1], ["0", "1"], [0.0, 1.0]):
        model = LogisticRegression(epsilon=1, delta=1e-5, norm=1, classes=classes, max_iter=3, sampling="full")
        prints.append(str(plan_of(model, (20, 2)).identity["classes"]))
    assert len(set(prints)) == 3


def test_a_promise_about_people_says_that_each_has_one_row():
    model = LogisticRegression(epsilon=1, delta=1e-5, norm=1, classes=[0, 1], rows=20, max_iter=3, unit="p.id")
    assert "Each has one row." in model.fit(np.zeros((20, 2)), np.zeros(20)).guarantee_.describe()
    model.set_params(unit="")
    assert "one row." not in model.fit(np.zeros((20, 2)), np.zeros(20)).guarantee_.describe()


def test_every_solver_says_that_no_ledger_was_charged_and_that_time_is_not_covered():
    rows, signs = np.full((12, 2), 0.1), np.array([-1, 1] * 6)
    price = {"epsilon": 1, "delta": 1e-5, "norm": 1}
    solved = [
        gradient_descent(rows, signs, domain=Ball(1), steps=2, **price),
        output_perturbation(rows, signs, l2=1, **price),
        objective_perturbation(rows, signs, **price),
        projected_sgd(rows, signs, domain=Ball(1), steps=3, **price),
    ]
    for words in (each.guarantee.describe() for each in solved):
        assert "Charged to no ledger." in words and "Running time is not covered." in words
