"""The matrix mechanism for workloads of linear queries: strategies, their choice, and answers from noisy measurements.

``mechanism`` is the entry; ``queries`` are what is asked; ``strategies``, ``marginals`` and ``union_strategy`` what is
measured; ``strategy_choice`` picks one. From outside use ``hubbub.mechanisms``; only the levels of ROLLUP and CUBE,
which are measured elsewhere, are reconciled through this door (``level_sums``). Start with ``mechanism``.
"""

from hubbub.mechanisms.workload.level_sums import (
    MOST_CELLS,
    LevelSums,
    LevelTerm,
    are_nested,
    level_shares,
    whole_levels,
)

__all__ = ["MOST_CELLS", "LevelSums", "LevelTerm", "are_nested", "level_shares", "whole_levels"]
