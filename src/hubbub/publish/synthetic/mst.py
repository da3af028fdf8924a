"""MST: the tree of pairs that one-way marginals explain worst [MMS21]."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hubbub.publish.cells import Codes
from hubbub.publish.graphical.totals import to_total, total_of
from hubbub.publish.marginal_counts import (
    Columns,
    Floats,
    Measurement,
    Meter,
    Whom,
    epsilon_for,
    marginal_choice,
    marginal_noise,
    sigma_for,
)
from hubbub.terms import Event, Repeat

SINGLES, CHOICES, PAIRS = Fraction(4, 10), Fraction(1, 10), Fraction(5, 10)  # of the cost, by what proved best on Adult


@dataclass(frozen=True, slots=True)
class TreePlan:
    """Noise of the one-way marginals, the price of each choice, and the noise of the pairs chosen."""

    single: Fraction
    choice: Fraction
    pair: Fraction
    given: int = 0  # so many first columns are known from elsewhere, and are not linked with each other

    @classmethod
    def of(cls, whom: Whom, columns: int, rho: Fraction, *, given: int = 0) -> TreePlan:
        """The plan that costs at most ``rho`` for so many columns."""
        links = max(1, columns - max(1, given))
        return cls(
            single=sigma_for(whom, rho * SINGLES / columns),
            choice=epsilon_for(rho * CHOICES / links),
            pair=sigma_for(whom, rho * PAIRS / links),
            given=given,
        )

    def identity(self) -> dict[str, object]:
        """What makes two such plans the same."""
        noise = {"single": str(self.single), "choice": str(self.choice), "pair": str(self.pair)}
        return {"method": "mst", **noise, "given": self.given}

    def links(self, columns: int) -> int:
        """How many pairs are measured."""
        return columns - max(1, self.given)

    def events(self, whom: Whom, columns: int) -> list[Event]:
        """Everything that will be done; known beforehand."""
        events: list[Event] = [Repeat(marginal_noise(whom, self.single).event, columns)]
        links = self.links(columns)
        if links:
            events += [
                Repeat(marginal_choice(whom, self.choice).event, links),
                Repeat(marginal_noise(whom, self.pair).event, links),
            ]
        return events

    def measure(self, meter: Meter, singles: list[Measurement]) -> list[Measurement]:
        """The pairs of a spanning tree, chosen one by one and measured.

        A pair's score is the L1 distance between its counts and those that independent columns would have (rounded to
        integers), less the distance that the noise alone will bring.
        """
        total = total_of(singles)
        shares = [to_total(single.values, total) for single in singles]
        parts = [0 if column < self.given else column for column in range(len(singles))]  # each column's tree so far
        chosen: list[Columns] = []
        while len(chosen) < self.links(len(singles)):
            open_pairs = [
                pair for pair in itertools.combinations(range(len(parts)), 2) if parts[pair[0]] != parts[pair[1]]
            ]
            expected = [independent_counts(shares[a], shares[b], total) for a, b in open_pairs]
            offsets = [noise_alone(self.pair, table.size) for table in expected]
            place = meter.choose(open_pairs, expected, offsets=offsets, epsilon=self.choice)
            one, other = (parts[column] for column in open_pairs[place])
            parts = [one if part == other else part for part in parts]
            chosen.append(open_pairs[place])
        return [meter.measure(pair, sigma=self.pair) for pair in chosen]


def independent_counts(one: Floats, other: Floats, total: float) -> Codes:
    """The counts of two columns that have nothing to do with each other, as integers."""
    return np.rint(np.outer(one, other) / total).astype(np.int64)


def noise_alone(sigma: Fraction, cells: int) -> int:
    """The expected L1 size of the noise on so many cells."""
    return round(math.sqrt(2 / math.pi) * float(sigma) * cells)
