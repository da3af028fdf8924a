"""The solvers of the lectures: their noise, their guarantees, and that they come near the minimum."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from hubbub.accounting import epsilon
from hubbub.learn.solvers import (
    LOGISTIC,
    SMOOTH_HINGE,
    Ball,
    Box,
    Loss,
    Solution,
    gradient_descent,
    lecture_noise,
    objective_perturbation,
    output_perturbation,
    projected_sgd,
)
from hubbub.learn.solvers.minimize import Objective
from hubbub.learn.solvers.objective_perturbation import least_weight, objective_noise
from hubbub.learn.solvers.problem import Problem
from hubbub.learn.solvers.sgd import _plan_run, lecture_steps
from hubbub.learn.training.network import Examples, Floats
from hubbub.learn.training.sampling import step_of
from hubbub.noise.testing import seeded
from hubbub.terms import ApproximateDP, NotProved, OutOfRange, ReversedBounds

PRICE = ApproximateDP(Fraction(1), Fraction(1, 100_000))


def people(rows: int, inputs: int = 3, seed: int = 1) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1, 1, (rows, inputs)) / math.sqrt(inputs)
    score = X @ np.array([4.0, -3.0, 2.0])[:inputs] + generator.logistic(size=rows) / 3
    return X, np.where(score > 0, 1, -1)


def excess(X: Floats, y: Floats, weights: Floats, radius: float, loss: Loss = LOGISTIC) -> float:
    """How much the risk lies above the least in the ball."""
    problem = Problem(loss, len(X), X.shape[1], 1.0)
    data = Examples(X, (X**2).sum(axis=1), y.astype(np.int64))

    def risk(theta: Floats) -> float:
        return problem.risk(Ball(radius).project(theta), data)

    best = optimize.minimize(risk, np.zeros(X.shape[1]), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})
    return problem.risk(weights, data) - float(best.fun)


# ---------------------------------------------------------------- the lecture's SGD


def test_the_lectures_noise_is_its_formula() -> None:
    n, steps, e, d = 100, 10_000, 0.5, 1e-5
    printed = 16 * 2 * math.sqrt(steps * math.log(2 / d) * math.log(1.25 * steps / (d * n))) / (n * e)
    right = 16 * 2 * math.sqrt(steps * math.log(2 / d) * math.log(2.5 * steps / (d * n))) / (n * e)
    told = {"rows": n, "steps": steps, "epsilon": e, "delta": d, "lipschitz": 2}
    assert lecture_noise(**told, as_printed=True) == pytest.approx(printed)  # type: ignore[arg-type]
    assert lecture_noise(**told) == pytest.approx(right)  # type: ignore[arg-type]


def test_each_step_of_the_lecture_has_the_delta_that_its_proof_gives_it() -> None:
    """By the classic formula; with the slide's logarithm each step has twice that."""
    n, steps, e, d = 100, 10_000, 0.5, 1e-5
    inner = n * e / (4 * math.sqrt(2 * steps * math.log(2 / d)))
    for as_printed, factor in ((False, 1), (True, 2)):
        sigma = lecture_noise(rows=n, steps=steps, epsilon=e, delta=d, as_printed=as_printed)
        delta = 1.25 * math.exp(-((sigma * inner / 2) ** 2) / 2)
        assert delta == pytest.approx(factor * d * n / (2 * steps))


def test_the_lectures_noise_is_refused_where_it_is_not_proved() -> None:
    fewest = lecture_steps(rows=1000, epsilon=1, delta=1e-5)
    assert fewest == math.ceil(1000**2 / (32 * math.log(2e5)))
    lecture_noise(rows=1000, steps=fewest, epsilon=1, delta=1e-5)
    for changes in ({"steps": fewest - 1}, {"epsilon": 1.01}):
        with pytest.raises(NotProved):
            lecture_noise(**({"rows": 1000, "steps": fewest, "epsilon": 1, "delta": 1e-5} | changes))  # type: ignore[arg-type]


def test_accounting_needs_a_fraction_of_the_lectures_noise() -> None:
    problem = Problem(LOGISTIC, 20, 3, 1.0)
    tight, accounted = _plan_run(problem, Ball(1), PRICE, 400, "tight")
    lecture, promised = _plan_run(problem, Ball(1), PRICE, 400, "lecture")
    assert step_of(tight).sigma < step_of(lecture).sigma / 4
    sigma = lecture_noise(rows=20, steps=400, epsilon=1, delta=1e-5)
    assert sigma <= float(step_of(lecture).sigma) <= sigma * (1 + 1e-6)
    assert epsilon(accounted, delta=PRICE.delta, neighbours="replace") <= 1
    assert epsilon(promised, delta=PRICE.delta, neighbours="replace") == pytest.approx(1)
    assert epsilon(lecture, delta=PRICE.delta, neighbours="replace") < 0.3  # the theorem is true, and loose


def test_the_lectures_sgd_takes_n_squared_steps_of_one_row() -> None:
    X, y = people(12)
    told = projected_sgd(X, y, domain=Ball(1), epsilon=1, delta=1e-5, norm=1, rng=seeded(1))
    assert told.event.times == 144 and told.event.event.sample == 1  # type: ignore[attr-defined]
    assert told.guarantee.neighbours == "replace"
    assert np.linalg.norm(told.weights) <= 1 + 1e-9


def test_the_lectures_sgd_comes_nearer_with_more_rows() -> None:
    """The utility gap shrinks with n, as its theorem says."""
    gaps = []
    for rows in (10, 40):
        X, y = people(rows)
        told = [projected_sgd(X, y, domain=Ball(3), epsilon=1, delta=1e-2, norm=1, rng=seeded(s)) for s in range(8)]
        gaps.append(float(np.median([excess(X, y, t.weights, 3) for t in told])))
    assert 0 < gaps[1] < gaps[0] * 0.75


# ---------------------------------------------------------------- descent


def test_gradient_descent_comes_near_the_least_risk_of_the_set() -> None:
    X, y = people(4000)
    told = gradient_descent(X, y, domain=Ball(5), epsilon=1, delta=1e-5, norm=1, steps=900, rng=seeded(2))
    assert excess(X, y, told.weights, 5) < 0.03
    assert np.linalg.norm(told.weights) <= 5 + 1e-9
    assert epsilon(told.event, delta=1e-5) <= 1


def test_less_privacy_means_less_excess_risk() -> None:
    X, y = people(300)
    gaps = {
        e: np.mean([excess(X, y, _descended(X, y, e, seed), 5) for seed in range(5)]) for e in (Fraction(1, 10), 100)
    }
    assert gaps[100] < gaps[Fraction(1, 10)] / 2


def _descended(X: Floats, y: Floats, price: object, seed: int) -> Floats:
    return gradient_descent(X, y, domain=Ball(5), epsilon=price, delta=1e-5, norm=1, rng=seeded(seed)).weights


def test_a_penalty_pulls_the_weights_in() -> None:
    X, y = people(4000)
    free, held = (
        gradient_descent(X, y, domain=Box(-4, 4), l2=l2, epsilon=8, delta=1e-5, norm=1, rng=seeded(3)) for l2 in (0, 1)
    )
    assert np.linalg.norm(held.weights) < np.linalg.norm(free.weights) / 2


def test_projections_are_the_nearest_points() -> None:
    generator = np.random.default_rng(5)
    for domain in (Ball(1.5), Box(-1, 0.5)):
        for far in generator.normal(0, 3, (20, 4)):
            near = domain.project(far)
            assert np.allclose(domain.project(near), near)
            assert np.linalg.norm(near) <= domain.reach(4) + 1e-12
            for other in generator.normal(0, 3, (20, 4)):
                assert np.linalg.norm(far - near) <= np.linalg.norm(far - domain.project(other)) + 1e-12
    with pytest.raises(ReversedBounds):
        Box(1, 1)
    with pytest.raises(OutOfRange):
        Ball(0)


# ---------------------------------------------------------------- perturbation


@pytest.mark.parametrize("loss", [LOGISTIC, SMOOTH_HINGE])
def test_the_minimizer_is_checked_and_not_assumed(loss: Loss) -> None:
    X, y = people(200)
    objective = Objective(Problem(loss, 200, 3, 1.0), 0.5, np.array([1.0, -2.0, 0.5]), 1e-6)
    theta = objective.minimize(X, y)
    data = objective.problem.read(X, y)
    assert np.linalg.norm(objective._gradient(theta, data)) <= 1e-6
    rough = optimize.minimize(objective._value, np.zeros(3), args=(data,), method="BFGS")
    assert np.allclose(theta, rough.x, atol=1e-3)


def test_plain_descent_ends_where_newton_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.learn.solvers.minimize._NEWTON", 0)
    X, y = people(50)
    objective = Objective(Problem(LOGISTIC, 50, 3, 1.0), 2.0, np.zeros(3), 1e-6)
    theta = objective.minimize(X, y)
    assert np.linalg.norm(objective._gradient(theta, objective.problem.read(X, y))) <= 1e-6


def test_an_accuracy_beyond_doubles_is_refused_before_data_is_read() -> None:
    objective = Objective(Problem(LOGISTIC, 10**6, 3, 1.0), 1e-9, np.zeros(3), 1e-6)
    with pytest.raises(OutOfRange):
        objective.minimize(None, None)


def test_the_minimizer_moves_by_no_more_than_its_sensitivity() -> None:
    """Output perturbation's claim, row by row; half the claim would be refuted."""
    X, y = people(40)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    weight, furthest = 0.2, 0.0
    theta = Objective(Problem(LOGISTIC, 40, 3, 1.0), weight, np.zeros(3), 1e-8).minimize(X, y)
    for gone in range(40):
        rest = np.delete(np.arange(40), gone)
        other = Objective(Problem(LOGISTIC, 39, 3, 1.0), weight, np.zeros(3), 1e-8).minimize(X[rest], y[rest])
        furthest = max(furthest, float(np.linalg.norm(theta - other)))
    assert furthest <= (1 + 2e-8) / weight
    lonely = Objective(Problem(LOGISTIC, 1, 1, 1.0), 2.0, np.zeros(1), 1e-8).minimize(np.ones((1, 1)), np.ones(1))
    assert abs(float(lonely[0])) > 0.4 / 2.0  # nearly as far as one row can pull


def test_the_density_of_the_perturbed_minimizer_changes_as_the_proof_says() -> None:
    """One weight, by numerical integration: the exact delta of two neighbours lies below the promise, and near it."""
    for price in (PRICE, ApproximateDP(Fraction(3), Fraction(1, 1000))):
        weight = least_weight(price, LOGISTIC)
        sigma = objective_noise(price, LOGISTIC, weight)
        exact = _exact_delta(weight, sigma, float(price.epsilon))
        assert exact <= float(price.delta)
        assert _exact_delta(weight, sigma * 0.5, float(price.epsilon)) > float(price.delta)


def _exact_delta(weight: float, sigma: float, price: float) -> float:
    """sup over both directions of the hockey-stick divergence, for one row x = 1, y = 1 that comes or goes."""
    theta = np.linspace(-60, 60, 400_001) * sigma / weight / 5
    without = -weight * theta  # the linear term whose minimizer theta is
    slope, bend = LOGISTIC.slope(theta), LOGISTIC.curvature(theta)
    with_row = without - slope
    p = np.exp(-(with_row**2) / (2 * sigma**2)) * (weight + bend)
    q = np.exp(-(without**2) / (2 * sigma**2)) * weight
    step = (theta[1] - theta[0]) / (sigma * math.sqrt(2 * math.pi))
    return float(max(np.maximum(a - math.exp(price) * b, 0).sum() * step for a, b in ((p, q), (q, p))))


SOLVERS: dict[str, Callable[..., Solution]] = {
    "output": lambda X, y, **more: output_perturbation(X, y, l2=0.01, **more),
    "objective": objective_perturbation,
}


@pytest.mark.parametrize("name", SOLVERS)
def test_perturbed_minimizers_cost_what_they_promise_and_learn(name: str) -> None:
    X, y = people(5000)
    told = SOLVERS[name](X, y, epsilon=1, delta=1e-5, norm=1, rng=seeded(6))
    assert 0.9 < epsilon(told.event, delta=1e-5) <= 1
    assert np.mean(np.sign(X @ told.weights) == y) > 0.85
    assert told.guarantee.holds == PRICE


def test_output_perturbation_adds_the_noise_of_its_event() -> None:
    X, y = people(500)
    drawn = [output_perturbation(X, y, l2=0.1, epsilon=1, delta=1e-5, norm=1, rng=seeded(s)) for s in range(150)]
    spread = np.std([t.weights for t in drawn], axis=0).mean() / float(drawn[0].event.sigma)  # type: ignore[attr-defined]
    assert 0.92 < spread < 1.08


def test_rows_are_scaled_down_to_the_norm() -> None:
    X, y = people(400)
    X[0] *= 1e6
    one = output_perturbation(X, y, l2=0.1, epsilon=50, delta=1e-5, norm=1, rng=seeded(7)).weights
    X[0] *= 1e6
    assert np.allclose(one, output_perturbation(X, y, l2=0.1, epsilon=50, delta=1e-5, norm=1, rng=seeded(7)).weights)


@pytest.mark.parametrize("changes", [{"epsilon": 0}, {"delta": 1}, {"norm": -1}, {"epsilon": math.inf}])
def test_bad_prices_and_norms_are_refused(changes: dict[str, Any]) -> None:
    X, y = people(10)
    for solver in (*SOLVERS.values(), lambda *a, **k: gradient_descent(*a, domain=Ball(1), **k)):
        with pytest.raises(OutOfRange):
            solver(X, y, **({"epsilon": 1, "delta": 1e-5, "norm": 1} | changes))


def test_unknown_noise_is_refused() -> None:
    with pytest.raises(OutOfRange):
        projected_sgd(*people(5), domain=Ball(1), epsilon=1, delta=1e-5, norm=1, noise="less")
