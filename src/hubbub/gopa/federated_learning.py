"""A linear model learned by parties that show nobody their data: each step of the descent is one run of GOPA.

In a step each party adds up the gradients of its people, each shortened to ``norm``, and the run publishes the noisy
mean, by which all move the same weights. Nobody sees a party's gradient, and what all steps tell together is
(epsilon, delta)-DP. This is DP-SGD on full batches without its curator [ACGMMTZ16].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.gopa.average import people_for_plan, publish_run
from hubbub.gopa.privacy.calibration import RunPlan
from hubbub.gopa.protocol.certificate import Certificate
from hubbub.gopa.quantities.base import PartyInput
from hubbub.gopa.quantities.bounded_vectors import Gradient
from hubbub.gopa.quantities.many_people import Subjects
from hubbub.gopa.quantities.many_people import Unit as Protected
from hubbub.gopa.quantities.repeated_runs import delta_over, plan_over
from hubbub.terms import (
    ApproximateStep,
    EmptyInput,
    HubbubError,
    Neighbours,
    NotANumber,
    OutOfRange,
    Real,
    Unit,
    WrongShape,
    plain_array,
    positive,
    whole,
)

Floats = NDArray[np.float64]
Data = Sequence[tuple[ArrayLike, ArrayLike]]


@dataclass(frozen=True, slots=True, eq=False)
class Federated:
    """A linear model: ``weights``, the last one being the constant; ``plan`` is that of one step.

    ``event`` is what all steps cost each party together, for its ledger.
    """

    weights: Floats
    history: tuple[Floats, ...]
    plan: RunPlan
    event: ApproximateStep
    certificates: tuple[Certificate, ...]

    def predict(self, rows: ArrayLike) -> Floats:
        """What the model says of rows of features."""
        return np.asarray(_with_constant(_numeric_array(rows)) @ self.weights)


def learn_together(
    data: Data,
    *,
    epsilon: Real,
    delta: Real,
    steps: int = 10,
    norm: Real = 1,
    rate: float = 0.5,
    unit: Protected = "subject",
    honest: Real = Fraction(1, 2),
    dropouts: Real = Fraction(1, 20),
    proofs: bool = True,
) -> Federated:
    """Least squares over all rows of all parties, by ``steps`` runs of GOPA; ``data`` has (features, target) of each.

    ``unit="subject"`` protects each row of a party (how many there are is public), ``"party"`` all of them at once.
    ``proofs=False`` leaves out messages, masks and proofs, as in ``average``.

    Guarantee: the weights, and all that is published on the way, are (epsilon, delta)-DP for replacing one unit,
    towards all who cannot look into this process, if the ``honest`` share of the parties keeps its secrets.
    Because: each step is a run with L2-bounded gradients, and their moments add up [ACGMMTZ16] [Mir17]: ``delta_over``.
    Error: gradients longer than ``norm`` are shortened, which moves what the descent ends at.
    Not covered: this process, which sees all data; a ledger: charge ``event`` to the account of each party.
    """
    tables = [_numeric_table(rows, target) for rows, target in data]
    if len(tables) < 2 or len({table[0].shape[1] for table in tables}) != 1:
        raise EmptyInput(
            "there are fewer than two parties, or their features differ.",
            why="They learn one model together.",
            fix="Give (features, target) for each party, with the same columns.",
        )
    width, count = tables[0][0].shape[1], whole(steps, name="steps")
    of = _gradient_input(unit, width, norm, [len(rows) for rows, _ in tables])
    run_plan = plan_over(of, len(tables), runs=count, epsilon=epsilon, delta=delta, honest=honest, dropouts=dropouts)
    weights, history, certificates = np.zeros(width), [], []
    for _ in range(count):
        gradient, certificate = _run_step(tables, weights, of, run_plan, unit, proofs)
        weights = weights - rate * gradient
        history.append(weights)
        certificates += [certificate] if certificate else []
    event = ApproximateStep(
        mechanism=f"gopa ({run_plan.parties - run_plan.corrupted} of {run_plan.parties} honest)",
        neighbours=Neighbours.REPLACE,
        unit=Unit("party") if unit == "party" else Unit(),
        epsilon=positive(epsilon, name="epsilon"),
        delta=Fraction(delta_over(run_plan, count, epsilon)),
    )
    return Federated(weights, tuple(history), run_plan, event, tuple(certificates))


def _gradient_input(unit: Protected, width: int, norm: Real, sizes: list[int]) -> PartyInput:
    of = Gradient(width, norm)
    return of if unit == "party" else Subjects(of, most=max(sizes), sizes=tuple(sizes))


def _run_step(
    tables: list[tuple[Floats, Floats]],
    weights: Floats,
    of: PartyInput,
    run_plan: RunPlan,
    unit: Protected,
    proofs: bool,
) -> tuple[Floats, Certificate | None]:
    who = people_for_plan(run_plan, of)
    values = [_row_gradients(rows, target, weights) for rows, target in tables]
    given: list[Any] = [one.mean(axis=0) for one in values] if unit == "party" else values
    steps = [of.encode(value, who.agreement, place=place) for place, value in enumerate(given)]
    average = publish_run(who, steps, of, proofs=proofs)
    return np.array(average.reading.values), average.certificate


def _row_gradients(rows: Floats, target: Floats, weights: Floats) -> Floats:
    """The gradient of half the squared error, for each row."""
    return np.asarray((rows @ weights - target)[:, None] * rows)


def _numeric_table(rows: ArrayLike, target: ArrayLike) -> tuple[Floats, Floats]:
    features, targets = _numeric_array(rows), _numeric_array(target)
    if features.ndim != 2 or targets.shape != (len(features),) or not len(features):
        raise WrongShape(
            "a party's data are not rows of features with one target each.",
            why="Each row is one person.",
            fix="Give a table and a list of the same length.",
        )
    return _with_constant(features), targets


def _numeric_array(given: ArrayLike) -> Floats:
    """An array of numbers; what a mask hides would be learned from all the same, so masks are refused."""
    try:
        array = np.asarray(plain_array(given), dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, HubbubError):
            raise
        raise NotANumber("features and targets are numbers.", why="They are added up.", fix="Encode them.") from None
    if not np.isfinite(array).all():
        raise OutOfRange(
            "features and targets must be finite.",
            why="NaN and infinities have no gradient.",
            fix="Fill in what is missing, by a rule that looks at one row alone.",
        )
    return array


def _with_constant(rows: Floats) -> Floats:
    return np.column_stack([rows, np.ones(len(rows))])
