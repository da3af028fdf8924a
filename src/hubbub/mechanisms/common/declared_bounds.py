"""Bounds that a caller declares."""

from __future__ import annotations

from fractions import Fraction

from hubbub.terms import Real, ReversedBounds, exact, shown


def ordered_bounds(lower: Real, upper: Real) -> tuple[Fraction, Fraction]:
    """Two bounds, the lower one below the upper one."""
    low, high = exact(lower, name="lower"), exact(upper, name="upper")
    if low >= high:
        raise ReversedBounds(
            f"lower is {shown(low)} and upper is {shown(high)}.",
            why="Bounds enclose the values that count; lower lies below upper.",
            fix="Swap or widen them.",
        )
    return low, high
