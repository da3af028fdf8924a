"""One distribution that fits noisy marginals: what made-up rows are drawn from, and what makes tables of counts agree.

- ``junction``  cliques of columns, arranged as a tree
- ``belief``    a distribution over such a tree, and its marginals
- ``fitting``   the one that fits measurements best
- ``totals``    how many rows there are, and counts that add up to it

Everything here is post-processing: it sees noisy counts alone. For ``publish`` alone. Start with ``junction``.
"""

__all__: list[str] = []  # for hubbub.publish alone
