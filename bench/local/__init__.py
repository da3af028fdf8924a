"""The local model: randomizers beside peers, statistics, and the collector."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.rows import Row

PARTS = ("randomizers", "statistics", "collector")


def rows(quick: bool) -> list[Row]:
    """Everything measured in one run."""
    there = [part for part in PARTS if find_spec(f"bench.local.{part}")]
    return [row for part in there for row in importlib.import_module(f"bench.local.{part}").rows(quick)]
