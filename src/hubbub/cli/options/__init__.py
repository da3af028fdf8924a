"""What is typed, read into values: sources, facts, prices, ledgers, keys; one file per kind of option."""
