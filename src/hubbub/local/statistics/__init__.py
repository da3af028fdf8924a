"""Statistics from randomized reports: ranges, quantiles, heavy hitters, joint tables, U-statistics, AUC, regions.

From outside use ``hubbub.local``. Start with ``ranges``.
"""

__all__: list[str] = []  # from outside: hubbub.local
