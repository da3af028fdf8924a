"""GOPA: proofs, accuracy, whole runs over HTTP, and Flower's secure aggregation beside it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.rows import Row

PARTS = ("proofs", "error", "run", "flower")


def rows(quick: bool) -> list[Row]:
    """Everything measured in one run."""
    return [row for part in PARTS for row in importlib.import_module(f"bench.gopa.{part}").rows(quick)]
