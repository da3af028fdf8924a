"""What a job asks of a ledger, caught before anything is charged or read; and fingerprints that must never change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hubbub.ledger import Ledger, Request
from hubbub.terms import Budget

FIXTURES = Path(__file__).parent / "fixtures"


class Caught(Exception):
    """The request came."""


@contextmanager
def catching(folder: Path) -> Iterator[Ledger]:
    """A ledger that refuses every request, with the request."""

    def refuse(self: Ledger, request: Request, *more: Any) -> Any:
        raise Caught(request)

    with pytest.MonkeyPatch.context() as patch, Ledger(folder / "ledger.db", state=folder / "state") as ledger:
        ledger.open_population("people", Budget(50, 1e-3), plans=Budget(40, 5e-4), by="board", why="a test")
        patch.setattr(Ledger, "reserve", refuse)
        yield ledger


def fingerprint_of(job: Callable[[Ledger], object], ledger: Ledger) -> str:
    """The fingerprint under which a job would be charged."""
    with pytest.raises(Caught) as caught:
        job(ledger)
    request: Request = caught.value.args[0]
    return request.fingerprint


def pinned(room: str) -> dict[str, str]:
    """The fingerprints of a room's jobs. An edit here makes everybody pay again for what they have."""
    read: dict[str, str] = json.loads((FIXTURES / room / "fingerprints.json").read_text())
    return read
