"""The lattice of full-domain generalizations: its nodes, what each costs, and the search for the cheapest.

A node is a level for each column. Its *loss* is the penalty of the published table (``Metrics.gcp``): the width of what
is published on average over all cells, where a suppressed row has width 1 in every column. The loss is at least the
node's *bound*, the same average as if nothing were suppressed, since no width is above 1; and the bound only grows
towards the top. So a node whose bound is not below the best loss so far need not be looked at, nor anything above it.
If moreover a node that needs too much suppression says the same of all nodes below it (``monotone``), these need not be
looked at either: that is predictive tagging, as in [EDI09]. Both are exact; what is left is looked at until nothing
remains or the effort is spent, and then the smallest bound that remains says how far the optimum may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from hubbub.publish.anonymize.coded_columns import Codes, Floats, Truths, combine_codes
from hubbub.publish.anonymize.equivalence_classes import EquivalenceClasses, SensitiveColumn, secret_of
from hubbub.publish.anonymize.hierarchies import HierarchyLevels
from hubbub.publish.anonymize.privacy_models import all_hold
from hubbub.publish.anonymize.request import AnonymizationRequest

Node = tuple[int, ...]

_FREE = 1e-12  # a step that costs nothing is worth taking, and is not divided by
_DRAWN = 2**18  # lattices up to this size are kept as a whole; larger ones are searched by steps alone


@dataclass(frozen=True, slots=True)
class NodeLoss:
    """What a node would publish: how many rows are suppressed, and the loss (infinite if these are too many)."""

    suppressed: int
    loss: float


@dataclass(frozen=True, eq=False)
class Lattice:
    """Rows that are alike taken together, with their codes and widths at every level of every column."""

    task: AnonymizationRequest
    levels: tuple[HierarchyLevels, ...]
    weights: Codes  # how many rows of the table each stands for
    codes: tuple[tuple[Codes, ...], ...]  # by column and level
    widths: tuple[tuple[Floats, ...], ...]
    secrets: dict[str, SensitiveColumn]
    rows: int
    most: int  # rows that may be suppressed
    top: Node
    people: Codes | None = None  # whose each of our rows is
    seen: dict[Node, NodeLoss] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return prod(level + 1 for level in self.top)

    @property
    def monotone(self) -> bool:
        """Whether a node that needs too much suppression says the same of all nodes below."""
        return self.most == 0 or all(model.monotone for model in self.task.models)

    def bounds(self) -> list[Floats]:
        """For each column, what each of its levels adds to the bound."""
        total = self.rows * len(self.top)
        pairs = zip(self.widths, self.top, strict=True)
        return [np.array([self.weights @ width / total for width in of[: top + 1]]) for of, top in pairs]

    def classes(self, node: Node) -> tuple[Codes, int]:
        """The class of each of our rows at a node."""
        columns = [of[level] for of, level in zip(self.codes, node, strict=True)]
        return combine_codes(columns, [len(of.names[level]) for of, level in zip(self.levels, node, strict=True)])

    def kept(self, node: Node) -> Truths:
        """Which of our rows are published at a node: all but those of classes that do not hold.

        What is suppressed changes the whole table, which t-closeness looks at: so it is asked again of the rest.
        """
        labels, number = self.classes(node)
        kept = np.ones(labels.size, dtype=bool)
        while kept.any():
            fine = all_hold(self.task.models, self._of(labels, number, kept))
            if fine.all():
                break
            broken = np.zeros(number, dtype=bool)
            broken[np.unique(labels[kept])[~fine]] = True
            kept &= ~broken[labels]
        return kept

    def _of(self, labels: Codes, number: int, kept: Truths) -> EquivalenceClasses:
        if kept.all():
            return EquivalenceClasses(labels, number, self.secrets, None, self.weights, self.people)
        rows = np.flatnonzero(kept)
        numbers, back = np.unique(labels[rows], return_inverse=True)
        secrets = {name: _among(secret, rows, self.weights[rows]) for name, secret in self.secrets.items()}
        people = None if self.people is None else self.people[rows]
        return EquivalenceClasses(back, numbers.size, secrets, rows, self.weights[rows], people)

    def outcome(self, node: Node) -> NodeLoss:
        """What a node would publish; worked out once."""
        if node not in self.seen:
            self.seen[node] = self._outcome(node)
        return self.seen[node]

    def _outcome(self, node: Node) -> NodeLoss:
        kept = self.kept(node)
        weights = np.where(kept, self.weights, 0)
        suppressed = self.rows - int(weights.sum())
        if suppressed > self.most or suppressed == self.rows:
            return NodeLoss(suppressed, inf)
        wide = sum(float(weights @ of[level]) for of, level in zip(self.widths, node, strict=True))
        return NodeLoss(suppressed, (wide / len(node) + suppressed) / self.rows)


def _among(secret: SensitiveColumn, rows: Codes, weights: Codes) -> SensitiveColumn:
    counts = np.bincount(secret.column.codes[rows], weights=weights, minlength=secret.shares.size)
    return SensitiveColumn(secret.column, counts / max(counts.sum(), 1))


def lattice_of(
    task: AnonymizationRequest, levels: Sequence[HierarchyLevels], *, top: Node, most: int
) -> tuple[Lattice, Codes]:
    """The lattice of a request, and which of its rows each row of the table is."""
    sensitive = [secret.column for secret in task.secrets.values()]
    columns = [*task.columns, *sensitive]
    codes_of, widths_of = [column.codes for column in columns], [len(column.labels) for column in columns]
    if task.people is not None:  # rows of two people are not alike
        codes_of, widths_of = [*codes_of, task.people], [*widths_of, int(task.people.max()) + 1]
    back, number = combine_codes(codes_of, widths_of)
    first = np.empty(number, dtype=np.int64)
    first[back[::-1]] = np.arange(back.size)[::-1]
    weights = np.bincount(back, minlength=number)
    codes = [tuple(of[column.codes[first]] for of in have.codes) for column, have in zip(columns, levels, strict=False)]
    widths = [
        tuple(width[code] for width, code in zip(have.widths, of, strict=True))
        for have, of in zip(levels, codes, strict=True)
    ]
    secrets = {name: secret_of(secret.column.taken(first), weights=weights) for name, secret in task.secrets.items()}
    people = None if task.people is None else task.people[first]
    lattice = Lattice(task, tuple(levels), weights, tuple(codes), tuple(widths), secrets, back.size, most, top, people)
    return lattice, back


@dataclass(frozen=True, slots=True)
class LatticeOptimum:
    """The best node that was found, its loss, a bound that no node beats, and how many were looked at."""

    node: Node
    loss: float
    bound: float
    looked_at: int

    @property
    def optimal(self) -> bool:
        """Whether no other node has a smaller loss."""
        return self.bound >= self.loss


def search(lattice: Lattice, *, effort: int) -> LatticeOptimum:
    """The cheapest node: by steps from both ends and exchanges first, then whatever may still beat that."""
    ends = _descended(lattice, lattice.top, effort), _descended(lattice, _climbed(lattice, effort), effort)
    best = _kicked(lattice, min(ends, key=lambda node: lattice.outcome(node).loss), effort)
    if lattice.size > _DRAWN:
        return LatticeOptimum(
            best, lattice.outcome(best).loss, float(sum(of[0] for of in lattice.bounds())), len(lattice.seen)
        )
    return _exhausted(lattice, best, effort)


def _climbed(lattice: Lattice, effort: int) -> Node:
    """From the bottom, always by the step that saves most suppression for what it costs, until a node is allowed."""
    bounds = lattice.bounds()
    node: Node = (0,) * len(lattice.top)
    while lattice.outcome(node).loss == inf and len(lattice.seen) < effort:
        steps = [i for i in range(len(node)) if node[i] < lattice.top[i]]
        saved = [lattice.outcome(node).suppressed - lattice.outcome(_moved(node, {i: 1})).suppressed for i in steps]
        costs = [float(bounds[i][node[i] + 1] - bounds[i][node[i]]) for i in steps]
        worth = [saving / max(cost, _FREE) for saving, cost in zip(saved, costs, strict=True)]
        node = _moved(node, {steps[int(np.argmax(worth))]: 1})
    return node if lattice.outcome(node).loss < inf else lattice.top


def _descended(lattice: Lattice, node: Node, effort: int, held: int | None = None) -> Node:
    """Always to the neighbour below with the smallest loss, as long as one is allowed; the best of what was met.

    The column ``held`` stays where it is.
    """
    best = node
    while len(lattice.seen) < effort:
        below = [_moved(node, {i: -1}) for i in range(len(node)) if node[i] and i != held]
        allowed = [one for one in below if lattice.outcome(one).loss < inf]
        if not allowed:
            break
        node = min(allowed, key=lambda one: lattice.outcome(one).loss)
        best = min(best, node, key=lambda one: lattice.outcome(one).loss)
    return best


def _exchanged(lattice: Lattice, node: Node, effort: int) -> Node:
    """Lower one column, or lower one and raise another, as long as that helps."""
    steps = [{i: -1} | ({j: 1} if i != j else {}) for i, j in product(range(len(node)), repeat=2)]
    while len(lattice.seen) < effort:
        around = [_moved(node, step) for step in steps]
        allowed = [one for one in around if all(0 <= a <= b for a, b in zip(one, lattice.top, strict=True))]
        better = min(allowed, key=lambda one: lattice.outcome(one).loss, default=node)
        if lattice.outcome(better).loss >= lattice.outcome(node).loss:
            break
        node = better
    return node


def _kicked(lattice: Lattice, node: Node, effort: int) -> Node:
    """Exchange; then raise one column to its top, lower the others first, and exchange again, as long as it helps."""
    best = _exchanged(lattice, node, effort)
    while len(lattice.seen) < effort:
        ends = [best]
        for i, top in enumerate(lattice.top):
            raised = _moved(best, {i: top - best[i]})
            lowered = _descended(lattice, raised, effort, held=i)
            ends.append(_exchanged(lattice, _descended(lattice, lowered, effort), effort))
        better = min(ends, key=lambda one: lattice.outcome(one).loss)
        if better == best:
            break
        best = better
    return best


def _moved(node: Node, step: dict[int, int]) -> Node:
    return tuple(level + step.get(i, 0) for i, level in enumerate(node))


def _exhausted(lattice: Lattice, best: Node, effort: int) -> LatticeOptimum:
    """Look at every node whose bound is below the best loss and that no tag rules out, until the effort is spent."""
    bound = _drawn(lattice.bounds())
    open_nodes = np.ones(bound.shape, dtype=bool)
    for node, outcome in lattice.seen.items():
        _tag(lattice, open_nodes, node, outcome)
    loss = lattice.outcome(best).loss
    while True:
        left = np.flatnonzero(open_nodes & (bound < loss))
        if not left.size or len(lattice.seen) >= effort:
            break
        node = tuple(int(i) for i in np.unravel_index(_next(lattice, left, bound), bound.shape))
        outcome = lattice.outcome(node)
        _tag(lattice, open_nodes, node, outcome)
        if outcome.loss < loss:
            best, loss = node, outcome.loss
    lowest = min(float(bound.ravel()[left].min()), loss) if left.size else loss
    return LatticeOptimum(best, loss, lowest, len(lattice.seen))


def _drawn(bounds: Sequence[Floats]) -> Floats:
    """The bound of every node, as an array with an axis for each column."""
    total = np.zeros(())
    for of in bounds:
        total = np.add.outer(total, of)
    return total


def _next(lattice: Lattice, left: Codes, bound: Floats) -> int:
    """The node to look at next.

    With tags one of the highest, since it rules out all below if it is not allowed. Without, the lowest bound, so that
    the bound of all that remains rises.
    """
    values = bound.ravel()[left]
    if not lattice.monotone:
        return int(left[values.argmin()])
    return int(left[np.argsort(values, kind="stable")[left.size * 19 // 20]])


def _tag(lattice: Lattice, open_nodes: NDArray[np.bool_], node: Node, outcome: NodeLoss) -> None:
    """Rule out what a look at a node rules out."""
    open_nodes[node] = False
    if outcome.loss == inf and lattice.monotone:
        open_nodes[tuple(slice(level + 1) for level in node)] = False
