"""What an outer statement makes of many copies of the noisy tables -> an interval for each of its cells.

1. A cell that no copy moves is exact. One that moves with a single noisy number, one way, has the image of that
   number's interval: exact.
2. A weighted sum of several has the interval of their noises together, a ratio of two such Fieller's.
3. Anything else is redrawn: the union of the percentiles of f(y - Z) and of 2 f(y) - f(y - Z); approximate.
4. Where noisy values decide (MAX, ranks, LIMIT, HAVING, ...), intervals hold for all cells of a column at once. Rows
   that are cut at the very end have the intervals of 1 to 3, at a level that all that could have been shown share.
   Else every noisy number that could matter is moved to the ends of intervals that hold at once, or all to one number
   or evenly apart as far as these allow, and what the statement makes of that is the interval.

Which numbers could matter is found by moving each up, and all others down, by twice a box that holds all noises with
99.5% (twice, as the truth is known to that box only), and the other way round [``docs/proofs/sql.md``].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub.releases import simultaneous
from hubbub.sql.measurement import LEVELS
from hubbub.sql.relation.cell_kinds import CELLS, EXACT, SIMULTANEOUS, CellKinds, classify_cells
from hubbub.sql.relation.copies import Floats
from hubbub.sql.relation.run_outer import OuterRun, Worlds

_BOX = 0.995  # of the box that says which numbers could matter; up to this level the rest of the miss is a tenth less
_LOCAL = 0.95  # up to this level intervals may be local
_GROUPS, _SPLITS = 64, 3  # numbers are moved in groups where there are many
_SEED = 20250101  # public: it groups numbers
_MANY = 1_000  # numbers; of more the boxes of levels below _LEAST are not worked out by themselves
_LEAST = 0.9
_FEWEST = 10  # redraws that are cut to a box
_SELDOM = 0.02  # of the worlds; a row that is in fewer has no interval

UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class CellIntervals:
    """Both ends by level, row and column of numbers; how they were worked out, by row and column; rows looked at."""

    lows: Floats  # levels x rows x columns
    highs: Floats
    how: NDArray[np.object_]
    candidates: int = 1  # rows that noisy values chose from
    local: int = 1  # those of them that noise could have shown


def work_out_intervals(run: OuterRun) -> CellIntervals:
    """The intervals of the cells of the rows that are looked at, at ``LEVELS``."""
    if run.keys is None or not run.tables.size or not run.whole_rows:
        return unknown_intervals(run)
    work = _Intervals(run)
    return CellIntervals(*work.ends(), work.how, work.candidates, work.local)


def unknown_intervals(run: OuterRun) -> CellIntervals:
    """For answers without noise, and for rows that nothing tells apart."""
    rows = [run.whole_rows[place] for place in run.looked_at]
    size, columns = len(rows), len(run.number_columns())
    values = np.array([[_float(row[i]) for i in run.number_columns()] for row in rows]).reshape(size, columns)
    noisy = bool(run.tables.size)
    shape = (len(LEVELS), size, columns)
    lows = np.full(shape, -np.inf) if noisy else np.broadcast_to(values, shape)
    highs = np.full(shape, np.inf) if noisy else np.broadcast_to(values, shape)
    return CellIntervals(lows, highs, np.full((size, columns), UNKNOWN if noisy else EXACT, dtype=object))


class _Intervals:
    """One statement's intervals."""

    def __init__(self, run: OuterRun) -> None:
        self.run, self.tables = run, run.tables
        candidates, local = self._candidate_rows()
        chosen = max(release.looked_at for release in run.tables.releases)  # an inner HAVING or LIMIT chose rows, too
        self.candidates, self.local = candidates * chosen, local * chosen
        self.kinds: CellKinds = classify_cells(run, decides=run.decides)
        self.how: NDArray[np.object_] = self.kinds.how.copy()

    # ------------------------------------------------------------ rows that could have been shown

    def _candidate_rows(self) -> tuple[int, int]:
        """How many rows there are to choose from, and how many of them noise could show; (1, 1) if it chooses none."""
        run = self.run
        if not run.statements.is_cut:
            return 1, 1
        corners = run.in_worlds(self._corners(2.0, _BOX), shown=True)
        still = bool((corners.present == corners.present[0]).all())
        could_be_shown = np.asarray(corners.present.any(axis=0))
        run.look_at(could_be_shown)
        if still and not run.is_cut_by_noise:
            return 1, 1
        return max(1, len(run.whole_rows)), max(1, int(could_be_shown.sum()))

    def _level(self, level: float) -> float:
        """The level of each row's interval."""
        if self.candidates == 1:
            return level
        if level > _LOCAL:
            return simultaneous(level, self.candidates)
        return simultaneous(1 - 0.9 * (1 - level), self.local)

    # ------------------------------------------------------------ boxes

    def _corners(self, factor: float, level: float, chosen: NDArray[np.bool_] | None = None) -> Floats:
        """Worlds with numbers at the corners of a box: all down, all up, each group up alone, and down alone."""
        chosen = np.ones(self.tables.size, dtype=bool) if chosen is None else chosen
        lows, highs = self._box(factor, level, chosen)
        return _corners_of(lows, highs, self._groups(chosen))

    def _box(self, factor: float, level: float, chosen: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """The ends of a box that holds all chosen numbers with that confidence, times a factor; others rest."""
        y = self.tables.released
        lows, highs = self.tables.ends(simultaneous(level, max(1, int(chosen.sum()))))
        rest = ~chosen | np.isnan(lows) | np.isnan(highs)
        return np.where(rest, y, y - factor * (y - lows)), np.where(rest, y, y + factor * (highs - y))

    def _groups(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which numbers are moved together: each by itself if they are few, else random groups, several times."""
        places = np.flatnonzero(chosen)
        if len(places) <= 4 * _GROUPS and len(places) * self.tables.size <= CELLS // 2:
            groups = np.zeros((len(places), self.tables.size), dtype=bool)
            groups[np.arange(len(places)), places] = True
            return groups
        generator = np.random.default_rng(_SEED)
        splits = []
        for _ in range(_SPLITS):
            of = np.full(self.tables.size, -1)
            of[places] = generator.permutation(len(places)) % _GROUPS
            splits.append(of[None, :] == np.arange(_GROUPS)[:, None])
        return np.vstack(splits)

    def _moves(self) -> _Moves:
        """What corners of twice the box do, to the rows that are looked at."""
        groups = self._groups(np.ones(self.tables.size, dtype=bool))
        everything = np.ones(self.tables.size, dtype=bool)
        ordered = self.tables.together_and_apart(*self._box(2.0, _BOX, everything))
        worlds = self.run.in_worlds(np.vstack([self._corners(2.0, _BOX), ordered]))
        up, down = slice(2, 2 + len(groups)), slice(2 + len(groups), -len(ordered))
        changed = _changed(worlds, up, base=0) | _changed(worlds, down, base=1)
        relevant = _numbers_in(groups, changed) | _goes_beyond(worlds.values, len(ordered))[:, None]
        return _Moves(relevant, _is_one_way(worlds.values, up, down))

    # ------------------------------------------------------------ ends

    def ends(self) -> tuple[Floats, Floats]:
        """Both ends, by level, row and column."""
        pairs = self.kinds.ends([self._level(level) for level in LEVELS])
        lows, highs = (np.stack([pair[side] for pair in pairs]) for side in (0, 1))
        deciding = self.kinds.how == SIMULTANEOUS
        if deciding.any():
            moves = self._moves()
            for column in np.flatnonzero(deciding.any(axis=0)):
                self._put_boxes(lows, highs, int(column), moves, deciding[:, column])
        return lows, highs

    def _put_boxes(self, lows: Floats, highs: Floats, column: int, moves: _Moves, rows: NDArray[np.bool_]) -> None:
        """Intervals of a column that hold at once, where noisy values decide: the images of boxes."""
        relevant, levels = moves.relevant[column], self._box_levels()
        groups = self._groups(relevant)[:0] if moves.one_way[column] else self._apart(relevant)
        stacks = [self._box_worlds(level, relevant, groups) for level in levels]
        image, start = self.run.in_worlds(np.vstack(stacks)), 0
        own = self.kinds.values[:, column]
        for level, worlds in zip(levels, stacks, strict=True):
            part = slice(start, start := start + len(worlds))
            values = image.values[part, :, column]
            seldom = image.present[part][:, self.run.looked_at].mean(axis=0) < _SELDOM
            least = np.where(np.isnan(values), np.inf, values).min(axis=0)
            most = np.where(np.isnan(values), -np.inf, values).max(axis=0)
            for i in [i for i, each in enumerate(LEVELS) if each == level or each < level == levels[0]]:
                lows[i, rows, column] = np.where(seldom, -np.inf, np.fmin(least, own))[rows]
                highs[i, rows, column] = np.where(seldom, np.inf, np.fmax(most, own))[rows]

    def _box_levels(self) -> tuple[float, ...]:
        """The levels of boxes: of many numbers the lower levels have the interval of a higher one."""
        return LEVELS if self.tables.size <= _MANY else tuple(level for level in LEVELS if level >= _LEAST)

    def _apart(self, relevant: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """What is moved against all others: of a few rows their own numbers, else groups."""
        groups = self._groups(relevant)
        if self.tables.size <= _MANY:
            return groups
        own = [set(numbers[numbers >= 0].tolist()) for numbers in self.kinds.number]
        if len(own) > _GROUPS // 2 or not all(own):
            return groups[:_GROUPS]
        places = np.array(sorted(set().union(*own)))
        alone = np.zeros((len(places), self.tables.size), dtype=bool)
        alone[np.arange(len(places)), places] = True
        return alone

    def _box_worlds(self, level: float, relevant: NDArray[np.bool_], groups: NDArray[np.bool_]) -> Floats:
        """The corners of a box that holds all numbers that could matter, redraws cut to it, and ordered worlds."""
        local = level <= _LOCAL
        chosen = relevant if local else np.ones(self.tables.size, dtype=bool)
        inner = 1 - 0.9 * (1 - level) if local else level
        lows, highs = self._box(1.0, inner, chosen)
        redraws = self.kinds.redraws[: max(_FEWEST, CELLS // (4 * len(LEVELS) * self.tables.size))]
        ordered = self.tables.together_and_apart(lows, highs)
        return np.vstack([_corners_of(lows, highs, groups), np.clip(redraws, lows, highs), ordered])


@dataclass(frozen=True, slots=True)
class _Moves:
    """By column of numbers: the numbers that could change it, and whether each moves all of its cells one way."""

    relevant: NDArray[np.bool_]  # columns x numbers
    one_way: NDArray[np.bool_]


def _corners_of(lows: Floats, highs: Floats, groups: NDArray[np.bool_]) -> Floats:
    """All down, all up, each group up alone, and down alone."""
    return np.vstack([lows, highs, np.where(groups, highs, lows), np.where(groups, lows, highs)])


def _numbers_in(groups: NDArray[np.bool_], changed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """By column, the numbers of which every group changes it; groups hold one number each, or are several splits."""
    if int(groups[0].sum()) == 1 and len(groups) == groups.shape[1]:
        return changed.T
    parts = np.split(np.arange(len(groups)), _SPLITS)
    return np.stack(
        [
            np.logical_and.reduce([groups[part][changed[part, i]].any(axis=0) for part in parts])
            for i in range(changed.shape[1])
        ]
    )


def _is_one_way(values: Floats, up: slice, down: slice) -> NDArray[np.bool_]:
    """By column, whether all of its cells rise with every group of numbers, or all fall."""
    with np.errstate(all="ignore"):
        rises = ((values[up] >= values[0]) & (values[down] <= values[1])).all(axis=(0, 1))
        falls = ((values[up] <= values[0]) & (values[down] >= values[1])).all(axis=(0, 1))
    return np.asarray(rises | falls)


def _goes_beyond(values: Floats, count: int) -> NDArray[np.bool_]:
    """By column, whether the last worlds give something beyond all others: then every number could matter."""
    least, most = (fold(values[:-count], axis=0) for fold in (np.fmin.reduce, np.fmax.reduce))
    return np.asarray(((values[-count:] < least) | (values[-count:] > most)).any(axis=(0, 1)))


def _changed(worlds: Worlds, part: slice, *, base: int) -> NDArray[np.bool_]:
    """By world and column, whether anything of it differs from the base world: its rows, or a value."""
    rows = (worlds.present[part] != worlds.present[base]).any(axis=1) | (worlds.others[part] != worlds.others[base])
    values, before = worlds.values[part], worlds.values[base]
    same = (values == before) | (np.isnan(values) & np.isnan(before))
    return np.asarray(rows[:, None] | ~same.all(axis=1))


def _float(value: object) -> float:
    return float(value) if isinstance(value, int | float) else np.nan
