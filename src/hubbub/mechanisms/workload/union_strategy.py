"""A strategy for each group of queries, side by side, with integer weights.

Queries that look at the same attributes form a group. Each group is measured for itself, on the table in which all
other attributes are added up, and answered from its own measurements alone. Groups share the noise: one with a larger
weight gets more exact answers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hubbub.mechanisms.workload.queries import Block, Floats, Integers, WorkloadQueries
from hubbub.mechanisms.workload.strategies import Strategy

_FEW_NAMES = 3


class UnionStrategy:
    """The measurements of each group's strategy, times the group's integer weight."""

    def __init__(
        self, plan: WorkloadQueries, groups: Sequence[Sequence[int]], parts: Sequence[Strategy], weights: Sequence[int]
    ):
        self.plan, self.parts, self.weights = plan, parts, weights
        places = np.split(np.arange(sum(plan.sizes)), np.cumsum(plan.sizes)[:-1])
        self._places = [np.concatenate([places[number] for number in group]) for group in groups]  # of their answers
        self._home = {
            plan.blocks[number]: (g, parts[g].plan.blocks[rank])
            for g, group in enumerate(groups)
            for rank, number in enumerate(group)
        }

    @property
    def name(self) -> str:
        if len(self.parts) > _FEW_NAMES:
            return f"{len(self.parts)} groups of queries side by side"
        return " + ".join(f"{w} ({part.name})" for w, part in zip(self.weights, self.parts, strict=True))

    @property
    def l1(self) -> int:
        return sum(w * part.l1 for w, part in zip(self.weights, self.parts, strict=True))

    @property
    def l2_squared(self) -> int:
        return sum(w**2 * part.l2_squared for w, part in zip(self.weights, self.parts, strict=True))

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def measured(self, table: Integers) -> Integers:
        pairs = zip(self.weights, self.parts, strict=True)
        return np.concatenate([w * part.measured(part.plan.merged(table)) for w, part in pairs])

    def answered(self, noisy: Floats) -> Floats:
        out = np.empty(sum(self.plan.sizes))
        pieces = np.split(noisy, np.cumsum([part.size for part in self.parts])[:-1])
        for weight, part, places, piece in zip(self.weights, self.parts, self._places, pieces, strict=True):
            out[places] = part.answered(piece) / weight
        return out

    def moments(self, block: Block, power: int) -> Floats:
        group, own = self._home[block]
        return np.asarray(self.parts[group].moments(own, power) / float(self.weights[group]) ** power)

    def covariance(self, answers: Integers) -> Floats:
        out = np.zeros((answers.size, answers.size))  # groups have noise of their own
        for weight, part, places in zip(self.weights, self.parts, self._places, strict=True):
            here = np.flatnonzero(np.isin(answers, places))
            order = np.argsort(places)
            own = order[np.searchsorted(places[order], answers[here])]
            out[np.ix_(here, here)] = part.covariance(own) / weight**2
        return out


def groups_of(plan: WorkloadQueries) -> list[list[int]]:
    """The numbers of the queries that look at the same attributes, together."""
    groups: dict[tuple[bool, ...], list[int]] = {}
    for number, block in enumerate(plan.blocks):
        pairs = zip(plan.attributes, block.parts, strict=True)
        looks = tuple(a.cells > 1 if part is None else not bool(a.rows[part].all()) for a, part in pairs)
        groups.setdefault(looks, []).append(number)
    return list(groups.values())


def balance_weights(errors: Sequence[float], costs: Sequence[int], *, pure: bool, worst: bool, scale: int) -> list[int]:
    """Weights that make the total (or the worst) squared error small at a fixed cost; the largest is ``scale``."""
    error, cost = np.array(errors), np.array(costs, dtype=np.float64)
    weights = np.sqrt(error) if worst else (error / cost) ** (1 / 3 if pure else 1 / 4)
    return [max(1, round(float(w))) for w in weights / weights.max() * scale]
