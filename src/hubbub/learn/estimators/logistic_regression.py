"""Logistic and softmax regression."""

from __future__ import annotations

from hubbub.learn.base.network_classifier import LinearClassifier
from hubbub.learn.training.network import Network

_BIAS = 0.3  # the constant that feeds the intercept, beside rows of norm 1


class LogisticRegression(LinearClassifier):
    """Logistic regression (two classes) or softmax regression (more), by noisy clipped gradient sums.

    ``norm`` is the largest L2 norm of a row, from public knowledge; longer rows are scaled down to it. ``classes`` and
    ``rows``, if declared, are not read from the data. Left out, steps, batch, clipping and learning rate are chosen
    from public facts (``recipe_`` tells them). ``account``, a Ledger or a Connection, is charged before a value is
    read.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: [ACGMMTZ16, Alg. 1] accounted by loss distributions [ZDW22]; ``docs/proofs/learn.md`` for sums in doubles.
    Error: none is promised; on a public test set, ``score`` tells.
    Not covered: running time; the number of rows and the set of labels, where they are not declared.

    >>> import numpy as np
    >>> generator = np.random.default_rng(1)
    >>> X = generator.uniform(-0.5, 0.5, (2000, 3))
    >>> y = X[:, 0] > X[:, 1]
    >>> model = LogisticRegression(epsilon=1, delta=1e-6, norm=1.0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    >>> model.guarantee_.holds.describe()
    'epsilon = 1, delta = 1e-06'
    """

    def _network(self, inputs: int, outputs: int) -> Network:
        return Network((inputs, outputs), bias=_BIAS)
