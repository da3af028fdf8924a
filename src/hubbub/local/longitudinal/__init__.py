"""Reports over years: RAPPOR, LOLOHA, telemetry, memoized answers, and a person's lifetime ledger.

From outside use ``hubbub.local``. Start with ``lifetime``.
"""

__all__: list[str] = []  # from outside: hubbub.local
