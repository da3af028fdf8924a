"""The book on disk: tables, statements, one exclusive turn at a time, the chain of hashes, and its second place.

``chain`` says what an entry is, and how hashes and bodies are made; ``sql_schema``, ``statements``, ``drivers`` and
``database`` keep it in SQLite or PostgreSQL; ``anchors`` and ``second_place`` are what is known of it elsewhere. Only
the ledger's own modules import these; start with ``database``.
"""

__all__: list[str] = []  # for hubbub.ledger alone
