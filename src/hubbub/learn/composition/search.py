"""Choosing hyper-parameters privately: a random number of private fits, of which only the best leaves."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from hubbub import noise
from hubbub.accounting import renyi, renyi_epsilon
from hubbub.learn.base.fit_plan import FitFacts, FitPlan, Watch, nobody
from hubbub.learn.base.inputs import table_of
from hubbub.learn.base.private_estimator import PrivateEstimator
from hubbub.learn.base.shapes import (
    TableColumns,
    check_same_columns,
    check_target,
    columns_of,
    shape_of,
    width_of_rows,
    with_width,
)
from hubbub.learn.composition.delegation import Delegating
from hubbub.learn.composition.stages import Stage, check_stage, copy_of, delta_left, stage_of
from hubbub.learn.stored_words import stored_names, tag_of
from hubbub.learn.training.network import Floats
from hubbub.ledger import AccountLike
from hubbub.terms import (
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
    Unreachable,
    WrongShape,
    exact,
    identity_of,
)

_VALIDATION = "The validation rows count as public."
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
            low, high = (low, middle) if _mean_trials(middle) < mean else (middle, high)
        return cls(Fraction(low).limit_denominator(10**9) if low > 1e-9 else Fraction(1, 10**9))

    @property
    def mean(self) -> float:
        """The expected number."""
        return _mean_trials(float(self.gamma))

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
        curves = [renyi.divergences(event, neighbours, _ORDERS) for event in events]
        if any(curve is None for curve in curves):
            return math.inf
        base = np.max([curve for curve in curves if curve is not None], axis=0)
        more = float(np.min((1 - 1 / _ORDERS) * base - math.log(self.gamma) / _ORDERS))
        together = base + more + math.log(self.mean) / (_ORDERS - 1)
        return min(renyi_epsilon(a, e, float(delta)) for a, e in zip(_ORDERS.tolist(), together.tolist(), strict=True))


def _mean_trials(gamma: float) -> float:
    return (1 / gamma - 1) / -math.log(gamma) if 0 < gamma < 1 else (math.inf if gamma <= 0 else 1.0)


def _refuse_unknown(stages: Sequence[Stage], relation: Neighbours) -> None:
    """Refuse fits of which only epsilon and delta are known."""
    if any(renyi.divergences(stage.event, relation, _ORDERS[:1]) is None for stage in stages):
        raise Unreachable(
            "the best of several such fits has no known cost.",
            why="It follows from Renyi divergences, and there are none for a sampling rate that a noisy count decides.",
            fix='Declare rows=, or write sampling="full" in the estimator.',
        )


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """A search whose every decision is made."""

    search: PrivateSearch
    stages: list[Stage]
    trials: Trials
    event: Repeat
    facts: FitFacts

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, with what the candidates rest on."""
        caveats = [caveat for stage in self.stages for caveat in stage.plan.guarantee.caveats]
        return replace(self.facts.guarantee, caveats=tuple(dict.fromkeys([*caveats, _VALIDATION])))

    @property
    def size(self) -> int:
        """The number of the best candidate, and what the largest of them releases."""
        return 1 + max(stage.size for stage in self.stages)

    @property
    def identity(self) -> dict[str, object]:
        """The candidates in order and the validation rows: a stored answer names a candidate by its place."""
        inputs, answers = self.search.validation  # type: ignore[misc]
        tag = tag_of(self.search.estimator)
        return {
            "candidates": [identity_of(stored_names(tag, dict(each))) for each in self.search.candidates],
            "validation": [list(shape_of(inputs)), identity_of(np.ascontiguousarray(table_of(inputs)))],
            "answers": identity_of(np.asarray(answers)),
            "stages": [stage.identity for stage in self.stages],
            "trials": str(self.trials.gamma),
        }

    def train(self, X: ArrayLike, y: ArrayLike | None, watch: Watch = nobody) -> Floats:
        """The number of the best candidate and what its fit released, filled up with zeros to the same size."""
        best, number, kept = -math.inf, 0, np.zeros(0)
        for _ in range(self.trials.draw()):
            drawn = noise.uniform(len(self.stages))
            released = self.stages[drawn].release(X, y)
            score = self._score(self.stages[drawn].fitted(released))
            if score > best or not kept.size:
                best, number, kept = score, drawn, released
        filled = np.zeros(self.size)
        filled[0], filled[1 : 1 + kept.size] = number, kept
        return filled

    def _score(self, model: Any) -> float:
        """The score on the public rows, -inf where there is none: what goes wrong with a model tells about rows."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                score = float(model.score(*self.search.validation))  # type: ignore[misc]
        except ValueError:  # scikit-learn's scores refuse predictions that are no finite numbers
            return -math.inf
        return -math.inf if math.isnan(score) else score  # the best of several needs a total order

    def learned(self, values: Floats) -> dict[str, object]:
        """The best candidate, fitted."""
        number = int(values[0])
        stage = self.stages[number]
        return {
            "best_params_": dict(self.search.candidates[number]),
            "best_estimator_": stage.fitted(values[1 : 1 + stage.size]),
        }


class PrivateSearch(Delegating):
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

    _job = "search"

    def __init__(
        self,
        estimator: PrivateEstimator | None = None,
        candidates: Sequence[Mapping[str, Any]] = (),
        *,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
        trials: Real = 10,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rows: int | str | None = None,
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

    def _plan(self, facts: FitFacts) -> SearchPlan:
        """Each candidate with the most that it may cost for the whole to keep the promise."""
        trials = self._trials()
        self._check_validation(facts.columns)
        assert self.validation is not None  # that is checked above
        stages = self._stages(facts, trials)
        event = ApproximateStep(
            epsilon=facts.price[0],
            delta=facts.price[1],
            mechanism="private-search",
            neighbours=facts.neighbours,
            unit=facts.unit,
        )
        return SearchPlan(self, stages, trials, Repeat(event, 1), facts)

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, *, watch: Watch = nobody) -> Self:
        """Search; all of it is charged before a value is read."""
        self._trials()
        check_same_columns(columns_of(with_width(X, self._declared_width())), self.validation[0], name="validation=")  # type: ignore[index]
        return super().fit(X, y, watch=watch)

    def _check_validation(self, columns: int) -> None:
        """Refuse by types and shapes validation rows on which the models could not be scored."""
        inputs, answers = self.validation  # type: ignore[misc]
        rows, width = shape_of(inputs, name="validation=")
        check_target(answers, rows)
        if width != columns:
            raise WrongShape(
                f"validation= has {width} columns and X has {columns}.",
                why="The models that learn from X are scored on it.",
                fix="Give validation rows with the columns of X, in the same order.",
            )

    def _declared_width(self) -> int | None:
        return None if self.validation is None else width_of_rows(self.validation[0])

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

    def _stages(self, facts: FitFacts, trials: Trials) -> list[Stage]:
        """The candidates at the largest price of each for which the best of all keeps the promise."""
        epsilon, delta = facts.price
        remaining = delta_left(delta, fits=Fraction(trials.mean))
        _refuse_unknown(self._stages_at(facts, epsilon), facts.neighbours)
        lower, upper, affordable = 0.0, float(epsilon), None
        for _ in range(_SEARCH):
            middle = (lower + upper) / 2
            stages = self._stages_at(facts, Fraction(middle))
            cost = trials.cost([stage.event for stage in stages], delta=remaining, neighbours=facts.neighbours)
            if cost <= epsilon:
                lower, affordable = middle, stages
                if cost > 0.99 * float(epsilon):
                    break
            else:
                upper = middle
        if affordable is None:
            raise Unreachable(
                f"no noise makes the best of {float(trials.mean):.0f} fits cost so little.",
                why="The number of fits has a cost of its own, whatever their noise.",
                fix="Ask for a larger epsilon or delta, or fewer trials.",
            )
        return affordable

    def _stages_at(self, facts: FitFacts, epsilon: Fraction) -> list[Stage]:
        assert self.estimator is not None  # the trials were checked, and it with them
        shared = {"neighbours": self.neighbours, "unit": self.unit, "rows": self.rows}
        shape, delta = (facts.rows, facts.columns), facts.price[1]
        return [
            stage_of(
                copy_of(self.estimator, **each),
                shape,
                facts.y,
                facts.account,
                epsilon=epsilon,
                delta=delta,
                shared=shared,
            )
            for each in self.candidates
        ]

    def _learn(self, plan: FitPlan, values: Floats, receipt: Receipt | None, columns: TableColumns) -> Self:
        super()._learn(plan, values, receipt, columns)
        self.best_estimator_.__dict__.update(vars(columns))
        best = self.best_estimator_
        best.event_, best.guarantee_, best.receipt_ = self.event_, self.guarantee_, receipt  # it costs what all do
        return self

    # ------------------------------------------------------------ using

    def _inner(self) -> Any:
        return getattr(self, "best_estimator_", self.estimator)
