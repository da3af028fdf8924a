"""Plan -> relation nodes: the rows of a question as integers, bounded for each person and added up by key.

``lower_plan`` gives the statements of a plan; rows, sums and the choice of keys stand beside it.
"""

__all__: list[str] = []  # for hubbub.sql alone
