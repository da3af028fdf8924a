"""A ledger in a folder of its own that is gone afterwards, for what charges nothing that must be kept."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hubbub.ledger.ledger import Ledger


@contextmanager
def temporary_ledger() -> Iterator[Ledger]:
    """A ledger that nobody can open again."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Ledger(Path(folder) / "ledger.db", state=Path(folder) / "state") as ledger,
    ):
        yield ledger
