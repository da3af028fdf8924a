"""Learning from pairs of rows: whom to rank above whom, and what lies close to what."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils import ClassifierTags

from hubbub.learn.base.fit_plan import FitFacts, FitPlan
from hubbub.learn.base.network_plan import NetworkModel
from hubbub.learn.base.parameters import norm_of
from hubbub.learn.base.private_estimator import PrivateTransformer
from hubbub.learn.base.shapes import TableColumns
from hubbub.learn.base.targets import class_target
from hubbub.learn.estimators.network_classifier import FittedNetwork
from hubbub.learn.training.network import Floats
from hubbub.learn.training.pairwise_sums import MetricPairs, RankingPairs
from hubbub.learn.training.recipes import pairwise_recipe
from hubbub.ledger import AccountLike
from hubbub.terms import Neighbours, OutOfRange, Real, Receipt

_LARGEST = 1 << 13  # rows in a batch, of which all pairs are formed


class BipartiteRanker(FittedNetwork):
    """A linear score that ranks rows of the second class above rows of the first, for the area under the ROC curve.

    Each step forms all pairs of a positive and a negative row of its batch, with the logistic loss of the difference
    of their scores [KSJK13]. ``norm`` is the largest L2 norm of a row, from public knowledge.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: a row moves the sum over pairs, over the size of the batch, at most ``clip`` (``docs/proofs/pairwise.md``);
    then [ACGMMTZ16, Alg. 1], accounted by loss distributions [ZDW22].
    Error: none is promised; on a public test set, ``score`` tells.
    Not covered: running time; the number of rows and the set of labels, where they are not declared.

    >>> import numpy as np
    >>> X = np.random.default_rng(1).uniform(-0.5, 0.5, (3000, 3))
    >>> y = X[:, 0] + 0.2 * X[:, 1] > 0.3
    >>> BipartiteRanker(epsilon=1, delta=1e-6, norm=1.0).fit(X, y).score(X, y) > 0.9
    True
    """

    _needs_target = True

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
        if len(target.classes) != 2:
            raise OutOfRange(
                f"a bipartite ranking has 2 classes, and there are {len(target.classes)}.",
                why="Each pair is of one row that should rank high and one that should not.",
                fix="Say which rows should rank high: y == name.",
            )
        return NetworkModel(
            network=RankingPairs,
            bias=0.0,
            recipe=partial(pairwise_recipe, batch=1 << 11),
            largest_batch=_LARGEST,
            norm=norm,
            target=target,
            given=self,
        ).plan(facts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(poor_score=True, multi_class=False)  # it predicts no class, and knows two
        return tags

    @property
    def coef_(self) -> Floats:
        """The weights of features."""
        return self.weights_ / self.norm_

    def decision_function(self, X: ArrayLike) -> Floats:
        """The score of each row: the higher, the more it is like the second class."""
        return self._scores(X)[:, 0]

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """How often a row of the second class scores above one of the first: the area under the ROC curve."""
        scores, second = self.decision_function(X), np.asarray(y) == self.classes_[1]
        return float(roc_auc_score(second, scores)) if 0 < np.count_nonzero(second) < len(second) else 0.5


class MetricLearner(ClassNamePrefixFeaturesOutMixin, PrivateTransformer, FittedNetwork):  # type: ignore[misc]
    """A distance by which rows of one class lie close: d(x, z) = |A (x - z)|^2, and ``transform`` gives A x.

    Each step forms all pairs of its batch [CCB16]. ``norm`` is the largest L2 norm of a row, from public knowledge.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row. The transformed rows of
    a private table are as private as the table was: ``transform`` adds no noise to them.
    Because: a row moves the sum over pairs, over the size of the batch, at most ``clip`` (``docs/proofs/pairwise.md``);
    then [ACGMMTZ16, Alg. 1], accounted by loss distributions [ZDW22].
    Error: none is promised; noise has as many coordinates as A, so features should be few.
    Not covered: running time; the number of rows and the set of labels, where they are not declared.
    """

    _needs_target = True

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
        return NetworkModel(
            network=MetricPairs,
            bias=0.0,
            least_outputs=2,
            recipe=partial(pairwise_recipe, batch=1 << 9),
            largest_batch=_LARGEST,
            norm=norm_of(self),
            target=class_target(self, facts),
            given=self,
        ).plan(facts)

    def _learn(self, plan: FitPlan, values: Floats, receipt: Receipt | None, columns: TableColumns) -> Self:
        super()._learn(plan, values, receipt, columns)
        network = MetricPairs(self.network_.widths, bias=0.0)
        variances, directions = np.linalg.eigh(network.matrix(network.project(self.weights_)))
        self.components_ = np.sqrt(np.maximum(variances, 0))[::-1, None] * directions.T[::-1] / self.norm_
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def transform(self, X: ArrayLike) -> Floats:
        """Rows in whose plain distance the learned one lies: A x."""
        table = self._rows_to_answer(X)
        turned = np.zeros((len(table), len(self.components_)))
        for j, column in enumerate(table.T):  # no matrix product: it may round a row by where it stands
            turned += column[:, None] * self.components_[:, j]
        return turned
