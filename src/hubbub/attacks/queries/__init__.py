"""What logs of answers give away: differencing, averaging, tracking, isolation.

From outside use ``hubbub.attacks``. Start with ``differencing``.
"""

__all__: list[str] = []  # from outside: hubbub.attacks
