"""Shards, and the histogram of votes.

Every unit draws its shard by itself, from the secure source. So a unit that comes, goes or changes touches one shard,
one teacher and one vote per question, wherever its rows stand and however many others there are.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hubbub import noise
from hubbub.learn.base.shapes import array_of
from hubbub.learn.pate.teachers import ABSTAINS, Factory, votes_of_one
from hubbub.learn.training.network import Floats, Labels
from hubbub.terms import WrongShape


def shards_of(groups: ArrayLike | None, rows: int, *, teachers: int, rng: noise.RandomSource | None = None) -> Labels:
    """The shard of each row: uniform and independent per row, or per unit if ``groups`` names one for each row."""
    if groups is None:
        return noise.uniform(teachers, rows, rng=rng)
    units = _unit_numbers(groups, rows)
    return noise.uniform(teachers, int(units.max(initial=-1)) + 1, rng=rng)[units]


def _unit_numbers(groups: Any, rows: int) -> Labels:
    """Which unit each row belongs to, as a number: equal names are one unit, whatever they are."""
    names = list(groups) if isinstance(groups, list | tuple) else list(array_of(groups, name="groups="))
    if len(names) != rows:
        raise WrongShape(
            "groups= and X have different numbers of rows.",
            why="Each row belongs to one unit.",
            fix="Give one name per row of X.",
        )
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(_unit_name(each), len(numbers)) for each in names], dtype=np.int64)


def _unit_name(value: Any) -> str:
    """A word that equal names share: numbers that are equal have one hash, whatever their type."""
    try:
        if isinstance(value, Number | np.bool_):
            return str(hash(value)) if value == value else "nan"  # noqa: PLR0124  (NaN is not equal to itself)
        return str(value)
    except Exception:  # whatever it is, it is one name
        return ""


def vote_histograms(
    make: Factory,
    rows: Floats,
    labels: Labels,
    shards: Labels,
    asked: Floats,
    *,
    teachers: int,
    classes: int,
    watch: Callable[[int], None] = lambda teacher: None,
) -> Labels:
    """How many teachers say each class (columns) of each question (rows); ``watch`` is told each teacher done.

    Rows without a known class (-1) teach nobody.

    Guarantee: one unit moves the votes of one teacher. So each row moves by at most sqrt(2) in L2 and its largest entry
    by at most 1; all questions together by at most sqrt(2 questions) in L2.
    Because: [PSMRTE18, Sec. 3]; ``docs/proofs/pate.md``, for adding, removing and replacing a unit.
    Not covered: a teacher that is no function of its shard and its own coins.
    """
    counts = np.zeros((len(asked), classes), dtype=np.int64)
    for teacher in range(teachers):
        own = (shards == teacher) & (labels >= 0)
        votes = votes_of_one(make, rows[own], labels[own], asked.copy(), classes)  # a teacher may write
        voting = np.flatnonzero(votes != ABSTAINS)
        counts[voting, votes[voting]] += 1
        watch(teacher + 1)
    return counts
