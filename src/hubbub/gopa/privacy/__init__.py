"""How much noise a run needs: exact binomial noise, its cost, sensitivities, and graphs that stay connected.

``calibration`` finds the noise for a promise; ``binomial_noise`` and ``vector_moments`` account for it;
``connectivity`` bounds what corrupted parties learn. Start with ``calibration``.
"""

__all__: list[str] = []  # from outside: hubbub.gopa
