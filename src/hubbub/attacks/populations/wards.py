"""A k-anonymous ward: every combination of age and place has at least k patients, and some share one diagnosis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.terms import OutOfRange, whole

if TYPE_CHECKING:
    import pyarrow

_AGES = tuple(f"{age}-{age + 9}" for age in range(20, 90, 10))
_ZIPS = ("0210*", "0211*", "0213*", "0214*", "0215*")
_DIAGNOSES = ("cancer", "flu", "asthma", "diabetes", "fracture", "heart disease", "hepatitis", "migraine")


def ward(k: int = 10, *, diverse: int = 1, seed: int = 0) -> pyarrow.Table:
    """Patients (``age``, ``zip``, ``diagnosis``) in groups of at least ``k`` with at least ``diverse`` diagnoses each.

    Departments treat alike people alike, so some groups have as few diagnoses as ``diverse`` allows: with 1, ten
    people of one age and place may all have cancer.

    >>> ward().column_names
    ['age', 'zip', 'diagnosis']
    """
    least, few, rng = whole(k, name="k"), whole(diverse, name="diverse"), np.random.default_rng(seed)
    if few > min(least, len(_DIAGNOSES)):
        raise OutOfRange(
            f"diverse must be at most {min(least, len(_DIAGNOSES))} and is {few}.",
            why="A group cannot have more diagnoses than people, and there are eight diagnoses.",
            fix="Choose a smaller number, or a larger k.",
        )
    groups = [(age, place) for age in _AGES for place in _ZIPS]
    sizes = least + rng.integers(0, 8, size=len(groups))
    sizes[0] = least
    drawn = [_draw_diagnoses(size, few, rng) for size in sizes]
    return _ward_table(groups, sizes, np.concatenate(drawn))


def _draw_diagnoses(size: int, few: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """So many diagnoses, of which each that may occur does occur."""
    kinds = rng.permutation(len(_DIAGNOSES))[: few + int(rng.choice(5, p=[0.15, 0.2, 0.25, 0.25, 0.15]))]
    kinds = kinds[:size]
    return np.concatenate([kinds, rng.choice(kinds, size=size - len(kinds))])


def _ward_table(groups: list[tuple[str, str]], sizes: NDArray[np.int64], diagnoses: NDArray[np.int64]) -> pyarrow.Table:
    import pyarrow as pa

    place = pa.array(np.repeat(np.arange(len(groups)), sizes))
    return pa.table(
        {
            "age": pa.array([age for age, _ in groups]).take(place),
            "zip": pa.array([code for _, code in groups]).take(place),
            "diagnosis": pa.array(_DIAGNOSES).take(pa.array(diagnoses)),
        }
    )
