"""Learning from pairs of rows: whom to rank above whom, and what lies close to what."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from typing import Any

import numpy as np

from hubbub.learn.base.network_classifier import NetworkClassifier
from hubbub.learn.base.network_estimator import Training
from hubbub.learn.base.private_count import Price, RowCount
from hubbub.learn.estimators.scaler import Transformer
from hubbub.learn.training.network import Floats, Network
from hubbub.learn.training.pairwise_sums import MetricPairs, RankingPairs
from hubbub.learn.training.recipes import Recipe, TrainingFacts, pairs
from hubbub.ledger import Account, AccountLike
from hubbub.terms import Neighbours, OutOfRange, Real, TooLarge

_LARGEST = 1 << 13  # rows in a batch, of which all pairs are formed


class _Absent:
    """A method of classifiers that these have not."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(self.name)


class PairwiseEstimator(NetworkClassifier):
    """What learns from all pairs of a batch; ``training.pairwise_sums`` bounds what a person, who is in many, moves."""

    predict = _Absent()
    predict_proba = _Absent()

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        norm: Real | None = None,
        classes: Any = None,
        rows: Any = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        sampling: str = "poisson",
        batch: int | None = None,
        steps: int | None = None,
        clip: float | None = None,
        learning_rate: float | None = None,
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.norm = epsilon, delta, norm
        self.classes, self.rows, self.neighbours, self.unit = classes, rows, neighbours, unit
        self.sampling, self.batch, self.steps = sampling, batch, steps
        self.clip, self.learning_rate = clip, learning_rate
        self.account, self.population, self.dataset = account, population, dataset

    def _plan(self, columns: int, y: Any, account: Account | None, rows: RowCount, price: Price) -> Training:
        made = super()._plan(columns, y, account, rows, price)
        if made.sampling.expected(rows.expected) > _LARGEST:
            raise TooLarge(
                f"a batch has more than {_LARGEST} rows.",
                why="All pairs of a batch are formed, and they grow with its square.",
                fix='Write batch=2048 and sampling="poisson".',
            )
        return made


class BipartiteRanker(PairwiseEstimator):
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

    def _outputs(self, y: Any, account: Account | None) -> tuple[int, Any, dict[str, object]]:
        outputs, classes, facts = super()._outputs(y, account)
        if len(classes) != 2:
            raise OutOfRange(
                f"a bipartite ranking has 2 classes, and there are {len(classes)}.",
                why="Each pair is of one row that should rank high and one that should not.",
                fix="Say which rows should rank high: y == name.",
            )
        return outputs, classes, facts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags.multi_class = None, False  # it predicts no class, and knows two
        return tags

    def _network(self, inputs: int, outputs: int) -> Network:
        return RankingPairs((inputs, 1), bias=0.0)

    def _recipe(self, facts: TrainingFacts) -> Recipe:
        return pairs(facts, batch=1 << 11)

    @property
    def coef_(self) -> Floats:
        """The weights of features."""
        return self.weights_ / self.norm_

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """How often a row of the second class scores above one of the first: the area under the ROC curve."""
        scores, second = self.decision_function(X), np.asarray(y) == self.classes_[1]
        low, high = np.sort(scores[~second]), scores[second]
        if not len(low) or not len(high):
            return 0.5
        above, ties = np.searchsorted(low, high, "left"), np.searchsorted(low, high, "right")
        return float((above + ties).mean() / (2 * len(low)))


class MetricLearner(Transformer, PairwiseEstimator):
    """A distance by which rows of one class lie close: d(x, z) = |A (x - z)|^2, and ``transform`` gives A x.

    Each step forms all pairs of its batch [CCB16]. ``norm`` is the largest L2 norm of a row, from public knowledge.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row. The transformed rows of
    a private table are as private as the table was: ``transform`` adds no noise to them.
    Because: a row moves the sum over pairs, over the size of the batch, at most ``clip`` (``docs/proofs/pairwise.md``);
    then [ACGMMTZ16, Alg. 1], accounted by loss distributions [ZDW22].
    Error: none is promised; noise has as many coordinates as A, so features should be few.
    Not covered: running time; the number of rows and the set of labels, where they are not declared.
    """

    decision_function = _Absent()
    score = _Absent()

    def _network(self, inputs: int, outputs: int) -> Network:
        return MetricPairs((inputs, max(2, outputs)), bias=0.0)

    def _recipe(self, facts: TrainingFacts) -> Recipe:
        return pairs(facts, batch=1 << 9)

    def _learned_from(self, made: Training, values: Floats) -> None:
        super()._learned_from(made, values)
        network = MetricPairs(made.network.widths, bias=0.0)
        spread, directions = np.linalg.eigh(network.matrix(network.project(values)))
        self.components_ = np.sqrt(np.maximum(spread, 0))[::-1, None] * directions.T[::-1] / made.norm

    def transform(self, X: Any) -> Floats:
        """Rows in whose plain distance the learned one lies: A x."""
        table = self._known(X)
        turned = np.zeros((len(table), len(self.components_)))
        for j, column in enumerate(table.T):  # no matrix product: it may round a row by where it stands
            turned += column[:, None] * self.components_[:, j]
        return turned
