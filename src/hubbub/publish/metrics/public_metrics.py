"""Metrics on public rows: free and exact, everything against one half of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.publish.marginal_counts import CodedRows, Columns
from hubbub.publish.metrics import model_scores
from hubbub.publish.metrics.candidates import Candidate, Independent, RowTable
from hubbub.publish.metrics.comparison_cells import ComparisonCells, tables_of
from hubbub.publish.metrics.range_queries import RangeQuery
from hubbub.publish.metrics.scores import (
    ABSOLUTE,
    AUC,
    INDEPENDENT,
    PMSE,
    RATIO,
    REAL,
    RELATIVE,
    Scores,
    UtilityScore,
    marginal_distances,
    max_of,
    mean_of,
    question_errors,
)

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True)
class MetricScope:
    """What is looked at: marginals of so many columns, and questions."""

    cells: ComparisonCells
    marginals: Mapping[int, Sequence[Columns]]
    questions: Sequence[RangeQuery]


@dataclass(frozen=True, slots=True)
class _Yardstick:
    """One half of the public rows, with which everything is compared, the other, and what is looked at."""

    real: RowTable
    other: RowTable
    view: MetricScope
    sanity: float
    target: int | None

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.view.cells.sizes


def public_scores(
    candidates: Mapping[str, Candidate], real: pyarrow.Table, view: MetricScope, sanity: float, target: int | None
) -> list[Scores]:
    """The scores of all candidates, and of the baselines made from the other half."""
    codes = view.cells.encode(real)
    shuffled = np.random.default_rng(len(codes)).permutation(len(codes))  # public rows
    parts = [RowTable(CodedRows(codes[part], view.cells.sizes)) for part in np.array_split(shuffled, 2)]
    yard = _Yardstick(parts[1], parts[0], view, sanity, target)
    null = _told_apart(yard.other, yard)
    every = {**candidates, REAL: yard.other, INDEPENDENT: Independent(yard.other)}
    return [_candidate_scores(name, each, yard, null) for name, each in every.items()]


def _candidate_scores(name: str, candidate: Candidate, yard: _Yardstick, null: float | None) -> Scores:
    values: dict[str, float | None] = {}
    worst = ""
    for width, tables in yard.view.marginals.items():
        far = marginal_distances(candidate, yard.real, tables)
        values[mean_of(width)], values[max_of(width)] = float(far.mean()), float(far.max())
        worst = tables_of(yard.view.cells.names, tables[int(far.argmax())]) if width == 2 else worst
    values[ABSOLUTE], values[RELATIVE] = question_errors(candidate, yard.real, yard.view.questions, yard.sanity)
    values[PMSE] = apart = _told_apart(candidate, yard)
    values[RATIO] = apart / null if apart is not None and null else None
    values[AUC] = _learned_auc(candidate, yard)
    return Scores(name, {key: UtilityScore(value) for key, value in values.items() if value is not None}, worst=worst)


def _rows_of(candidate: Candidate, yard: _Yardstick) -> Any:
    """As many rows as everything else is measured with; of independent columns, rows that are drawn."""
    if isinstance(candidate, Independent):
        shuffle = np.random.default_rng(1)
        codes = yard.other.rows.codes
        return np.stack([shuffle.permutation(column) for column in codes.T], axis=1)
    return candidate.codes


def _told_apart(candidate: Candidate, yard: _Yardstick) -> float | None:
    codes = _rows_of(candidate, yard)
    count = min(model_scores.MOST_ROWS, len(yard.real.rows.codes), len(yard.other.rows.codes))
    if codes is None or len(codes) < count // 2:
        return None
    samples, real = (
        model_scores.sample_rows(codes, count, seed=1),
        model_scores.sample_rows(yard.real.rows.codes, count, seed=2),
    )
    return model_scores.pmse(samples, real, yard.sizes)


def _learned_auc(candidate: Candidate, yard: _Yardstick) -> float | None:
    codes = _rows_of(candidate, yard)
    if yard.target is None or codes is None or len(yard.sizes) == 1:
        return None
    sample = model_scores.sample_rows(codes, model_scores.MOST_ROWS, seed=3)
    return model_scores.auc(
        sample, model_scores.sample_rows(yard.real.rows.codes, model_scores.MOST_ROWS, seed=4), yard.sizes, yard.target
    )
