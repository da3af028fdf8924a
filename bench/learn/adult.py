"""Accuracy on Adult with default settings, beside peers on the same features.

The constants behind the defaults were set once, on training rows of Adult among others
(``learn/training/recipes.py``); test rows were not looked at.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

from bench import cache
from bench.learn.data import BINS, DELTA, NORM, adult, codes, there
from bench.peers import environment
from bench.rows import Row
from hubbub.learn import LogisticRegression, MLPClassifier
from hubbub.learn.solvers import Solution, objective_perturbation, output_perturbation
from hubbub.learn.training.network import Floats

Predicted = Callable[[], Floats]


def rows(quick: bool) -> list[Row]:
    """Ours, then the peers."""
    if not there():
        return []
    seeds = 3 if quick else 5
    ours = _ours(seeds, with_network=not quick)
    return [*ours, *_peers(seeds, {"1": ours[0].value, "0.1": ours[1].value})]


def _ours(seeds: int, *, with_network: bool) -> list[Row]:
    (people, y), (test, truth) = adult("train"), adult("test")
    signs = 2 * y.astype(int) - 1

    def logistic(epsilon: str) -> Predicted:
        model = LogisticRegression(epsilon=Fraction(epsilon), delta=DELTA, norm=NORM)
        return lambda: model.fit(people, y).predict(test)

    def perturbed(solver: Callable[..., Solution], **more: float) -> Predicted:
        return lambda: test @ solver(people, signs, epsilon=1, delta=DELTA, norm=NORM, **more).weights > 0

    wanted: list[tuple[str, Predicted, float]] = [
        ("Adult, epsilon 1: LogisticRegression, test accuracy", logistic("1"), 0.853),
        ("Adult, epsilon 0.1: LogisticRegression, test accuracy", logistic("0.1"), 0.838),
        ("Adult, epsilon 1: objective perturbation, test accuracy", perturbed(objective_perturbation), 0.840),
        ("Adult, epsilon 1: output perturbation, test accuracy", perturbed(output_perturbation, l2=1e-3), 0.835),
    ]
    if with_network:
        network = MLPClassifier(epsilon=1, delta=DELTA, norm=NORM)
        named = "Adult, epsilon 1: MLPClassifier, test accuracy"
        wanted.append((named, lambda: network.fit(people, y).predict(test), 0.845))
    return [_scored(name, predicted, truth, target, seeds) for name, predicted, target in wanted]


def _scored(name: str, predicted: Predicted, truth: Floats, target: float, seeds: int) -> Row:
    scores = [float(np.mean(predicted() == truth)) for _ in range(seeds)]
    note = f"median of {seeds} runs, {min(scores):.4f} to {max(scores):.4f}; delta 1e-5, default settings"
    return Row(name, statistics.median(scores), "", target, "higher", note)


# ---------------------------------------------------------------- peers, each in an environment of its own


PEERS = {"diffprivlib": "LogisticRegression", "interpret-core": "DPExplainableBoostingClassifier"}


def _peers(seeds: int, ours: dict[str, float]) -> list[Row]:
    """By how many points of accuracy our logistic regression is above each peer's model."""
    return [row for peer in PEERS for row in _peer(peer, seeds, ours)]


def _peer(peer: str, seeds: int, ours: dict[str, float]) -> list[Row]:
    made = environment(peer)
    scores, reason = _child(made.python, peer, seeds) if made.python else ({}, made.reason)
    found = []
    for epsilon, mine in ours.items():
        name = f"Adult, epsilon {epsilon}: points of accuracy above {peer} {made.version} ({PEERS[peer]})"
        theirs = statistics.median(scores[epsilon]) if scores else float("nan")
        note = (
            f"{mine:.4f} against {theirs:.4f}, medians of {seeds}" if scores else f"nothing to compare with: {reason}"
        )
        found.append(Row(name, 100 * (mine - theirs) if scores else 0, "points", 1, "higher", note))
    return found


def _child(python: str, peer: str, seeds: int) -> tuple[dict[str, list[float]], str]:
    script = Path(__file__).with_name("adult_peer.py")
    command = [python, str(script), peer, str(_features()), str(seeds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode:
        return {}, (done.stderr.strip().splitlines() or ["it failed"])[-1][:200]
    return json.loads(done.stdout.strip().splitlines()[-1]), ""


def _features() -> Path:
    """The same rows for every peer: one-hot for linear models, codes and bounds for trees."""
    (people, y), (test, truth) = adult("train"), adult("test")
    (coded, _, bounds), (coded_test, _, _) = codes("train"), codes("test")
    path = cache.folder("learn") / "adult.npz"
    np.savez(
        path,
        people=people,
        y=y,
        test=test,
        truth=truth,
        coded=coded,
        coded_test=coded_test,
        bounds=bounds,
        numbers=len(BINS),
        norm=NORM,
        delta=DELTA,
    )
    return path
