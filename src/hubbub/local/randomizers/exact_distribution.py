"""The exact distribution of reports, worked out from the randomizer itself and not from a formula."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np

from hubbub.local.randomizers.base import Randomizer
from hubbub.local.randomizers.common.exact_words import WORD
from hubbub.terms import TooLarge

_MOST = 1 << 20  # combinations of intervals


def exact_distribution(randomizer: Randomizer, value: object) -> dict[bytes, Fraction]:
    """The probability of each report (by its bytes) of a person with this value, as exact fractions.

    Each word is cut into intervals that lead to the same report; the randomizer is run once for every combination.

    >>> from hubbub.local import BinaryResponse
    >>> distribution = exact_distribution(BinaryResponse(epsilon=1), 1)
    >>> [(report.hex(), round(float(chance), 4)) for report, chance in sorted(distribution.items())]
    [('00', 0.2689), ('01', 0.7311)]
    """
    code = int(randomizer.codes([value])[0])
    edges = [sorted({0, *cuts, WORD}) for cuts in randomizer.word_cuts(code)]
    if prod(len(ends) - 1 for ends in edges) > _MOST:
        raise TooLarge(
            "the distribution of this randomizer has too many cases to write down.",
            why="Every combination of intervals of its random words is run.",
            fix="Take a smaller domain: the distribution has the same shape.",
        )
    cells = list(product(*(list(pairwise(ends)) for ends in edges)))
    words = np.array([[low for low, _ in cell] for cell in cells], dtype=np.uint64)
    reports = randomizer.pack(randomizer.respond([value] * len(cells), words))
    distribution: dict[bytes, Fraction] = defaultdict(Fraction)
    for cell, report in zip(cells, reports, strict=True):
        distribution[report.tobytes()] += Fraction(prod(high - low for low, high in cell), WORD ** len(edges))
    return dict(distribution)


def largest_ratio(randomizer: Randomizer, values: Iterable[Any]) -> Fraction:
    """How many times likelier any report is with one of these values than with another: exactly, at most e^epsilon.

    >>> from hubbub.local import KaryResponse
    >>> round(float(largest_ratio(KaryResponse(epsilon=1, domain=4), range(4))), 12)
    2.718281828459
    """
    distributions = [exact_distribution(randomizer, value) for value in values]
    reports = set().union(*distributions)
    lows = {report: min(distribution.get(report, Fraction(0)) for distribution in distributions) for report in reports}
    return max(
        max(distribution.get(report, Fraction(0)) for distribution in distributions) / lows[report]
        for report in reports
    )
