"""Attacks: how much they get from noisy answers and models, how little from private ones, and how long they take."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.rows import Row, cpu_seconds
from hubbub.attacks import (
    TrainingComparison,
    diaries,
    extract,
    lira,
    random_subsets,
    reconstruct,
    shadow_models,
    trace,
    train_ngrams,
    train_private_ngrams,
)
from hubbub.attacks.models.diaries import ALPHABET, PREFIX
from hubbub.learn import MLPClassifier
from hubbub.mechanisms import DiscreteGaussian, Geometric

PICTURE = Path(__file__).parent / "results" / "attacks-lira.svg"
CEILING = math.e / (1 + math.e)  # the most bits right on average at epsilon = 1

Answers = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def rows(quick: bool) -> list[Row]:
    return [
        *_noisy(quick),
        *_programs(quick),
        *_large(quick),
        *_private(quick),
        *_shares(),
        *_models(quick),
        *_language(quick),
    ]


def found(people: int, seed: int, answers: Answers, *, method: str = "box") -> float:
    """The share of random bits that are right after 4 questions per person."""
    random = np.random.default_rng((7, seed))
    queries = random_subsets(people, 4 * people, seed=seed)
    truth = random.integers(0, 2, people)
    counts = (queries.astype(np.float32) @ truth.astype(np.float32)).astype(np.int64)
    return float(np.mean(reconstruct(queries, answers(counts, random), method=method) == truth))


def gaussian(noise: float, people: int) -> Answers:
    return lambda counts, random: counts + random.normal(0, noise * math.sqrt(people), len(counts))


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _noisy(quick: bool) -> list[Row]:
    people, seeds = (500, 3) if quick else (2000, 5)
    targets = {0.1: 0.99, 0.25: 0.96, 0.5: 0.82}
    measured = []
    for method in ("box", "message-passing"):
        for noise, target in targets.items():
            start = time.process_time()
            share = mean([found(people, s, gaussian(noise, people), method=method) for s in range(seeds)])
            note = f"{seeds} seeds, {(time.process_time() - start) / seeds:.2f} s of processor each"
            name = f"bits found ({method}), n = {people:,}, noise {noise:g} sqrt(n)"
            measured.append(Row(name, share, "of bits", target, "higher", note))
    return measured


def _programs(quick: bool) -> list[Row]:
    people, seeds = (100, 3) if quick else (200, 5)
    shares = {
        method: mean([found(people, s, gaussian(0.5, people), method=method) for s in range(seeds)])
        for method in ("box", "lp", "least-squares")
    }
    others = max(shares["lp"], shares["least-squares"])
    note = ", ".join(f"{method} {share:.3f}" for method, share in shares.items())
    return [
        Row(f"box above linear program and least squares, n = {people}", shares["box"] - others, "", 0, "higher", note)
    ]


def _large(quick: bool) -> list[Row]:
    people = 1000 if quick else 5000
    shares: list[float] = []
    seconds = cpu_seconds(lambda: shares.append(found(people, 1, gaussian(0.25, people))))
    return [Row(f"bits found, n = {people:,}, queries and all", seconds, "s", 60, "lower", f"{shares[0]:.4f} of bits")]


def private(kind: str, epsilon: float, queries: int) -> Answers:
    """Counts that are private together: a changed bit moves at most all of them by one."""
    if kind == "Laplace":
        noise: Any = Geometric(sensitivity=queries, epsilon=epsilon, dimension=queries)
    else:
        root = math.isqrt(queries - 1) + 1
        noise = DiscreteGaussian(sensitivity=root, epsilon=epsilon, delta=1e-6, dimension=queries)
    return lambda counts, random: np.asarray(noise.release(counts))


def _private(quick: bool) -> list[Row]:
    people, seeds = (200, 5) if quick else (1000, 20)
    measured = []
    for kind, near in (("Laplace", 0.5), ("Gaussian", 0.52)):
        share = mean([found(people, s, private(kind, 1, 4 * people)) for s in range(seeds)])
        error = 0.5 / math.sqrt(people * seeds)
        note = f"{share:.4f} of bits, standard error {error:.4f}; any attack: at most {CEILING:.3f} on average"
        name = f"bits above {near:g} from {kind} answers at a total epsilon of 1, n = {people:,}"
        measured.append(Row(name, share - near, "of bits", 3 * error + 0.005, "lower", note))
    share = mean([found(people, s, private("Gaussian", 100, 4 * people)) for s in range(min(3, seeds))])
    measured.append(Row(f"bits from Gaussian answers at epsilon 100, n = {people:,}", share, "of bits", 0.95, "higher"))
    return measured


def _shares() -> list[Row]:
    random, people, attributes = np.random.default_rng(3), 100, 1000
    reference = random.uniform(0.05, 0.5, attributes)
    members = (random.random((people, attributes)) < reference).astype(np.int8)
    others = (random.random((20_000, attributes)) < reference).astype(np.int8)
    exact = trace(members.mean(axis=0), reference, members=members, others=others)
    noise = DiscreteGaussian(sensitivity=32, epsilon=1, delta=1e-6, dimension=attributes)
    noisy = np.asarray(noise.release(members.sum(axis=0, dtype=np.int64))) / people
    private_shares = trace(
        noisy,
        reference,
        members=members,
        others=others,
        statistic="inner-product",
        noise=float(noise.event.sigma) / people,
    )
    note = f"AUC {exact.roc.auc:.4f}, in theory {exact.expected_auc:.4f}"
    return [
        Row("members found by shares at 0.1% false", exact.roc.tpr(0.001), "of members", 0.3, "higher", note),
        Row("... by private shares, epsilon 1: AUC", private_shares.roc.auc, "", 0.62, "lower"),
    ]


def overfitted(inputs: np.ndarray, labels: np.ndarray) -> Any:
    """A network that is trained until it fits, without privacy."""
    from sklearn.neural_network import MLPClassifier as Plain

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not converge
        return Plain((32,), activation="tanh", max_iter=300, random_state=0).fit(inputs, labels)


def trained_privately(epsilon: float, examples: int) -> Callable[[np.ndarray, np.ndarray], Any]:
    def train(inputs: np.ndarray, labels: np.ndarray) -> Any:
        model = MLPClassifier(
            epsilon=epsilon, delta=1e-4, norm=6.0, hidden_layer_sizes=(32,), classes=[0, 1], rows=examples // 2
        )
        return model.fit(inputs, labels)

    return train


def compared(*, examples: int = 200, models: int = 128) -> TrainingComparison:
    """LiRA on the same network, trained without privacy and with: the table and the picture."""
    random = np.random.default_rng(5)
    inputs = random.normal(size=(examples, 30))
    labels = (inputs[:, 0] + random.normal(size=examples) > 0).astype(int)
    trainings = {
        "epsilon infinite": overfitted,
        "epsilon = 8": trained_privately(8, examples),
        "epsilon = 1": trained_privately(1, examples),
    }
    return TrainingComparison(
        {name: lira(shadow_models(train, inputs, labels, models=models)) for name, train in trainings.items()}
    )


def _models(quick: bool) -> list[Row]:
    table = compared(models=24 if quick else 128)
    results = table.results
    if not quick:
        PICTURE.write_text(table.figure().svg)
    targets = {
        "epsilon infinite": (0.8, 0.01, "higher"),
        "epsilon = 8": (0.7, 0.02, "lower"),
        "epsilon = 1": (0.6, 0.005, "lower"),
    }
    measured = []
    for name, (auc, tpr, better) in targets.items():
        roc = results[name].roc
        note = f"{roc.shown(0.01)} at 1%"
        measured.append(Row(f"LiRA, {name}: AUC", roc.auc, "", auc, better))
        measured.append(Row(f"LiRA, {name}: found at 0.1% false", roc.tpr(0.001), "of members", tpr, better, note))
    return measured


def _language(quick: bool) -> list[Row]:
    texts, secret = diaries(2000 if quick else 10_000, secrets=("281653",)), "281653"
    exact = train_ngrams(texts, alphabet=ALPHABET)
    kept = train_private_ngrams(texts, alphabet=ALPHABET, epsilon=2, delta=1e-6)
    held = diaries(100, seed=9)
    notes = [f"{model.bits_per_character(held):.2f} bits per character" for model in (exact, kept)]
    told = [extract(model, PREFIX, secret=secret).exposure for model in (exact, kept)]
    return [
        Row("a card number's exposure in a language model", told[0], "bits of 19.9", 19.9, "higher", notes[0]),
        Row("... in a private one, epsilon 2", told[1], "bits of 19.9", 10, "lower", notes[1]),
    ]
