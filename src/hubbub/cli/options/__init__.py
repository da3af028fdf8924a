"""What is typed, read into values: sources, facts, prices, ledgers, keys; one file per kind of option.

``groups`` declares flags that several commands share; ``values`` reads numbers, budgets and dates exactly; the others
belong to one command or a few, by their names. For ``cli`` alone. Start with ``groups``.
"""

__all__: list[str] = []  # for cli alone
