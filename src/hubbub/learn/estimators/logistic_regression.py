"""Logistic and softmax regression."""

from __future__ import annotations

from numpy.typing import ArrayLike

from hubbub.learn.base.fit_plan import FitFacts, FitPlan
from hubbub.learn.base.network_plan import NetworkModel
from hubbub.learn.base.parameters import norm_of
from hubbub.learn.base.targets import class_target
from hubbub.learn.estimators.network_classifier import WithProbabilities, linear_coefficients, linear_offsets
from hubbub.learn.training.network import Floats
from hubbub.learn.training.recipes import linear_recipe
from hubbub.ledger import AccountLike
from hubbub.terms import Neighbours, Real

_BIAS = 0.3  # the constant that feeds the intercept, beside rows of norm 1


class LogisticRegression(WithProbabilities):
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

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        norm: Real | None = None,
        classes: ArrayLike | None = None,
        rows: int | str | None = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        sampling: str = "poisson",
        batch_size: int | None = None,
        max_iter: int | None = None,
        clip: Real | None = None,
        learning_rate: Real | None = None,
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.norm = epsilon, delta, norm
        self.classes, self.rows, self.neighbours, self.unit = classes, rows, neighbours, unit
        self.sampling, self.batch_size, self.max_iter = sampling, batch_size, max_iter
        self.clip, self.learning_rate = clip, learning_rate
        self.account, self.population, self.dataset = account, population, dataset

    def _plan(self, facts: FitFacts) -> FitPlan:
        norm, target = norm_of(self), class_target(self, facts)
        return NetworkModel(bias=_BIAS, recipe=linear_recipe, norm=norm, target=target, given=self).plan(facts)

    @property
    def coef_(self) -> Floats:
        """The weights of features, one row per class (one row in all for two classes), for rows within the norm."""
        return linear_coefficients(self)

    @property
    def intercept_(self) -> Floats:
        """The offsets, one per row of ``coef_``."""
        return linear_offsets(self)
