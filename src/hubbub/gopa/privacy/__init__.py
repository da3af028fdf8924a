"""How much noise a run needs: exact binomial noise, its cost, sensitivities, and graphs that stay connected.

``calibration`` finds the noise for a promise; ``binomial_noise`` and ``vector_moments`` account for it;
``connectivity`` bounds what corrupted parties learn. Nothing here knows of messages or proofs. What is used from
outside of the room comes by ``hubbub.gopa``. Start with ``calibration``.
"""

__all__: list[str] = []  # from outside: hubbub.gopa
