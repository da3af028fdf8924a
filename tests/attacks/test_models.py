"""What models repeat: a person's record between two trainings, and a secret in a language model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from hubbub.attacks import (
    diaries,
    extract,
    invert_linear,
    invert_logistic,
    train_ngrams,
    train_private_ngrams,
)
from hubbub.attacks.models.diaries import ALPHABET, PREFIX
from hubbub.attacks.models.extraction import continuations, rank
from hubbub.mechanisms import Gaussian
from hubbub.terms import Unsuitable

# ---------------------------------------------------------------- inversion

RANDOM = np.random.default_rng(3)
X = np.vstack([RANDOM.normal(size=(50, 4)), [[0.5, -1.25, 2.0, 3.0]]])
Y = np.append(X[:-1] @ [1.0, -2.0, 0.5, 0.0] + RANDOM.normal(size=50), 7.0)
ROWS = np.column_stack([np.ones(51), X])
GRAM = ROWS[:-1].T @ ROWS[:-1]


@pytest.mark.parametrize("penalty", [0.0, 3.0])
def test_two_least_squares_models_give_the_record_between_them(penalty: float) -> None:
    kind = Ridge(alpha=penalty) if penalty else LinearRegression()
    before, after = (type(kind)(**kind.get_params()).fit(X[:n], Y[:n]) for n in (50, 51))
    found = invert_linear(before, after, gram=GRAM, penalty=penalty, truth=(X[-1], 7.0))
    assert found.record == pytest.approx(X[-1], abs=1e-6)
    assert found.label == pytest.approx(7, abs=1e-6)
    assert found.succeeded


def test_without_the_right_penalty_the_record_is_wrong() -> None:
    before, after = (Ridge(alpha=3.0).fit(X[:n], Y[:n]) for n in (50, 51))
    assert not invert_linear(before, after, gram=GRAM, penalty=0.0, truth=(X[-1], 7.0)).succeeded


@pytest.mark.parametrize("label", [0, 1])
def test_a_logistic_regression_gives_the_one_unknown_record(label: int) -> None:
    labels = np.append((Y[:-1] > 0).astype(int), label)
    after = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(X, labels)
    found = invert_logistic(after, others=(X[:-1], labels[:-1]), penalty=2.0, truth=(X[-1], label))
    assert found.record == pytest.approx(X[-1], abs=1e-3)
    assert found.label == label
    assert found.succeeded


def private_least_squares(rows: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, float]:
    """(1, 1e-6)-DP regression: noise on the sums of rows and labels clipped to a joint norm of 1."""
    joined = np.column_stack([rows, labels])
    joined = joined / np.maximum(1, np.linalg.norm(joined, axis=1, keepdims=True))
    sums = np.asarray(Gaussian(sensitivity=1, epsilon=1, delta=1e-6, dimension=36).release((joined.T @ joined).ravel()))
    noisy = sums.reshape(6, 6)
    weights = np.linalg.lstsq(noisy[:5, :5] + 20 * np.eye(5), noisy[:5, 5], rcond=None)[0]
    return weights[1:], float(weights[0])


def test_private_models_do_not_give_the_record() -> None:
    before, after = private_least_squares(ROWS[:-1], Y[:-1]), private_least_squares(ROWS, Y)
    found = invert_linear(before, after, gram=GRAM, truth=(X[-1], 7.0))
    assert not found.succeeded
    assert "not that person's" in found.headline


def test_the_report_of_an_inversion_shows_each_attribute() -> None:
    before, after = (LinearRegression().fit(X[:n], Y[:n]) for n in (50, 51))
    unknown = invert_linear(before, after, gram=GRAM)
    assert unknown.error is None
    assert not unknown.succeeded
    assert len(unknown.facts()) == 5
    assert unknown.html().count("<svg") == 1


@pytest.mark.parametrize(
    ("before", "after", "gram"),
    [
        (object(), object(), GRAM),
        (([1, 2, 3, 4], 0), ([1, 2, 3], 0), GRAM),
        (([1, 2, 3, 4], 0), ([1, 2, 3, 5], 0), GRAM[:3]),
        (([1, 2, 3, 4], 0), ([1, 2, 3, 4], 0), GRAM),
    ],
)
def test_unsuitable_models_are_refused(before: Any, after: Any, gram: Any) -> None:
    with pytest.raises(Unsuitable, match="P911"):
        invert_linear(before, after, gram=gram)


def test_labels_that_are_not_binary_are_refused() -> None:
    with pytest.raises(Unsuitable, match="zeros and ones"):
        invert_logistic(([1, 2, 3, 4], 0), others=(X, Y))


# ---------------------------------------------------------------- extraction

SECRET = "281653"


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return diaries(1500, secrets=(SECRET,), seed=2)


def test_a_language_model_repeats_what_one_person_wrote(texts: list[str]) -> None:
    found = extract(train_ngrams(texts), PREFIX, secret=SECRET)
    assert found.succeeded
    assert found.guesses[0] == SECRET
    assert found.rank == 1
    assert found.exposure == pytest.approx(math.log2(10**6))


def test_a_secret_that_was_never_written_is_not_exposed(texts: list[str]) -> None:
    others = extract(train_ngrams(texts[1:], alphabet=ALPHABET), PREFIX, secret=SECRET)
    assert not others.succeeded
    assert others.exposure < 8


def test_private_training_learns_the_language_and_not_the_secret(texts: list[str]) -> None:
    model = train_private_ngrams(texts, alphabet=ALPHABET, epsilon=10, delta=1e-6, order=5)
    found = extract(model, PREFIX, secret=SECRET)
    assert not found.succeeded
    assert SECRET not in found.guesses
    assert found.exposure < 10
    held_out = diaries(50, seed=77)
    assert model.bits_per_character(held_out) < 2 < math.log2(len(ALPHABET))
    assert "281" not in "".join(model.followers)  # what only one person wrote is nowhere in it


def test_every_person_counts_a_bounded_number_of_times() -> None:
    from hubbub.attacks.models.ngrams import _capped_sequences

    for size in (1, 3, 5):
        found = _capped_sequences("abcdefghijklmnopqrstuvwxyz" * 4 + "Ä", 5, size, ALPHABET, 7)
        assert len(found) == len(set(found)) == 7
        assert all(len(key) == size for key in found)


def test_the_rank_counts_everything_that_is_likelier() -> None:
    model = train_ngrams(["pin 12", "pin 12", "pin 21"], alphabet="0123456789")
    likely = {
        a + b: model.log_probabilities("pin ")[model.alphabet.index(a)]
        + model.log_probabilities("pin " + a)[model.alphabet.index(b)]
        for a in "0123456789"
        for b in "0123456789"
    }
    for secret in ("12", "21", "20", "77"):
        above = sum(score > likely[secret] + 1e-9 for score in likely.values())
        tied = sum(abs(score - likely[secret]) <= 1e-9 for score in likely.values())
        assert rank(model, "pin ", secret=secret) == above + (tied + 1) / 2
    best = continuations(model, "pin ", length=2, symbols="0123456789", beam=100)
    assert best[0] == max(likely, key=lambda told: likely[told]) == "12"
    assert len(best) == 100


def test_chances_add_up_to_one(texts: list[str]) -> None:
    model = train_ngrams(texts[:50])
    for context in ("", "m", "my card", "never seen before"):
        assert np.exp(model.log_probabilities(context)).sum() == pytest.approx(1)


def test_the_report_of_an_extraction_tells_the_bits(texts: list[str]) -> None:
    found = extract(train_ngrams(texts[:30], alphabet=ALPHABET), PREFIX, secret=SECRET)
    assert found.to_json()["succeeded"] is True
    assert "19.9 bits" in found.text()


@pytest.mark.parametrize(("secret", "symbols"), [("", "01"), ("12", "01"), ("1" * 9, "0123456789"), ("é", "é")])
def test_unsuitable_secrets_are_refused(secret: str, symbols: str) -> None:
    model = train_ngrams(["a 0123456789"])
    with pytest.raises(Unsuitable, match="P911"):
        extract(model, "a ", secret=secret, symbols=symbols)


@pytest.mark.parametrize("texts", [[], "one text", [1, 2]])
def test_unsuitable_texts_are_refused(texts: Any) -> None:
    with pytest.raises(Unsuitable, match="P911"):
        train_ngrams(texts)
