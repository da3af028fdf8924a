"""Joint frequency tables (marginals) of two attributes of the same person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub import noise
from hubbub.local.estimates import normal_quantile
from hubbub.local.randomizers.base import FrequencyRandomizer, local_step
from hubbub.local.randomizers.common.values import domain_codes, domain_of, epsilon_of, report_array
from hubbub.local.randomizers.kary import KaryResponse
from hubbub.local.statistics.one_level_reports import report_scores
from hubbub.local.statistics.ranges import level_randomizer
from hubbub.render import Document, Figure, Json, Section, TextTable, short
from hubbub.render.charts import Bar, bar_chart, percentage
from hubbub.terms import BadReport, Compose, Event, OutOfRange, Real, WrongShape

Floats = NDArray[np.float64]

_SHOWN = 12


@dataclass(frozen=True, slots=True, eq=False)
class JointEstimate(Document):
    """Estimated shares of all pairs of values, and of the values of each attribute by itself.

    Variances are those of the noise, given what the people hold.
    """

    values: Floats
    variances: Floats
    rows: Floats
    row_variances: Floats
    columns: Floats
    column_variances: Floats
    count: int
    epsilon: Fraction

    def intervals(self, confidence: Real = 0.95, *, simultaneous: bool = False) -> Floats:
        """For each pair of values (low, high), with that confidence each, or all at once."""
        reach = normal_quantile(confidence, self.values.size if simultaneous else 1) * np.sqrt(self.variances)
        return np.stack([self.values - reach, self.values + reach], axis=-1)

    @property
    def title(self) -> str:
        """What is told."""
        high, wide = self.values.shape
        return f"A table of {high} by {wide} values among {self.count:,} people"

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        words = (
            f"Each person reported both attributes together, protected at home with epsilon = {short(self.epsilon)}. "
            "The largest shares are shown, with 95% intervals.",
        )
        ends = self.intervals()
        top = [np.unravel_index(i, self.values.shape) for i in np.argsort(-self.values, axis=None)[:_SHOWN]]
        rows = tuple(
            (
                f"{i}, {j}",
                f"{100 * self.values[i, j]:.2f}%",
                f"{100 * ends[i, j, 0]:.2f}% to {100 * ends[i, j, 1]:.2f}%",
                f"{100 * self.rows[i] * self.columns[j]:.2f}%",
            )
            for i, j in top
        )
        bars = [Bar(f"{i}, {j}", float(self.values[i, j]), float(ends[i, j, 0]), float(ends[i, j, 1])) for i, j in top]
        svg = bar_chart(bars, title=self.title, description="The largest shares.", label="share", show=percentage)
        table = TextTable(("pair", "share", "95% interval", "if they were independent"), rows)
        return (Section("What was found", words, table, Figure("table", svg, "Shares with 95% intervals.")),)

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "joint-table",
            "count": self.count,
            "epsilon": float(self.epsilon),
            "values": self.values.tolist(),
            "variances": self.variances.tolist(),
            "rows": self.rows.tolist(),
            "columns": self.columns.tolist(),
        }


class JointTable:
    """Shares of all pairs of two attributes with ``rows`` and ``columns`` values.

    ``method="product"``: one report about the pair, by projective geometry response (k-ary response for small tables).
    ``method="split"``: one k-ary report about each attribute, with half of epsilon each; the table is debiased by the
    inverse of both responses. Without a method, the one with the smaller error for rare pairs is taken.

    Guarantee: epsilon-LDP for both attributes of one person together.
    Because: [KLNRS11]: one epsilon-LDP report, or two of epsilon/2 each, which add up.
    Error: unbiased; variances in closed form.
    Not covered: that somebody reported; values outside the domains count as 0.

    >>> from hubbub.noise.testing import seeded
    >>> table = JointTable(epsilon=2, rows=3, columns=4)
    >>> told = table.randomize([0] * 5000 + [2] * 5000, [3] * 5000 + [1] * 5000, rng=seeded(7))
    >>> table.estimate(told).values.round(1)[[0, 2], [3, 1]].tolist()
    [0.5, 0.5]
    """

    def __init__(self, *, epsilon: Real, rows: int, columns: int, method: str | None = None) -> None:
        self.epsilon = epsilon_of(epsilon)
        self.shape = domain_of(rows, name="rows"), domain_of(columns, name="columns")
        if method not in (None, "product", "split"):
            raise OutOfRange(
                f"method must be 'product' or 'split' and is {method!r}.",
                why="There are two ways to report two attributes.",
                fix="Leave it out for the one with the smaller error.",
            )
        self.halves = tuple(KaryResponse(epsilon=self.epsilon / 2, domain=size) for size in self.shape)
        self.method = method or min(("product", "split"), key=self._rare_variance)
        halves = Compose(tuple(local_step("joint", self.epsilon / 2) for _ in self.halves))
        self.event: Event = local_step("joint", self.epsilon) if self.method == "product" else halves

    @cached_property
    def whole(self) -> FrequencyRandomizer:
        """The randomizer of pairs, for the product."""
        return level_randomizer(self.epsilon, self.shape[0] * self.shape[1])

    def randomize(
        self,
        rows: Sequence[Any] | NDArray[Any],
        columns: Sequence[Any] | NDArray[Any],
        *,
        rng: noise.RandomSource | None = None,
    ) -> NDArray[np.int64]:
        """The report of each person: an integer, or rows of two for the split."""
        first, second = (domain_codes(v, domain=d, missing=0) for v, d in zip((rows, columns), self.shape, strict=True))
        if first.shape != second.shape:
            raise WrongShape(
                "rows and columns must be lists of one length.",
                why="Each person has one value of both.",
                fix="Give two values for each person.",
            )
        if self.method == "product":
            return np.asarray(self.whole.randomize(first * self.shape[1] + second, rng=rng))
        pairs = zip(self.halves, (first, second), strict=True)
        return np.stack([half.randomize(codes, rng=rng) for half, codes in pairs], axis=1)

    def estimate(self, reports: ArrayLike) -> JointEstimate:
        """The table, from the reports of many people."""
        return self._from_product(reports) if self.method == "product" else self._from_split(report_array(reports))

    def _from_product(self, reports: ArrayLike) -> JointEstimate:
        state = self.whole.accumulate(reports)
        estimate = self.whole.decode(state, count=int(state.sum()))
        table = estimate.values.reshape(self.shape)
        margins = [table.sum(axis=1), table.sum(axis=0)]
        spreads = [self._margin_variances(state, axis, shares) for axis, shares in enumerate(margins)]
        return JointEstimate(
            table,
            estimate.variances.reshape(self.shape),
            margins[0],
            spreads[0],
            margins[1],
            spreads[1],
            estimate.count,
            self.epsilon,
        )

    def _margin_variances(self, state: NDArray[np.int64], axis: int, shares: Floats) -> Floats:
        """The noise of each sum over a row or column: the spread of its scores, less that of the people."""
        out = np.empty(self.shape[axis])
        for place, share in enumerate(np.clip(shares, 0, 1)):
            weights = np.zeros(self.shape)
            weights[(place, slice(None)) if axis == 0 else (slice(None), place)] = 1.0
            per_report = report_scores(self.whole, weights.ravel())
            mean = float(state @ per_report) / state.sum()
            out[place] = (float(state @ (per_report - mean) ** 2) / state.sum() - share * (1 - share)) / state.sum()
        return np.maximum(out, 0.0)

    def _from_split(self, reports: NDArray[Any]) -> JointEstimate:
        if reports.ndim != 2 or reports.shape[1] != 2:
            raise BadReport(
                "rows of two integers were expected.",
                why="With the split, each person reports both attributes.",
                fix="Give what randomize() returned.",
            )
        margins = [
            half.decode(half.accumulate(column), count=len(reports))
            for half, column in zip(self.halves, reports.T, strict=True)
        ]
        counts = np.zeros(self.shape)
        np.add.at(counts, (reports[:, 0], reports[:, 1]), 1.0)
        seen = counts / len(reports)
        undo = [(np.eye(half.domain) - half.q) / half.contrast for half in self.halves]
        table = undo[0] @ seen @ undo[1].T
        squares = (undo[0] ** 2) @ seen @ (undo[1] ** 2).T  # of one person's debiased report
        likely = np.clip(table, 0, 1)
        return JointEstimate(
            table,
            np.maximum(0.0, squares - likely) / len(reports),  # given the people: less their own indicators
            margins[0].values,
            margins[0].variances,
            margins[1].values,
            margins[1].variances,
            len(reports),
            self.epsilon,
        )

    def _rare_variance(self, method: str) -> float:
        if method == "product":
            return self.whole.variance(count=1)
        first, second = (half.variance(count=1) + 1 / half.domain for half in self.halves)
        return first * second
