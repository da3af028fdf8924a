"""Networks: the price of a private step of a small convolutional network, beside Opacus; and MNIST from scratch.

Settings for MNIST were chosen on 5,000 rows held back from the training set; the test set is looked at here alone.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.learn.opacus_peer import BATCH, convolutional, images, plain
from bench.learn.opacus_times import opacus_times
from bench.rows import Row, side_by_side
from hubbub.learn.torch import PrivateTrainer
from hubbub.learn.torch.clipping import FixedClip
from hubbub.learn.torch.examples import source_of
from hubbub.learn.torch.gradients import GradientMethod, Mapped, Recorded
from hubbub.learn.torch.training import Course, Momentum, TrainableWeights, clipped_vector
from hubbub.learn.training.calibration import run_with_noise
from hubbub.learn.training.noisy_descent import add_noise, draw_noise
from hubbub.learn.training.sampling import FullBatch, step_of

MNIST = Path(__file__).parents[3] / "shared" / "data" / "mnist.npz"
SETTINGS: dict[str, Any] = {"batch_size": 2048, "epochs": 25, "clip": 0.1, "learning_rate": 4.0}
MINUTES = 10


def rows(quick: bool) -> list[Row]:
    """Every figure asked for."""
    torch.set_num_threads(1)
    return [*_steps(quick), *_mnist(quick)]


# ---------------------------------------------------------------- speed


def _steps(quick: bool) -> list[Row]:
    rounds = 5 if quick else 25
    taken = side_by_side({"plain": plain(), "private": private(Recorded), "mapped": private(Mapped)}, rounds=rounds)
    ours = taken["private"] / taken["plain"]
    note = (
        f"{BATCH / taken['private']:,.0f} examples per CPU second; vmap(grad) {taken['mapped'] / taken['plain']:.2f}x"
    )
    name = "CNN (26,010 parameters, batch 256): private step"
    return [Row(f"{name}, times plain torch", ours, "x", 1.4, "lower", note), *_opacus(name, ours, rounds)]


def _opacus(name: str, ours: float, rounds: int) -> list[Row]:
    made = opacus_times(rounds, "cnn")
    if isinstance(made, str):
        return [Row(f"{name}, times faster than Opacus", 0, "x", 1.5, "higher", f"nothing to compare with: {made}")]
    version, theirs = made[0], made[1]["cnn"]
    return [
        Row(
            f"{name}, times faster than Opacus {version} ({mode})",
            theirs[mode] / theirs["plain"] / ours,
            "x",
            1.5,
            "higher",
            f"{ours:.2f}x plain torch against {theirs[mode] / theirs['plain']:.2f}x",
        )
        for mode in ("hooks", "ghost")
    ]


def private(kind: type[GradientMethod]) -> Callable[[], None]:
    """One private step with everything in it: clipped sum, noise on the grid, momentum."""
    x, y = images()
    model = convolutional().requires_grad_(False)
    names = tuple(name for name, _ in model.named_parameters())
    run = run_with_noise(
        sampling=FullBatch(),
        steps=1 << 20,
        clip=1.0,
        error=1e-6,
        size=sum(p.numel() for p in model.parameters()),
        multiplier=Fraction(1),
    )
    course = Course(run=run, clip=FixedClip(1.0), expected=BATCH, physical=BATCH, tail=0.0)
    moved = TrainableWeights(
        kind(model, _losses, names), lambda parameters: Momentum(parameters, rate=0.01, momentum=0.9)
    )
    examples = source_of(x, y, example=None, dtype=torch.float32, classes=None).open()
    drawn, everyone = draw_noise(run), np.arange(BATCH)

    def step() -> None:
        total = clipped_vector(course, moved.way, examples, everyone, 1.0)
        moved.step(add_noise(total, next(drawn), step_of(run)) / BATCH)

    return step


def _losses(outputs: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(outputs, targets, reduction="none")


# ---------------------------------------------------------------- MNIST


def _mnist(quick: bool) -> list[Row]:
    name = f"MNIST, CNN from scratch, epsilon 3, delta 1e-5, {MINUTES} CPU minutes"
    if not MNIST.exists():
        return [Row(name, 0, "%", 97.5, "higher", "the data is not here")]
    x, y, test_x, test_y = _digits()
    settings = {**SETTINGS, "epochs": 1} if quick else SETTINGS
    found, minutes = [], []
    for seed in range(1 if quick else 5):
        torch.manual_seed(seed)
        start = time.process_time()
        fitted = PrivateTrainer(convolutional(), nn.CrossEntropyLoss(), epsilon=3, delta=1e-5, **settings).fit(x, y)
        minutes.append((time.process_time() - start) / 60)
        found.append(100 * (fitted.evaluate(test_x, test_y).accuracy or 0))
    note = f"{min(found):.2f} to {max(found):.2f} over {len(found)} seeds{'; one epoch only' if quick else ''}"
    return [
        Row(name, statistics.median(found), "%", 97.5, "higher", note),
        Row("MNIST, CNN from scratch: CPU minutes", statistics.median(minutes), "min", MINUTES, "lower"),
    ]


def _digits() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Pixels shifted and scaled by public constants."""
    with np.load(MNIST) as kept:
        images, labels = [
            [torch.from_numpy(kept[f"{part}_{side}"]) for side in ("train", "test")] for part in ("x", "y")
        ]
    x, test_x = ((each.float()[:, None] / 255 - 0.1) / 0.3 for each in images)
    return x, labels[0].long(), test_x, labels[1].long()
