"""Longitudinal local hashing: hash the value, remember one answer for each bucket, blur it in every epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

from hubbub.local.longitudinal.memoizing import Memoizing, epsilon_above
from hubbub.local.randomizers.base import FrequencyRandomizer
from hubbub.local.randomizers.common.exact_words import (
    WORD,
    Number,
    Word,
    bytes_for,
    exp_high,
    exp_low,
    fewest_words,
    integer_below,
    most_words,
    word_chance,
)
from hubbub.local.randomizers.common.hash_family import SEEDS, hash_bucket
from hubbub.local.randomizers.common.values import domain_of, epsilon_of
from hubbub.local.randomizers.local_hashing import LocalHashing
from hubbub.local.randomizers.two_sets import TwoSets
from hubbub.render import Json
from hubbub.terms import OutOfRange, Real, shown, whole

_ANSWER = 32  # a report is seed + 2^32 answer, as in LocalHashing
_MOST_BUCKETS = 256


class Loloha(LocalHashing, Memoizing):
    """Report every epoch for years: the bucket of the value, by a remembered answer and a fresh randomization of it.

    ``epsilon`` is for one report seen alone, ``forever`` for all reports of a value that never changes; it must be the
    larger one. Each client has one hash function, drawn once among ``functions``, and one remembered answer for each
    of ``buckets`` buckets: 2 by default, so that a life is worth at most two answers; more lose less accuracy.

    Guarantee: epsilon-LDP for each report alone; ``forever``-LDP for all reports of a value that never changes; k times
    ``forever`` for lives that use k buckets and change at the same times; n times ``again`` for any lives of n epochs.
    Because: [APPG23] for the construction; ``docs/proofs/lifetime.md`` for what holds over time, also where values
    change, and for the distribution with 64-bit coins.
    Error: that of local hashing with the answer kept as often as both coins together keep it; unbiased in each epoch.
    Not covered: *when* a value changes, beyond n times ``again``; that reports of one client share a hash function, by
    which they can be linked; fewer ``functions`` hide a client among others and make estimates less exact.

    >>> from hubbub.noise.testing import seeded
    >>> survey = Loloha(epsilon=1, forever=2, domain=100)
    >>> reports = survey.randomize([17] * 6000 + [50] * 4000, rng=seeded(7))
    >>> survey.estimate(reports, [17, 50, 90]).values.round(1).tolist()
    [0.6, 0.4, -0.0]
    >>> survey.kinds * survey.forever, round(float(survey.again), 2)
    (Fraction(4, 1), 1.41)
    """

    protocol: ClassVar[str] = "loloha"
    words = 5
    part_words, memo_words, step_words = 1, 2, 2
    again: Fraction

    def __init__(
        self,
        *,
        epsilon: Real,
        forever: Real,
        domain: int,
        buckets: int = 2,
        functions: int = SEEDS,
        missing: int = 0,
    ) -> None:
        FrequencyRandomizer.__init__(self, epsilon=epsilon, domain=domain, missing=missing)
        self.forever = _check_forever(epsilon_of(forever, name="forever"), self.epsilon)
        self.buckets = self.kinds = domain_of(buckets, name="buckets", most=_MOST_BUCKETS)
        self.functions = whole(functions, name="functions", least=1)
        if self.functions > SEEDS:
            raise OutOfRange(
                f"functions must be at most {SEEDS}.",
                why="A hash function is named by 32 bits.",
                fix="Leave it out to use all of them.",
            )
        others = self.buckets - 1
        self._memo = TwoSets.for_epsilon(self.forever, own=1, other=others)
        self.sets = TwoSets(1, others, step_threshold(self._memo.keep, self.epsilon, self.buckets))
        self.again = epsilon_above(Fraction(self.sets.keep * WORD, (WORD - self.sets.keep) * fewest_words(others)))
        self.symbols = None
        self.state_size = self.domain
        self.payload_bytes = 4 + bytes_for(self.buckets)
        self.p, self.q = kept_twice(self._memo.keep, self.sets.keep, self.buckets), 1 / self.buckets

    def parameters(self) -> dict[str, Json]:
        """Domain, buckets and functions, and the thresholds of the coin that is remembered and of the fresh one."""
        base = self._base_parameters([self._memo.keep, self.sets.keep])
        base |= {"forever": str(self.forever), "again": str(self.again)}
        return {**base, "buckets": self.buckets, "functions": self.functions}

    def part(self, words: list[int]) -> int:
        """The client's hash function."""
        return integer_below(words[0], self.functions)

    def kind(self, part: int, code: int) -> int:
        """The bucket of a value."""
        return int(hash_bucket(part, code, self.buckets))

    def memo(self, part: int, kind: int, words: list[int]) -> int:
        """The remembered answer of a bucket: itself, or another one."""
        return int(self._memo.interval(kind, *words))

    def step(self, part: int, memo: int, words: list[int]) -> int:
        """A report: the remembered answer, or another one."""
        return part + (int(self.sets.interval(memo, *words)) << _ANSWER)

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word but the seed's, where the report may change: it is the distribution given the seed 0."""
        return [[], *self._memo.word_cuts(), *self.sets.word_cuts()]

    @classmethod
    def _read(cls, parameters: Mapping[str, Any]) -> Self:
        return super()._read({name: value for name, value in parameters.items() if name != "again"})

    def _report(self, code: Number, words: Sequence[Word]) -> Number:
        seed = integer_below(words[0], self.functions)
        memo = self._memo.interval(hash_bucket(seed, code, self.buckets), words[1], words[2])
        return seed + (self.sets.interval(memo, words[3], words[4]) << _ANSWER)


def step_threshold(memo: int, epsilon: Fraction, buckets: int) -> int:
    """The largest threshold of the fresh coin such that memo and step together keep e^epsilon, exactly.

    The ratio of the two coins in a row grows with the second one, so the largest is found by halving.
    """
    low, high = WORD // buckets + 1, WORD - 1
    while low < high:
        middle = (low + high + 1) // 2
        if _report_ratio(memo, middle, buckets) <= exp_low(epsilon):
            low = middle
        else:
            high = middle - 1
    return low


def kept_twice(memo: int, keep: int, buckets: int) -> float:
    """The chance that both coins together report the true bucket."""
    first, second = word_chance(memo), word_chance(keep)
    return first * second + (1 - first) * (1 - second) / (buckets - 1)


def _report_ratio(memo: int, keep: int, buckets: int) -> Fraction:
    """At most how many times likelier a report is for one bucket than for another, after both coins.

    In units of 2^-256; each coin sends a bucket to each other one with at least ``few`` and at most ``many`` of 2^128.
    """
    few = [(WORD - coin) * fewest_words(buckets - 1) for coin in (memo, keep)]
    many = [(WORD - coin) * most_words(buckets - 1) for coin in (memo, keep)]
    same = [coin * WORD for coin in (memo, keep)]
    true = same[0] * same[1] + (buckets - 1) * many[0] * many[1]
    false = same[0] * few[1] + few[0] * same[1] + (buckets - 2) * few[0] * few[1]
    falsest = same[0] * many[1] + many[0] * same[1] + (buckets - 2) * many[0] * many[1]
    return Fraction(max(true, falsest), false)


def _check_forever(forever: Fraction, epsilon: Fraction) -> Fraction:
    if exp_low(forever) <= exp_high(epsilon):
        raise OutOfRange(
            f"forever must be above epsilon = {shown(epsilon)} and is {shown(forever)}.",
            why="One report cannot tell more than all of them together.",
            fix="Take forever = 2 epsilon, for instance.",
        )
    return forever
