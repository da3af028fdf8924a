"""Mechanisms with a known law, drawn in bulk from a seeded generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

GRID = 2.0**-20


def on_grid(values: Any) -> Any:
    return np.rint(np.asarray(values) / GRID) * GRID


def laplace(seed: int, scale: float = 1.0, places: int | None = None) -> Callable[[float, int], Any]:
    """``value + Laplace(scale)`` on a grid; several independent places if asked."""
    rng = np.random.default_rng(seed)
    return lambda value, size: on_grid(rng.laplace(value, scale, size if places is None else (size, places)))


def response(seed: int, keep: float) -> Callable[[int, int], Any]:
    """A bit that is told truthfully with probability ``keep``."""
    rng = np.random.default_rng(seed)
    return lambda bit, size: np.where(rng.random(size) < keep, bit, 1 - bit)
