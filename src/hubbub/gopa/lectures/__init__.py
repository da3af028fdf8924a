"""GOPA as the lectures have it: Gaussian noise on random graphs, its theorems and bounds, for comparison.

Runs between parties use exact binomial noise instead: see ``privacy`` and ``protocol``. What is used from outside of
the room comes by ``hubbub.gopa``. Start with ``gaussian_gopa``.
"""

__all__: list[str] = []  # from outside: hubbub.gopa
