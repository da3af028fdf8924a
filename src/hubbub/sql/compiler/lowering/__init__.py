"""Plan -> relation nodes: the rows of a question as integers, bounded for each person and added up by key.

Rows, sums and the choice of keys have a module each. Start with ``lower_plan``, which gives the statements of a plan.
"""

__all__: list[str] = []  # for hubbub.sql alone
