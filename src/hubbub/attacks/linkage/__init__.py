"""Finding people in tables without names: linkage, uniqueness, homogeneity, background knowledge, social graphs.

From outside use ``hubbub.attacks``. Start with ``linkage``.
"""

__all__: list[str] = []  # from outside: hubbub.attacks
