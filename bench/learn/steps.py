"""The price of privacy in time: whole private steps beside plain ones, and beside Opacus."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from bench.learn.opacus_times import opacus_times
from bench.rows import Row, side_by_side
from hubbub.learn.training.calibration import run_with_noise
from hubbub.learn.training.network import Examples, Floats, Network
from hubbub.learn.training.noisy_descent import Descent, train
from hubbub.learn.training.sampling import FullBatch, PoissonBatch

Rates = dict[str, float]  # rows a second, private and plain
BATCHES = {"logistic": 1024, "mlp": 256}
OPACUS = {"hooks": 10, "ghost": 3}  # its ways, and how many times faster we mean to be
TURNS = 3
WIDTHS = {"logistic": (100, 1), "mlp": (100, 128, 64, 10)}


def rows(quick: bool) -> list[Row]:
    """Every figure asked for."""
    rounds, steps = (5, 20) if quick else (9, 60)
    logistic = _timed(WIDTHS["logistic"], 1024, steps, rounds)
    small = _timed(WIDTHS["mlp"], 256, steps, rounds)
    large = _timed(WIDTHS["mlp"], 4096, steps // 4, rounds)
    return [
        _over_plain("logistic regression, 100 features, batch 1024", logistic, 1.5),
        _over_plain("MLP 100-128-64-10, batch 256", small, 2.0),
        _over_plain("MLP 100-128-64-10, batch 4096", large, 2.0),
        *_over_opacus(steps, rounds),
    ]


def _over_plain(label: str, rates: Rates, target: float) -> Row:
    note = f"{rates['private']:,.0f} rows a second against {rates['plain']:,.0f}"
    times = rates["plain"] / rates["private"]
    return Row(f"{label}: private step over a plain one", times, "x", target, "lower", note)


def _over_opacus(steps: int, rounds: int) -> list[Row]:
    """Rows per second of processor time, of private steps on the same shapes; one batch for all steps on both sides."""
    ours: dict[str, list[float]] = {task: [] for task in WIDTHS}
    theirs: dict[tuple[str, str], list[float]] = {(task, mode): [] for task in WIDTHS for mode in OPACUS}
    for _ in range(TURNS):  # in turns, so that a slow moment of the machine hits both
        for task, widths in WIDTHS.items():
            ours[task].append(_fixed(widths, BATCHES[task], 4 * steps, rounds))
        made = opacus_times(20 * rounds, *WIDTHS)
        if isinstance(made, str):
            note = f"nothing to compare with: {made}"
            return [Row("private steps, times faster than Opacus", 0, "x", 10, "higher", note)]
        for (task, mode), rates in theirs.items():
            rates.append(BATCHES[task] / made[1][task][mode])
    return [
        _faster(f"{task}: private rows a second over those of Opacus {made[0]} ({mode})", ours[task], rates, mode)
        for (task, mode), rates in theirs.items()
    ]


def _faster(name: str, ours: list[float], theirs: list[float], mode: str) -> Row:
    mine, other = statistics.median(ours), statistics.median(theirs)
    note = f"{mine:,.0f} against {other:,.0f}, the same batch in each step; ours in numpy and doubles"
    return Row(name, mine / other, "x", OPACUS[mode], "higher", note)


def _timed(widths: tuple[int, ...], batch: int, steps: int, rounds: int) -> Rates:
    """Whole steps, sampling and noise included, beside plain SGD in numpy over shuffled batches."""
    network, data = Network(widths), _examples(widths, 10 * batch)
    private = _private(network, data, PoissonBatch(Fraction(1, 10)), steps, batch)
    times = side_by_side({"private": private, "plain": lambda: _plain(network, data, batch, steps)}, rounds=rounds)
    return {name: steps * batch / seconds for name, seconds in times.items()}


def _fixed(widths: tuple[int, ...], batch: int, steps: int, rounds: int) -> float:
    """Rows a second of private steps that all have the same batch: clipped sum, noise and step."""
    private = _private(Network(widths), _examples(widths, batch), FullBatch(), steps, batch)
    return steps * batch / side_by_side({"private": private}, rounds=rounds)["private"]


def _examples(widths: tuple[int, ...], count: int) -> Examples:
    generator = np.random.default_rng(1)
    inputs = generator.standard_normal((count, widths[0]))
    inputs /= np.linalg.norm(inputs, axis=1, keepdims=True)
    return Examples(inputs, (inputs**2).sum(axis=1), generator.integers(0, max(2, widths[-1]), count))


def _private(
    network: Network, data: Examples, sampling: PoissonBatch | FullBatch, steps: int, batch: int
) -> Callable[[], Floats]:
    run = run_with_noise(sampling=sampling, steps=steps, clip=1, error=1e-6, size=network.size, multiplier=Fraction(2))

    def private() -> Floats:
        return train(
            run,
            data,
            clipped_sum=lambda weights, rows, chosen: network.clipped_sum(weights, rows, chosen, clip=1),
            start=network.start(),
            descent=Descent(rate=0.1, scale=batch),
            project=network.project,
        )

    for _ in range(2 + 1_000_000 // (network.size * steps)):
        private()  # after so much noise the compiled kernel is loaded, as in any long run
    return private


def _plain(network: Network, data: Examples, batch: int, steps: int) -> Floats:
    """Momentum SGD in numpy, without clipping and noise, over shuffled batches."""
    generator, weights = np.random.default_rng(2), network.start()
    velocity, mean = np.zeros_like(weights), np.zeros_like(weights)
    order = generator.permutation(len(data))
    for step in range(steps):
        start = step * batch % len(data)
        chosen = order[start : start + batch]
        entering = network._forward(weights, data.inputs[chosen])
        errors = network._backward(weights, entering, data.labels[chosen])
        total = np.empty(network.size)
        for (matrix, offsets), signal, error in zip(network.split(total), entering, errors, strict=False):
            np.matmul(signal.T, error, out=matrix)
            error.sum(axis=0, out=offsets)
        velocity = 0.9 * velocity + total / batch
        weights = weights - 0.01 * velocity
        mean += (weights - mean) / (step + 1)
    return mean
