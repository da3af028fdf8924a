"""A model learned by parties that show nobody their data."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub.gopa.federated_learning import Data, learn_together
from hubbub.gopa.quantities.repeated_runs import delta_over
from hubbub.terms import EmptyInput, Neighbours, WrongShape

TRUTH = np.array([0.8, -0.3, 0.2])


def made_up(parties: int, rows: int) -> Data:
    chance = np.random.default_rng(7)
    features = [chance.uniform(-1, 1, (rows, 2)) for _ in range(parties)]
    return [(one, one @ TRUTH[:2] + TRUTH[2] + 0.05 * chance.normal(size=rows)) for one in features]


def error(weights: object) -> float:
    return float(np.linalg.norm(np.asarray(weights) - TRUTH))


def test_steps_lead_to_the_model_and_fit_the_budget() -> None:
    model = learn_together(
        made_up(20, 60), epsilon=8, delta=1e-6, steps=8, rate=1, honest=0.8, dropouts=0, proofs=False
    )
    assert error(model.weights) < 0.25 < error(np.zeros(3))
    assert len(model.history) == 8 and error(model.history[0]) > error(model.history[-1])
    assert delta_over(model.plan, 8, 8) == model.event.delta <= 1e-6
    assert model.event.neighbours is Neighbours.REPLACE and model.plan.epsilon < 8
    assert np.allclose(model.predict([[1, 1]]), model.weights.sum())


def test_protecting_a_party_costs_more_noise_than_protecting_its_rows() -> None:
    data = made_up(20, 30)
    rows, party = (
        learn_together(data, epsilon=2, delta=1e-6, steps=2, honest=0.8, unit=unit, proofs=False)  # type: ignore[arg-type]
        for unit in ("subject", "party")
    )
    assert party.plan.variance > 100 * rows.plan.variance


def test_a_step_with_proofs_has_a_certificate() -> None:
    model = learn_together(made_up(5, 4), epsilon=60, delta=1e-2, steps=1, honest=0.8, dropouts=0, unit="party")
    [told] = model.certificates
    assert told.complete and len(told.means) == 3


def test_data_that_do_not_fit_are_refused() -> None:
    with pytest.raises(EmptyInput):
        learn_together(made_up(1, 5), epsilon=1, delta=1e-6)
    with pytest.raises(WrongShape):
        learn_together([([[1.0]], [1.0, 2.0])] * 3, epsilon=1, delta=1e-6)
