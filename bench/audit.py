"""What audits find at 100,000 runs per input, and what they cost: medians over several seeds."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.rows import Row, cpu_seconds
from hubbub.audit import examine, zoo
from hubbub.mechanisms import Laplace

TRIALS = 100_000
ASKED = {  # exhibit of the zoo: the least bound
    "sensitivity off by two": 1.9,
    "noise not scaled by dimension": 4.3,
    "sparse vector without noise on the answers": 7.0,
    "noisy max that releases the value": 3.5,
    "randomized response with the wrong coin": 1.05,
    "exponential mechanism without the half": 1.7,
    "sparse vector with unlimited positives": 1.2,
}


def rows(quick: bool) -> list[Row]:
    rounds = 7 if quick else 21
    zoo.seed(1)
    found = _figure("correct Laplace, epsilon 1", _laplace, 0.0, 1.0, 0.95, rounds)
    for name, least in ASKED.items():
        exhibit = zoo.EXHIBITS[name]
        found += _figure(name, exhibit.broken, exhibit.a, exhibit.b, least, rounds)
    return [*found, *_zoo(), _false_alarms(100 if quick else 1000)]


def _laplace(value: float, size: int) -> Any:
    return Laplace(sensitivity=1, epsilon=1, dimension=size).release(np.full(size, value))


def _figure(name: str, draw: Callable[[Any, int], Any], a: Any, b: Any, least: float, rounds: int) -> list[Row]:
    """The bound, and the processor time without the mechanism's own."""
    bounds, times = [], []
    for _ in range(rounds):
        drawn = iter([draw(a, TRIALS), draw(b, TRIALS)])
        kept: list[float] = []
        times.append(cpu_seconds(lambda drawn=drawn, kept=kept: kept.append(_bound(drawn, a, b))))
        bounds += kept
    middle = statistics.median(bounds)
    note = f"from {min(bounds):.2f} to {max(bounds):.2f} in {rounds} audits"
    return [
        Row(f"lower bound: {name}", middle, "epsilon", least, "higher", note),
        Row(f"audit of {name}, processor time", statistics.median(times), "s", 1.0, "lower"),
    ]


def _bound(drawn: Any, a: Any, b: Any) -> float:
    return float(examine(lambda _, size: next(drawn), a, b, trials=TRIALS, vectorized=True).bound or 0.0)


def _zoo() -> list[Row]:
    stops = zoo.tour().stops
    missed = [stop.exhibit.name for stop in stops if not stop.broken.refuted]
    wrong = [stop.exhibit.name for stop in stops if stop.fixed.refuted]
    return [
        Row("broken mechanisms of the zoo that are missed", len(missed), "of 16", 0, "lower", ", ".join(missed)),
        Row("repaired twins that are refuted", len(wrong), "of 16", 1, "lower", ", ".join(wrong)),
    ]


def _false_alarms(runs: int) -> Row:
    generator = np.random.default_rng(2)

    def tight(bit: int, size: int) -> Any:
        return np.where(generator.random(size) < np.e / (1 + np.e), bit, 1 - bit)

    alarms = sum(examine(tight, 0, 1, trials=2_000, claim=1, vectorized=True).refuted for _ in range(runs))
    note = f"{alarms} of {runs} audits of randomized response at its own epsilon"
    return Row("false alarms at 95% confidence", 100 * alarms / runs, "%", 5, "lower", note)
