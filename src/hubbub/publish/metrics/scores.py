"""The metrics by name, and what one table got in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hubbub.publish.anonymize.losses import Metrics
from hubbub.publish.marginal_counts import Columns
from hubbub.publish.metrics.candidates import Candidate
from hubbub.publish.metrics.generalized_values import Floats
from hubbub.publish.metrics.range_queries import RangeQuery, relative_errors
from hubbub.render import Json, percent, short

ABSOLUTE, RELATIVE, PMSE, RATIO, AUC = "absolute", "relative", "pmse", "pmse_ratio", "auc"
REAL, INDEPENDENT = "real against real", "independent columns"


def mean_of(width: int) -> str:
    """The name of the mean distance over marginals of so many columns."""
    return f"tvd{width}_mean"


def max_of(width: int) -> str:
    """The name of the largest one."""
    return f"tvd{width}_max"


DISTANCES = {
    **{mean_of(w): f"{w}-way, mean" for w in (1, 2, 3)},
    **{max_of(w): f"{w}-way, largest" for w in (1, 2, 3)},
}
USES = {
    ABSOLUTE: "error of a count, of all rows",
    RELATIVE: "relative error of a count",
    PMSE: "pMSE",
    RATIO: "pMSE over real against real",
    AUC: "AUC",
}
_PERCENT = {*DISTANCES, ABSOLUTE, RELATIVE}


@dataclass(frozen=True, slots=True)
class UtilityScore:
    """A number; with 95% confidence the one without noise is at most ``margin`` away (0: no noise)."""

    value: float
    margin: float = 0.0

    def shown(self, metric: str) -> str:
        """As people read it."""
        if metric not in _PERCENT:
            return f"{self.value:.3f}" if metric == AUC else short(self.value)
        if self.margin and self.value + self.margin >= 1:
            return "lost in noise"
        if self.value < self.margin:
            return f"below {percent(self.value + self.margin)}"
        text = percent(self.value) if self.value < 1 else "100%"
        return f"{text}\u00a0±\u00a0{100 * self.margin:.1f}" if self.margin else text  # no line break inside


@dataclass(frozen=True, slots=True)
class Scores:
    """What one table got; metrics that do not apply to it are left out."""

    name: str
    values: Mapping[str, UtilityScore]
    partition: Metrics | None = None
    worst: str = ""  # the pair of columns that is farthest off, where that may be told

    def __getitem__(self, metric: str) -> float:
        return self.values[metric].value

    def to_json(self) -> dict[str, Json]:
        """The numbers as JSON."""
        metrics: dict[str, Json] = {
            key: {"value": score.value, "margin": score.margin} for key, score in self.values.items()
        }
        parts: dict[str, Json] = {"partition": self.partition.to_json()} if self.partition else {}
        return {"table": self.name, "metrics": metrics, **parts, **({"worst_pair": self.worst} if self.worst else {})}


def marginal_distances(candidate: Candidate, real: Candidate, tables: Sequence[Columns]) -> Floats:
    """The total variation between both in each marginal: half the sum of differences of shares."""
    return np.array([0.5 * np.abs(candidate.shares(t) - real.shares(t)).sum() for t in tables])


def question_errors(
    candidate: Candidate, real: Candidate, questions: Sequence[RangeQuery], sanity: float
) -> tuple[float, float]:
    """The mean error of a count as a share of all rows, and relative to the true count (see ``relative_errors``)."""
    answers, truth = (np.array([q.answer(each.shares(q.columns)) for q in questions]) for each in (candidate, real))
    return float(np.abs(answers - truth).mean()), float(relative_errors(answers, truth, sanity).mean())
