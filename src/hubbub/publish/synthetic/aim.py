"""AIM: measure what the model gets most wrong, look again, and measure more finely when little is left [MMSM22]."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hubbub.publish.synthetic.belief import Model
from hubbub.publish.synthetic.fitting import Zeros, cliques_of, fitted
from hubbub.publish.synthetic.junction import tree_cells
from hubbub.publish.synthetic.measure import (
    Columns,
    Measurement,
    Meter,
    Whom,
    choice,
    cost,
    epsilon_for,
    gaussian,
    sigma_for,
)
from hubbub.publish.synthetic.mst import noise_alone
from hubbub.terms import ConcentratedStep, Event, Repeat

SINGLES = Fraction(3, 10)  # of the cost, for the one-way marginals
_CHOOSING = Fraction(1, 10)  # of a round's cost, for choosing what to measure
_ROUNDS = 6  # per column, if the noise never shrinks
_ITERATIONS = 60  # between two rounds


@dataclass(frozen=True, slots=True)
class AimPlan:
    """What all rounds may cost together; how much noise each has is decided on the way, from what was released."""

    single: Fraction
    rho: Fraction
    rounds: int
    cells: int  # the most that the model may have
    measured: int  # the most cells that may be measured in all
    seconds: float  # of processor time for fitting between the rounds, after which the rest goes into one round
    workload: tuple[tuple[Columns, int], ...]  # what the data are for, with weights

    @classmethod
    def of(
        cls,
        whom: Whom,
        columns: int,
        rho: Fraction,
        *,
        workload: Sequence[tuple[Columns, int]],
        cells: int,
        measured: int,
        seconds: float,
    ) -> AimPlan:
        """The plan that costs at most ``rho`` for so many columns."""
        return cls(
            single=sigma_for(whom, rho * SINGLES / columns),
            rho=rho * (1 - SINGLES),
            rounds=max(1, _ROUNDS * columns),
            cells=cells,
            measured=measured,
            seconds=seconds,
            workload=tuple(workload),
        )

    def events(self, whom: Whom, columns: int) -> list[Event]:
        """The one-way marginals, and all rounds as one step of zCDP.

        Because: rounds whose noise is chosen from earlier answers are together within ``rho`` as long as their sum is:
        a filter [WRRW23, Thm. 1].
        """
        rounds = ConcentratedStep(mechanism="aim", rho=self.rho, neighbours=whom.neighbours, unit=whom.unit)
        return [Repeat(gaussian(whom, self.single).event, columns), *([rounds] if columns > 1 else [])]

    def measure(self, meter: Meter, singles: list[Measurement], zeros: Sequence[Zeros] = ()) -> list[Measurement]:
        """Rounds of choosing, measuring and fitting, until the cost is used up."""
        return _Rounds(self, meter, singles, zeros).run() if len(singles) > 1 else []


class _Rounds:
    def __init__(self, plan: AimPlan, meter: Meter, singles: list[Measurement], zeros: Sequence[Zeros]) -> None:
        self.plan, self.meter, self.zeros = plan, meter, zeros
        self.measurements = list(singles)
        self.spent, self.share = Fraction(0), plan.rho / plan.rounds
        self.weights = _weights(plan.workload)
        self.model = fitted(meter.rows.sizes, singles, zeros=zeros, iterations=_ITERATIONS)

    def run(self) -> list[Measurement]:
        """All pairs that were measured."""
        first, started = len(self.measurements), time.process_time()
        while self.spent < self.plan.rho:
            left = self.plan.rho - self.spent
            late = time.process_time() - started > self.plan.seconds
            if late or left < 2 * self.share:
                self.share = left  # whatever is left goes into one last round
            self._round(last=self.share == left)
        return self.measurements[first:]

    def _round(self, *, last: bool) -> None:
        whom = self.meter.whom
        epsilon = epsilon_for(self.share * _CHOOSING)
        sigma = sigma_for(whom, self.share * (1 - _CHOOSING))
        paid = cost(gaussian(whom, sigma).event) + cost(choice(whom, epsilon).event)
        assert self.spent + paid <= self.plan.rho  # both are rounded down
        candidates = self._small((self.spent + paid) / self.plan.rho)
        if last:
            self.spent = self.plan.rho
        else:
            self.spent += paid
        if not candidates:
            return
        chosen = self._choose(candidates, sigma, epsilon)
        self.measurements.append(self.meter.measure(chosen, sigma=sigma))
        before = self.model
        self.model = fitted(
            self.meter.rows.sizes, self.measurements, zeros=self.zeros, start=before, iterations=_ITERATIONS
        )
        if _moved(before, self.model, chosen) <= noise_alone(sigma, math.prod(self._shape(chosen))):
            self.share *= 4  # half the noise

    def _choose(self, candidates: list[Columns], sigma: Fraction, epsilon: Fraction) -> Columns:
        """The candidate that is farthest off, weighted by what the data are for: an exact exponential mechanism."""
        total = self.model.total
        expected = [np.rint(self.model.project(columns) * total).astype(np.int64) for columns in candidates]
        offsets = [noise_alone(sigma, table.size) for table in expected]
        weights = [self.weights[columns] for columns in candidates]
        return candidates[self.meter.choose(candidates, expected, offsets=offsets, epsilon=epsilon, weights=weights)]

    def _small(self, share: Fraction) -> list[Columns]:
        """The candidates that keep the model small; the room for it grows with what is spent."""
        sizes, limit = self.meter.rows.sizes, self.plan.cells * share
        cliques = cliques_of(sizes, self.measurements, self.zeros)
        room = self.plan.measured - sum(m.values.size for m in self.measurements if len(m.columns) > 1)
        fits = [c for c in self.weights if math.prod(self._shape(c)) <= room]
        return [c for c in fits if self.model.tree.home(c) >= 0 or tree_cells(sizes, [*cliques, c]) <= limit]

    def _shape(self, columns: Columns) -> list[int]:
        return [self.meter.rows.sizes[column] for column in columns]


def all_pairs(columns: int) -> list[tuple[Columns, int]]:
    """The workload if none is given: every pair, with the same weight."""
    return [(pair, 1) for pair in itertools.combinations(range(columns), 2)]


def _weights(workload: Sequence[tuple[Columns, int]]) -> dict[Columns, int]:
    """Each candidate's weight: how many columns it shares with what the data are for [MMSM22, Sec. 3.2]."""
    candidates = {
        part
        for columns, _ in workload
        for size in range(2, len(columns) + 1)
        for part in itertools.combinations(columns, size)
    }
    return {
        part: sum(weight * len(set(part) & set(columns)) for columns, weight in workload) for part in sorted(candidates)
    }


def _moved(before: Model, after: Model, columns: Columns) -> float:
    """How far the model's own counts have come, in L1."""
    return float(np.abs(after.total * after.project(columns) - before.total * before.project(columns)).sum())
