"""PATE on MNIST with default settings and public features.

The private rows are the 60,000 training images. As in the paper, the student's public rows without labels come from the
test images: 9,000 of them, another random choice in each run; the other 1,000 are for the score and nothing else. The
constants behind the defaults were set once on a split of the training images alone.
"""

from __future__ import annotations

import statistics

import numpy as np

from bench.learn.data import DATA, DELTA
from bench.rows import Row, cpu_seconds
from hubbub.learn import PATEClassifier
from hubbub.learn.public import OrientedGradients
from hubbub.learn.training.network import Floats, Labels

PUBLIC = 9_000
PARTS = ("train", "test")


def rows(quick: bool) -> list[Row]:
    """Every figure asked for."""
    if not (DATA / "mnist.npz").exists():
        return []
    with np.load(DATA / "mnist.npz") as data:
        images = {part: OrientedGradients((28, 28), upright=True).transform(data[f"x_{part}"]) for part in PARTS}
        digits = {part: data[f"y_{part}"] for part in PARTS}
    seeds = 1 if quick else 5
    found = []
    for epsilon, target in ((1.9, 0.975), (1.0, 0.975)):
        runs = [_run(images, digits, epsilon, seed) for seed in range(seeds)]
        scores, times = [run[0] for run in runs], [run[1] for run in runs]
        name, score = f"MNIST, epsilon {epsilon:g}: PATEClassifier", statistics.median(scores)
        note = f"median of {seeds} runs, {min(scores):.4f} to {max(scores):.4f}; {runs[0][2]}; delta 1e-5, defaults"
        found.append(Row(f"{name}, accuracy on 1,000 test images", score, "", target, "higher", note))
        said = "teachers, votes and student, without the features"
        found.append(Row(f"{name}, fit", statistics.median(times), "CPU s", 60, "lower", said))
    return found


def _run(images: dict[str, Floats], digits: dict[str, Labels], epsilon: float, seed: int) -> tuple[float, float, str]:
    """(score, processor time of the fit, how many answers of how many teachers)."""
    order = np.random.default_rng(seed).permutation(len(images["test"]))
    public, kept = order[:PUBLIC], order[PUBLIC:]
    model = PATEClassifier(public=images["test"][public], epsilon=epsilon, delta=DELTA, classes=range(10))
    seconds = cpu_seconds(lambda: model.fit(images["train"], digits["train"]))
    told = f"{int((model.answers_ >= 0).sum())} answers to {len(model.asked_)} questions"
    return model.score(images["test"][kept], digits["test"][kept]), seconds, told
