"""What models give away: membership, inversion, extraction, leaks between versions.

From outside use ``hubbub.attacks``. Start with ``lira``.
"""

__all__: list[str] = []  # from outside: hubbub.attacks
