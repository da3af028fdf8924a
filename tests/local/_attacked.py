"""What somebody who wants to break a randomizer would run: extreme laws, words at the edges, and another language."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np

from hubbub import local
from hubbub.local import Randomizer
from hubbub.local.collection.randomizer_config import distribution_parameters

WORD = 1 << 64
Law = dict[bytes, Fraction]

SMALL: dict[str, tuple[Callable[[Fraction], Randomizer], list[Any]]] = {
    "binary": (lambda e: local.BinaryResponse(epsilon=e), [0, 1]),
    "sign": (lambda e: local.SignResponse(epsilon=e), [-1, 1]),
    "kary": (lambda e: local.KaryResponse(epsilon=e, domain=3), [0, 1, 2]),
    "unary": (lambda e: local.UnaryEncoding(epsilon=e, domain=3), [0, 1, 2]),
    "symmetric": (lambda e: local.UnaryEncoding(epsilon=e, domain=3, optimized=False), [0, 1, 2]),
    "hashing": (lambda e: local.LocalHashing(epsilon=e, domain=5, buckets=3), [0, 1, 2, 3, 4]),
    "hadamard": (lambda e: local.HadamardResponse(epsilon=e, domain=4), [0, 1, 2, 3]),
    "onebit": (lambda e: local.OneBitHadamard(epsilon=e, domain=4), [0, 1, 2, 3]),
    "subset": (lambda e: local.SubsetSelection(epsilon=e, domain=5, size=3), [0, 2, 4]),
    "projective": (lambda e: local.ProjectiveGeometry(epsilon=e, domain=13, order=3), [0, 1, 5, 12]),
    "rappor": (lambda e: local.Rappor(epsilon=e, domain=3, bits=2, hashes=1, cohorts=2), [0, 1, 2]),
    "cms": (lambda e: local.CountMeanSketch(epsilon=e, domain=4, rows=2, width=4), [0, 1, 2]),
    "hcms": (lambda e: local.HadamardCountMeanSketch(epsilon=e, domain=4, rows=2, width=4), [0, 1, 2]),
    "dbitflip": (lambda e: local.DBitFlip(epsilon=e, domain=4, flips=2), [0, 1, 3]),
    "duchi": (lambda e: local.Duchi(epsilon=e, lower=0, upper=1), [0.0, 0.3, 1.0]),
    "loloha": (lambda e: local.Loloha(epsilon=e / 2, forever=e, domain=5, buckets=3), [0, 1, 2, 3, 4]),
}


def law(randomizer: Randomizer, value: Any, seed: int = 1) -> Law:
    """The law of a report, with a check that words of one cell give one report, on both paths of the code."""
    draw = random.Random(seed)
    cuts = randomizer.word_cuts(int(randomizer.codes([value])[0]))
    cells = list(product(*(list(pairwise(sorted({0, *places, WORD}))) for places in cuts)))
    fixed = randomizer.protocol in {"hashing", "loloha"}  # their law is the one given the seed 0
    inside = [[low if fixed and not i else draw.randrange(low, high) for i, (low, high) in enumerate(c)] for c in cells]
    last = [[low if fixed and not i else high - 1 for i, (low, high) in enumerate(c)] for c in cells]
    rows = _packed(randomizer, value, [[low for low, _ in cell] for cell in cells])
    assert rows == _packed(randomizer, value, inside) == _packed(randomizer, value, last)
    for place in draw.sample(range(len(cells)), min(20, len(cells))):
        alone = randomizer._respond_one(value, list(last[place]))
        assert randomizer.pack([alone])[0].tobytes() == rows[place]
    found: Law = {}
    for cell, report in zip(cells, rows, strict=True):
        mass = Fraction(prod(high - low for low, high in cell), WORD ** len(cuts))
        found[report] = found.get(report, Fraction(0)) + mass
    return found


def _packed(randomizer: Randomizer, value: Any, words: list[list[int]]) -> list[bytes]:
    reports = randomizer.respond([value] * len(words), np.array(words, dtype=np.uint64))
    return [row.tobytes() for row in randomizer.pack(reports)]


def largest(laws: list[Law]) -> Fraction:
    """The largest ratio of two laws at one report."""
    reports = set().union(*laws)
    assert all(each.keys() == reports for each in laws), "a report that one value never sends"
    return max(max(each[r] for each in laws) / min(each[r] for each in laws) for r in reports)


WIDE: tuple[Callable[[Fraction], Randomizer], ...] = (
    *(make for name, (make, _) in SMALL.items() if name != "loloha"),
    lambda e: local.KaryResponse(epsilon=e, domain=1 << 24),
    lambda e: local.HadamardResponse(epsilon=e, domain=1 << 24),
    lambda e: local.OneBitHadamard(epsilon=e, domain=2),
    lambda e: local.LocalHashing(epsilon=e, domain=1 << 24),
    lambda e: local.SubsetSelection(epsilon=e, domain=2),
    lambda e: local.ProjectiveGeometry(epsilon=min(e, Fraction(8)), domain=1 << 21),
    lambda e: local.HadamardCountMeanSketch(epsilon=e, domain=50, rows=1 << 14, width=1 << 16),
    lambda e: local.DBitFlip(epsilon=e, domain=1 << 16, flips=3),
    lambda e: local.Piecewise(epsilon=e, lower=-5, upper=7),
    lambda e: local.Hybrid(epsilon=e, lower=0, upper=1),
    lambda e: local.OneBitMean(epsilon=e, lower=0, upper=24),
)


def cases(epsilons: list[Fraction], each: int) -> Iterator[tuple[dict[str, Any], str]]:
    """Laws, values and words at and around the thresholds, with the payload that Python makes of them."""
    draw = random.Random(2)
    for epsilon in epsilons:
        for make in WIDE:
            made = make(epsilon)
            edges = [int(t) + move for t in distribution_parameters(made)["thresholds"] for move in (-1, 0, 1)]
            edges += [WORD - edge for edge in edges] + [0, 1, WORD - 1, WORD // 2]
            pool = [edge for edge in edges if 0 <= edge < WORD]
            for _ in range(each):
                words = [draw.choice(pool) if draw.random() < 0.6 else draw.randrange(WORD) for _ in range(made.words)]
                value = draw.choice([0, 1, -1, getattr(made, "domain", 3) - 1, 1 << 40])
                row = np.array([words], dtype=np.uint64)
                payload = made.pack(made.respond([value], row))[0].tobytes()
                assert made.pack([made._respond_one(value, words)])[0].tobytes() == payload
                coins = base64.b64encode(row.astype("<u8").tobytes()).decode()
                yield {"law": distribution_parameters(made), "value": value, "bytes": coins}, payload.hex()
