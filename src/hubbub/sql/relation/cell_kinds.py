"""Which cells of an outer statement are worked out how: by what moves them, and whether as a weighted sum.

The statement runs over one stack of copies: the released world, redraws, worlds in which half of the numbers are moved
(by the binary digits of their places, which tells the one number that a cell depends on), if they are not too many,
worlds in which one number each is moved, which tells weights, and worlds whose numbers are equal or lie evenly, which
tell whether a number of different values is constant. Every redraw must agree with what these say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hubbub.engines import EngineFailed
from hubbub.releases import simultaneous
from hubbub.sql.relation.copies import Floats, InnerTables
from hubbub.sql.relation.linear_cells import Atoms
from hubbub.sql.relation.run_outer import OuterRun, Worlds

EXACT, FIELLER, REDRAWN, SIMULTANEOUS = "exact", "Fieller", "redrawn, approximate", "simultaneous"
DRAWS, _FEWEST = 2_000, 100
CELLS = 2_000_000  # noisy numbers in the copies of one run
_UNITS = 1_000  # released numbers up to which each is moved by itself
_CLOSE = 1e-6  # of what moves a cell: how well a sum must be predicted
_INSIDE = 200  # redraws that are also cut to a box
_BOX = 0.995  # of the box in which numbers are made equal
_RAREST = 5  # redraws beyond which an end is not read off them


@dataclass(frozen=True, slots=True)
class _Stack:
    """The worlds of one run, and where each sort of them stands."""

    worlds: Floats
    draws: int
    digits: int
    units: int  # and last, worlds whose numbers are as equal, or lie as evenly, as noise lets them

    def part(self, result: Worlds, name: str) -> Floats:
        """The values in the worlds of that sort."""
        starts = np.cumsum([0, 1, self.draws, 2 * self.digits, self.units])
        at = ("released", "redraws", "digits", "units").index(name)
        return result.values[starts[at] : starts[at + 1]]


def _stack_of(tables: InnerTables, redraws: Floats, moved: Floats) -> _Stack:
    y, size = tables.released, tables.size
    digits = max(1, (size - 1).bit_length())
    bits = (np.arange(size)[None, :] >> np.arange(digits)[:, None]) & 1 == 1
    halves = np.vstack([np.where(bits, y + moved, y), np.where(bits, y, y + moved)])
    units = size if size <= _UNITS and size * max(size, tables.rows) <= CELLS else 0
    single = y[None, :] + np.diag(moved) if units else np.empty((0, size))
    ordered = tables.together_and_apart(*tables.ends(simultaneous(_BOX, size)))
    return _Stack(np.vstack([y[None, :], redraws, halves, single, ordered]), len(redraws), digits, units)


class CellKinds:
    """Kind and intervals of each cell; ``how`` is SIMULTANEOUS where somebody else must work them out."""

    def __init__(self, run: OuterRun, *, decides: bool) -> None:
        self._run, tables = run, run.tables
        draws = min(_INSIDE if decides else DRAWS, max(_FEWEST, CELLS // max(1, tables.size)))
        drawn = tables.redrawn(draws)
        lows, highs = tables.ends(0.95)
        moved = np.maximum(1.0, np.nan_to_num(np.rint((highs - lows) / 2), nan=1.0, posinf=1.0))
        moved = np.where((highs - lows) < 2, np.nan_to_num((highs - lows) / 2, nan=1.0), moved)
        moved = np.where(moved > 0, moved, 1.0)
        stack = _stack_of(tables, drawn, moved)
        result = run.in_worlds(stack.worlds)
        self.redraws = drawn[:_INSIDE]
        self.values: Floats = stack.part(result, "released")[0]
        if not run.agrees(result):
            raise EngineFailed  # what runs over many copies is not what runs over one: nothing is known from it
        self._drawn = stack.part(result, "redraws")
        still = result.present[: 1 + draws].all() and not result.others[: 1 + draws].any()
        self._constant: NDArray[np.bool_] = np.asarray(_same(result.values[1:], self.values).all(axis=0))
        self.number = np.full(self.values.shape, -1)
        self.weights: Floats | None = None  # of each released number, by row and column
        self._atoms = Atoms(tables) if stack.units else None
        linear = np.zeros(self.values.shape, dtype=bool)
        if still:
            self._find_numbers(stack, result, drawn)
            if stack.units:
                linear = self._find_sums(stack, result, drawn, moved)
        self._linear = linear & (self.number < 0) & ~self._constant
        self._ratios = self._find_ratios(linear)
        self.how: NDArray[np.object_] = np.full(
            self.values.shape, SIMULTANEOUS if decides or not still else REDRAWN, dtype=object
        )
        hidden = np.array([place >= len(run.columns) for place in run.number_columns()], dtype=bool)
        self._linear[:, hidden] = False
        self.how[:, hidden] = EXACT  # columns that were added need no interval
        for column in self._ratios:
            self.how[:, column] = FIELLER
        self.how[self._constant | (self.number >= 0) | self._linear] = EXACT

    # ------------------------------------------------------------ what moves a cell

    def _find_numbers(self, stack: _Stack, result: Worlds, drawn: Floats) -> None:
        """The one number that moves a cell, one way; -1 if it is not one."""
        changed = ~_same(stack.part(result, "digits"), self.values)
        set_, unset = changed[: stack.digits], changed[stack.digits :]
        single = (set_ != unset).all(axis=0) & ~self._constant & np.isfinite(self.values)
        number = (set_ * (1 << np.arange(stack.digits))[:, None, None]).sum(axis=0)
        single &= number < drawn.shape[1]
        for column in np.flatnonzero(single.any(axis=0)):
            rows = np.flatnonzero(single[:, column])
            moves = _is_monotone(drawn[:, number[rows, column]], self._drawn[:, rows, column])
            self.number[rows[moves], column] = number[rows[moves], column]

    def _find_sums(self, stack: _Stack, result: Worlds, drawn: Floats, moved: Floats) -> NDArray[np.bool_]:
        """Which cells are weighted sums of released numbers that are sums of noises themselves, by every redraw."""
        assert self._atoms is not None
        with np.errstate(all="ignore"):
            self.weights = (stack.part(result, "units") - self.values) / moved[:, None, None]
            strayed = drawn - self._run.tables.released
            linear = np.zeros(self.values.shape, dtype=bool)
            for column in range(self.values.shape[1]):
                weights = self.weights[:, :, column]
                scale = np.abs(weights).T @ moved + 1e-300
                missed = np.abs(self._drawn[:, :, column] - self.values[:, column] - strayed @ weights)
                of_sums = ~(np.abs(weights[~self._atoms.is_sum]) > 1e-9 * scale).any(axis=0)
                close = (missed <= _CLOSE * scale + 1e-9 * np.abs(self.values[:, column])).all(axis=0)
                linear[:, column] = close & of_sums & ((weights != 0).any(axis=0) | self._constant[:, column])
        return linear

    def _find_ratios(self, linear: NDArray[np.bool_]) -> dict[int, tuple[int, int]]:
        """Columns that are ratios of two columns of sums: (over, under), by column of numbers."""
        numbers = {column: place for place, column in enumerate(self._run.number_columns())}
        ratios = {}
        for column, over, under in self._run.ratio_columns():
            if not {column, over, under} <= set(numbers):
                continue
            at, top, bottom = numbers[column], numbers[over], numbers[under]
            with np.errstate(all="ignore"):
                worked = self._drawn[:, :, top] / self._drawn[:, :, bottom]
                close = np.isclose(worked, self._drawn[:, :, at], rtol=1e-9, equal_nan=True).all()
            if close and linear[:, top].all() and linear[:, bottom].all() and not self._constant[:, bottom].all():
                ratios[at] = (top, bottom)
        return ratios

    # ------------------------------------------------------------ intervals

    def ends(self, levels: Sequence[float]) -> list[tuple[Floats, Floats]]:
        """Both ends of each cell by itself, at each level."""
        images: list[Floats | None] = [None] * len(levels)
        if (self.number >= 0).any():
            worlds = np.vstack([end for level in levels for end in self._run.tables.ends(level)])
            values = self._run.in_worlds(worlds).values
            images = [values[2 * i : 2 * i + 2] for i in range(len(levels))]
        return [self._level_ends(level, image) for level, image in zip(levels, images, strict=True)]

    def _level_ends(self, level: float, image: Floats | None) -> tuple[Floats, Floats]:
        lows, highs = self._redrawn_ends(level)
        if image is not None:
            least, most = np.minimum(*image), np.maximum(*image)
            at = self.number >= 0
            lows[at] = np.where(np.isnan(least), -np.inf, least)[at]
            highs[at] = np.where(np.isnan(most), np.inf, most)[at]
        if self._linear.any():
            assert self._atoms is not None and self.weights is not None
            half = self._atoms.radii(self.weights[:, self._linear].T, level)
            lows[self._linear], highs[self._linear] = self.values[self._linear] - half, self.values[self._linear] + half
        for column, (top, bottom) in self._ratios.items():
            self._put_ratio(lows, highs, column, (top, bottom), level)
        fixed = self._constant
        lows[fixed], highs[fixed] = self.values[fixed], self.values[fixed]
        return lows, highs

    def _put_ratio(self, lows: Floats, highs: Floats, column: int, parts: tuple[int, int], level: float) -> None:
        assert self._atoms is not None and self.weights is not None
        top, bottom = (self.weights[:, :, part].T for part in parts)
        values = self.values[:, parts[0]], self.values[:, parts[1]]
        low, high = self._atoms.ratio_ends(top, bottom, values, level)
        own, finite = self.how[:, column] == FIELLER, np.isfinite(self.values[:, column])
        lows[own, column] = np.where(finite, low, -np.inf)[own]
        highs[own, column] = np.where(finite, high, np.inf)[own]

    def _redrawn_ends(self, level: float) -> tuple[Floats, Floats]:
        """The union of percentile and basic intervals; a redraw without a value counts as beyond either end.

        What is never below 0 is often a length (STDDEV, the root of a sum of squares): near 0 redraws are all too long,
        and the basic interval too short. That of its square is not, and far from 0 the two are the same.
        """
        lows, highs = self.values.copy(), self.values.copy()
        tail = max((1 - level) / 2, _RAREST / len(self._drawn))
        stretch = max(1.0, np.log((1 - level) / 2) / np.log(tail))  # further out as a Laplace tail goes
        rank = int(np.floor(tail * (len(self._drawn) - 1)))
        least, most = self._sorted_redraws
        at, own = self._redrawn, self.values[self._redrawn]
        with np.errstate(all="ignore"):
            wide = stretch * np.maximum(own - least[:, rank], most[:, -1 - rank] - own)
            lows[at], highs[at] = own - np.maximum(wide, 0), own + np.maximum(wide, 0)
            length = np.sqrt(np.maximum(2 * own**2 - highs[at] ** 2, 0.0))
            lows[at] = np.where(least[:, 0] >= 0, np.minimum(lows[at], length), lows[at])
        lows[at], highs[at] = np.where(np.isinf(own), -np.inf, lows[at]), np.where(np.isinf(own), np.inf, highs[at])
        return lows, highs

    @cached_property
    def _redrawn(self) -> NDArray[np.bool_]:
        """The cells whose intervals are read off redraws."""
        return np.asarray(self.how == REDRAWN)

    @cached_property
    def _sorted_redraws(self) -> tuple[Floats, Floats]:
        """The redraws of each such cell in order: those without a value first, and those without a value last."""
        drawn = np.ascontiguousarray(self._drawn[:, self._redrawn].T)
        missing = np.isnan(drawn)
        most = np.sort(drawn, axis=1)  # NaN stands last
        least = most if not missing.any() else np.sort(np.where(missing, -np.inf, drawn), axis=1)
        return least, np.where(np.isnan(most), np.inf, most) if missing.any() else most


def classify_cells(run: OuterRun, *, decides: bool) -> CellKinds:
    """The kinds of all cells of a statement."""
    return CellKinds(run, decides=decides)


def _same(worlds: Floats, values: Floats) -> NDArray[np.bool_]:
    return np.asarray((worlds == values) | (np.isnan(worlds) & np.isnan(values)))


def _is_monotone(numbers: Floats, results: Floats) -> NDArray[np.bool_]:
    """By column, whether results are finite, rise or fall with their numbers in all redraws, and tie as these do."""
    order = np.argsort(numbers, axis=0, kind="stable")
    sorted_ = np.take_along_axis(numbers, order, axis=0)
    finite = np.isfinite(results).all(axis=0)
    with np.errstate(all="ignore"):
        steps = np.diff(np.take_along_axis(results, order, axis=0), axis=0)
        slack = 1e-9 * np.abs(results).max(axis=0)
        ties = np.diff(sorted_, axis=0) == 0
        alike = (~ties | (np.abs(steps) <= slack)).all(axis=0)
        return np.asarray(finite & alike & ((steps >= -slack).all(axis=0) | (steps <= slack).all(axis=0)))
