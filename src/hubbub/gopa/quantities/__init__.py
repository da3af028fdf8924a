"""What parties average: numbers, shares of categories, bounded vectors, weighted sums, many people behind one party.

``base`` says what a quantity must tell (grid, sensitivity, proof); each other file is one kind. What is
used from outside of the room comes by ``hubbub.gopa``. Start with ``numbers``.
"""

__all__: list[str] = []  # from outside: hubbub.gopa
