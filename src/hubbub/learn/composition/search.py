"""Choosing hyper-parameters privately: a random number of private fits, of which only the best leaves."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from hubbub import noise
from hubbub.accounting import renyi, renyi_epsilon
from hubbub.learn.base.inputs import table_of
from hubbub.learn.base.jobs import FitJob, account_of, fit_facts, release_fit
from hubbub.learn.base.parameters import Wrapper, price_of
from hubbub.learn.base.shapes import check_names, check_target, names_of, shape_of
from hubbub.learn.composition.stages import Stage, TableShape, check_stage, copy_of, delta_left, stage_of
from hubbub.learn.identity import stored_names, tag_of
from hubbub.learn.training.network import Floats
from hubbub.ledger import Account, AccountLike
from hubbub.terms import (
    ApproximateDP,
    ApproximateStep,
    EmptyInput,
    Event,
    Guarantee,
    MissingParameter,
    Neighbours,
    OutOfRange,
    Real,
    Receipt,
    Repeat,
    Unit,
    Unreachable,
    WrongShape,
    exact,
    identity_of,
)

_ORDERS = np.array([*np.linspace(1.05, 12, 120), *range(13, 64), *np.geomspace(64, 2e6, 120)])
_SEARCH = 40  # halvings


@dataclass(frozen=True, slots=True)
class Trials:
    """How many fits there are: k with probability proportional to (1 - gamma)^k / k, the logarithmic law."""

    gamma: Fraction

    @classmethod
    def of(cls, mean: Fraction) -> Trials:
        """The law with about this mean, which is a little more if anything."""
        low, high = 0.0, 1.0
        while high - low > 1e-12:
            middle = (low + high) / 2
            low, high = (low, middle) if _mean(middle) < mean else (middle, high)
        return cls(Fraction(low).limit_denominator(10**9) if low > 1e-9 else Fraction(1, 10**9))

    @property
    def mean(self) -> float:
        """The expected number."""
        return _mean(float(self.gamma))

    def draw(self, *, rng: noise.RandomSource | None = None) -> int:
        """A number of this very law: geometric ones, k of which is kept with probability 1/k."""
        while True:
            count = 1
            while not noise.bernoulli(self.gamma, rng=rng):
                count += 1
            if noise.bernoulli(Fraction(1, count), rng=rng):
                return count

    def cost(self, events: Sequence[Event], *, delta: Fraction, neighbours: Neighbours) -> float:
        """epsilon at ``delta`` of the best of so many runs, each of one of the events.

        Guarantee: an upper bound on the cost of releasing the best run, and no other.
        Because: [PS22, Thm. 2] with eta = 0, for the largest Renyi divergence of any of the events.
        """
        found = [renyi.divergences(event, neighbours, _ORDERS) for event in events]
        if any(curve is None for curve in found):
            return math.inf
        base = np.max([curve for curve in found if curve is not None], axis=0)
        more = float(np.min((1 - 1 / _ORDERS) * base - math.log(self.gamma) / _ORDERS))
        together = base + more + math.log(self.mean) / (_ORDERS - 1)
        return min(renyi_epsilon(a, e, float(delta)) for a, e in zip(_ORDERS.tolist(), together.tolist(), strict=True))


def _mean(gamma: float) -> float:
    return (1 / gamma - 1) / -math.log(gamma) if 0 < gamma < 1 else (math.inf if gamma <= 0 else 1.0)


def _refuse_unknown(stages: Sequence[Stage], relation: Neighbours) -> None:
    """Refuse fits of which only epsilon and delta are known."""
    if any(renyi.divergences(stage.run, relation, _ORDERS[:1]) is None for stage in stages):
        raise Unreachable(
            "the best of several such fits has no known cost.",
            why="It follows from Renyi divergences, and there are none for a sampling rate that a noisy count decides.",
            fix='Declare rows=, or write sampling="full" in the estimator.',
        )


class PrivateSearch(Wrapper):
    """The best of several settings of an estimator, found privately; only the best model leaves.

    A random number of times (``trials`` on average) one of the ``candidates`` is drawn, fitted privately and scored on
    ``validation=(X, y)``, which must be public. Trying many costs little more than trying one: about two to three
    times the epsilon of a single fit.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: [PS22, Thm. 2]: a random number of runs, hidden from those who see the result.
    Error: none is promised; each candidate is fitted with a fraction of the budget.
    Not covered: running time, which tells how many fits there were.

    >>> import numpy as np
    >>> from hubbub.learn import Ridge
    >>> X = np.random.default_rng(1).uniform(-0.5, 0.5, (5000, 2))
    >>> search = PrivateSearch(
    ...     Ridge(norm=1.0, target_bounds=(-1, 1)), [{"alpha": 0}, {"alpha": 1e9}],
    ...     validation=(X[:500], X[:500, 0]), trials=20, epsilon=2, delta=1e-6,
    ... )
    >>> search.fit(X[500:], X[500:, 0]).predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        estimator: Any = None,
        candidates: Sequence[Mapping[str, Any]] = (),
        *,
        validation: tuple[Any, Any] | None = None,
        trials: Any = 10,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rows: Any = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.estimator, self.candidates, self.validation, self.trials = estimator, candidates, validation, trials
        self.epsilon, self.delta, self.rows, self.neighbours, self.unit = epsilon, delta, rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    # ------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any = None) -> Self:
        """Search; all of it is charged before a value is read."""
        account = account_of(self.account, self.population)
        price, trials = price_of(self), self._trials()
        self._check(X, y)
        stages, run = self._planned(X, y, account, trials, price)
        facts = fit_facts(
            run,
            delta=price[1],
            size=1 + max(stage.size for stage in stages),
            dataset=self.dataset,
            parts={**self._facts(), "stages": [stage.parts for stage in stages], "trials": str(trials.gamma)},
            job="search",
            title="search",
        )
        values, receipt = release_fit(FitJob(facts, lambda: self._best(stages, trials, X, y)), account)
        self._keep(X, stages, run, values, receipt, price)
        return self

    def _check(self, X: Any, y: Any) -> None:
        """Refuse by types, shapes and names what cannot be fitted, or validated on the given rows."""
        rows, columns = self._shape(X)
        if y is not None:
            check_target(y, rows)
        inputs, answers = self.validation  # type: ignore[misc]
        known, width = shape_of(inputs, name="validation=")
        check_target(answers, known)
        if width != columns:
            raise WrongShape(
                f"validation= has {width} columns and X has {columns}.",
                why="The models that learn from X are scored on it.",
                fix="Give validation rows with the columns of X, in the same order.",
            )
        if names_of(X) is not None and names_of(inputs) is not None:
            check_names(names_of(X), inputs, model=type(self).__name__)

    def _facts(self) -> dict[str, object]:
        """The candidates in order and the validation rows: a stored answer names a candidate by its place."""
        inputs, answers = self.validation  # type: ignore[misc]
        tag = tag_of(self.estimator)
        return {
            "candidates": [identity_of(stored_names(tag, dict(each))) for each in self.candidates],
            "validation": [list(shape_of(inputs)), identity_of(np.ascontiguousarray(table_of(inputs)))],
            "answers": identity_of(np.asarray(answers)),
        }

    def _trials(self) -> Trials:
        if self.estimator is None or not len(self.candidates):
            raise EmptyInput(
                "a search needs an estimator and candidates.",
                why="There is nothing to try.",
                fix='Write PrivateSearch(Ridge(...), [{"alpha": 0.1}, {"alpha": 1}], ...).',
            )
        if self.validation is None:
            raise MissingParameter(
                "a search needs validation=(X, y), rows that are public.",
                why="Scores on private rows would tell about them.",
                fix="Keep public rows apart, and give them as validation=.",
            )
        check_stage(self.estimator, whole="search")
        mean = exact(self.trials, name="trials")
        if mean < 1:
            raise OutOfRange("trials must be at least 1.", why="Something must be fitted.", fix="Write trials=10.")
        return Trials.of(max(mean, Fraction(101, 100)))

    def _planned(
        self, X: Any, y: Any, account: Account | None, trials: Trials, price: tuple[Fraction, Fraction]
    ) -> tuple[list[Stage], Repeat]:
        """Each candidate with the most that it may cost for the whole to keep the promise."""
        relation = Neighbours.parse(self.neighbours)
        delta = delta_left(price[1], fits=Fraction(trials.mean))
        _refuse_unknown(self._stages(X, y, account, *price), relation)
        low, high, found = 0.0, float(price[0]), None
        for _ in range(_SEARCH):
            middle = (low + high) / 2
            stages = self._stages(X, y, account, Fraction(middle), price[1])
            cost = trials.cost([stage.run for stage in stages], delta=delta, neighbours=relation)
            if cost <= price[0]:
                low, found = middle, stages
                if cost > 0.99 * float(price[0]):
                    break
            else:
                high = middle
        if found is None:
            raise Unreachable(
                f"no noise makes the best of {float(trials.mean):.0f} fits cost so little.",
                why="The number of fits has a cost of its own, whatever their noise.",
                fix="Ask for a larger epsilon or delta, or fewer trials.",
            )
        step = ApproximateStep(
            epsilon=price[0], delta=price[1], mechanism="private-search", neighbours=relation, unit=Unit(self.unit)
        )
        return found, Repeat(step, 1)

    def _stages(self, X: Any, y: Any, account: Account | None, epsilon: Fraction, delta: Fraction) -> list[Stage]:
        shared = {"neighbours": self.neighbours, "unit": self.unit, "rows": self.rows}
        return [
            stage_of(
                copy_of(self.estimator, **each), self._shape(X), y, account, epsilon=epsilon, delta=delta, shared=shared
            )
            for each in self.candidates
        ]

    def _shape(self, X: Any) -> tuple[int, int]:
        return shape_of(X, empty=self.rows is not None)

    def _best(self, stages: list[Stage], trials: Trials, X: Any, y: Any) -> Floats:
        """The number of the best candidate and what its fit released, filled up with zeros to the same size."""
        best, place, kept = -math.inf, 0, np.zeros(0)
        for _ in range(trials.draw()):
            drawn = noise.uniform(len(stages))
            released = stages[drawn].release(X, y)
            score = float(stages[drawn].keep(TableShape((1, 1)), released, None).score(*self.validation))  # type: ignore[misc]
            if math.isnan(score):
                score = -math.inf  # the best of several needs a total order
            if score > best or not kept.size:
                best, place, kept = score, drawn, released
        filled = np.zeros(1 + max(stage.size for stage in stages))
        filled[0], filled[1 : 1 + kept.size] = place, kept
        return filled

    def _keep(
        self,
        X: Any,
        stages: list[Stage],
        run: Repeat,
        values: Floats,
        receipt: Receipt | None,
        price: tuple[Fraction, Fraction],
    ) -> None:
        chosen = stages[int(values[0])]
        self.best_params_ = dict(self.candidates[int(values[0])])
        self.best_estimator_ = chosen.keep(X, values[1 : 1 + chosen.size], receipt)
        self.n_features_in_ = self._shape(X)[1]
        if names_of(X) is not None:
            self.feature_names_in_ = names_of(X)
        self.event_, self.receipt_ = run, receipt
        inner = chosen.made.guarantee
        caveats = (*inner.caveats, "The validation rows count as public.")
        self.guarantee_ = Guarantee(ApproximateDP(*price), inner.unit, inner.neighbours, caveats)
        self.best_estimator_.event_ = run  # the best of many costs more than its own fit
        self.best_estimator_.guarantee_ = self.guarantee_

    # ------------------------------------------------------------ using

    def _inner(self) -> Any:
        return getattr(self, "best_estimator_", self.estimator)
