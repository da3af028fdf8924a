"""Rebuilding a secret column from many noisy sums: linear programs, least squares, message passing, all subsets.

From outside use ``hubbub.attacks``. Start with ``reconstruction``.
"""

__all__: list[str] = []  # from outside: hubbub.attacks
