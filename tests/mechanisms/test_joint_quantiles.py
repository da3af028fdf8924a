from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from hubbub.mechanisms import JointQuantiles
from hubbub.mechanisms.common.rank_targets import half_lengths
from hubbub.mechanisms.joint_quantiles import _rising
from hubbub.noise._weighted_choice import choose_largest_loss
from hubbub.noise.testing import seeded
from hubbub.terms import ExponentialChoice, NotANumber, OutOfRange, TooLarge, WrongShape

from .contract import BAD_NUMBERS, Contract
from .laws import FALSE_ALARM, p_value

CELLS = 24
# one more row at the end moves both ends of the shortest interval that reaches away from where they should lie
CLOSE = [*([0] * 8), 17, 13, *([0] * (CELLS - 10))]


def loss(middle: int, half: int, shorter: int | None, counts: Any, target: Any, scale: Any) -> Fraction:
    """How far the ranks of an interval of cells are off, over what one row moves that, by the definition."""
    total = sum(counts)
    at, low, high = (each.level * total + each.offset for each in (target.middle, target.low, target.high))

    def before(cell: int) -> int:
        return sum(counts[: max(0, cell)])

    def upto(cell: int) -> int:
        return sum(counts[: cell + 1])

    off = max(before(middle) - at, at - upto(middle))
    low_near = before(middle - half) - low if middle - half >= 0 else 0
    high_near = high - upto(middle + half) if middle + half < len(counts) else 0
    near = max(low_near, high_near)
    far = (0, 0) if shorter is None else (low - before(middle - shorter), upto(middle + shorter) - high)
    lopsided = min(max(far) / target.middle.spread, Fraction(scale.lopsided, scale.ticks))
    return max(Fraction(max(0, off, near, min(far))) / target.middle.spread, lopsided)


def intervals(cells: int) -> list[tuple[int, int, int | None]]:
    """Every middle with every half length and the next shorter one."""
    halves = half_lengths(cells)
    return [(c, half, shorter) for half, shorter in zip(halves, (None, *halves), strict=False) for c in range(cells)]


def tuples(mechanism: JointQuantiles, counts: Any) -> dict[tuple[tuple[int, int], ...], int]:
    """The largest loss of every tuple of intervals, in ticks, by the definition."""
    levels = [
        {
            (c - half, c + half): math.floor(
                mechanism.scale.ticks * loss(c, half, shorter, counts, target, mechanism.scale)
            )
            for c, half, shorter in intervals(len(counts))
        }
        for target in mechanism.targets
    ]
    return {
        ends: min(mechanism.scale.farthest, max(level[each] for level, each in zip(levels, ends, strict=True)))
        for ends in itertools.product(*levels)
    }


class TestJointQuantiles(Contract):
    kind = JointQuantiles
    standard = {"levels": [0.5], "cells": CELLS, "epsilon": 1}
    data: ClassVar[list[int]] = [1] * CELLS
    neighbours = (CLOSE, [*CLOSE[:-1], CLOSE[-1] + 1])
    trials = 8_000
    bad = {
        "epsilon": BAD_NUMBERS,
        "levels": [([], OutOfRange), ([0.5, 0.5], OutOfRange), ([1.1], OutOfRange), (["0"], NotANumber)],
        "cells": [(0, OutOfRange), (1.5, OutOfRange), (1 << 53, OutOfRange)],
        "max_rows": [(0, OutOfRange), (1.5, OutOfRange)],
    }
    bad_data = [([1, 2], WrongShape), (np.zeros((2, 2), dtype=int), WrongShape)]
    odd_data = [[0] * CELLS, [-5] * CELLS, [10**30] * CELLS, [1 << 44] * CELLS]

    def make(self, **changes: Any) -> JointQuantiles:
        hurry = changes.pop("hurry", 1)
        mechanism = JointQuantiles(**{**self.standard, **changes})  # type: ignore[arg-type]
        mechanism.rate *= Fraction(hurry).limit_denominator(1000)
        return mechanism

    def off_by(self, factor: float) -> dict[str, object]:
        return {"hurry": factor}

    def outcomes(self, data: Any, trials: int, rng: Any, **changes: object) -> list[Any]:
        mechanism = self.make(**changes)
        return [tuple(mechanism.release(data, rng=rng).ravel().tolist()) for _ in range(trials)]

    def masses(self) -> dict[Any, float]:
        return law(self.make(), self.data)

    def errors(self, trials: int, rng: Any) -> Any:
        dense = JointQuantiles(levels=[0.5, 0.9], cells=2000, epsilon=1, max_rows=4)
        rows = [5] * 2000
        told = [5 * (dense.release(rows, rng=rng).mean(axis=1) + 0.5) for _ in range(min(trials, 3000))]
        off = np.abs(np.array(told)[:, 1] - 9000)
        return off, lambda confidence: dense.rank_error(0.9, confidence)

    # ------------------------------------------------------------ what is its own

    def test_two_levels_have_the_stated_law(self, soak: int) -> None:
        counts, rng = [4, 2, 5, 3, 6], seeded(61)
        mechanism = JointQuantiles(levels=[0.3, 0.6], cells=5, epsilon=3)
        sample = [tuple(mechanism.release(counts, rng=rng).ravel().tolist()) for _ in range(self.repeats(soak))]
        assert p_value(sample, law(mechanism, counts)) > FALSE_ALARM
        mechanism.rate *= Fraction(11, 10)
        sample = [tuple(mechanism.release(counts, rng=rng).ravel().tolist()) for _ in range(self.repeats(soak))]
        mechanism.rate /= Fraction(11, 10)
        assert p_value(sample, law(mechanism, counts)) < FALSE_ALARM

    @pytest.mark.parametrize("relation", ["add-remove", "replace"])
    @pytest.mark.parametrize("levels", [[0.5], [0.1, 0.9], [0, 0.25, 1]])
    def test_units_of_any_shape_move_the_sum_over_groups_within_the_sensitivity(
        self, levels: list[float], relation: str
    ) -> None:
        """Rows of one unit in two groups: what the loss of every tuple moves by, added up over both."""
        mechanism = JointQuantiles(levels=levels, cells=3, epsilon=1, max_rows=2, groups=True, neighbours=relation)
        most = float(1 / (2 * mechanism.rate))
        rest = ([2, 0, 3], [1, 4, 1])
        places = [(group, cell) for group in range(2) for cell in range(3)]
        units = [some for size in range(3) for some in itertools.combinations_with_replacement(places, size)]
        tables = {unit: tuple(with_rows(rest[g], unit, g) for g in range(2)) for unit in units}
        seen = {table: tuples(mechanism, table) for pair in tables.values() for table in pair}
        worst = 0.0
        for one, other in itertools.combinations(units, 2) if relation == "replace" else ((u, ()) for u in units):
            moved = sum(
                max(abs(seen[tables[one][g]][cells] - seen[tables[other][g]][cells]) for cells in seen[tables[one][g]])
                for g in range(2)
            )
            worst = max(worst, moved)
        assert worst <= most
        assert worst > 0.85 * most  # of the next smaller sensitivity it could not be said

    def test_groups_are_drawn_as_each_alone(self, soak: int) -> None:
        rng, mechanism = seeded(62), JointQuantiles(levels=[0.5], cells=4, epsilon=2, groups=True)
        keys, cells, counts = [0, 0, 2, 2, 2, 5, -1], [1, 3, 0, 1, 1, 0, 0], [6, 5, 9, 2, 2, 99, 99]
        told = [
            mechanism.release_sparse(np.array(cells), np.array(counts), keys=np.array(keys), number=3, rng=rng)
            for _ in range(3_000 * soak)
        ]
        for group, table in enumerate(([0, 6, 0, 5], [0, 0, 0, 0], [9, 4, 0, 0])):
            sample = [tuple(each[group].ravel().tolist()) for each in told]
            assert p_value(sample, law(mechanism, table)) > FALSE_ALARM

    def test_rho_buys_the_epsilon_whose_range_costs_it(self) -> None:
        epsilon = float(JointQuantiles(levels=[0.5], cells=9, rho=Fraction(1, 8)).event.epsilon)
        assert epsilon == pytest.approx(1, rel=1e-9)
        assert epsilon <= 1

    def test_a_group_too_small_to_be_told_has_the_whole_range_and_a_middle_where_its_rows_are(self) -> None:
        few = [0, 0, 3, 6, 3, *([0] * 195)]
        probable = law(JointQuantiles(levels=[0.5], cells=200, epsilon=1), few)
        spanned = sum(mass for (low, high), mass in probable.items() if low < 0 and high >= 200)
        near = sum(mass for (low, high), mass in probable.items() if 2 <= (low + high) / 2 <= 4)
        assert spanned > 0.9
        assert near > 0.4  # 3 of 200 cells

    def test_it_is_charged_as_a_choice(self) -> None:
        assert isinstance(self.make().event, ExponentialChoice)

    def test_too_many_levels_for_the_cells_are_refused(self) -> None:
        with pytest.raises(TooLarge):
            JointQuantiles(levels=[Fraction(i, 99) for i in range(1, 60)], cells=1 << 16, epsilon=1)

    def test_middles_rise_with_their_levels_and_are_cells(self) -> None:
        mechanism = JointQuantiles(levels=[0.9, 0.1, 0.5], cells=50, epsilon=Fraction(1, 10))
        for seed, rows in itertools.product(range(50), (0, 1, 30)):
            pairs = mechanism.release([rows] * 50, rng=seeded(seed))
            middles = pairs.sum(axis=1) / 2
            assert (pairs[:, 0] <= pairs[:, 1]).all()
            assert middles[1] <= middles[2] <= middles[0]
            assert 0 <= middles.min() <= middles.max() < 50
            assert (middles % 1 == 0).all()

    def test_sorting_leaves_no_end_nearer_than_the_sorted_ends(self) -> None:
        drawn = np.array([[30, 40], [-75, 125], [0, 0], [5, 5]])
        risen = _rising(drawn)
        lows, highs = np.sort(drawn, axis=0).T
        assert (risen[:, 0] <= lows).all()
        assert (highs <= risen[:, 1]).all()
        assert risen.sum(axis=1).tolist() == [0, 10, 50, 70]
        assert _rising(np.array([[0, 4], [3, 5]])).tolist() == [[0, 4], [3, 5]]

    def test_numbers_beyond_64_bits_inside_change_nothing(self) -> None:
        fine = Fraction(123_456_789, 10**9)
        coarse = fine.limit_denominator(1000)
        some = [JointQuantiles(levels=[level], cells=CELLS, epsilon=1) for level in (fine, coarse)]
        counts = [1 << 40] * CELLS
        a, b = ([each.release(counts, rng=seeded(seed)).tolist() for seed in range(20)] for each in some)
        assert a == b == [[[2, 2]]] * 20


def with_rows(counts: list[int], unit: tuple[tuple[int, int], ...], group: int) -> tuple[int, ...]:
    return tuple(rows + sum(place == (group, cell) for place in unit) for cell, rows in enumerate(counts))


def law(mechanism: JointQuantiles, counts: Any) -> dict[Any, float]:
    """The law of the ends, by adding up all tuples."""
    masses: dict[Any, float] = {}
    for ends, largest in tuples(mechanism, counts).items():
        key = tuple(_rising(np.array(ends)).ravel().tolist())
        masses[key] = masses.get(key, 0.0) + math.exp(-float(mechanism.rate) * largest)
    whole = sum(masses.values())
    return {key: mass / whole for key, mass in masses.items()}


@pytest.mark.parametrize("word_bits", [4, 8, 64])
def test_the_largest_loss_is_chosen_exactly_at_any_word_size(word_bits: int, soak: int) -> None:
    # with words of 4 bits nearly every decision goes through the certified path
    counts, losses = np.array([[1, 3, 3, 40], [2, 2, 9, 2**40]]), np.array([0, 2, 3, 60])
    products = counts.prod(axis=0)
    masses = np.diff(products, prepend=0) * np.exp(-losses * 0.5)
    rng = seeded(63)
    sample = [choose_largest_loss(counts, losses, Fraction(1, 2), rng, word_bits=word_bits) for _ in range(5000 * soak)]
    assert p_value(sample, dict(enumerate((masses / masses.sum()).tolist()))) > FALSE_ALARM


# ---------------------------------------------------------------- intervals


def smooth(rng: Any) -> Any:
    return np.clip(np.exp(rng.normal(6.5, 0.6, 20_000)), 0, 3999).astype(int)


def bimodal(rng: Any) -> Any:
    """Half of the rows on either side of a gap, give or take what noise can resolve: the median is at its edge."""
    low = 2000 + int(rng.integers(-40, 41))
    return np.concatenate([rng.normal(400, 100, low), rng.normal(3500, 100, 4000 - low)]).clip(0, 3999).astype(int)


def atoms(rng: Any) -> Any:
    return rng.choice(np.arange(0, 4000, 100), 4000, p=np.arange(40, 0, -1) / 820)


@pytest.mark.parametrize("shape", [smooth, bimodal, atoms])
@pytest.mark.parametrize("levels", [[0.5], [0.25, 0.5, 0.9]])
def test_pairs_hold_the_quantile_wherever_values_lie(shape: Any, levels: list[float], soak: int) -> None:
    mechanism, rng = JointQuantiles(levels=levels, cells=4000, epsilon=1, max_rows=4), seeded(64)
    numbers, held, narrow = np.random.default_rng(65), [], []
    for _ in range(400 * soak):
        values = shape(numbers)
        exact = np.quantile(values, levels, method="inverted_cdf")
        pairs = mechanism.release(np.bincount(values, minlength=4000), rng=rng)
        held.append((pairs[:, 0] <= exact) & (exact <= pairs[:, 1]))
        middle, half = pairs.mean(axis=1), (pairs[:, 1] - pairs[:, 0]) / 2
        short = half * JointQuantiles.dense_stretch(len(levels), 4000, 0.95)
        narrow.append((np.floor(middle - short) <= exact) & (exact <= np.ceil(middle + short)))
    assert np.mean(held, axis=0).min() >= 0.95
    if shape is bimodal:
        assert np.mean(narrow, axis=0)[levels.index(0.5)] < 0.7
    elif shape is smooth:
        assert np.mean(narrow, axis=0).min() > 0.92


# ---------------------------------------------------------------- the interval that holds on any data, exactly


def chance_of_miss(mechanism: JointQuantiles, points: list[int], rows: list[int]) -> float:
    """How probable it is that an interval does not hold its quantile (the worst level), by adding up all tuples.

    To hold it is to hold the whole range of cells in which the quantile may be said to lie.
    """
    per_level = [losses_and_misses(mechanism, target, points, rows) for target in mechanism.targets]
    losses = np.unique(np.concatenate([loss for loss, _ in per_level]))
    heights = np.exp(-float(mechanism.rate) * losses)
    every = [cumulated(losses, loss) for loss, _ in per_level]
    total = np.sum(np.diff(np.prod(every, axis=0), prepend=0) * heights)
    worst = 0.0
    for i, (loss, missed) in enumerate(per_level):
        factors = [*every[:i], cumulated(losses, loss[missed]), *every[i + 1 :]]
        worst = max(worst, float(np.sum(np.diff(np.prod(factors, axis=0), prepend=0) * heights) / total))
    return worst


def cumulated(losses: Any, seen: Any) -> Any:
    """How many have each loss or less, as floats, since products of them are large."""
    return np.searchsorted(np.sort(seen), losses, side="right").astype(float)


def losses_and_misses(mechanism: JointQuantiles, target: Any, points: list[int], rows: list[int]) -> tuple[Any, Any]:
    """The loss of every interval in ticks by the definition, in arrays, and whether it misses the quantile."""
    cells, scale = mechanism.cells, target.middle.level.denominator
    upto = np.concatenate([[0], np.cumsum(rows)])
    total = int(upto[-1])
    at, low, high = (each.scaled(total)[1] for each in (target.middle, target.low, target.high))
    spread = target.middle.scaled(total)[2]

    def before(cell: Any) -> Any:
        return scale * upto[np.searchsorted(points, cell, side="left")]

    def until(cell: Any) -> Any:
        return scale * upto[np.searchsorted(points, cell, side="right")]

    middle, scales = np.arange(cells), mechanism.scale
    first = int(np.flatnonzero(until(middle) >= at)[0])
    last = int(np.flatnonzero(before(middle) <= at)[-1])
    off, losses, missed, shorter = np.maximum(before(middle) - at, at - until(middle)), [], [], None
    for half in half_lengths(cells):
        low_near = np.where(middle - half < 0, 0, before(middle - half) - low)
        high_near = np.where(middle + half >= cells, 0, high - until(middle + half))
        near = np.maximum(low_near, high_near)
        low_far, high_far = (
            (0, 0) if shorter is None else (low - before(middle - shorter), until(middle + shorter) - high)
        )
        worst = np.maximum(np.maximum(off, near), np.maximum(np.minimum(low_far, high_far), 0)) * scales.ticks // spread
        lopsided = np.minimum(np.maximum(low_far, high_far) * scales.ticks // spread, scales.lopsided)
        losses.append(np.minimum(np.maximum(worst, lopsided), scales.farthest))
        missed.append((middle - half > first) | (middle + half < last))
        shorter = half
    return np.concatenate(losses), np.concatenate(missed)


def hard_tables(cells: int, away: int) -> list[tuple[list[int], list[int]]]:
    """One, two and three atoms, with gaps between them; as many rows on either side as leave the most doubt."""
    far, end = 40 * away, cells - 1
    two = [([0, end], [far + more, far]) for more in (0, 1, away // 2, away, 2 * away)]
    third = [([0, end // 3, end], [far, more, far]) for more in (1, away, 3 * away)]
    few = [([], []), ([end // 2], [1]), ([0, end], [1, 1]), ([end // 2, end], [away, 2])]
    return [*two, *third, *few, ([end // 2], [far]), ([0, 1, end], [far - 1, 1, far])]


@pytest.mark.parametrize("levels", [[0.5], [0.9], [0.25, 0.5, 0.9]])
@pytest.mark.parametrize("cells", [10, 1000])
def test_intervals_hold_their_quantiles_on_any_data(cells: int, levels: list[float]) -> None:
    mechanism = JointQuantiles(levels=levels, cells=cells, epsilon=1, max_rows=2)
    away = math.ceil(mechanism.window * mechanism.rank_unit(levels[-1]))
    assert max(chance_of_miss(mechanism, *table) for table in hard_tables(cells, away)) <= 0.05


def test_intervals_hold_on_a_million_cells_and_a_narrower_window_would_not(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = JointQuantiles(levels=[0.5], cells=10**6, epsilon=1)
    away = math.ceil(mechanism.window)
    split = ([0, 10**6 - 1], [1000, 1000 - away // 2])
    assert chance_of_miss(mechanism, [0, 10**6 - 1], [1000, 1000]) <= 0.05
    assert chance_of_miss(mechanism, *split) <= 0.05
    monkeypatch.setattr(JointQuantiles, "window", mechanism.window - 8)
    narrower = JointQuantiles(levels=[0.5], cells=10**6, epsilon=1)
    assert chance_of_miss(narrower, [0, 10**6 - 1], [1000, 1000]) > 0.08
