"""Lazy refinement: with words of 8 bits nearly every draw is undecided, and the law must still be exact."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hubbub.noise import _distributions
from hubbub.noise._binomial import _invert_table, binomial_table
from hubbub.noise._drawing import draw_many, draw_one
from hubbub.noise._inversion_table import InversionTable
from hubbub.noise._lazy_uniform import LazyUniform
from hubbub.noise._weighted_choice import choose_weighted
from hubbub.noise.fixed_point import enclose_exp_neg, logistic, rational
from hubbub.noise.testing import SeededSource, seeded
from tests.noise.laws import FALSE_ALARM, fit, gaussian_mass, geometric_mass, laplace_mass


class CountingSource(SeededSource):
    """Counts how often further bits were asked for."""

    refinements = 0

    def bits(self, count: int) -> int:
        self.refinements += 1
        return super().bits(count)


@pytest.mark.parametrize("word_bits", [8, 16])
@pytest.mark.parametrize("scale", [Fraction(10), Fraction(50)], ids=["table only", "with strata"])
@pytest.mark.parametrize("name", ["laplace", "gaussian", "geometric"])
def test_short_words_give_the_exact_law(name: str, scale: Fraction, word_bits: int, soak: int) -> None:
    law, mass = {
        "laplace": (_distributions.laplace_distribution(scale, word_bits=word_bits), laplace_mass(scale)),
        "gaussian": (_distributions.gaussian_distribution(scale, word_bits=word_bits), gaussian_mass(scale)),
        "geometric": (
            _distributions.laplace_distribution(scale, signed=False, word_bits=word_bits),
            geometric_mass(scale),
        ),
    }[name]
    source = CountingSource(1)
    draws = draw_many(law, 20_000 * soak, source)
    reach = int(4 * scale)
    assert fit(draws, mass, range(-reach, reach + 1)) > FALSE_ALARM
    if word_bits == 8:
        assert source.refinements > draws.size / 20, "refinement was hardly exercised"


def test_redrawing_undecided_words_would_be_noticed() -> None:
    """The twin that must fail: the shortcut of drawing again when undecided bends the law."""
    law = _distributions.laplace_distribution(Fraction(10), word_bits=8)
    source, draws = seeded(2), []
    while len(draws) < 20_000:
        word = source.bits(8)
        cell = int(np.searchsorted(law.table.array, np.uint64(word)))
        if law.table.thresholds[cell] != word:  # undecided words are dropped: wrong
            draws.append(cell)
    assert fit(np.array(draws), geometric_mass(Fraction(10)), range(40)) < FALSE_ALARM


def test_single_draws_refine_too() -> None:
    law, source = _distributions.gaussian_distribution(Fraction(50), word_bits=8), CountingSource(3)
    draws = np.array([draw_one(law, source) for _ in range(20_000)])
    assert fit(draws, gaussian_mass(Fraction(50)), range(-150, 151)) > FALSE_ALARM


@pytest.mark.parametrize("word_bits", [8, 12, 64])
@pytest.mark.parametrize("law", [_distributions.laplace_distribution, _distributions.gaussian_distribution])
def test_thresholds_bracket_the_exact_cumulative_mass(law, word_bits: int) -> None:
    """No statistics: each threshold is the floor of the exact value, computed independently at 60 digits."""
    scale = Fraction(37, 3)
    table = law(scale, word_bits=word_bits).table
    with mpmath.workdps(60):
        t = mpmath.mpf(scale.numerator) / scale.denominator
        power = (
            (lambda m: mpmath.exp(-m / t))
            if law is _distributions.laplace_distribution
            else (lambda m: mpmath.exp(-m * m / (2 * t * t)))
        )
        masses = [power(mpmath.mpf(m)) for m in range(700)]
        total = mpmath.fsum(masses)
        for cell, threshold in enumerate(table.thresholds[:-1]):
            exact = mpmath.fsum(masses[: cell + 1]) / total
            assert threshold == int(mpmath.floor(exact * 2**word_bits))


def test_the_tail_is_not_cut_off() -> None:
    """The largest word of 8 bits reaches cells beyond the table, each with its own probability."""
    law = _distributions.laplace_distribution(Fraction(10), signed=False, word_bits=8)
    source = seeded(4)
    cells = np.array([law.table.refine(255, source) for _ in range(20_000)])
    start = next(c for c in range(200) if np.exp(-(c + 1) / 10) < 1 / 256)  # where 255/256 falls
    assert cells.min() >= start - 1
    beyond = cells[cells > start] - start - 1
    assert fit(beyond, geometric_mass(Fraction(10)), range(40)) > FALSE_ALARM
    assert cells.max() > len(law.table.thresholds)


def test_binomial_and_choice_refine_too() -> None:
    table = binomial_table(20, Fraction(1, 3), word_bits=8)
    draws = _invert_table(table, 20_000, seeded(5))
    from scipy import stats

    assert fit(draws, lambda k: float(stats.binom(20, 1 / 3).pmf(k)), range(21)) > FALSE_ALARM
    source, gaps = seeded(6), [Fraction(i, 40) for i in range(60)]
    weights = np.exp([-float(g) for g in gaps])
    picks = np.array(
        [choose_weighted(gaps, np.ones(60, dtype=np.int64), Fraction(1), source, word_bits=8) for _ in range(4_000)]
    )
    assert fit(picks, lambda k: float(weights[k] / weights.sum()), range(60)) > FALSE_ALARM


@pytest.mark.parametrize("x", [Fraction(1, 10**6), Fraction(1, 3), Fraction(5), Fraction(123, 7), Fraction(90)])
@pytest.mark.parametrize("bits", [8, 64, 300])
def test_exponentials_are_enclosed(x: Fraction, bits: int) -> None:
    low, high = enclose_exp_neg(x, bits)
    with mpmath.workprec(bits + 200):
        true = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) * mpmath.mpf(2) ** bits
        assert low <= true <= high
    assert high - low <= 2


def test_logistic_is_enclosed() -> None:
    low, high = logistic(Fraction(3, 2), Fraction(9))(128)
    with mpmath.workprec(300):
        assert low <= mpmath.mpf(2) ** 128 / (1 + 9 * mpmath.exp(mpmath.mpf(-3) / 2)) <= high
    assert high - low <= 4


def test_a_lazy_uniform_decides_by_as_few_bits_as_it_needs() -> None:
    source = CountingSource(7)
    assert LazyUniform(0, 1, source).less_than(rational(Fraction(1, 2)))
    assert not LazyUniform(1, 1, source).less_than(rational(Fraction(1, 2)))
    assert source.refinements == 0
    LazyUniform(0, 1, source).less_than(rational(Fraction(1, 3)))
    assert source.refinements >= 1


def test_a_table_knows_where_a_word_is_undecided() -> None:
    table = InversionTable.build(lambda cell: rational(Fraction(min(cell + 1, 3), 3)), word_bits=8)
    assert table.thresholds == (85, 170, 255)
    counts = np.bincount([table.refine(85, seeded(i)) for i in range(3_000)], minlength=2)
    # 85/256 .. 86/256 contains 1/3 at one third of its width
    assert abs(counts[0] / 3_000 - 1 / 3) < 0.05
