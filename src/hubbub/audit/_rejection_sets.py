"""The events that an audit bets on: chosen on some outcomes, counted on others.

There are two bets. The *safe* one takes an event whose counts leave little doubt; the *bold* one goes further out into
a tail, where ratios are often largest and hits are few. Each may err with its share of the allowed probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub.audit._confidence_limits import BOLD, SAFE, Caution
from hubbub.audit._feature_cells import LikelihoodCells
from hubbub.audit._scores import OutcomeScore

Floats = NDArray[np.float64]
Tables = tuple[Floats, Floats]  # outcomes under the first input, and under the second
_THRESHOLDS = 400
_ENDS = 60
_SHOWN = 4  # values or ranges that are named


@dataclass(frozen=True, slots=True)
class RejectionSet:
    """The outcomes whose score is at least (or, without ``above``, at most) a threshold.

    ``swapped``: the event is likelier under the second input.
    """

    score: OutcomeScore
    threshold: float
    above: bool
    swapped: bool

    def meets(self, scores: Floats) -> NDArray[np.bool_]:
        """Which outcomes lie in the event, by their scores."""
        return scores >= self.threshold if self.above else scores <= self.threshold

    def words(self) -> str:
        """The event, said in words."""
        feature, cells = self.score.feature, self.score.cells
        if feature is None or cells is None:
            return f"{self.score.name} is at {'least' if self.above else 'most'} {self.threshold:.6g}"
        inside = self.meets(cells.ratios)
        if feature.symbols is not None:
            return f"{feature.name} is {_join_words([feature.symbols[int(v)] for v in _atom_values(cells, inside)])}"
        if not feature.numeric:
            return f"{feature.name} is one of {inside.sum()} that were told apart"
        values = [*_value_ranges(cells, inside), *map(_number_text, _atom_values(cells, inside))]
        return f"{feature.name} is {_join_words(values)}"


def _atom_values(cells: LikelihoodCells, inside: NDArray[np.bool_]) -> list[float]:
    chosen = inside[len(cells.edges) + 1 : -1]
    return [float(value) for value in cells.atoms[chosen]]


def _value_ranges(cells: LikelihoodCells, inside: NDArray[np.bool_]) -> list[str]:
    """Neighbouring cells as one range each; empty if all values are cells of their own."""
    if not len(cells.edges):
        return []
    ends = [-np.inf, *cells.edges, np.inf]
    chosen = [(ends[i], ends[i + 1]) for i in np.flatnonzero(inside[: len(cells.edges) + 1])]
    merged: list[tuple[float, float]] = []
    for low, high in chosen:
        if merged and merged[-1][1] == low:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return [_range_text(*both) for both in merged]


def _range_text(low: float, high: float) -> str:
    if np.isinf(low):
        return f"below {_number_text(high)}"
    return f"at least {_number_text(low)}" if np.isinf(high) else f"from {_number_text(low)} to {_number_text(high)}"


def _number_text(value: float) -> str:
    return f"{value:.6g}"


def _join_words(parts: Sequence[str]) -> str:
    if not parts:
        return "something rare"
    more = [f"{len(parts) - _SHOWN} more"] if len(parts) > _SHOWN else []
    shown = [*parts[:_SHOWN], *more]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


# ---------------------------------------------------------------- choosing


def choose_events(
    scores: Sequence[OutcomeScore], learned: Tables, fresh: Tables, *, ahead: int, delta: float
) -> list[RejectionSet]:
    """The safe and the bold event (one, if they agree) for ``ahead`` outcomes to come.

    ``fresh`` outcomes judge what was learned; a score that has learned nothing is judged on all that were seen.
    """
    every = tuple(np.concatenate(pair, axis=1) for pair in zip(learned, fresh, strict=True))
    candidates: dict[Caution, list[tuple[float, RejectionSet]]] = {SAFE: [], BOLD: []}
    for score in scores:
        first, second = (np.sort(score.of(table)) for table in (fresh if score.learned else every))
        for caution, bets in candidates.items():
            bets.extend(_best_thresholds(score, first, second, caution, ahead=ahead, delta=delta))
    best = [max(bets, key=lambda bet: bet[0])[1] for bets in candidates.values()]
    return best if best[0] != best[1] else best[:1]


def _best_thresholds(
    score: OutcomeScore, first: Floats, second: Floats, caution: Caution, *, ahead: int, delta: float
) -> list[tuple[float, RejectionSet]]:
    """The best threshold of a score for each tail and direction, and what it promises."""
    trials = float(min(len(first), len(second)))
    first, second = first[~np.isnan(first)], second[~np.isnan(second)]
    marks = _candidate_thresholds(first, second)
    bets = []
    for above in (True, False):
        here, there = (_tail_counts(side, marks, above=above) for side in (first, second))
        for swapped, (more, less) in enumerate(((here, there), (there, here))):
            promise = caution.promise(more, less, trials, ahead, delta=delta)
            place = int(np.argmax(promise))
            bets.append((float(promise[place]), RejectionSet(score, float(marks[place]), above, bool(swapped))))
    return bets


def _candidate_thresholds(first: Floats, second: Floats) -> Floats:
    """Thresholds to try: quantiles of both sides together, and more of them at the ends of each."""
    both = np.sort(np.concatenate([first, second]))
    if not len(both):
        return np.zeros(1)
    quantiles = [both[_order_positions(len(both), np.linspace(0, 1, _THRESHOLDS))]]
    for side in (side for side in (first, second) if len(side)):
        ends = np.geomspace(1 / max(2, len(side)), 0.05, _ENDS)
        quantiles += [side[_order_positions(len(side), shares)] for shares in (ends, 1 - ends)]
    return np.unique(np.concatenate(quantiles))


def _order_positions(size: int, shares: Floats) -> NDArray[np.int64]:
    return np.rint(shares * (size - 1)).astype(np.int64)


def _tail_counts(ordered: Floats, marks: Floats, *, above: bool) -> Floats:
    if above:
        return (len(ordered) - np.searchsorted(ordered, marks, side="left")).astype(np.float64)
    return np.searchsorted(ordered, marks, side="right").astype(np.float64)
