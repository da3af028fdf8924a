"""Scores: what speaks for the first input, learned from some outcomes and then applied to others.

One feature's learned log-ratios; a feature as it is; the sum of the places' log-ratios (as if places were
independent); and a logistic regression over all that tells something.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub.audit._feature_cells import LikelihoodCells, learn_cells
from hubbub.audit._features import Feature, base_features, derived_features
from hubbub.audit._outcomes import OutcomeFeature

Floats = NDArray[np.float64]
_BEST = 6  # features that are tried alone
_MOST = 24  # features that are weighed together
_REACH = 4.0  # standard deviations at which a place is cut off before it is weighed


@dataclass(frozen=True, slots=True)
class OutcomeScore:
    """A number for each outcome (columns of a table), and what it is called."""

    of: Callable[[Floats], Floats]
    name: str
    feature: Feature | None = None  # where the score speaks of one feature alone
    cells: LikelihoodCells | None = None  # and has learned its cells

    @property
    def learned(self) -> bool:
        """Whether outcomes shaped this score: then others must judge it."""
        return self.feature is None or self.cells is not None


def learn_scores(
    columns: Sequence[OutcomeFeature], first: Floats, second: Floats, *, low_bits: bool = True
) -> list[OutcomeScore]:
    """Every score worth a try, from tables of outcomes under the two inputs."""
    base = [(feature, _learn_cells(feature, first, second)) for feature in base_features(columns)]
    mixed = _interleave_sides(first, second)
    further = derived_features(columns, mixed, [cells for _, cells in base], low_bits=low_bits)
    derived = [(feature, _learn_cells(feature, first, second)) for feature in further]
    known = sorted((*base, *derived), key=lambda pair: -pair[1].telling)
    telling = [pair for pair in known if pair[1].telling > 0][:_MOST] or known[:1]
    alone = [score for pair in telling[:_BEST] for score in _single_scores(*pair)]
    return alone if len(telling) == 1 else [*alone, *_combined_scores(base, telling, first, second)]


def _interleave_sides(first: Floats, second: Floats) -> Floats:
    """Half of each side, so that either half of the result looks like both."""
    half = min(first.shape[1], second.shape[1]) // 2
    return np.concatenate([first[:, :half], second[:, : 2 * half], first[:, half : 2 * half]], axis=1)


def _learn_cells(feature: Feature, first: Floats, second: Floats) -> LikelihoodCells:
    often = 12 if feature.numeric else 4
    return learn_cells(feature.of(first), feature.of(second), often=often)


def _single_scores(feature: Feature, cells: LikelihoodCells) -> list[OutcomeScore]:
    learned = OutcomeScore(
        lambda table: cells.ratio(feature.of(table)), f"a learned score of {feature.name}", feature, cells
    )
    raw = OutcomeScore(feature.of, feature.name, feature)
    return [learned, raw] if feature.numeric else [learned]


def _combined_scores(
    base: list[tuple[Feature, LikelihoodCells]],
    telling: list[tuple[Feature, LikelihoodCells]],
    first: Floats,
    second: Floats,
) -> list[OutcomeScore]:
    scores = []
    places = [pair for pair in base if pair[1].telling > 0]
    if len(places) > 1:
        name = f"the sum over {len(places)} places of what each tells"
        scores.append(OutcomeScore(lambda table: _likelihood_ratios(places, table).sum(axis=0), name))
    scores.append(_logistic_score(telling, first, second))
    return scores


def _likelihood_ratios(pairs: list[tuple[Feature, LikelihoodCells]], table: Floats) -> Floats:
    return np.stack([cells.ratio(feature.of(table)) for feature, cells in pairs])


# ---------------------------------------------------------------- logistic regression


def _logistic_score(pairs: list[tuple[Feature, LikelihoodCells]], first: Floats, second: Floats) -> OutcomeScore:
    numeric = [feature for feature, _ in pairs if feature.numeric]
    scales = [_centre_and_scale(np.concatenate([feature.of(first), feature.of(second)])) for feature in numeric]

    def inputs(table: Floats) -> Floats:
        plain = [
            np.clip(np.nan_to_num((feature.of(table) - centre) / width), -_REACH, _REACH)
            for feature, (centre, width) in zip(numeric, scales, strict=True)
        ]
        return np.concatenate([_likelihood_ratios(pairs, table), np.array(plain).reshape(-1, table.shape[1])])

    weights = _fit_logistic(inputs(first), inputs(second))
    return OutcomeScore(lambda table: weights @ inputs(table), f"a learned score of {len(pairs)} features together")


def _centre_and_scale(values: Floats) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if not len(known):
        return 0.0, 1.0
    low, centre, high = np.quantile(known, (0.16, 0.5, 0.84))
    return float(centre), float(high - low) / 2 or 1.0


def _fit_logistic(first: Floats, second: Floats, *, rounds: int = 8, ridge: float = 1.0) -> Floats:
    """Newton's method for the weights that tell ``first`` from ``second``."""
    rows = np.concatenate([first, second], axis=1)
    wanted = np.concatenate([np.ones(first.shape[1]), np.zeros(second.shape[1])])
    weights = np.zeros(len(rows))
    for _ in range(rounds):
        chance = 1 / (1 + np.exp(-np.clip(weights @ rows, -30, 30)))
        slope = rows @ (wanted - chance) - ridge * weights
        bend = (rows * (chance * (1 - chance))) @ rows.T + ridge * np.eye(len(rows))
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if np.max(np.abs(step)) < 1e-3:
            break
    return weights
