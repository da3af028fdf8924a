"""Public features before a private head: MNIST, a part of CIFAR-10, and sentences of SST-2.

Settings were chosen once on 10,000 rows held back from the training rows of MNIST; test rows were not looked at.
"""

from __future__ import annotations

import gzip
import os
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import cache
from bench.learn.data import DATA, DELTA, NORM, adult, there
from bench.peers import environment
from bench.rows import Row, cpu_seconds
from hubbub.learn import BipartiteRanker, CentreScaler, LogisticRegression, make_pipeline
from hubbub.learn.composition.pipeline import Pipeline
from hubbub.learn.public import FrozenEncoder, OrientedGradients

SHARES = [1, 39]  # of the squared noise budget: for the mean, and for the head


def rows(quick: bool) -> list[Row]:
    """Every figure asked for."""
    seeds = 1 if quick else 5
    return [*_mnist(seeds), *_cifar(seeds), *_sentences(seeds), *_ranking(seeds)]


def head(epsilon: float) -> Pipeline:
    """A private mean and a private softmax or logistic regression, on features of length 1."""
    return make_pipeline(
        CentreScaler(norm=1.0), LogisticRegression(norm=1.0), epsilon=epsilon, delta=DELTA, shares=SHARES
    )


def _row(name: str, value: Callable[[], float], seeds: int, target: float, note: str, unit: str = "") -> Row:
    found = [value() for _ in range(seeds)]
    told = f"median of {seeds} runs, {min(found):.4f} to {max(found):.4f}; {note}"
    return Row(name, statistics.median(found), unit, target, "higher", told)


# ---------------------------------------------------------------- MNIST


def _mnist(seeds: int) -> list[Row]:
    if not (DATA / "mnist.npz").exists():
        return []
    data, step = np.load(DATA / "mnist.npz"), OrientedGradients((28, 28), upright=True)
    features: dict[str, Any] = {}

    def transform() -> None:
        features.update(train=step.transform(data["x_train"]), test=step.transform(data["x_test"]))

    features_time = cpu_seconds(transform)
    times: list[float] = []

    def score(model: Any) -> float:
        times.append(cpu_seconds(lambda: model.fit(features["train"], data["y_train"])))
        return float(model.score(features["test"], data["y_test"]))

    note = "delta 1e-5, settings chosen on training rows"
    plain = LogisticRegression(norm=1.0, epsilon=1, delta=DELTA)
    found = [
        _row("MNIST, epsilon 1: features and softmax, test accuracy", lambda: score(head(1)), seeds, 0.978, note),
        _row("MNIST, epsilon 3: features and softmax, test accuracy", lambda: score(head(3)), seeds, 0.982, note),
        _row("MNIST, epsilon 1: the same without a private mean", lambda: score(plain), 1, 0.97, "default settings"),
    ]
    told = f"{features_time:.1f} s for the features of 70,000 images, then the slowest fit"
    total = features_time + max(times)
    return [*found, Row("MNIST: CPU time of features and a fit", total, "s", 60, "lower", told)]


# ---------------------------------------------------------------- CIFAR-10


def _cifar(seeds: int) -> list[Row]:
    source = DATA / "cifar10_subset_jpeg.npz"
    if not source.exists():
        return []
    name = "CIFAR-10, 20,000 images, epsilon 3: features and softmax, test accuracy"
    made = environment("pillow")
    if not made.python:
        return [Row(name, 0, "", 0.6, "higher", f"skipped: {made.reason}")]
    place = cache.folder("learn") / "cifar10.npy"
    cache.once(place, lambda part: _run(made.python, "cifar_peer.py", str(source), str(part)))
    images, data = np.load(place), np.load(source)
    train, features = data["is_train"].astype(bool), OrientedGradients((32, 32, 3)).transform(images)

    def score() -> float:
        model = head(3).fit(features[train], data["label"][train])
        return float(model.score(features[~train], data["label"][~train]))

    note = "two fifths of the usual rows, from lossy JPEG, so not comparable with published figures"
    return [_row(name, score, min(seeds, 3), 0.6, note)]


# ---------------------------------------------------------------- SST-2


def _sentences(seeds: int) -> list[Row]:
    if not (DATA / "sst2-train.tsv.gz").exists():
        return []
    name = "SST-2, epsilon 1: frozen MiniLM and logistic regression, points from the head without privacy"
    made = environment("minilm")
    if not made.python:
        return [Row(name, -100, "points", -1, "higher", f"skipped: {made.reason}")]
    from sklearn.linear_model import LogisticRegression as Plain

    def encode(texts: list[str]) -> Any:
        return _encoded(made.python, texts)

    kept = cache.folder("learn") / "minilm.db"
    encoder = FrozenEncoder(encode, name="all-MiniLM-L6-v2", cache=kept, batch_size=100_000)
    parts = {part: sst2(part) for part in ("train", "test")}
    vectors = {part: encoder.transform(texts) for part, (texts, _) in parts.items()}
    (train, y), (test, truth) = ((vectors[part], parts[part][1]) for part in ("train", "test"))
    plain = float(Plain(C=100, max_iter=500).fit(train, y).score(test, truth))
    note = f"delta 1e-5, default settings; without privacy {plain:.4f} on the 872 test sentences"
    return [_row(name, lambda: 100 * (head(1).fit(train, y).score(test, truth) - plain), seeds, -1, note, "points")]


def sst2(part: str) -> tuple[list[str], Any]:
    """Sentences, and whether they praise."""
    with gzip.open(DATA / f"sst2-{part}.tsv.gz", "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file][1:]
    return [line[0] for line in lines], np.array([int(line[1]) for line in lines])


def _encoded(python: str, texts: list[str]) -> Any:
    """What the encoder says, asked in an environment of its own."""
    out = cache.folder("learn") / "vectors.npy"
    _run(python, "minilm_peer.py", str(out), told="\n".join(texts))
    return np.load(out)


def _run(python: str, script: str, *arguments: str, told: str | None = None) -> None:
    command = [python, str(Path(__file__).with_name(script)), *arguments]
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    subprocess.run(command, input=told, text=True, check=True, capture_output=True, env=alone)


# ---------------------------------------------------------------- pairs


def _ranking(seeds: int) -> list[Row]:
    if not there():
        return []
    (people, y), (test, truth) = adult("train"), adult("test")

    def area() -> float:
        return BipartiteRanker(epsilon=1, delta=DELTA, norm=NORM).fit(people, y).score(test, truth)

    note = "all pairs of a batch, default settings; logistic regression without privacy 0.908"
    return [_row("Adult, epsilon 1: BipartiteRanker, area under the ROC curve", area, seeds, 0.89, note)]
