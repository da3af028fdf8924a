"""The two-set lemma: a coin chooses between one's own set of reports and all others, a word draws within the set.

Most randomizers are this and a few lines that say which reports are one's own:

    k-ary response         the true value, or any other             ``interval`` of one report
    local hashing          the same over buckets, given the seed    ``interval`` of one report
    piecewise              a window of places, or the rest          ``interval``
    PrivUnitG              near candidates, or far ones, given the seed    ``interval``
    projective geometry    the points of a hyperplane, or the rest  ``draw``
    Hadamard response      the columns with +1 in a row, or with -1 ``draw``
    one bit or sign        the bit, or the other                    ``flip``

Subset selection follows the same lemma with sets drawn by Floyd's method, and has its own code.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hubbub.local.randomizers.common.exact_words import (
    Flag,
    Number,
    Word,
    coin_threshold,
    exp_low,
    fewest_words,
    integer_below,
    interval_cuts,
    most_words,
    pick,
    word_chance,
)


@dataclass(frozen=True, slots=True)
class TwoSets:
    """One's own set of reports, by ``own`` equally likely draws, and all others, by ``other``; ``keep`` is the coin.

    The numbers are the same for every value. Each report of a set is the image of equally many draws, and of as many
    in the one set as in the other: mostly of one.

    Guarantee: epsilon-LDP for the value of one person, if ``keep`` is that of ``for_epsilon`` and the randomizer maps
    draws to reports as said above, whatever its sets are.
    Because: [KOV16] for one's own report against each other; ``docs/proofs/local.md``, *The two-set lemma*, for sets,
    64-bit words and the bias of multiply-shift.
    Not covered: what the randomizer sends beside the report (a seed, a column) must not depend on the value.

    >>> sets = TwoSets.for_epsilon(Fraction(1), own=1, other=3)     # k-ary response over four values
    >>> round(sets.p, 4)
    0.4754
    >>> sets.interval(2, 0, 1 << 63), sets.interval(2, sets.keep, 1 << 63)
    (2, 1)
    """

    own: int
    other: int
    keep: int  # the coin ``word < keep`` stays in one's own set

    @classmethod
    def for_epsilon(cls, epsilon: Fraction, *, own: int, other: int) -> TwoSets:
        """The likeliest coin for which a report of one's own set is at most e^epsilon times likelier than another."""
        return cls(own, other, coin_threshold(exp_low(epsilon) * fewest_words(other) / most_words(own)))

    @property
    def p(self) -> float:
        """The probability that the report is of one's own set."""
        return word_chance(self.keep)

    @property
    def draws(self) -> int:
        """How many draws both sets have."""
        return self.own + self.other

    @property
    def share(self) -> float:
        """The share of one's own set among all draws, and so among all reports."""
        return self.own / self.draws

    def word_cuts(self) -> list[list[int]]:
        """Where a draw may change, for the coin's word and for the other."""
        return [[self.keep], sorted({*interval_cuts(self.own), *interval_cuts(self.other)})]

    def draw(self, coin: Word, word: Word) -> tuple[Flag, Number]:
        """Whether the report is of one's own set, and which draw of that set it is."""
        inside = coin < self.keep
        return inside, integer_below(word, pick(inside, self.own, self.other))

    def interval(self, start: Number, coin: Word, word: Word) -> Number:
        """A report where one's own set is ``start``, ..., ``start + own - 1`` among all ``own + other`` integers."""
        inside, index = self.draw(coin, word)
        return index + pick(inside, start, self.own * (index >= start))

    def flip(self, bit: Number, coin: Word) -> Number:
        """A bit, or the other one: both sets have one report, so there is nothing to draw within them."""
        return bit ^ (coin >= self.keep)


def coin_for(epsilon: Fraction) -> TwoSets:
    """Two sets of one report: the true bit with odds e^epsilon [Warner65]."""
    return TwoSets.for_epsilon(epsilon, own=1, other=1)
