"""The area under the ROC curve from people who tell neither score nor, if they wish, label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub import noise
from hubbub.local.pair_averages import Response, nearest_histogram, pair_mean, pair_variance
from hubbub.local.randomizers.common.values import Codes, bounds_of, domain_codes, epsilon_of
from hubbub.local.randomizers.hadamard import OneBitHadamard
from hubbub.local.randomizers.kary import KaryResponse
from hubbub.local.statistics.group_comparison import GroupComparison, bin_count, exceeds_matrix
from hubbub.local.statistics.one_level_reports import LevelRandomizers, LevelReports
from hubbub.local.statistics.ustatistics import bin_values, check_people, plug_in_variance, sampling_variance
from hubbub.terms import MissingParameter, OutOfRange, Real, Step, TooLarge, WrongShape, whole

Floats = NDArray[np.float64]

_MOST_DOMAIN = 1 << 20
_MOST_BINS = 1 << 11


class AUC:
    """The area under the ROC curve where scores and labels are private: one k-ary report of both.

    Guarantee: epsilon-LDP for score and label of one person together.
    Because: [BBGK20]: the report is k-ary response over 2 ``bins`` pairs of label and rounded score.
    Error: the ratio of two unbiased pair statistics, with the variance of its linear part
    (``docs/proofs/ustatistics.md``); infinite where the reports cannot tell that both labels occur.
    Not covered: that somebody reported.

    >>> from hubbub.noise.testing import seeded
    >>> curve = AUC(epsilon=3, bins=8, lower=0, upper=1)
    >>> scores, labels = np.tile(np.linspace(0, 1, 10_000), 2), np.repeat([0, 1], 10_000)
    >>> found = curve.estimate(curve.randomize(scores ** (2 - labels), labels, rng=seeded(7)))
    >>> round(found.value, 1)
    0.7
    """

    def __init__(self, *, epsilon: Real, bins: int, lower: Real, upper: Real) -> None:
        self.bins = bin_count(bins, most=_MOST_BINS)
        low, high = bounds_of(lower, upper)
        self._lower, self._upper = float(low), float(high)
        self.randomizer = KaryResponse(epsilon=epsilon, domain=2 * self.bins)
        self.event: Step = self.randomizer.event

    def randomize(
        self,
        scores: Sequence[Any] | NDArray[Any],
        labels: Sequence[Any] | NDArray[Any],
        *,
        rng: noise.RandomSource | None = None,
    ) -> Codes:
        """The report of each person; labels are 1 (positive) or 0, and anything else counts as 0."""
        codes = bin_values(scores, lower=self._lower, upper=self._upper, bins=self.bins)
        classes = domain_codes(labels, domain=2, missing=0)
        if classes.shape != codes.shape:
            raise WrongShape(
                "scores and labels must be lists of one length.",
                why="Each person has one of both.",
                fix="Give one label for each score.",
            )
        return np.asarray(self.randomizer.randomize(classes * self.bins + codes, rng=rng))

    def estimate(self, reports: ArrayLike) -> GroupComparison:
        """The area under the curve, from the reports of many people."""
        counts = self.randomizer.accumulate(reports).astype(np.float64)
        check_people(int(counts.sum()))
        response = Response(self.randomizer.p, self.randomizer.q)
        wins, mixed = self._kernels()
        area, pairs = pair_mean(counts, wins, response), pair_mean(counts, mixed, response)
        histogram = response.histogram(counts)
        noise_of_pairs = math.sqrt(plug_in_variance(lambda h: pair_variance(h, mixed, response), histogram))
        value = area / pairs if pairs > 2 * noise_of_pairs else math.nan
        leftover = wins - (0.5 if math.isnan(value) else value) * mixed  # its mean is 0 at the true value
        known_pairs = not math.isnan(value)
        positives = float(np.clip(histogram[self.bins :].sum(), 0, counts.sum()))
        return GroupComparison(
            words="Area under the ROC curve",
            value=value,
            variance=plug_in_variance(lambda h: pair_variance(h, leftover, response), histogram) / pairs**2
            if known_pairs
            else math.inf,
            sampling=sampling_variance(nearest_histogram(histogram), leftover) / pairs**2 if known_pairs else math.inf,
            counts=(round(positives), round(counts.sum() - positives)),
            epsilon=self.randomizer.epsilon,
        )

    def _kernels(self) -> tuple[Floats, Floats]:
        """Per pair of people: how often the positive one wins, and whether their labels differ."""
        wins, mixed = np.zeros((2 * self.bins, 2 * self.bins)), np.zeros((2 * self.bins, 2 * self.bins))
        wins[self.bins :, : self.bins] = exceeds_matrix(self.bins)
        mixed[self.bins :, : self.bins] = 1.0
        return (wins + wins.T) / 2, (mixed + mixed.T) / 2


class HierarchicalAUC:
    """The area under the ROC curve of scores 0, ..., domain - 1, for large domains; labels are public.

    A pair of scores is ordered at the first bit in which they differ. So the area is a sum over the levels of a binary
    tree of (negatives in left children) * (positives in their right siblings). Each person is given one level by chance
    and reports the prefix of the score there. Below ``depth`` levels scores count as ties: noise grows with the width
    of the level, so a smaller depth can err less; without ``depth``, it is the one with the least predicted error for
    ``expected`` = (positives, negatives).

    Guarantee: epsilon-LDP for the score of one person; the label is not protected.
    Because: [BBGK20], [BS15]: one report by one-bit Hadamard response, at a level that is drawn by chance.
    Error: unbiased for the scores cut to ``depth`` bits; the exact variance is in ``docs/proofs/ustatistics.md``.
    Not covered: that somebody reported; scores outside the domain count as 0.

    >>> from hubbub.noise.testing import seeded
    >>> curve = HierarchicalAUC(epsilon=1, domain=1024, depth=4)
    >>> good = curve.randomize(np.arange(100_000) % 512 + 512, rng=seeded(1))
    >>> bad = curve.randomize(np.arange(100_000) % 1024, rng=seeded(2))
    >>> low, high = curve.estimate(good, bad).interval(0.95)
    >>> low < 0.75 < high
    True
    """

    def __init__(
        self,
        *,
        epsilon: Real,
        domain: int,
        depth: int | None = None,
        expected: tuple[int, int] | None = None,
    ) -> None:
        size = whole(domain, name="domain", least=2)
        if size > _MOST_DOMAIN:
            raise TooLarge(
                f"domain is above {_MOST_DOMAIN:,}.",
                why="The deepest level has a share for every score.",
                fix="Round the scores.",
            )
        self.domain, self.bits = size, (size - 1).bit_length()
        self.depth = self._depth(depth, expected, float(epsilon_of(epsilon)))
        self.levels = LevelRandomizers(
            "auc", tuple(OneBitHadamard(epsilon=epsilon, domain=2 << level) for level in range(self.depth))
        )
        self.event: Step = self.levels.event

    def randomize(self, scores: Sequence[Any] | NDArray[Any], *, rng: noise.RandomSource | None = None) -> LevelReports:
        """The report of each person: rows (level, report)."""
        codes = domain_codes(scores, domain=self.domain, missing=0)
        return self.levels.randomize(
            len(codes), lambda level, chosen: codes[chosen] >> (self.bits - 1 - level), rng=rng
        )

    def estimate(self, positives: LevelReports, negatives: LevelReports) -> GroupComparison:
        """The area under the curve from the reports of both groups."""
        value = variance = 0.0
        states = [self.levels.states(reports) for reports in (positives, negatives)]
        shares = zip(*(self.levels.shares(state) for state in states), strict=True)
        for level, (good, bad) in enumerate(shares):
            last = level == self.depth - 1
            value += float(bad @ _right_siblings(good, last=last))
            goods, bads = (int(state[level].sum()) for state in states)
            variance += self._variance(good, bad, goods, bads, last=last)
        return GroupComparison(
            words="Area under the ROC curve",
            value=value,
            variance=variance,
            sampling=0.0,  # levels are drawn by chance, so the variance is that for the population already
            counts=(len(positives), len(negatives)),
            epsilon=self.levels.randomizers[0].epsilon,
        )

    def predicted(self, depth: int, expected: tuple[int, int]) -> float:
        """The mean squared error for spread-out scores: noise, and the order that is lost below ``depth``."""
        return predicted_error(depth, self.bits, expected, float(self.levels.randomizers[0].epsilon))

    def _depth(self, depth: int | None, expected: tuple[int, int] | None, epsilon: float) -> int:
        if depth is not None:
            levels = whole(depth, name="depth")
            if levels > self.bits:
                raise OutOfRange(
                    f"depth is {levels} and the domain has {self.bits} bits.",
                    why="Below the last bit there is nothing to order.",
                    fix=f"Give a depth of at most {self.bits}.",
                )
            return levels
        if expected is None:
            raise MissingParameter(
                "neither depth= nor expected= is given.",
                why="How deep to go depends on how many people of each group report.",
                fix="Give expected=(positives, negatives), or depth=.",
            )
        return min(range(1, self.bits + 1), key=lambda d: predicted_error(d, self.bits, expected, epsilon))

    def _variance(self, good: Floats, bad: Floats, goods: int, bads: int, *, last: bool) -> float:
        """The variance of bad . B good at one level, where both have covariance (c^2 I - f f') / count."""
        square = _debias_factor(float(self.levels.randomizers[0].epsilon)) ** 2
        size = _weight_squares(len(good), last=last)
        area = float(bad @ _right_siblings(good, last=last))
        seen = max(
            0.0, float(np.sum(_right_siblings(good, last=last) ** 2)) - square * size / goods
        )  # less the noise in it
        back = max(0.0, float(np.sum(_left_siblings(bad, last=last) ** 2)) - square * size / bads)
        linear = (square * seen - area**2) / bads + (square * back - area**2) / goods
        return max(0.0, linear) + square**2 * size / (goods * bads)


def predicted_error(depth: int, bits: int, expected: tuple[int, int], epsilon: float) -> float:
    """The mean squared error for scores that are spread out evenly."""
    goods, bads = (whole(count, name="expected") / depth for count in expected)
    square = _debias_factor(epsilon) ** 2
    linear = sum(square * 2.0 ** -(level + 2) * (1 / goods + 1 / bads) for level in range(depth))
    together = sum(
        square**2 * _weight_squares(2 << level, last=level == depth - 1) / (goods * bads) for level in range(depth)
    )
    lost = 2.0**-depth / 2 if depth < bits else 0.0
    return linear + together + lost**2


def _debias_factor(epsilon: float) -> float:
    """c = (e^epsilon + 1) / (e^epsilon - 1)."""
    return 1 / math.tanh(epsilon / 2)


def _right_siblings(shares: Floats, *, last: bool) -> Floats:
    """For each node, what its right sibling has; at the last level also half of what it has itself."""
    out = np.zeros_like(shares)
    out[0::2] = shares[1::2]
    return out + shares / 2 if last else out


def _left_siblings(shares: Floats, *, last: bool) -> Floats:
    """For each node, what its left sibling has; at the last level also half of what it has itself."""
    out = np.zeros_like(shares)
    out[1::2] = shares[0::2]
    return out + shares / 2 if last else out


def _weight_squares(nodes: int, *, last: bool) -> float:
    """The sum of squares of the weights of all pairs of nodes of a level."""
    return nodes / 2 + nodes / 4 if last else nodes / 2
