"""Further features of an outcome: what its places tell together, and what hides in the low bits of a float.

Each is a function of the table of columns (one row per column). None knows the mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from hubbub.audit._feature_cells import LikelihoodCells, learn_cells
from hubbub.audit._outcomes import OutcomeFeature

Floats = NDArray[np.float64]
_FEW = 6  # places of which all pairs are compared
_NEIGHBOURS = 24  # places of which each is compared with the next
_COARSE = 6  # cells per place where two places are looked at together


@dataclass(frozen=True, slots=True)
class Feature:
    """A number for each outcome; ``symbols`` name the numbers where they stand for something else."""

    name: str
    of: Callable[[Floats], Floats]
    numeric: bool = True
    symbols: tuple[str, ...] | None = None


def base_features(columns: Sequence[OutcomeFeature]) -> list[Feature]:
    """The columns themselves."""
    return [Feature(c.name, _column_reader(i), c.symbols is None, c.symbols) for i, c in enumerate(columns)]


def derived_features(
    columns: Sequence[OutcomeFeature], learned: Floats, cells: Sequence[LikelihoodCells], *, low_bits: bool
) -> list[Feature]:
    """What can be told from several columns together, and the low bits of each; ``learned`` are rows to learn from."""
    numeric = [i for i, c in enumerate(columns) if c.symbols is None]
    bits = [i for i in numeric if low_bits and _has_bits(learned[i])]
    features = [Feature(f"the exponent of the lowest bit of {columns[i].name}", _low_bits(i)) for i in bits]
    if len(columns) > 1:
        features += [
            *_difference_features(columns, numeric),
            *_extreme_features(numeric),
            *_pair_features(columns, learned),
        ]
        features += [Feature("the output as a whole", _pattern_codes, numeric=False)]
        features += [
            Feature("the output as a whole, each place as low, middle or high", _level_reader(cells), numeric=False)
        ]
    return features


def _column_reader(i: int) -> Callable[[Floats], Floats]:
    return lambda table: table[i]


# ---------------------------------------------------------------- several places


def _difference_features(columns: Sequence[OutcomeFeature], numeric: list[int]) -> list[Feature]:
    """Noise that two places share cancels in their difference."""
    pairs = combinations(numeric, 2) if len(numeric) <= _FEW else pairwise(numeric[:_NEIGHBOURS])
    return [
        Feature(f"{columns[i].name} less {columns[j].name}", lambda table, i=i, j=j: table[i] - table[j])  # type: ignore[misc]
        for i, j in pairs
    ]


def _extreme_features(numeric: list[int]) -> list[Feature]:
    if len(numeric) < 2:
        return []
    return [
        Feature("the sum of all places", lambda table: np.nansum(table[numeric], axis=0)),
        Feature("the largest place", lambda table: np.nanmax(_fill_missing(table[numeric], -np.inf), axis=0)),
        Feature("the smallest place", lambda table: np.nanmin(_fill_missing(table[numeric], np.inf), axis=0)),
        Feature(
            "which place is largest",
            lambda table: np.argmax(_fill_missing(table[numeric], -np.inf), axis=0).astype(np.float64),
            numeric=False,
        ),
    ]


def _fill_missing(rows: Floats, value: float) -> Floats:
    return np.where(np.isnan(rows), value, rows)


def _pair_features(columns: Sequence[OutcomeFeature], learned: Floats) -> list[Feature]:
    """Two places looked at together, coarsely: also what follows what in a list."""
    places = range(len(columns))
    pairs = list(combinations(places, 2)) if len(columns) <= _FEW else list(pairwise(range(min(len(columns), 40))))
    half = learned.shape[1] // 2
    coarse = {
        i: learn_cells(learned[i, :half], learned[i, half:], bins=_COARSE, often=max(12, half // 50))
        for i in {place for pair in pairs for place in pair}
    }
    return [
        Feature(
            f"{columns[i].name} and {columns[j].name} together", _joint_cell(i, j, coarse[i], coarse[j]), numeric=False
        )
        for i, j in pairs
    ]


def _joint_cell(i: int, j: int, first: LikelihoodCells, second: LikelihoodCells) -> Callable[[Floats], Floats]:
    size = len(second.ratios)
    return lambda table: (first.codes(table[i]) * size + second.codes(table[j])).astype(np.float64)


def _pattern_codes(table: Floats) -> Floats:
    """A number for each whole outcome: equal outcomes have equal numbers, others hardly ever."""
    return _hash_rows(table.view(np.uint64))


def _level_reader(cells: Sequence[LikelihoodCells]) -> Callable[[Floats], Floats]:
    def of(table: Floats) -> Floats:
        levels = [np.digitize(cell.ratio(row), (-0.05, 0.05)) for cell, row in zip(cells, table, strict=True)]
        return _hash_rows(np.array(levels, dtype=np.uint64))

    return of


def _hash_rows(rows: NDArray[np.uint64]) -> Floats:
    """Rows mixed into one number below 2^52 each, which a float holds exactly."""
    mixed = np.zeros(rows.shape[1], dtype=np.uint64)
    for row in rows:
        mixed = (mixed ^ row) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return (mixed >> np.uint64(12)).astype(np.float64)


# ---------------------------------------------------------------- low bits


def _has_bits(values: Floats) -> bool:
    """Whether these are floats with digits after the point."""
    finite = values[np.isfinite(values)]
    return bool(len(finite)) and bool(np.any(finite != np.rint(finite)))


def _low_bits(i: int) -> Callable[[Floats], Floats]:
    """The exponent of the lowest bit that is set [Mir12]: 0.75 is 3 quarters, so -2."""

    def of(table: Floats) -> Floats:
        mantissas, exponents = np.frexp(np.where(np.isfinite(table[i]), table[i], 0.0))
        whole = np.abs(np.ldexp(mantissas, 53)).astype(np.int64)
        lowest = np.log2(np.maximum(whole & -whole, 1).astype(np.float64))
        return np.where(whole == 0, 1024.0, exponents - 53 + lowest)

    return of
