"""AIM: measure what the model gets most wrong, look again, and measure more finely when little is left [MMSM22]."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hubbub.publish.graphical.belief import GraphicalModel
from hubbub.publish.graphical.fitting import Zeros, cliques_of, fit_model
from hubbub.publish.graphical.junction import tree_cells
from hubbub.publish.marginal_counts import (
    Columns,
    Measurement,
    Meter,
    Whom,
    epsilon_for,
    marginal_choice,
    marginal_noise,
    sigma_for,
    step_cost,
)
from hubbub.publish.synthetic.mst import noise_alone
from hubbub.terms import ConcentratedStep, Event, Repeat

SINGLES = Fraction(3, 10)  # of the cost, for the one-way marginals
_CHOOSING = Fraction(1, 10)  # of a round's cost, for choosing what to measure
_ROUNDS = 4  # per column, if the noise never shrinks
_GROWTH = 2  # of a round's cost, when little is left to find: the paper's 4 uses the budget up in fewer rounds
_ITERATIONS = 60  # between two rounds
_SPEED = 6_000_000  # cells a second that a fit goes through on one core, about
_CLIQUE = 400  # cells that go through in the time that each clique costs besides


@dataclass(frozen=True, slots=True)
class AimPlan:
    """What all rounds may cost together; how much noise each has is decided on the way, from what was released."""

    single: Fraction
    rho: Fraction
    rounds: int
    cells: int  # the most that the model may have
    measured: int  # the most cells that may be measured in all
    seconds: Fraction  # of fitting between the rounds, as the work is counted, after which the rest is one round
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
        seconds: Fraction,
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

    def identity(self) -> dict[str, object]:
        """What makes two such plans the same."""
        return {
            "method": "aim",
            "single": str(self.single),
            "rho": str(self.rho),
            "rounds": self.rounds,
            "cells": self.cells,
            "measured": self.measured,
            "seconds": str(self.seconds),
            "workload": [[list(columns), weight] for columns, weight in self.workload],
        }

    def events(self, whom: Whom, columns: int) -> list[Event]:
        """The one-way marginals, and all rounds as one step of zCDP.

        Because: rounds whose noise is chosen from earlier answers are together within ``rho`` as long as their sum is:
        a filter [WRRW23, Thm. 1].
        """
        rounds = ConcentratedStep(mechanism="aim", rho=self.rho, neighbours=whom.neighbours, unit=whom.unit)
        return [Repeat(marginal_noise(whom, self.single).event, columns), *([rounds] if columns > 1 else [])]

    def measure(self, meter: Meter, singles: list[Measurement], zeros: Sequence[Zeros] = ()) -> list[Measurement]:
        """Rounds of choosing, measuring and fitting, until the cost is used up."""
        return _Rounds(self, meter, singles, zeros).run() if len(singles) > 1 else []


class _Rounds:
    def __init__(self, plan: AimPlan, meter: Meter, singles: list[Measurement], zeros: Sequence[Zeros]) -> None:
        self.plan, self.meter, self.zeros = plan, meter, zeros
        self.measurements = list(singles)
        self.spent, self.share = Fraction(0), plan.rho / plan.rounds
        self.weights = _candidate_weights(plan.workload)
        self.seconds = Fraction(0)
        self.model = self._fitted(None)

    def run(self) -> list[Measurement]:
        """All pairs that were measured."""
        first = len(self.measurements)
        while self.spent < self.plan.rho:
            left = self.plan.rho - self.spent
            late = self.seconds > self.plan.seconds
            if late or left < 2 * self.share:
                self.share = left  # whatever is left goes into one last round
            self._round(last=self.share == left)
        return self.measurements[first:]

    def _round(self, *, last: bool) -> None:
        whom = self.meter.whom
        epsilon = epsilon_for(self.share * _CHOOSING)
        sigma = sigma_for(whom, self.share * (1 - _CHOOSING))
        paid = step_cost(marginal_noise(whom, sigma).event) + step_cost(marginal_choice(whom, epsilon).event)
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
        self.model = self._fitted(before)
        if _model_shift(before, self.model, chosen) <= noise_alone(sigma, math.prod(self._shape(chosen))):
            self.share *= _GROWTH

    def _fitted(self, start: GraphicalModel | None) -> GraphicalModel:
        """The model of what was measured so far.

        Its time is worked out, not read off a clock: a clock also sees how long the private rows took to count, and
        then the noise of later rounds would depend on them.
        """
        sizes = self.meter.rows.sizes
        model = fit_model(sizes, self.measurements, zeros=self.zeros, start=start, iterations=_ITERATIONS)
        self.seconds += Fraction(_ITERATIONS * sum(table.size + _CLIQUE for table in model.tables), _SPEED)
        return model

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


def _candidate_weights(workload: Sequence[tuple[Columns, int]]) -> dict[Columns, int]:
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


def _model_shift(before: GraphicalModel, after: GraphicalModel, columns: Columns) -> float:
    """How far the model's own counts have come, in L1."""
    return float(np.abs(after.total * after.project(columns) - before.total * before.project(columns)).sum())
