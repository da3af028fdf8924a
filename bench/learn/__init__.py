"""Private models: accuracy beside peers, the price of a step, and what theory promises."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.rows import Row

PARTS = ("adult", "estimators", "steps", "networks", "theory", "public", "pate")


def rows(quick: bool) -> list[Row]:
    """Everything measured in one run."""
    return [row for part in PARTS for row in importlib.import_module(f"bench.learn.{part}").rows(quick)]
