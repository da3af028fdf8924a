"""Several steps that are charged once."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hubbub.learn.base.inputs import private_table
from hubbub.learn.base.parameters import Estimator, Wrapper
from hubbub.learn.base.private_count import Price, RowCount
from hubbub.learn.base.private_estimator import PrivateEstimator, Watch
from hubbub.learn.composition.public_steps import public_width, transformed
from hubbub.learn.composition.stages import (
    Stage,
    TableShape,
    affordable,
    check_stage,
    epsilon_for,
    is_private,
    stage_of,
)
from hubbub.learn.identity import identity
from hubbub.learn.training.network import Floats
from hubbub.ledger import Account, AccountLike
from hubbub.terms import (
    ApproximateDP,
    Compose,
    EmptyInput,
    Guarantee,
    Neighbours,
    OutOfRange,
    Real,
    Receipt,
    Repeat,
    Unit,
    exact,
    whole,
)

_LAST = Fraction(3, 4)  # the last step's share of the (squared) budget, if others are private too
_PUBLIC = "Public steps count as treating each row by itself; they were tried on made-up rows."


def make_pipeline(*steps: Any, **settings: Any) -> Pipeline:
    """A pipeline of these steps; the settings are those of ``Pipeline``."""
    return Pipeline(steps, **settings)


@dataclass(frozen=True, slots=True)
class PipelinePlan:
    """A pipeline whose every decision is made: each step as a Stage, or as it came if it is public."""

    steps: tuple[Any, ...]
    run: Repeat
    guarantee: Guarantee
    columns: int

    @property
    def stages(self) -> list[Stage]:
        """The private steps."""
        return [step for step in self.steps if isinstance(step, Stage)]

    @property
    def size(self) -> int:
        """How many numbers are stored."""
        return sum(stage.size for stage in self.stages)

    def release(self, X: Any, y: Any, watch: Watch) -> Floats:
        """Each step reads what the fitted steps before it make of the rows; what is no finite number is 0."""
        released: list[Floats] = []
        entering = private_table(X)
        for place, step in enumerate(self.steps):
            if isinstance(step, Stage):
                released.append(step.release(entering, y, watch))
                fitted = step.keep(entering, released[-1], None)
            else:
                fitted = step
            if place < len(self.steps) - 1:
                entering = self._passed(fitted, entering)
        return np.concatenate(released)

    def _passed(self, step: Any, entering: Floats) -> Floats:
        """What leaves a fitted step; from a public one, whatever a row makes it raise."""
        return private_table(step.transform(entering) if is_private(step) else transformed(step, entering))

    @property
    def parts(self) -> dict[str, object]:
        """What, beside the event, makes two fits the same: the steps, in order."""
        return {"steps": [step.parts if isinstance(step, Stage) else identity(step) for step in self.steps]}


class Pipeline(Wrapper, PrivateEstimator):
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

    _is_whole = True

    @property
    def _needs_target(self) -> bool:  # type: ignore[override]
        return bool(getattr(self._inner(), "_needs_target", False))

    def __init__(
        self,
        steps: Sequence[Any] = (),
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        shares: Sequence[Any] | None = None,
        rows: Any = None,
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

    def _plan(self, columns: int, y: Any, account: Account | None, rows: RowCount, price: Price) -> PipelinePlan:
        """Every decision, from parameters and shapes: the largest shares whose events together keep the promise."""
        relation, widths, shares = Neighbours.parse(self.neighbours), self._widths(columns), self._shares()

        def planned(budget: float) -> PipelinePlan:
            steps = self._staged(rows, widths, y, account, budget, shares, price[1])
            run = Repeat(Compose(tuple(step.run for step in steps if isinstance(step, Stage))), 1)
            guarantee = Guarantee(ApproximateDP(*price), Unit(self.unit), relation, _caveats(steps))
            return PipelinePlan(steps, run, guarantee, columns)

        return affordable(planned, price, relation, fits=len(shares))

    def _staged(
        self,
        rows: RowCount,
        widths: list[int],
        y: Any,
        account: Account | None,
        budget: float,
        shares: list[float],
        delta: Fraction,
    ) -> tuple[Any, ...]:
        shared = {"neighbours": self.neighbours, "unit": self.unit, "rows": self._told(rows)}
        left = iter(shares)
        steps: list[Any] = []
        for step, columns in zip(self.steps, widths, strict=True):
            if not is_private(step):
                steps.append(step)
                continue
            price = epsilon_for(delta, budget * math.sqrt(next(left)))
            shape = (rows.expected, columns)
            steps.append(stage_of(step, shape, y, account, epsilon=price, delta=delta, shared=shared))
        return tuple(steps)

    def _told(self, rows: RowCount) -> int | None:
        """The number of rows that the steps are told; none of them fails if it is wrong."""
        return None if self.rows is None else rows.expected

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

    def _released(self, made: PipelinePlan, X: Any, y: Any, watch: Watch) -> Floats:
        return made.release(X, y, watch)

    def _learned_from(self, made: PipelinePlan, values: Floats) -> None:
        fitted: list[Any] = []
        place = 0
        for step in made.steps:
            if isinstance(step, Stage):
                fitted.append(step.keep(TableShape((1, 1)), values[place : place + step.size], None))
                place += step.size
            else:
                fitted.append(step)
        self.steps_, self.n_features_in_ = fitted, made.columns

    def _keep(self, X: Any, made: Any, values: Floats, receipt: Receipt | None) -> None:
        super()._keep(X, made, values, receipt)
        for step in filter(is_private, self.steps_):
            step.receipt_ = receipt
        if is_private(self.steps_[0]):  # only the first step knows names of columns
            self.steps_[0]._note_names(X)

    # ------------------------------------------------------------ using

    def _inner(self) -> Any:
        steps = getattr(self, "steps_", self.steps)
        return steps[-1] if len(steps) else Estimator()

    def _entering(self, X: Any) -> Any:
        """What enters the last step."""
        entering = X
        for step in self.steps_[:-1]:
            entering = step.transform(entering)
        return entering

    @property
    def target_bounds_(self) -> Any:
        """The bounds of the last step's target, if it is a regressor."""
        return self.steps_[-1].target_bounds_


def _caveats(steps: tuple[Any, ...]) -> tuple[str, ...]:
    """What the steps rest on, each said once."""
    said = [caveat for step in steps if isinstance(step, Stage) for caveat in step.made.guarantee.caveats]
    if not all(isinstance(step, Stage) for step in steps):
        said.append(_PUBLIC)
    return tuple(dict.fromkeys(said))


def _width_of(step: Any, columns: int) -> int:
    """How many columns leave a private step."""
    if hasattr(step, "_leaving"):
        return int(step._leaving(columns))
    kept = getattr(step, "n_components", None)
    return columns if kept is None else whole(kept, name="n_components")
