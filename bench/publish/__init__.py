"""Publishing: anonymized tables and synthetic data, beside peers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.rows import Row

PARTS = ("partitions", "synthetic")


def rows(quick: bool) -> list[Row]:
    """Everything measured in one run."""
    return [row for part in PARTS for row in importlib.import_module(f"bench.publish.{part}").rows(quick)]
