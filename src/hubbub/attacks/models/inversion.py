"""Inversion: a person's whole record, from a model that was trained with and without that person.

A fitted linear model solves an equation in which everybody's record is a term. Somebody who knows the other terms, or
only their sum, is left with one unknown: the record of the person who joined. This is differencing [PBBGE20], with
models in place of counts.

The attacker knows the two models (coefficients and intercept), and

- for least squares: the sums X^T X, X^T 1 and the number of people of the *first* training, which are often published
  as means and covariances; or the others' records;
- for logistic regression: the others' records.

The intercept is what makes it exact: it gives every record a known entry, 1, and so a known scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from hubbub.attacks.report import Attack
from hubbub.attacks.requirements import Floats, bit_array, check_lengths, finite_array
from hubbub.explain import Figure
from hubbub.render import Json, short
from hubbub.render.charts import Bar, bar_chart
from hubbub.terms import Unsuitable

Truth = tuple[ArrayLike, float] | None


class FittedLinear(Protocol):
    """A fitted linear model, as scikit-learn has it."""

    @property
    def coef_(self) -> ArrayLike:
        """A weight per attribute."""
        ...

    @property
    def intercept_(self) -> ArrayLike:
        """What is predicted where all attributes are 0."""
        ...


LinearModel: TypeAlias = FittedLinear | tuple[ArrayLike, ArrayLike]  # coefficients, and the intercept


def invert_linear(
    before: LinearModel, after: LinearModel, *, gram: ArrayLike, penalty: float = 0.0, truth: Truth = None
) -> Inversion:
    """The record and label of the person by whom two least-squares models differ.

    ``before`` and ``after`` are fitted models with ``coef_`` and ``intercept_`` (or such a pair). ``gram`` is A^T A of
    the first training, where A has a first column of ones: its corner is the number of people, its edge their sums.
    ``penalty`` is the ridge penalty (scikit-learn's alpha; the intercept is free). ``truth`` is the person's (record,
    label), for the report.

    With G = gram + penalty and weights w, w': G w = b and (G + a a^T) w' = b + a y, for the record a with its leading
    1. So G (w' - w) = (y - a.w') a, of which the first entry is the residual y - a.w', and the rest follows.

    >>> rows = np.array([[1.0, 2], [1, 3], [1, 5], [1, 8]])       # a column of ones, and one attribute
    >>> fit = lambda a, y: np.linalg.lstsq(a, np.array(y), rcond=None)[0]
    >>> old, new = fit(rows[:3], [1.0, 2, 2]), fit(rows, [1.0, 2, 2, 7])
    >>> found = invert_linear((old[1:], old[0]), (new[1:], new[0]), gram=rows[:3].T @ rows[:3])
    >>> found.record.round(6).tolist(), round(found.label, 6)
    ([8.0], 7.0)
    """
    first, second = _model_weights(before), _model_weights(after)
    check_lengths(len(first), len(second), what="coefficients before and after")
    known = finite_array(gram, name="gram", axes=2)
    check_lengths(len(known), len(first), what="rows of gram and coefficients with intercept")
    check_lengths(known.shape[1], len(first), what="columns of gram and coefficients with intercept")
    pull = (known + _penalty_diagonal(penalty, len(first))) @ (second - first)
    residual = pull[0]
    record = _scaled_record(pull)
    return Inversion("least squares", record[1:], float(residual + record @ second), *_true_record(truth))


def invert_logistic(
    after: LinearModel, *, others: tuple[ArrayLike, ArrayLike], penalty: float = 0.0, truth: Truth = None
) -> Inversion:
    """The record and label of the one person, besides the known ``others``, whom a logistic regression was trained on.

    ``others`` are their records and labels (0 or 1), ``penalty`` the weight of the squared coefficients over 2
    (scikit-learn's 1/C). At the optimum the gradients of all people and of the penalty add up to zero. What is missing
    from zero is the gradient of the missing person, (p - y) a, whose first entry has the sign that tells the label.
    """
    weights = _model_weights(after)
    records, labels = finite_array(others[0], name="records", axes=2), bit_array(others[1], name="labels", axes=1)
    check_lengths(len(records), len(labels), what="records and labels")
    check_lengths(records.shape[1] + 1, len(weights), what="attributes with intercept and coefficients")
    rows = np.column_stack([np.ones(len(records)), records])
    chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -500, 500)))
    missing = -(rows.T @ (chance - labels) + _penalty_diagonal(penalty, len(weights)) @ weights)
    return Inversion("logistic regression", _scaled_record(missing)[1:], float(missing[0] < 0), *_true_record(truth))


def _model_weights(model: Any) -> Floats:
    """The intercept, followed by the coefficients."""
    try:
        coefficients, intercept = (model.coef_, model.intercept_) if hasattr(model, "coef_") else model
        return np.concatenate([np.ravel(intercept), np.ravel(coefficients)]).astype(np.float64)
    except (TypeError, ValueError):
        raise Unsuitable(
            f"a model of type {type(model).__name__} is not linear.",
            why="The attack reads the coefficients and the intercept.",
            fix="Give a fitted model with coef_ and intercept_, or a pair (coefficients, intercept).",
        ) from None


def _penalty_diagonal(penalty: float, size: int) -> Floats:
    return np.diag([0.0, *[float(penalty)] * (size - 1)])


def _scaled_record(direction: Floats) -> Floats:
    """The record whose first entry is 1."""
    if abs(direction[0]) <= 1e-12 * max(1.0, float(np.abs(direction).max())):
        raise Unsuitable(
            "the two models do not differ, or by a record without an intercept.",
            why="A person whom the model already fits perfectly leaves no trace in it.",
            fix="Use two trainings of models with an intercept that differ in one person.",
        )
    return np.asarray(direction / direction[0], dtype=np.float64)


def _true_record(truth: Truth) -> tuple[Floats | None, float | None]:
    return (None, None) if truth is None else (finite_array(truth[0], name="truth", axes=1), float(truth[1]))


@dataclass(frozen=True, slots=True, eq=False)
class Inversion(Attack):
    """The record that would explain the difference, and how far it is from the truth where that is known."""

    kind: ClassVar[str] = "inversion"
    name: ClassVar[str] = "A record from two models"

    model: str
    record: Floats
    label: float
    true_record: Floats | None = None
    true_label: float | None = None

    @property
    def error(self) -> float | None:
        """The largest distance of an attribute or the label from the truth; None if the truth was not given."""
        if self.true_record is None or self.true_label is None:
            return None
        return float(max(np.abs(self.record - self.true_record).max(), abs(self.label - self.true_label)))

    @property
    def succeeded(self) -> bool:
        """Whether every attribute is right to within a hundredth of the largest."""
        return (
            self.error is not None
            and self.true_record is not None
            and self.error <= 0.01 * self._size(self.true_record)
        )

    @staticmethod
    def _size(record: Floats) -> float:
        return max(float(np.abs(record).max()), 1e-300)

    @property
    def headline(self) -> str:
        """What was found, in one plain sentence."""
        sentence = f"Two {self.model} models that differ in one person give a record with {self.record.size} attributes"
        if self.error is None:
            return f"{sentence} and a label."
        verdict = (
            "that person's, all of it" if self.succeeded else f"off by up to {short(self.error)}: not that person's"
        )
        return f"{sentence} and a label: {verdict}."

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {"record": self.record.tolist(), "label": self.label, "error": self.error}

    def facts(self) -> tuple[tuple[str, str], ...]:
        """The record, attribute by attribute, beside the true one."""
        true = [None] * self.record.size if self.true_record is None else self.true_record.tolist()
        pairs = [*zip(self.record.tolist(), true, strict=True), (self.label, self.true_label)]
        names = [*(f"attribute {i + 1}" for i in range(self.record.size)), "label"]
        shown = [short(rows) if known is None else f"{short(rows)} (in truth {short(known)})" for rows, known in pairs]
        return tuple(zip(names, shown, strict=True))

    def figure(self) -> Figure:
        """The record as bars."""
        names = [name for name, _ in self.facts()]
        values = [*self.record.tolist(), self.label]
        bars = [
            Bar(name, value, shown=shown) for name, value, (_, shown) in zip(names, values, self.facts(), strict=True)
        ]
        drawn = bar_chart(bars, title="The record that was worked out", description=self.headline, label="value")
        return Figure(self.kind, drawn, "Each bar is one attribute of one person.")

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        if self.error is not None and not self.succeeded:
            return ("The models do not tell the person's record: what was worked out is noise.",)
        return (
            "Coefficients look like averages, and each of them is one. But two sets of them, before and after somebody "
            "joined, tell that person's whole record to the last digit.",
        )

    def remedy(self) -> tuple[str, ...]:
        """What would have helped, and what would not."""
        return (
            "Train with differential privacy: the noise in the coefficients hides any one person's part in them, "
            "before and after.",
            "More people do not help: the difference is worked out exactly, however small it is. Nor does a penalty, "
            "which only changes the equation.",
        )
