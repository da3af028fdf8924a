"""What of a question can be read with less noise: joins and CASEs in better forms, fewer rows, measures that are apart.

Each module says what it looks for and why the meaning stays. Start with ``conditional_aggregates``.
"""

__all__: list[str] = []  # for hubbub.sql alone
