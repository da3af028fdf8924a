"""Pipelines: several estimators one after another, with one price that is split between them and charged once."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from hubbub.learn.base.fit_plan import FitFacts, FitPlan, RowCount, Watch, nobody
from hubbub.learn.base.inputs import private_table
from hubbub.learn.base.private_count import plan_with_count
from hubbub.learn.base.shapes import TableColumns
from hubbub.learn.composition.delegation import Delegating
from hubbub.learn.composition.public_steps import public_width, transform_alone, transform_rows
from hubbub.learn.composition.stages import Stage, check_stage, epsilon_for, is_private, largest_affordable, stage_of
from hubbub.learn.stored_words import identity_of_step
from hubbub.learn.training.network import Floats
from hubbub.ledger import AccountLike
from hubbub.terms import Compose, EmptyInput, Guarantee, Neighbours, OutOfRange, Real, Receipt, Repeat, exact, whole

_LAST = Fraction(3, 4)  # the last step's share of the (squared) budget, if others are private too
_PUBLIC = "Public steps count as treating each row by itself; they were tried on made-up rows."


def make_pipeline(*steps: Any, **settings: Any) -> Pipeline:
    """A pipeline of these steps; the settings are those of ``Pipeline``."""
    return Pipeline(steps, **settings)


@dataclass(frozen=True, slots=True)
class PipelinePlan:
    """A pipeline whose every decision is made: each step as a Stage, or as it came if it is public."""

    steps: tuple[Any, ...]
    event: Repeat
    guarantee: Guarantee

    @property
    def stages(self) -> list[Stage]:
        """The private steps."""
        return [step for step in self.steps if isinstance(step, Stage)]

    @property
    def size(self) -> int:
        """How many numbers are stored."""
        return sum(stage.size for stage in self.stages)

    @property
    def identity(self) -> dict[str, object]:
        """What, beside the event, makes two fits the same: the steps, in order."""
        return {"steps": [step.identity if isinstance(step, Stage) else identity_of_step(step) for step in self.steps]}

    def train(self, X: ArrayLike, y: ArrayLike | None, watch: Watch = nobody) -> Floats:
        """Each step reads what the fitted steps before it make of the rows; what is no finite number is 0."""
        released: list[Floats] = []
        entering = private_table(X)
        for number, step in enumerate(self.steps):
            if isinstance(step, Stage):
                released.append(step.release(entering, y, watch))
                fitted = step.fitted(released[-1])
            else:
                fitted = step
            if number < len(self.steps) - 1:
                entering = self._leaving(fitted, entering)
        return np.concatenate(released)

    def _leaving(self, step: Any, entering: Floats) -> Floats:
        """What leaves a fitted step; from a public one, whatever a row makes it raise."""
        return private_table(step.transform(entering) if is_private(step) else transform_rows(step, entering))

    def learned(self, values: Floats) -> dict[str, object]:
        """The fitted steps."""
        ends = np.cumsum([stage.size for stage in self.stages])[:-1]
        released = iter(np.split(values, ends))
        return {"steps_": [step.fitted(next(released)) if isinstance(step, Stage) else step for step in self.steps]}


class Pipeline(Delegating):
    """Steps one after the other, paid for together: one price, one event, one charge.

    All steps but the last transform. A private step (of this package) has no price of its own: the pipeline gives it a
    share, and checks by the accounting of all events together that the whole keeps the promise. ``shares`` are weights
    of the private steps in terms of squared noise; by default the last one has three quarters. A public step is frozen
    (``sklearn.frozen.FrozenEstimator``) or needs no fit, and treats each row by itself: it is tried on made-up rows.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: the accounting of the composed event itself, [ZDW22, Thm. 10] and [DRS22, Cor. 2]; public steps that treat
    rows one by one keep neighbours neighbours.
    Not covered: running time; a public step that mixes rows only for values on which it was not tried, or whose last
    digits for a row depend on where the row stands, as a matrix product's may.

    >>> import numpy as np
    >>> from hubbub.learn import LogisticRegression, StandardScaler
    >>> X = np.random.default_rng(1).normal([50, 0], [10, 1], (4000, 2))
    >>> model = make_pipeline(
    ...     StandardScaler(bounds=[(0, 100), (-5, 5)]), LogisticRegression(norm=3.0), epsilon=1, delta=1e-6
    ... )
    >>> model.fit(X, X[:, 0] > 50).score(X, X[:, 0] > 50) > 0.9
    True
    """

    def __init__(
        self,
        steps: Sequence[Any] = (),
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        shares: Sequence[Real] | None = None,
        rows: int | str | None = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.steps, self.epsilon, self.delta, self.shares = steps, epsilon, delta, shares
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    # ------------------------------------------------------------ fitting

    def _declared_width(self) -> int | None:
        first: Any = self.steps[0] if len(self.steps) else None
        return first._declared_width() if is_private(first) else getattr(first, "n_features_in_", None)

    def _plan(self, facts: FitFacts) -> FitPlan:
        if facts.private_rows:
            return plan_with_count(facts, self._plan_rows, rest=lambda plan, facts: None)
        return self._plan_rows(facts, facts.row_count)

    def _plan_rows(self, facts: FitFacts, rows: RowCount) -> PipelinePlan:
        """Every decision, from parameters and shapes: the largest shares whose events together keep the promise."""
        widths, shares = self._widths(facts.columns), self._shares()

        def planned(budget: float) -> PipelinePlan:
            steps = self._staged(facts, rows, widths, budget, shares)
            event = Repeat(Compose(tuple(step.event for step in steps if isinstance(step, Stage))), 1)
            return PipelinePlan(steps, event, replace(facts.guarantee, caveats=_caveats_of_steps(steps)))

        return largest_affordable(planned, facts.price, facts.neighbours, fits=len(shares))

    def _staged(
        self, facts: FitFacts, rows: RowCount, widths: list[int], budget: float, shares: list[float]
    ) -> tuple[Any, ...]:
        declared = None if self.rows is None else rows.expected  # no step fails if it is wrong
        shared = {"neighbours": self.neighbours, "unit": self.unit, "rows": declared}
        remaining, delta = iter(shares), facts.price[1]
        steps: list[Any] = []
        for step, columns in zip(self.steps, widths, strict=True):
            if not is_private(step):
                steps.append(step)
                continue
            epsilon = epsilon_for(delta, budget * math.sqrt(next(remaining)))
            shape = (rows.expected, columns)
            steps.append(stage_of(step, shape, facts.y, facts.account, epsilon=epsilon, delta=delta, shared=shared))
        return tuple(steps)

    def _widths(self, columns: int) -> list[int]:
        """How many columns enter each step, from public facts; also a check of every step."""
        if not self.steps:
            raise EmptyInput("a pipeline needs steps.", why="There is nothing to fit.", fix="Give at least one.")
        widths = []
        for step in self.steps:
            widths.append(columns)
            if is_private(step):
                check_stage(step, whole="pipeline")
                columns = _width_of(step, columns)
            else:
                columns = public_width(step, columns)
        return widths

    def _shares(self) -> list[float]:
        count = sum(map(is_private, self.steps))
        if count == 0:
            raise EmptyInput(
                "no step of the pipeline learns privately.", why="There is nothing to pay for.", fix="Add an estimator."
            )
        if self.shares is None:
            return [1.0] if count == 1 else [float((1 - _LAST) / (count - 1))] * (count - 1) + [float(_LAST)]
        given = [exact(share, name="shares") for share in self.shares]
        if len(given) != count or min(given) <= 0:
            raise OutOfRange(
                f"shares= needs one positive weight for each of the {count} private steps.",
                why="Every private step needs noise, and noise follows from its share.",
                fix=f"Write shares={[1] * count}.",
            )
        return [float(share / sum(given)) for share in given]

    def _learn(self, plan: FitPlan, values: Floats, receipt: Receipt | None, columns: TableColumns) -> Self:
        super()._learn(plan, values, receipt, columns)
        for step in filter(is_private, self.steps_):
            step.receipt_ = receipt
        if is_private(self.steps_[0]):  # only the first step knows names of columns
            self.steps_[0].__dict__.update(vars(columns))
        return self

    # ------------------------------------------------------------ using

    def _inner(self) -> Any:
        steps = getattr(self, "steps_", self.steps)
        return steps[-1] if len(steps) else None

    def _entering(self, X: ArrayLike) -> ArrayLike:
        """What enters the last step."""
        entering = X
        for step in self.steps_[:-1]:
            entering = np.asarray(step.transform(entering))  # a step may be set to give frames
        return entering

    def _entering_alone(self, rows: Floats) -> Floats:
        """What enters the last step, each row by itself: what a step raises for a row, and what is no number, is 0."""
        for step in self.steps_[:-1]:
            columns = rows.shape[1]
            width = _width_of(step, columns) if is_private(step) else public_width(step, columns)
            rows = transform_alone(step, rows, width)
        return rows

    @property
    def target_bounds_(self) -> Any:
        """The bounds of the last step's target, if it is a regressor."""
        return self.steps_[-1].target_bounds_


def _caveats_of_steps(steps: tuple[Any, ...]) -> tuple[str, ...]:
    """What the steps rest on, each said once."""
    caveats = [caveat for step in steps if isinstance(step, Stage) for caveat in step.plan.guarantee.caveats]
    if not all(isinstance(step, Stage) for step in steps):
        caveats.append(_PUBLIC)
    return tuple(dict.fromkeys(caveats))


def _width_of(step: Any, columns: int) -> int:
    """How many columns leave a private step."""
    if hasattr(step, "_leaving"):
        return int(step._leaving(columns))
    kept = getattr(step, "n_components", None)
    return columns if kept is None else whole(kept, name="n_components")
