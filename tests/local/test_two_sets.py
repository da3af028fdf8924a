"""The lemma that most randomizers share: its exact distribution, and that no fault planted in it stays unseen."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub import audit, local
from hubbub.local import largest_ratio
from hubbub.local.randomizers import bounded_means, two_sets
from hubbub.local.randomizers.common.exact_words import (
    WORD,
    Number,
    as_number,
    as_word,
    coin_threshold,
    exp_low,
    fewest_words,
    integer_below,
    most_words,
    parity,
    pick,
)
from hubbub.local.randomizers.two_sets import TwoSets, coin_for
from hubbub.noise.testing import seeded
from hubbub.terms import HubbubError

from .contract import exp

Make = Callable[[Any], Any]

USERS: dict[str, tuple[Make, list[Any]]] = {
    "binary": (lambda e: local.BinaryResponse(epsilon=e), [0, 1]),
    "sign": (lambda e: local.SignResponse(epsilon=e), [-1, 1]),
    "kary": (lambda e: local.KaryResponse(epsilon=e, domain=5), list(range(5))),
    "hashing": (lambda e: local.LocalHashing(epsilon=e, domain=8, buckets=4), list(range(8))),
    "hadamard": (lambda e: local.HadamardResponse(epsilon=e, domain=6), list(range(6))),
    "onebit": (lambda e: local.OneBitHadamard(epsilon=e, domain=6), list(range(6))),
    "projective": (lambda e: local.ProjectiveGeometry(epsilon=e, domain=13, order=3), list(range(13))),
    "hcms": (lambda e: local.HadamardCountMeanSketch(epsilon=e, domain=4, rows=2, width=4), list(range(4))),
    "piecewise": (lambda e: local.Piecewise(epsilon=e, lower=0, upper=1), [0.0, 0.5, 1.0]),
    "loloha": (lambda e: local.Loloha(epsilon=e, forever=2 * e, domain=8, buckets=4), list(range(8))),
}
FLIPS = {"binary", "sign", "onebit", "hcms"}
EVEN = FLIPS | {"hadamard"}  # both sets are of one size: sizes cannot be forgotten or exchanged
STEPS = {"kary", "hashing", "piecewise", "loloha"}  # by ``interval``


@pytest.fixture(autouse=True)
def few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a grid of 64 places the whole distribution of the piecewise mechanism can be written down."""
    monkeypatch.setattr(bounded_means, "CELLS", 64)


@pytest.mark.parametrize("name", USERS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)], ids=str)
def test_every_user_of_the_lemma_keeps_epsilon(name: str, epsilon: Fraction) -> None:
    make, values = USERS[name]
    assert largest_ratio(make(epsilon), values) <= exp(epsilon)


def sizes_forgotten(cls: type[TwoSets], epsilon: Fraction, *, own: int, other: int) -> TwoSets:
    return TwoSets(own, other, coin_threshold(exp_low(epsilon)))


def sizes_exchanged(cls: type[TwoSets], epsilon: Fraction, *, own: int, other: int) -> TwoSets:
    return TwoSets(own, other, coin_threshold(exp_low(epsilon) * fewest_words(own) / most_words(other)))


def odds_as_chance(cls: type[TwoSets], epsilon: Fraction, *, own: int, other: int) -> TwoSets:
    """Odds of e^epsilon taken for a chance of 1 - e^-epsilon, and never less than a half."""
    return TwoSets(own, other, max(WORD // 2, int(WORD * (1 - 1 / (1 + own * exp_low(epsilon) ** 2 / other)))))


def epsilon_twice(cls: type[TwoSets], epsilon: Fraction, *, own: int, other: int) -> TwoSets:
    return TwoSets(own, other, coin_threshold(exp_low(2 * epsilon) * fewest_words(other) / most_words(own)))


def always_inside(self: TwoSets, coin: Any, word: Any) -> Any:
    inside = coin < WORD - 1
    return inside, integer_below(word, self.own)


def same_range(self: TwoSets, coin: Any, word: Any) -> Any:
    inside = coin < self.keep
    return inside, integer_below(word, self.own)


def coin_again(self: TwoSets, coin: Any, word: Any) -> Any:
    """The word that chose the set also chooses within it."""
    inside = coin < self.keep
    return inside, integer_below(coin, pick(inside, self.own, self.other))


def nothing_skipped(self: TwoSets, start: Number, coin: Any, word: Any) -> Number:
    inside, index = self.draw(coin, word)
    return index + pick(inside, start, 0)


def one_too_late(self: TwoSets, start: Number, coin: Any, word: Any) -> Number:
    inside, index = self.draw(coin, word)
    return index + pick(inside, start, self.own * (index > start))


def never_flipped(self: TwoSets, bit: Number, coin: Any) -> Number:
    return bit ^ (coin >= WORD - 1)


FAULTS: dict[str, tuple[str, Any, set[str]]] = {
    "sizes forgotten": ("for_epsilon", classmethod(sizes_forgotten), {"kary", "hashing", "projective", "piecewise"}),
    "sizes exchanged": ("for_epsilon", classmethod(sizes_exchanged), {"kary", "hashing", "projective", "piecewise"}),
    "odds as a chance": ("for_epsilon", classmethod(odds_as_chance), set(USERS) - {"loloha", "piecewise"}),
    "epsilon twice": ("for_epsilon", classmethod(epsilon_twice), set(USERS) - {"loloha"}),
    "always inside": ("draw", always_inside, set(USERS) - FLIPS),
    "the other set by the range of one's own": ("draw", same_range, set(USERS) - EVEN),
    "one word for both": ("draw", coin_again, {"projective", "piecewise", "hadamard"}),
    "the window is not skipped": ("interval", nothing_skipped, STEPS),
    "the window is skipped too late": ("interval", one_too_late, STEPS),
    "never flipped": ("flip", never_flipped, FLIPS),
}


def loudest(name: str) -> Fraction | None:
    """The largest ratio of probabilities; None where a report is impossible for some value, or is no report at all."""
    make, values = USERS[name]
    try:
        return largest_ratio(make(Fraction(1)), values)
    except (ZeroDivisionError, IndexError, HubbubError):
        return None


@pytest.mark.parametrize(("fault", "name"), [(f, n) for f, (_, _, names) in FAULTS.items() for n in sorted(names)])
def test_a_fault_in_the_lemma_is_seen_in_every_user(fault: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, broken, _ = FAULTS[fault]
    monkeypatch.setattr(TwoSets, method, broken)
    ratio = loudest(name)
    assert ratio is None or ratio > exp(Fraction(1))


def test_the_black_box_audit_sees_a_fault_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without looking inside: the reports of two values, and a lower bound on epsilon from them."""

    def lower_bound() -> float:
        survey, source = local.ProjectiveGeometry(epsilon=1, domain=13, order=3), seeded(9)
        draw = lambda value, size: survey.randomize([value] * size, rng=source)  # noqa: E731
        return audit.lower_bound(draw, 0, 12, trials=10_000, vectorized=True, low_bits=False)

    assert 0.4 < lower_bound() <= 1
    monkeypatch.setattr(TwoSets, "for_epsilon", classmethod(sizes_exchanged))
    assert lower_bound() > 1


words = st.integers(0, WORD - 1)
sizes = st.integers(1, 1 << 24)


@given(sizes, sizes, st.lists(st.tuples(words, words), min_size=1, max_size=20), st.data())
def test_one_report_and_many_are_alike(own: int, other: int, drawn: list[tuple[int, int]], data: st.DataObject) -> None:
    sets = TwoSets.for_epsilon(Fraction(1), own=own, other=other)
    drawn += [(sets.keep - 1, WORD - 1), (sets.keep, WORD - 1), (0, 0)]
    starts = [data.draw(st.integers(0, other)) for _ in drawn]
    coins, rest = np.array(drawn, dtype=np.uint64).T
    inside, index = sets.draw(coins, rest)
    assert [(bool(i), int(n)) for i, n in zip(inside, index, strict=True)] == [sets.draw(*pair) for pair in drawn]
    many = sets.interval(np.array(starts), coins, rest)
    alone = [sets.interval(start, *pair) for start, pair in zip(starts, drawn, strict=True)]
    assert many.tolist() == alone
    assert all(0 <= report < own + other for report in alone)
    bits = np.array(starts) & 1
    assert sets.flip(bits, coins).tolist() == [sets.flip(int(b), c) for b, (c, _) in zip(bits, drawn, strict=True)]


@given(st.lists(st.integers(0, (1 << 63) - 1), min_size=1, max_size=20))
def test_what_one_and_many_do_differently_is_alike(numbers: list[int]) -> None:
    array = np.array(numbers, dtype=np.int64)
    assert parity(array).tolist() == [parity(number) for number in numbers]
    assert as_word(array).tolist() == numbers
    assert as_number(as_word(array)).tolist() == numbers
    odd = array % 2 == 1
    assert pick(odd, array, 7).tolist() == [pick(bool(n % 2), n, 7) for n in numbers]


@given(sizes, st.integers(0, 1 << 24), words)
def test_an_interval_and_its_rest_are_numbered_once_each(own: int, start: int, word: int) -> None:
    """What is drawn outside never falls into the interval, and what is drawn inside always does."""
    sets = TwoSets(own, start + 5, WORD // 2)
    report = int(sets.interval(start, WORD - 1, word))
    assert not start <= report < start + own
    assert 0 <= report < own + start + 5
    assert start <= int(sets.interval(start, 0, word)) < start + own


def test_a_bit_is_the_lemma_with_two_single_reports() -> None:
    assert coin_for(Fraction(1)).keep == coin_threshold(exp_low(Fraction(1)))
    assert two_sets.coin_for(Fraction(2)).word_cuts() == [[coin_threshold(exp_low(Fraction(2)))], []]
