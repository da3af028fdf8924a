"""One training run with canaries: the theorem's numbers, a private and a leaky training, and false alarms."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hubbub.accounting.gaussian_tradeoff import epsilon_of
from hubbub.audit import one_run, one_run_bound, one_run_p_value
from hubbub.terms import OutOfRange


def test_the_published_example() -> None:
    """[SNJ23, App. D]: 1,000 canaries, 100 guesses, 75 right, delta 1e-4, 95%."""
    assert one_run_bound(1000, 100, 75, delta=1e-4) == pytest.approx(0.673, abs=5e-4)


def test_without_delta_it_is_a_binomial_tail() -> None:
    for correct in (50, 60, 90, 100):
        tail = stats.binom.sf(correct - 1, 100, math.e / (1 + math.e))
        assert one_run_p_value(1.0, canaries=500, guesses=100, correct=correct) == pytest.approx(tail)


@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-3])
def test_right_guesses_are_as_likely_as_the_worst_mechanism_makes_them_and_no_likelier(delta: float) -> None:
    """Randomized response of each canary, which tells the truth with probability delta, is (1, delta)-DP."""
    rate = delta + (1 - delta) * math.e / (1 + math.e)
    for correct in (60, 75, 80, 90):
        tail = float(stats.binom.sf(correct - 1, 100, rate))
        told = one_run_p_value(1.0, canaries=100, guesses=100, correct=correct, delta=delta)
        assert tail <= told + 1e-12


def test_more_right_guesses_and_a_smaller_delta_show_more() -> None:
    by_hits = [one_run_bound(200, 100, v, delta=1e-5) for v in range(0, 101, 10)]
    by_delta = [one_run_bound(200, 100, 90, delta=d) for d in (0, 1e-6, 1e-4, 1e-2)]
    assert by_hits == sorted(by_hits)
    assert by_hits[5] == 0 < by_hits[8]
    assert by_delta == sorted(by_delta, reverse=True)


@pytest.mark.parametrize("counts", [(10, 11, 5), (10, 5, 6), (0, 0, 0)])
def test_impossible_counts_are_refused(counts: tuple[int, int, int]) -> None:
    with pytest.raises(OutOfRange):
        one_run_bound(*counts)


# ---------------------------------------------------------------- trainings


def noisy_mean(sigma: float, seed: int) -> Any:
    """A sum of canaries, each a direction of its own: a Gaussian mechanism of sensitivity 1."""
    rng = np.random.default_rng(seed)
    return lambda included: included + rng.normal(0, sigma, len(included))


def noisy_descent(noise: float, seed: int, *, steps: int = 20, places: int = 400) -> Any:
    """Gradient descent for a linear model with clipped gradients; canaries push along directions of their own."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(200, places)) / math.sqrt(places)
    wanted = rows @ rng.normal(size=places)

    def train(included: Any) -> Any:
        directions = np.eye(places)[: len(included)]
        weights, seen = np.zeros(places), np.zeros(places)
        for _ in range(steps):
            each = rows * (rows @ weights - wanted)[:, None]
            each /= np.maximum(1, np.linalg.norm(each, axis=1))[:, None]
            pushed = each.sum(axis=0) + included.astype(float) @ directions + noise * rng.normal(size=places)
            seen += pushed - each.sum(axis=0)
            weights -= 0.01 * pushed
        return directions @ seen

    return train


@pytest.mark.parametrize("seed", range(5))
def test_a_private_sum_is_not_refuted(seed: int) -> None:
    claim = epsilon_of(1e-5, 1 / 2.0)
    found = one_run(noisy_mean(2.0, seed), 1000, delta=1e-5, claim=claim, rng=np.random.default_rng(seed))
    assert 0 < found.bound <= claim


def test_private_descent_is_not_refuted_and_descent_with_little_noise_is() -> None:
    steps, noise = 20, 10.0
    claim = epsilon_of(1e-5, math.sqrt(steps) / noise)
    rng = np.random.default_rng(1)
    private = one_run(noisy_descent(noise, 1), 300, delta=1e-5, claim=claim, rng=rng)
    leaky = one_run(noisy_descent(noise / 10, 1), 300, delta=1e-5, claim=claim, rng=rng)
    assert not private.refuted
    assert leaky.refuted
    assert leaky.bound > private.bound


def test_a_training_that_remembers_everything_is_refuted() -> None:
    found = one_run(lambda included: included.astype(float), 500, claim=3, rng=np.random.default_rng(4))
    assert found.refuted
    assert found.tried[0].correct == found.tried[0].guesses


def test_false_alarms_are_as_rare_as_stated(soak: int) -> None:
    """Canaries behind randomized response at epsilon 1, where the theorem is tight."""
    runs, rng = 200 * soak, np.random.default_rng(3)

    def respond(included: Any) -> Any:
        kept = rng.random(len(included)) < math.e / (1 + math.e)
        return np.where(kept, included, ~included) + 1e-6 * rng.random(len(included))

    alarms = sum(one_run(respond, 60, claim=1, rng=rng).refuted for _ in range(runs))
    assert stats.binomtest(alarms, runs, 0.05, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize(
    ("train", "words"),
    [
        (lambda included: 1 / 0, "raised ZeroDivisionError"),
        (lambda included: np.zeros(3), "shape"),
        (lambda included: np.full(len(included), np.nan), "NaN"),
        (lambda included: np.zeros(len(included)), "the same"),
    ],
)
def test_a_training_that_gives_nothing_to_guess_by_has_no_bound(train: Any, words: str) -> None:
    found = one_run(train, 20)
    assert found.bound is None
    assert words in found.problem
    assert words in str(found)


@pytest.mark.parametrize("wrong", [{"canaries": 2}, {"guesses": 30}, {"guesses": 1}, {"guesses": []}, {"delta": 1}])
def test_options_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(OutOfRange):
        one_run(lambda included: pytest.fail("it ran"), **{"canaries": 20, **wrong})


def test_the_report_is_words_a_table_a_picture_and_a_document() -> None:
    found = one_run(noisy_mean(1.0, 2), 200, guesses=(50, 200), claim=3, rng=np.random.default_rng(2), name="sum")
    assert "out of 100" in str(found)
    assert set(found.svgs()) == {"one-run"}
    document = json.loads(json.dumps(found.to_json()))
    assert [t["guesses"] for t in document["tried"]] == [50, 200]
    assert document["bound"] == found.bound
