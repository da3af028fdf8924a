"""What a table is worth to those who get it: distances to real rows, always beside two baselines.

- ``compare(tables, holdout=public_rows, domain=...)``      free: the real rows are public
- ``compare(tables, private=rows, epsilon=..., delta=...)``  charged: each number has noise and a margin
- ``UtilityComparison``: the scores as a report; ``Scores``, ``UtilityScore``: those of one table

Inside: ``comparison_cells`` (public cells), ``generalized_values`` (ranges spread evenly), ``candidates`` (whatever is
compared, as counts), ``range_queries`` (questions), ``scores`` (the metrics), ``model_scores`` (pMSE and AUC),
``public_metrics`` (on public rows), ``private_metrics`` (the same of private rows, in whole numbers), ``comparison``
and ``report``. From outside use ``hubbub.publish``. Start with ``comparison``.
"""

from hubbub.publish.metrics.candidates import Candidate, RowTable, candidate_of
from hubbub.publish.metrics.comparison import compare
from hubbub.publish.metrics.comparison_cells import ComparisonCells, declared_cells
from hubbub.publish.metrics.report import UtilityComparison
from hubbub.publish.metrics.scores import AUC, Scores, UtilityScore, mean_of

__all__ = [
    "AUC",
    "Candidate",
    "ComparisonCells",
    "RowTable",
    "Scores",
    "UtilityComparison",
    "UtilityScore",
    "candidate_of",
    "compare",
    "declared_cells",
    "mean_of",
]
