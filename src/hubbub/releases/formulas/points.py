"""Where a formula is worked out: at the released numbers, or at many simulated ones around them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property

import numpy as np

from hubbub.releases.noisy_columns import Floats, NoisyColumn, NoisyTable

ALL = slice(None)


class Released:
    """The numbers as they were released. ``known`` holds results that are given, by formula."""

    def __init__(self, table: NoisyTable) -> None:
        self.table = table
        self.rows = ALL
        self.known: dict[int, Floats] = {}
        self._floats: dict[int, Floats] = {}

    def released(self, index: int) -> Floats:
        """A measure as released."""
        if index not in self._floats:
            self._floats[index] = self.table.measures[index].floats()
        return self._floats[index][self.rows]

    def measure(self, index: int) -> Floats:
        """A measure as it is taken here."""
        return self.released(index)

    def key(self, index: int) -> Floats:
        """A key that is a number; NaN where it is none."""
        values = self.table.keys[index].values
        return np.array([float(v) if isinstance(v, int | float) else np.nan for v in values])[self.rows]

    def choose(self, label: object, value: Floats, quantiles: Callable[[Floats, slice], Floats]) -> Floats:
        """A value with a distribution of its own: here the value."""
        del label, quantiles
        return value[self.rows]


class Simulated(Released):
    """``draws`` rows of numbers that the released ones may have come from: each with fresh noise taken off.

    The seed comes from the released numbers alone: the same column simulated twice gives the same draws, and two
    columns of one release agree on the noise that they share. With ``shared`` all rows of the table see the same
    draws, which is enough for intervals row by row.
    """

    def __init__(self, table: NoisyTable, draws: int, *, shared: bool) -> None:
        super().__init__(table)
        self.draws = draws
        self._width = 1 if shared else table.size
        self._noise: dict[object, Floats] = {}
        self._given: list[str] = []  # values alike are drawn apart

    @cached_property
    def _seeds(self) -> list[int]:
        texts = [
            _seed_text(measure, origin) for measure, origin in zip(self.table.measures, self.table.origins, strict=True)
        ]
        return [_seed_number(f"{text}|{texts[:i].count(text)}") for i, text in enumerate(texts)]

    def measure(self, index: int) -> Floats:
        """A measure with noise taken off: one line per draw."""
        if index not in self._noise:
            measure = self.table.measures[index]
            generator = np.random.default_rng(self._seeds[index])
            self._noise[index] = float(measure.step) * measure.noise.draw(generator, (self.draws, self._width))
        noise = self._noise[index]
        return self.released(index) - (noise if self._width == 1 else noise[:, self.rows])

    def choose(self, label: object, value: Floats, quantiles: Callable[[Floats, slice], Floats]) -> Floats:
        """A value with a distribution of its own, drawn by its quantiles; the same draws for the same label."""
        if label not in self._noise:
            text = repr(value.tolist())
            generator = np.random.default_rng(_seed_number(f"{text}|{self._given.count(text)}"))
            self._given.append(text)
            self._noise[label] = generator.random((self.draws, self._width))
        chances = self._noise[label]
        return quantiles(chances if self._width == 1 else chances[:, self.rows], self.rows)


def _seed_text(measure: NoisyColumn, origin: tuple[object, ...]) -> str:
    """What seeds the draws. Intervals follow from it, and those of a stored release stay as they were shown: so this is
    spelled as it always was, whatever classes and fields are called."""
    place, noise = [part for part in origin if isinstance(part, str | int)], measure.noise
    return f"{measure.name}|Noise(law={noise.distribution!r}, scale={noise.scale!r})|{measure.values}|{place}"


def _seed_number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])
