"""Several steps that are charged once."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import hashlib
import math
import pickle
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from hubbub.learn.charges import Account, account_of, charged, request_for
from hubbub.learn.estimators import Estimator, price_of
from hubbub.learn.inputs import shape_of, table_of
from hubbub.learn.network import Floats
from hubbub.learn.stages import Shape, Stage, affordable, check_stage, epsilon_for, is_private, stage_of
from hubbub.terms import (
    ApproximateDP,
    Compose,
    EmptyInput,
    Guarantee,
    MixesPeople,
    Neighbours,
    NotANumber,
    OutOfRange,
    Receipt,
    Repeat,
    Unit,
    WrongShape,
    exact,
    whole,
)

_LAST = Fraction(3, 4)  # the last step's share of the (squared) budget, if others are private too
_PUBLIC = "Public steps count as treating each row by itself; they were tried on made-up rows."


def make_pipeline(*steps: Any, **settings: Any) -> Pipeline:
    """A pipeline of these steps; the settings are those of ``Pipeline``."""
    return Pipeline(steps, **settings)


@dataclass(frozen=True, slots=True)
class Line:
    """A pipeline whose every decision is made: each step as a Stage, or as it came if it is public."""

    steps: tuple[Any, ...]
    run: Repeat
    guarantee: Guarantee
    columns: int
    total: bool  # whether no row may make the fit fail

    @property
    def stages(self) -> list[Stage]:
        """The private steps."""
        return [step for step in self.steps if isinstance(step, Stage)]

    def release(self, X: Any, y: Any) -> Floats:
        """Each step reads what the fitted steps before it make of the rows; if ``total``, what is no number is 0."""
        released: list[Floats] = []
        entering = self._clean(X)
        for place, step in enumerate(self.steps):
            if isinstance(step, Stage):
                released.append(step.release(entering, y))
                fitted = step.keep(entering, released[-1], None)
            else:
                fitted = step
            if place < len(self.steps) - 1:
                entering = self._clean(fitted.transform(entering))
        return np.concatenate(released)

    def _clean(self, X: Any) -> Any:
        return table_of(X, total=True) if self.total else X

    @property
    def parts(self) -> dict[str, object]:
        """What, beside the event, makes two fits the same: the steps, in order."""
        return {"steps": [step.parts if isinstance(step, Stage) else _identity(step) for step in self.steps]}


class Pipeline(Estimator):
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
        epsilon: Any = None,
        delta: Any = None,
        shares: Sequence[Any] | None = None,
        rows: Any = None,
        neighbours: Any = "add-remove",
        unit: str = "",
        account: Any = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.steps, self.epsilon, self.delta, self.shares = steps, epsilon, delta, shares
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    # ------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit every step; all of it is charged before a value is read."""
        account = account_of(self.account, self.population)
        line = self._line(X, y, account)
        request = None
        if account is not None:
            request = request_for(
                account,
                line.run,
                delta=line.guarantee.holds.delta,  # type: ignore[attr-defined]
                size=sum(stage.size for stage in line.stages),
                dataset=self.dataset,
                parts=line.parts,
                title="fit Pipeline",
            )
        values, receipt = charged(account, request, lambda: line.release(X, y))
        self._keep(X, line, values, receipt)
        return self

    def _line(self, X: Any, y: Any, account: Account | None) -> Line:
        """Every decision, from parameters and shapes: the largest shares whose events together keep the promise."""
        price, relation = price_of(self), Neighbours.parse(self.neighbours)
        rows, columns = shape_of(X)
        widths, shares = self._widths(columns), self._shares()

        def planned(budget: float) -> Line:
            steps = self._staged(rows, widths, y, account, budget, shares, price[1])
            run = Repeat(Compose(tuple(step.run for step in steps if isinstance(step, Stage))), 1)
            guarantee = Guarantee(ApproximateDP(*price), Unit(self.unit), relation, _caveats(steps))
            return Line(steps, run, guarantee, columns, self.rows is not None)

        return affordable(planned, price, relation, fits=len(shares))

    def _staged(
        self,
        rows: int,
        widths: list[int],
        y: Any,
        account: Account | None,
        budget: float,
        shares: list[float],
        delta: Fraction,
    ) -> tuple[Any, ...]:
        shared = {"neighbours": self.neighbours, "unit": self.unit, "rows": self.rows}
        left = iter(shares)
        steps: list[Any] = []
        for step, columns in zip(self.steps, widths, strict=True):
            if not is_private(step):
                steps.append(step)
                continue
            price = epsilon_for(delta, budget * math.sqrt(next(left)))
            steps.append(stage_of(step, (rows, columns), y, account, epsilon=price, delta=delta, shared=shared))
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

    def _keep(self, X: Any, line: Line, values: Floats, receipt: Receipt | None) -> None:
        fitted: list[Any] = []
        place = 0
        for step in line.steps:
            if isinstance(step, Stage):
                named = Shape((1, 1)) if fitted else X  # only the first step knows names of columns
                fitted.append(step.keep(named, values[place : place + step.size], receipt))
                place += step.size
            else:
                fitted.append(step)
        self.steps_, self.n_features_in_ = fitted, line.columns
        self.event_, self.guarantee_, self.receipt_ = line.run, line.guarantee, receipt

    # ------------------------------------------------------------ using

    @property
    def classes_(self) -> Any:
        """The classes of the last step."""
        return self.steps_[-1].classes_

    def _before(self, X: Any) -> Any:
        """What enters the last step."""
        self._need_fit()
        entering = X
        for step in self.steps_[:-1]:
            entering = step.transform(entering)
        return entering

    def predict(self, X: Any) -> Any:
        """What the last step predicts."""
        before = self._before(X)
        return self.steps_[-1].predict(before)

    def predict_proba(self, X: Any) -> Any:
        """The probabilities of the last step."""
        before = self._before(X)
        return self.steps_[-1].predict_proba(before)

    def decision_function(self, X: Any) -> Any:
        """The scores of the last step."""
        before = self._before(X)
        return self.steps_[-1].decision_function(before)

    def transform(self, X: Any) -> Any:
        """What the last step makes of the rows, if it transforms."""
        before = self._before(X)
        return self.steps_[-1].transform(before)

    def score(self, X: Any, y: Any = None) -> float:
        """The score of the last step; on private rows this is a private number."""
        before = self._before(X)
        return float(self.steps_[-1].score(before, y))


def _caveats(steps: tuple[Any, ...]) -> tuple[str, ...]:
    """What the steps rest on, each said once."""
    said = [caveat for step in steps if isinstance(step, Stage) for caveat in step.made.guarantee.caveats]
    if not all(isinstance(step, Stage) for step in steps):
        said.append(_PUBLIC)
    return tuple(dict.fromkeys(said))


def _identity(step: Any) -> dict[str, object]:
    """A public step by what it holds, which its ``repr`` need not tell; what cannot be pickled is like no other."""
    try:
        return {"public": hashlib.sha256(pickle.dumps(step)).hexdigest()}
    except Exception:  # whatever its parts raise
        return {"once": secrets.token_hex(16)}


def _width_of(step: Any, columns: int) -> int:
    """How many columns leave a private step."""
    kept = getattr(step, "n_components", None)
    return columns if kept is None else whole(kept, name="n_components")


def public_width(step: Any, columns: int) -> int:
    """How many columns leave a public step; it is tried on made-up rows, together and one by one.

    Guarantee: none; a step that mixes rows on the made-up table is refused.
    Because: rows that are transformed one by one stay neighbours: post-processing of each row [DR14, Prop. 2.1].
    """
    if not hasattr(step, "transform") or _needs_fit(step):
        raise NotANumber(
            f"the step {type(step).__name__} is neither private nor frozen.",
            why="Fitting it would read rows for free.",
            fix="Use the one of hubbub.learn, or fit it on public data and give sklearn.frozen.FrozenEstimator(it).",
        )
    made_up = np.random.default_rng(0).uniform(-1, 1, (5, columns))
    together = table_of(step.transform(made_up))
    alone = [table_of(step.transform(made_up[i : i + 1])) for i in range(len(made_up))]
    if any(len(rows) != 1 for rows in alone) or len(together) != len(made_up):
        raise WrongShape(
            f"the step {type(step).__name__} changes the number of rows.",
            why="One row in must be one row out.",
            fix="Leave it out of the pipeline.",
        )
    if not np.allclose(np.vstack(alone), together):
        raise MixesPeople(
            f"the step {type(step).__name__} mixes rows.",
            why="One person's row would change the others', and no clipping could bound that.",
            fix="Use a step that treats each row by itself.",
        )
    return int(together.shape[1])


def _needs_fit(step: Any) -> bool:
    """Whether scikit-learn says that a step must be fitted, and it is not frozen."""
    try:
        from sklearn.frozen import FrozenEstimator
        from sklearn.utils import get_tags
    except ImportError:
        return hasattr(step, "fit")
    if isinstance(step, FrozenEstimator):
        return False
    return hasattr(step, "fit") and bool(get_tags(step).requires_fit)
