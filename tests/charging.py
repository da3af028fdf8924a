"""Reserve, run and store a request by hand: for tests of the ledger, below the one door."""

from __future__ import annotations

from collections.abc import Callable

from hubbub.ledger import Ledger, Request, Reservation, Stored


def ask(ledger: Ledger, request: Request, run: Callable[[Reservation], str]) -> Stored:
    """What ``run`` gives, charged before and stored after it; or what is stored already."""
    held = ledger.reserve(request)
    return held if isinstance(held, Stored) else ledger.store(held, run(held))
