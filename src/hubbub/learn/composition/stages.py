"""An estimator as one stage of something larger that pays for it: a pipeline, a search, a cross-validation."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from numpy.typing import ArrayLike

from hubbub.accounting import epsilon_of, mu_for
from hubbub.learn.base.fit_plan import FitPlan, Watch, nobody
from hubbub.learn.base.parameters import read_facts
from hubbub.learn.base.private_estimator import PrivateEstimator
from hubbub.learn.base.shapes import unnamed_columns
from hubbub.learn.stored_words import tag_of
from hubbub.learn.training.calibration import cost_of_run
from hubbub.learn.training.network import Floats
from hubbub.ledger import Account
from hubbub.terms import Neighbours, NotANumber, OutOfRange, Receipt, Repeat, Unreachable

_PAID_BY_THE_WHOLE = ("epsilon", "delta", "account", "population", "dataset")
_LARGE = Fraction(3, 1_000_000)  # of delta, for each fit: its batches may be too large, and its cost is rounded
_TRIES, _SHRINK = 200, 0.99  # of the noise budget, while the parts together cost too much


@dataclass(frozen=True, slots=True)
class Stage:
    """A private estimator with its share of the price, and what was decided for it before a value is read."""

    estimator: PrivateEstimator
    plan: FitPlan
    columns: int

    @property
    def event(self) -> Repeat:
        """The event of this stage."""
        return self.plan.event

    @property
    def size(self) -> int:
        """How many numbers it releases."""
        return self.plan.size

    @property
    def identity(self) -> dict[str, object]:
        """What, beside the event, makes two fits the same."""
        return {"estimator": tag_of(self.estimator), "plan": dict(self.plan.identity)}

    def release(self, X: ArrayLike, y: ArrayLike | None, watch: Watch = nobody) -> Floats:
        """Read the rows, and release what the event says."""
        return self.plan.train(X, y, watch)

    def fitted(self, values: Floats, receipt: Receipt | None = None) -> Any:
        """The fitted estimator, which knows no names of columns."""
        return self.estimator._learn(self.plan, values, receipt, unnamed_columns(self.columns))


class CompositePlan(Protocol):
    """Something larger whose every decision is made."""

    @property
    def event(self) -> Repeat:
        """What will be done."""


Whole = TypeVar("Whole", bound=CompositePlan)
Estimator = TypeVar("Estimator", bound=PrivateEstimator)


def largest_affordable(
    planned: Callable[[float], Whole], price: tuple[Fraction, Fraction], relation: Neighbours, *, fits: int
) -> Whole:
    """The plan of the largest noise budget (a mu of Gaussian DP) whose event, with so many fits, keeps the promise.

    Guarantee: the event of the plan costs at most ``price``, what batches may take from delta included.
    Because: the accounting of the composed event itself, [ZDW22, Thm. 10].
    """
    budget, delta = mu_for(float(price[0]), float(price[1])), delta_left(price[1], fits=fits)
    for _ in range(_TRIES):
        plan = planned(budget)
        if cost_of_run(plan.event, delta=delta, neighbours=relation) <= price[0]:
            return plan
        budget *= _SHRINK
    raise price_unreachable()


def delta_left(delta: Fraction, *, fits: Fraction | int) -> Fraction:
    """What noise may use of delta, if each of so many fits may meet a batch that is too large."""
    left = delta * (1 - fits * _LARGE)
    if left <= 0:
        raise price_unreachable()
    return left


def epsilon_for(delta: Fraction, mu: float) -> Fraction:
    """The epsilon of a stage whose share of the noise budget is ``mu``."""
    epsilon = epsilon_of(float(delta), mu)
    if epsilon <= 0:
        raise price_unreachable()
    return Fraction(epsilon)


def price_unreachable() -> Unreachable:
    """The refusal where no share of the price is small enough."""
    return Unreachable(
        "no noise makes all parts together cost so little.",
        why="The parts share one price, and each needs some of it.",
        fix="Ask for a larger epsilon or another delta, or for fewer parts.",
    )


def copy_of(estimator: Estimator, **changes: Any) -> Estimator:
    """An unfitted copy with some parameters changed."""
    return type(estimator)(**{**estimator.get_params(deep=False), **changes})


def stage_of(
    estimator: PrivateEstimator,
    shape: tuple[int, int],
    y: ArrayLike | None,
    account: Account | None,
    *,
    epsilon: Fraction,
    delta: Fraction,
    shared: Mapping[str, object],
) -> Stage:
    """The stage of an estimator at its share of the price. ``shared``: neighbours, unit and rows of the whole."""
    return stage_for(copy_of(estimator, epsilon=epsilon, delta=delta, **shared), shape, y, account)


def stage_for(
    estimator: PrivateEstimator, shape: tuple[int, int], y: ArrayLike | None, account: Account | None
) -> Stage:
    """The stage of an estimator that has its price already."""
    rows, columns = shape
    facts = read_facts(estimator, rows=rows, columns=columns, y=y, account=account)
    return Stage(estimator, estimator._plan(facts), columns)


def check_stage(estimator: object, *, whole: str) -> None:
    """Refuse what is no private estimator of ours, or has a price of its own."""
    name = type(estimator).__name__
    if not isinstance(estimator, PrivateEstimator) or estimator._pays_for_parts:
        raise NotANumber(
            f"{name} is no private estimator.",
            why=f"A {whole} is as private as each thing in it.",
            fix="Use the estimators of hubbub.learn, or fit it on public data and freeze it.",
        )
    for given in _PAID_BY_THE_WHOLE:
        if getattr(estimator, given) is not None:
            raise OutOfRange(
                f"{name} has its own {given}= inside a {whole}.",
                why=f"The {whole} pays once, for all of it.",
                fix=f"Leave it out there, and give {given}= to the {whole}.",
            )


def is_private(estimator: object) -> bool:
    """Whether it is one of ours, fitted or not."""
    return isinstance(estimator, PrivateEstimator)
