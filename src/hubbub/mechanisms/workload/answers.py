"""The answers to a workload, with what is known of their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hubbub.mechanisms.common.additive import AdditiveNoise
from hubbub.mechanisms.common.noise_combinations import LATTICE, critical_value, variance_of
from hubbub.mechanisms.workload.queries import Floats, WorkloadQueries
from hubbub.mechanisms.workload.strategies import Strategy
from hubbub.terms import LaplaceNoise, OutOfRange, Real, whole


@dataclass(frozen=True, eq=False)
class Errors:
    """How far the answers of a workload are off; known before anything is released."""

    plan: WorkloadQueries
    strategy: Strategy
    event: AdditiveNoise

    @cached_property
    def std_dev(self) -> Floats:
        """The exact standard deviation of each answer."""
        return np.sqrt(variance_of(self.event) * self._squares)

    def widths(self, confidence: Real) -> Floats:
        """How far each answer by itself is off at most, with that confidence."""
        return np.asarray(critical_value(self.event, self._concentration, confidence) * self.std_dev + LATTICE)

    def covariance(self, answers: Sequence[int]) -> Floats:
        """The exact covariances of these answers, given by their places in ``values``."""
        places = np.array([whole(place, name="answer", least=0) for place in answers], dtype=np.int64)
        if places.size and places.max() >= self._squares.size:
            raise OutOfRange(
                f"an answer was named beyond the {self._squares.size} that there are.",
                why="Answers are numbered from 0, one query after the other.",
                fix=f"Give numbers from 0 to {self._squares.size - 1}.",
            )
        return variance_of(self.event) * self.strategy.covariance(places)

    @cached_property
    def _squares(self) -> Floats:
        return self._moments(2)

    @cached_property
    def _concentration(self) -> Floats:
        if not isinstance(self.event, LaplaceNoise):
            return np.zeros(self._squares.size)
        return np.minimum(1.0, self._moments(4) / self._squares**2)

    def _moments(self, power: int) -> Floats:
        return np.concatenate([self.strategy.moments(block, power) for block in self.plan.blocks])


@dataclass(frozen=True, eq=False)
class Answers:
    """Every answer, one query after the other; queries with several rows have them in the order of a table."""

    values: Floats
    errors: Errors

    @property
    def std_dev(self) -> Floats:
        """The exact standard deviation of each answer."""
        return self.errors.std_dev

    def interval(self, confidence: Real) -> Floats:
        """For each answer by itself, the lower and the upper end that hold the truth with that confidence."""
        widths = self.errors.widths(confidence)
        return np.stack([self.values - widths, self.values + widths], axis=1)

    def covariance(self, answers: Sequence[int]) -> Floats:
        """The exact covariances of these answers, given by their places in ``values``."""
        return self.errors.covariance(answers)

    def of(self, query: int) -> Floats:
        """The answers of one query, with an axis for each attribute for which it has several rows."""
        plan = self.errors.plan
        place = whole(query, name="query", least=0)
        if place >= len(plan.blocks):
            raise OutOfRange(
                f"query {place} is not one of the {len(plan.blocks)} queries.",
                why="Queries are numbered from 0, in their order.",
                fix=f"Give a number from 0 to {len(plan.blocks) - 1}.",
            )
        start = sum(plan.sizes[:place])
        shape = tuple(rows for rows in plan.shape_of(plan.blocks[place]) if rows > 1)
        return self.values[start : start + plan.sizes[place]].reshape(shape)

    def __repr__(self) -> str:
        return f"Answers({self.values.size} answers to {len(self.errors.plan.blocks)} queries)"
