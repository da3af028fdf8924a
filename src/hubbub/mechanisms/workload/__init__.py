"""The matrix mechanism for workloads of linear queries: strategies, their choice, and answers from noisy measurements.

``mechanism`` is the entry; ``queries`` are what is asked; ``strategies``, ``marginals`` and ``union_strategy`` what is
measured; ``strategy_choice`` picks one. From outside use ``hubbub.mechanisms``. Start with ``mechanism``.
"""

__all__: list[str] = []  # from outside: hubbub.mechanisms
