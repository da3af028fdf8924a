"""One report about one level: each person is given a level by chance and reports only there.

A tree of prefixes needs shares at every level. Splitting epsilon over the levels would cost more than splitting the
people: the level has nothing to do with the value, so a report is as private as its randomizer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub import noise
from hubbub.local.randomizers.base import FrequencyRandomizer, local_step, no_reports
from hubbub.local.randomizers.common.exact_words import Codes, integer_below
from hubbub.local.randomizers.common.hash_family import mix_bits
from hubbub.local.randomizers.common.values import report_array
from hubbub.local.randomizers.hadamard import OneBitHadamard, walsh_transform
from hubbub.local.randomizers.kary import KaryResponse
from hubbub.local.randomizers.projective import ProjectiveGeometry
from hubbub.noise import SECURE
from hubbub.terms import BadReport, PureStep

LevelReports = NDArray[np.int64]  # rows (level, report)
Floats = NDArray[np.float64]

_UNIT = float(1 << 40)  # weights as integers, for the exact transform


@dataclass(frozen=True)
class LevelRandomizers:
    """A randomizer for each level, all of one epsilon; the level is drawn uniformly.

    Where a level is projective geometry, nodes are numbered by a fixed scattering: there the errors of points on one
    line go together, and neighbouring numbers lie on lines.
    """

    name: str
    randomizers: tuple[FrequencyRandomizer, ...]

    @cached_property
    def places(self) -> tuple[Codes, ...]:
        """By level, the number under which each node is reported."""
        return tuple(
            _scattered_order(randomizer.domain)
            if isinstance(randomizer, ProjectiveGeometry)
            else np.arange(randomizer.domain)
            for randomizer in self.randomizers
        )

    @property
    def event(self) -> PureStep:
        """What one person's report leaves behind: one report, at one level."""
        return local_step(self.name, self.randomizers[0].epsilon)

    def randomize(
        self, count: int, codes: Callable[[int, NDArray[np.bool_]], Codes], *, rng: noise.RandomSource | None = None
    ) -> LevelReports:
        """Reports of ``count`` people; ``codes(level, chosen)`` says what the chosen people hold at a level."""
        source = SECURE if rng is None else rng
        levels = integer_below(source.random_words(count), len(self.randomizers))
        reports = np.empty((count, 2), dtype=np.int64)
        reports[:, 0] = levels
        for level, randomizer in enumerate(self.randomizers):
            chosen = levels == level
            if chosen.any():
                reports[chosen, 1] = randomizer.randomize(self.places[level][codes(level, chosen)], rng=source)
        return reports

    def split(self, reports: ArrayLike) -> list[Codes]:
        """The reports of each level."""
        rows = report_array(reports)
        if not rows.size:
            raise no_reports()
        if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
            raise _malformed_report("Rows of two integers were expected: the level, and the report there.")
        if rows[:, 0].min() < 0 or rows[:, 0].max() >= len(self.randomizers):
            raise _malformed_report(f"There are {len(self.randomizers)} levels.")
        return [rows[rows[:, 0] == level, 1] for level in range(len(self.randomizers))]

    def states(self, reports: ArrayLike) -> list[Codes]:
        """The additive state of each level; every level needs somebody."""
        parts = self.split(reports)
        if any(not len(part) for part in parts):
            raise no_reports()
        return [randomizer.accumulate(part) for randomizer, part in zip(self.randomizers, parts, strict=True)]

    def shares(self, states: Sequence[Codes]) -> list[Floats]:
        """The estimated shares of the nodes of each level."""
        return [
            randomizer.decode(state, count=int(state.sum())).values[places]
            for randomizer, state, places in zip(self.randomizers, states, self.places, strict=True)
        ]

    def score_variance(self, level: int, weights: Floats, state: Codes) -> float:
        """The variance of one score over the reports that came: that of the noise and of the people together."""
        randomizer = self.randomizers[level]
        placed = np.zeros(randomizer.domain)
        placed[self.places[level]] = weights[: randomizer.domain]
        per_report = report_scores(randomizer, placed)
        mean = float(state @ per_report) / state.sum()
        return float(state @ (per_report - mean) ** 2) / int(state.sum())


@lru_cache(maxsize=64)
def _scattered_order(size: int) -> Codes:
    return np.argsort(mix_bits(np.arange(size, dtype=np.uint64)))


def _malformed_report(why: str) -> BadReport:
    return BadReport(
        "these are no reports about levels.", why=why, fix="Give what randomize() returned.", reason="malformed"
    )


def report_scores(randomizer: FrequencyRandomizer, weights: Floats) -> Floats:
    """For each report, weights . (the debiased report): its expectation is the weight of the person's own value.

    The estimate of weights . shares is the mean of these scores over the reports, so that their variance over the
    reports that came is the variance of the estimate, whatever the supports of different values have in common.
    """
    assert randomizer.symbols is not None
    padded = np.zeros(randomizer.symbols)
    padded[: randomizer.domain] = weights
    total = float(padded.sum())
    match randomizer:
        case KaryResponse():
            supported = padded
        case OneBitHadamard():
            signs = walsh_transform(np.rint(padded[: randomizer.columns] * _UNIT).astype(np.int64)) / _UNIT
            supported = (total + np.outer(signs, (1.0, -1.0)).ravel()) / 2
        case ProjectiveGeometry(space=space):
            supported = (total + space.transform(padded)) / space.order  # type: ignore[arg-type]
        case _:
            raise AssertionError("levels are made of these randomizers only")  # pragma: no cover
    return np.asarray((supported - randomizer.q * total) / randomizer.contrast)
