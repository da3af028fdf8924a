"""Statistics on local reports: how long they take, and how near their errors are to what is predicted."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np

from bench.rows import Row, side_by_side
from hubbub.local import HeavyHitters, HierarchicalAUC, KaryResponse, Ranges, UStatistic
from hubbub.local.amplification import shuffle_bounds
from hubbub.local.pair_averages import Response, pair_variance
from hubbub.noise.testing import seeded


def rows(quick: bool) -> list[Row]:
    return [*_pairs(quick), *_errors(quick), *_shuffle(), *_ranges(quick), *_strings(quick)]


def _pairs(quick: bool) -> list[Row]:
    people = 100_000 if quick else 1_000_000
    statistic = UStatistic("gini", epsilon=1, bins=64, lower=0, upper=1)
    reports = statistic.randomize(np.linspace(0, 1, people))
    taken = side_by_side({"pairs": lambda: statistic.estimate(reports)}, rounds=5)["pairs"]
    tracemalloc.start()
    statistic.estimate(reports)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return [
        Row(f"U-statistic of {people:,} reports, 64 bins", taken, "s", 1, "lower"),
        Row(
            "the same: memory beside the reports, in matrices of 64 x 64", most / (8 * 64**2), "matrices", 100, "lower"
        ),
    ]


def _errors(quick: bool) -> list[Row]:
    rounds = 200 if quick else 2_000
    statistic = UStatistic("gini", epsilon=1, bins=16, lower=0, upper=1)
    values = np.linspace(0, 1, 10_000)
    told = [statistic.estimate(statistic.randomize(values, rng=seeded(seed))) for seed in range(rounds)]
    histogram = np.bincount(statistic.codes(values), minlength=16).astype(float)
    matrix, law = statistic.matrix, Response(statistic.randomizer.p, statistic.randomizer.q)
    truth = float(histogram @ matrix @ histogram - histogram @ np.diag(matrix)) / (10_000 * 9_999)
    off = abs(np.var([one.value for one in told]) / pair_variance(histogram, matrix, law) - 1)
    held = np.mean([low <= truth <= high for low, high in (one.interval() for one in told)])
    slack = 300 * math.sqrt(2 / rounds)
    return [
        Row("Gini: variance off the exact formula", 100 * off, "%", 5 + slack, "lower", f"{rounds} collections"),
        Row("Gini: 95% intervals, off 95 by", 100 * abs(held - 0.95), "points", 2 + 65 / math.sqrt(rounds), "lower"),
        _depth_row(20 if quick else 100),
    ]


def _depth_row(rounds: int) -> Row:
    """Densities 2x and 2(1 - x) on 1,024 scores, 20,000 people of each label: the area is 5/6."""
    quantiles = (np.arange(20_000) + 0.5) / 20_000
    good, bad = (np.sqrt(quantiles) * 1024).astype(int), ((1 - np.sqrt(1 - quantiles)) * 1024).astype(int)
    errors = {}
    for depth in (None, 10):
        curve = HierarchicalAUC(epsilon=1, domain=1024, depth=depth, expected=(20_000, 20_000))
        told = [curve.estimate(curve.randomize(good), curve.randomize(bad)).value for _ in range(rounds)]
        errors[depth] = math.sqrt(np.mean((np.array(told) - 5 / 6) ** 2))
    note = f"{errors[None]:.3f} against {errors[10]:.3f} at full depth"
    return Row(
        "AUC on 1,024 scores: chosen depth over full depth", errors[None] / errors[10], "of it", 0.7, "lower", note
    )


def _shuffle() -> list[Row]:
    from hubbub.local.amplification.clones import clones_epsilon

    works = {
        "clones": lambda: clones_epsilon(2.0, honest=10**6, delta=1e-6),
        "blanket": lambda: shuffle_bounds.bounds(KaryResponse(epsilon=2, domain=16), n=10**6, delta=1e-6),
    }
    taken = side_by_side(works, rounds=5)
    off = abs(clones_epsilon(2.0, honest=10**5, delta=1e-6) - 0.0450)
    return [
        Row("shuffling of a million reports, any randomizer", taken["clones"], "s", 0.5, "lower"),
        Row("the same with k-ary response's own blanket", taken["blanket"], "s", 3, "lower"),
        Row("100,000 reports of epsilon 2 at delta 1e-6 (0.0450): distance", off, "epsilon", 1e-4, "lower"),
    ]


def _ranges(quick: bool) -> list[Row]:
    rounds, people = (40, 4_000) if quick else (400, 10_000)
    ranges = Ranges(epsilon=1, cells=256, lower=0, upper=1)
    even = (np.arange(people) + 0.5) / people
    truth = np.cumsum(np.bincount((even * 256).astype(int), minlength=256)) / people
    errors = [np.mean((np.cumsum(ranges.estimate(ranges.randomize(even)).cells) - truth) ** 2) for _ in range(rounds)]
    ratio = float(np.mean(errors)) / ranges.predicted(people)
    note = f"{ranges.method}, {ranges.branching} children, n * MSE {people * np.mean(errors):.1f}"
    return [Row("shares up to each of 256 cells: MSE over the prediction", ratio, "times", 1.25, "lower", note)]


def _strings(quick: bool) -> list[Row]:
    people = 20_000 if quick else 200_000
    rng = np.random.default_rng(1)
    letters = rng.integers(97, 123, (people // 2, 8)).astype(np.uint8)
    planted = ("privacy", "hubbub", "noise", "crowd", "shuffle")
    crowd = [word for word in planted for _ in range(people // 10)] + [bytes(row).decode() for row in letters]
    words = HeavyHitters(epsilon=4, length=8, step=2)
    reports = words.randomize(crowd)
    taken = side_by_side({"strings": lambda: words.estimate(reports)}, rounds=1)["strings"]
    found = words.estimate(reports)
    missed = len(set(planted) ^ set(found.strings))
    note = f"{people:,} people, limit {100 * words.detection_limit(people):.2f}%, {taken:.1f} s"
    return [Row("planted strings missed, or others found", float(missed), "strings", 0, "lower", note)]
