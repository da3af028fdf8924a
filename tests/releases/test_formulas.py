"""Formulas: exact where numbers are whole, total everywhere, and honest about what they use."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.releases import KeyColumn, Noise, NoisyColumn, NoisyTable
from hubbub.releases.formulas import (
    Formula,
    Function,
    GivenIntervals,
    Key,
    Mean,
    Minus,
    Negate,
    Number,
    Over,
    PairStatistic,
    Plus,
    Ref,
    Times,
    Variance,
    walk_formula,
)
from hubbub.terms import OutOfRange, WrongShape

NOISE = Noise("gaussian", Fraction(10))
HUGE = 10**40 + 1


def two(*, step: Fraction = Fraction(1)) -> NoisyTable:
    counts = NoisyColumn("COUNT(*)", Fraction(1), NOISE, (1203, 0, -4))
    sums = NoisyColumn("SUM(x)", step, Noise("laplace", Fraction(7)), (HUGE, 12, -1))
    return NoisyTable((KeyColumn("year", (2024, 2025, 2026)),), (counts, sums), 3)


def test_counts_are_exact_integers_of_any_size() -> None:
    known = two()
    assert Ref(1).evaluate(known) == [HUGE, 12, -1]
    assert Plus(Ref(1), Negate(Number(Fraction(1)))).evaluate(known)[0] == HUGE - 1
    assert Times(Number(Fraction(3)), Ref(1)).evaluate(known)[0] == 3 * HUGE
    assert Ref(1).interval(known, 0.95)[0][0] == HUGE - Noise("laplace", Fraction(7)).error(0.95)


def test_a_sum_on_a_grid_is_the_nearest_float() -> None:
    assert Ref(1).evaluate(two(step=Fraction(1, 100))) == [HUGE / 100, 0.12, -0.01]


def test_division_makes_floats_and_none_for_zero() -> None:
    known = two()
    assert Over(Ref(1), Ref(0)).evaluate(known)[1:] == [None, 0.25]
    assert Over(Ref(0), Number(Fraction(1))).evaluate(known) == [1203.0, 0.0, -4.0]
    assert Over(Ref(0), Number(Fraction(0))).evaluate(known) == [None] * 3
    assert Over(Ref(1), Ref(0)).interval(known, 0.95)[0][1] is None


def test_a_ratio_to_what_may_be_zero_is_unbounded() -> None:
    lows, highs = Over(Ref(0), Ref(1)).interval(two(), 0.95)
    assert (lows[1], highs[1]) == (-math.inf, math.inf)


def test_what_cancels_is_exactly_zero() -> None:
    known = two()
    for formula in (Minus(Ref(0), Ref(0)), Plus(Times(Number(Fraction(-1)), Ref(0)), Ref(0))):
        assert formula.evaluate(known) == [0, 0, 0]
        assert formula.interval(known, 0.99) == ([0, 0, 0], [0, 0, 0])
        assert formula.std_dev(known) == [0.0] * 3


def test_keys_are_public_numbers() -> None:
    known = two()
    assert Key(0).interval(known, 0.95) == ([2024, 2025, 2026], [2024, 2025, 2026])
    scaled = Times(Ref(0), Minus(Key(0), Number(Fraction(2024))))
    assert scaled.evaluate(known) == [0, 0, -8]
    assert scaled.interval(known, 0.95) == ([0, -20, -48], [0, 20, 32])


def test_a_public_measure_has_no_error() -> None:
    known = NoisyTable((), (NoisyColumn("n", Fraction(1), Noise("none"), (7,)),), 1)
    assert Ref(0).interval(known, 0.95) == ([7], [7])
    assert not Ref(0).is_uncertain(known)
    assert Function("sqrt", (Ref(0),)).interval(known, 0.95) == ([math.sqrt(7)], [math.sqrt(7)])


FUNCTIONS = {
    "abs": (Ref(0), [1203, 0, 4]),
    "floor": (Over(Ref(0), Number(Fraction(8))), [150.0, 0.0, -1.0]),
    "ceil": (Over(Ref(0), Number(Fraction(8))), [151.0, 0.0, 0.0]),
    "round": (Over(Ref(0), Number(Fraction(8))), [150.0, 0.0, -1.0]),
    "sqrt": (Ref(0), [math.sqrt(1203), 0.0, None]),
    "ln": (Ref(0), [math.log(1203), None, None]),
    "exp": (Ref(0), [None, 1.0, math.exp(-4)]),
    "coalesce": (Over(Number(Fraction(8)), Ref(0)), [8 / 1203, None, -2.0]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_total(name: str) -> None:
    inner, wanted = FUNCTIONS[name]
    assert Function(name, (inner,)).evaluate(two()) == pytest.approx(wanted)


def test_functions_of_several_values() -> None:
    known = two()
    none = Over(Number(Fraction(1)), Ref(0))
    assert Function("greatest", (Ref(0), Number(Fraction(0)))).evaluate(known) == [1203, 0, 0]
    assert Function("least", (none, Number(Fraction(-1)))).evaluate(known) == [-1.0, -1.0, -1.0]
    assert Function("coalesce", (none, Number(Fraction(9)))).evaluate(known)[1] == 9
    assert Function("round", (Over(Ref(0), Number(Fraction(1000))), Number(Fraction(1)))).evaluate(known)[0] == 1.2


def test_an_unknown_function_or_a_wrong_number_of_arguments_is_refused() -> None:
    with pytest.raises(OutOfRange, match="no function of that name"):
        Function("random", ())
    with pytest.raises(WrongShape, match="2 arguments"):
        Function("abs", (Ref(0), Ref(1)))


def test_a_function_that_moves_one_way_maps_the_ends() -> None:
    known = two()
    assert Function("greatest", (Ref(0), Number(Fraction(0)))).interval(known, 0.95) == ([1183, 0, 0], [1223, 20, 16])
    lows, highs = Function("sqrt", (Ref(0),)).interval(known, 0.95)
    assert (lows[1], highs[1]) == (0.0, math.sqrt(20))
    assert lows[2] is highs[2] is None


def test_noises_are_the_measures_in_use() -> None:
    assert Minus(Over(Ref(1), Number(Fraction(2))), Ref(0)).noises() == (0, 1)
    assert Mean(Ref(1), Ref(3), Fraction(0)).noises() == (1, 3)
    assert Key(0).noises() == ()


def test_a_mean_is_none_where_the_count_is_within_its_noise() -> None:
    counts = NoisyColumn("COUNT(x)", Fraction(1), NOISE, (21, 20, 1, -30))
    sums = NoisyColumn("SUM(x)", Fraction(1), NOISE, (42, 42, 42, 42))
    known = NoisyTable((), (sums, counts), 4)
    assert Mean(Ref(0), Ref(1), Fraction(1), Fraction(0), Fraction(10)).evaluate(known) == [3.0, None, None, None]
    exact = NoisyTable((), (sums, NoisyColumn("COUNT(x)", Fraction(1), Noise("none"), (21, 20, 1, 0))), 4)
    assert Mean(Ref(0), Ref(1), Fraction(1), Fraction(0), Fraction(10)).evaluate(exact) == [3.0, 3.1, None, None]


def pair(function: str) -> PairStatistic:
    refs = [Ref(index) for index in range(6)]
    return PairStatistic(function, *refs, y_centre=Fraction(10), x_centre=Fraction(3), largest=Fraction(50))


def pairs_of(y: list[float], x: list[float], noise: Noise) -> NoisyTable:
    """The six sums of pairs, less the centres 10 and 3."""
    a, b = np.array(y) - 10, np.array(x) - 3
    sums = [len(y), a.sum(), b.sum(), (a * a).sum(), (b * b).sum(), (a * b).sum()]
    names = ("COUNT", "SUM(y)", "SUM(x)", "SUM(yy)", "SUM(xx)", "SUM(yx)")
    return NoisyTable(
        (), tuple(NoisyColumn(n, Fraction(1), noise, (int(s),)) for n, s in zip(names, sums, strict=True)), 1
    )


def test_statistics_of_pairs_are_those_of_the_textbook() -> None:
    y, x = [12, 15, 9, 14, 20, 7], [3, 5, 2, 4, 8, 1]
    known = pairs_of(y, x, Noise("none"))
    slope, intercept = np.polyfit(x, y, 1)
    expected = {
        "corr": np.corrcoef(y, x)[0, 1],
        "covar_pop": np.cov(y, x, bias=True)[0, 1],
        "covar_samp": np.cov(y, x)[0, 1],
        "regr_slope": slope,
        "regr_intercept": intercept,
        "regr_r2": np.corrcoef(y, x)[0, 1] ** 2,
    }
    for function, value in expected.items():
        assert pair(function).evaluate(known) == [pytest.approx(value)]
        assert pair(function).interval(known, 0.95) == ([pytest.approx(value)], [pytest.approx(value)])


def test_statistics_of_pairs_are_not_told_from_noise() -> None:
    few, flat = pairs_of([12, 9], [3, 4], NOISE), pairs_of([12, 9] * 100, [3, 3] * 100, NOISE)
    for function in ("corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2"):
        assert pair(function).evaluate(few) == [None]
        assert (pair(function).evaluate(flat) == [None]) == (not function.startswith("covar"))
    wild = NoisyTable((), tuple(NoisyColumn("m", Fraction(1), NOISE, (v,)) for v in (100, 0, 0, 400, 400, 10**6)), 1)
    assert pair("corr").evaluate(wild) == [1.0]
    assert pair("covar_pop").evaluate(wild) == [50.0]


def test_variance_is_cut_to_what_is_possible() -> None:
    counts = NoisyColumn("COUNT(x)", Fraction(1), NOISE, (100, 100, 100, 10))
    sums = NoisyColumn("SUM(x)", Fraction(1), NOISE, (0, 1000, 0, 0))
    squares = NoisyColumn("SUM(x*x)", Fraction(1), NOISE, (400, 400, 10**9, 400))
    known = NoisyTable((), (sums, squares, counts), 4)
    assert Variance(Ref(0), Ref(1), Ref(2), Fraction(0), Fraction(25)).evaluate(known) == [4.0, 0.0, 25.0, None]
    assert Variance(Ref(0), Ref(1), Ref(2), Fraction(0), Fraction(25), root=True).evaluate(known)[0] == 2.0
    assert Variance(Ref(0), Ref(1), Ref(2), Fraction(0), Fraction(25), sample=True).evaluate(known)[0] == pytest.approx(
        400 / 99
    )
    lows, highs = Variance(Ref(0), Ref(1), Ref(2), Fraction(0), Fraction(25)).interval(known, 0.95)
    assert all(a is None or 0 <= a <= b <= 25 for a, b in zip(lows, highs, strict=True))


MEDIAN = GivenIntervals((10.0, None), (0.5, 0.95), ((9.0, None), (7.0, None)), ((11.5, None), (14.0, None)))


def test_given_values_use_the_next_higher_stored_level() -> None:
    empty = NoisyTable((), (), 2)
    assert MEDIAN.interval(empty, 0.5) == ([9.0, None], [11.5, None])
    assert MEDIAN.interval(empty, 0.6) == MEDIAN.interval(empty, 0.95) == ([7.0, None], [14.0, None])
    assert MEDIAN.interval(empty, 0.99) == MEDIAN.interval(empty, 0.95)
    assert MEDIAN.std_dev(empty)[1] is None


def test_given_values_can_be_calculated_with() -> None:
    empty = NoisyTable((), (), 2)
    assert Times(MEDIAN, Number(Fraction(2))).interval(empty, 0.95) == ([14.0, None], [28.0, None])
    drawn = MEDIAN.simulate(empty, 20_000)
    assert np.quantile(drawn[:, 0], [0.025, 0.25, 0.5, 0.75, 0.975]) == pytest.approx([7, 9, 10, 11.5, 14], abs=0.15)
    assert np.isnan(drawn[:, 1]).all()
    assert Minus(MEDIAN, MEDIAN).interval(empty, 0.95) == ([0.0, None], [0.0, None])


def test_given_values_that_are_alike_are_still_drawn_apart() -> None:
    twin = GivenIntervals(MEDIAN.values, MEDIAN.levels, MEDIAN.lows, MEDIAN.highs)
    lows, highs = Minus(MEDIAN, twin).interval(NoisyTable((), (), 2), 0.95)
    assert lows[0] is not None and highs[0] is not None
    assert highs[0] - lows[0] > 8


def test_given_values_need_matching_columns() -> None:
    with pytest.raises(WrongShape):
        GivenIntervals((1.0,), (0.5, 0.95), ((0.0,),), ((2.0,),))
    with pytest.raises(WrongShape):
        GivenIntervals((1.0,), (0.95,), ((0.0, 1.0),), ((2.0,),))


def test_no_rows_are_no_trouble() -> None:
    known = NoisyTable((), (NoisyColumn("a", Fraction(1), NOISE, ()), NoisyColumn("b", Fraction(1), NOISE, ())), 0)
    mean, spread = Mean(Ref(0), Ref(1), Fraction(0)), Variance(Ref(0), Ref(0), Ref(1), Fraction(0), Fraction(1))
    for formula in (Ref(0), Over(Ref(0), Ref(1)), mean, spread, Times(Ref(0), Ref(1))):
        assert formula.evaluate(known) == []
        assert formula.interval(known, 0.95) == ([], [])


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize(
    "scale", [Fraction(1, 3), Fraction(1), Fraction(12), Fraction(63), Fraction(65), Fraction(10**7)]
)
def test_simulated_noise_has_the_spread_and_the_quantile_of_the_real_one(law: str, scale: Fraction) -> None:
    noise = Noise(law, scale)
    drawn = noise.draw(np.random.default_rng(1), 200_000)
    assert np.array_equal(drawn, np.rint(drawn))
    assert drawn.std() == pytest.approx(noise.std_dev(), rel=0.02)
    assert np.mean(np.abs(drawn) > noise.error(0.95)) <= 0.052
    assert noise.error(0.95) == 0 or np.mean(np.abs(drawn) >= noise.error(0.95)) >= 0.048


def test_a_law_or_scale_that_means_nothing_is_refused() -> None:
    with pytest.raises(OutOfRange):
        Noise("uniform", Fraction(1))
    with pytest.raises(OutOfRange):
        Noise("gaussian", Fraction(0))
    with pytest.raises(OutOfRange):
        Ref(0).interval(two(), 1.0)


def formulas() -> st.SearchStrategy[Formula]:
    leaves = st.sampled_from(
        [Ref(0), Ref(1), Key(0), Number(Fraction(0)), Number(Fraction(-5, 2)), Number(Fraction(3))]
    )

    def larger(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        pairs = [st.builds(kind, inner, inner) for kind in (Plus, Minus, Times, Over)]
        unary = [st.builds(lambda a, n=name: Function(n, (a,)), inner) for name in FUNCTIONS]
        return st.one_of(*pairs, *unary, st.builds(Negate, inner))

    return st.recursive(leaves, larger, max_leaves=5)


@given(formulas())
def test_every_formula_has_ends_around_its_value_or_none(formula: Formula) -> None:
    known = NoisyTable(two().keys, tuple(NoisyColumn(m.name, m.step, m.noise, (40, 3, -4)) for m in two().measures), 3)
    values, (lows, highs) = formula.evaluate(known), formula.interval(known, 0.95)
    for value, low, high in zip(values, lows, highs, strict=True):
        assert (value is None) == (low is None) == (high is None)
        assert value is None or low <= high
    if not formula.is_uncertain(known):
        assert lows == highs == values
    assert len(list(walk_formula(formula))) >= 1
