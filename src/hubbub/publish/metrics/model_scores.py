"""What a model makes of a table: can it tell the rows from real ones (pMSE), and does it learn the same (AUC).

Both use logistic regression on the cells of single columns and of pairs of columns, fitted with a little shrinkage.
These numbers are for public rows: a trained model is no sum that one person moves by a known amount.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.publish.cells import Codes
from hubbub.publish.metrics.generalized_values import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MOST_ROWS = 4000  # of each side
_PAIRED = 5  # a column of more cells is made coarser before it is paired
_MOST_PAIRS = 60
_SHRINKAGE = 1.0
_STEPS = 100


def pmse(candidate: Codes, real: Codes, sizes: tuple[int, ...]) -> float:
    """How well a model tells the candidate's rows from real ones: 0 if not at all, 1/4 if always [WRKO09].

    The model is tested on the rows that it was made from, so that even real rows do not get 0: compare with them.
    """
    rows = np.concatenate([candidate, real])
    is_candidate = np.concatenate([np.ones(len(candidate)), np.zeros(len(real))])
    features = _pair_features(rows, sizes)
    chance = _predicted_chances(features, _fit_weights(features, is_candidate))
    return float(np.mean((chance - is_candidate.mean()) ** 2))


def auc(train: Codes, test: Codes, sizes: tuple[int, ...], target: int) -> float | None:
    """How well a model that learned from ``train`` ranks the rows of ``test``: 1 always right, 1/2 a coin.

    For more than two values of the target, the mean over all of one against the rest, by how frequent they are.
    """
    others = [c for c in range(len(sizes)) if c != target]
    shape = tuple(sizes[c] for c in others)
    learn, asked = (_pair_features(rows[:, others], shape) for rows in (train, test))
    truth, weights, areas = test[:, target], [], []
    for value in np.unique(truth):
        yes = truth == value
        if 0 < yes.sum() < len(yes):
            has_value = (train[:, target] == value).astype(np.float64)
            both = 0 < has_value.sum() < len(has_value)  # who never saw a value, or nothing else, can only guess
            areas.append(_rank_auc(_predicted_chances(asked, _fit_weights(learn, has_value)), yes) if both else 0.5)
            weights.append(float(yes.sum()))
    return float(np.average(areas, weights=weights)) if areas else None


def sample_rows(codes: Codes, count: int, *, seed: int) -> Codes:
    """So many of the rows, at random; all of them if there are fewer."""
    if len(codes) <= count:
        return codes
    return codes[np.random.default_rng(seed).choice(len(codes), count, replace=False)]


def _pair_features(codes: Codes, sizes: tuple[int, ...]) -> csr_matrix:
    """Ones for the cell of each column and of each pair of (coarser) columns; the last is 1 everywhere."""
    from scipy.sparse import csr_matrix

    coarse = [np.minimum(codes[:, c] * _PAIRED // size if size > _PAIRED else codes[:, c], _PAIRED - 1)
              for c, size in enumerate(sizes)]  # fmt: skip
    columns, width = [], 0
    for c, size in enumerate(sizes):
        columns.append(codes[:, c] + width)
        width += size
    for a, b in _column_pairs(len(sizes)):
        columns.append(coarse[a] * _PAIRED + coarse[b] + width)
        width += _PAIRED**2
    columns.append(np.full(len(codes), width))
    places = np.stack(columns, axis=1).ravel()
    ends = np.arange(len(codes) + 1) * len(columns)
    return csr_matrix((np.ones(len(places)), places, ends), shape=(len(codes), width + 1))


def _column_pairs(count: int) -> list[tuple[int, int]]:
    every = list(itertools.combinations(range(count), 2))
    if len(every) <= _MOST_PAIRS:
        return every
    chosen = np.random.default_rng(0).choice(len(every), _MOST_PAIRS, replace=False)
    return [every[place] for place in sorted(chosen)]


def _fit_weights(features: csr_matrix, truth: Floats) -> Floats:
    from scipy.optimize import minimize

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = features @ weights
        value = np.logaddexp(0.0, scores).sum() - truth @ scores + _SHRINKAGE / 2 * weights @ weights
        return float(value), np.asarray(features.T @ (_logistic_curve(scores) - truth) + _SHRINKAGE * weights)

    start = np.zeros(features.shape[1])
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x)


def _predicted_chances(features: csr_matrix, weights: Floats) -> Floats:
    return _logistic_curve(np.asarray(features @ weights))


def _logistic_curve(scores: Any) -> Floats:
    return np.asarray(0.5 * (1.0 + np.tanh(scores / 2)))


def _rank_auc(scores: Floats, yes: np.ndarray[Any, np.dtype[np.bool_]]) -> float:
    """The chance that a row of the class scores higher than one of the rest; equals count half."""
    from scipy.stats import rankdata

    ranks, count = rankdata(scores), int(yes.sum())
    return float((ranks[yes].sum() - count * (count + 1) / 2) / (count * (len(yes) - count)))
