"""Many counting questions at once: ``db.workload``, answered by one strategy and charged once.

``cells`` and ``counting_queries`` turn questions into cells and counts over them; ``plan`` chooses and prices;
``release`` is what comes back. Start with ``plan``.
"""

__all__: list[str] = []  # for hubbub.sql alone
