"""The packages that HTTP needs, and what is said where one is missing."""

from __future__ import annotations

from hubbub.terms import MissingExtra


def missing_package(name: str) -> MissingExtra:
    """The error for a package that is not installed."""
    return MissingExtra(
        f"HTTP needs {name}, which is not installed.",
        why="It is part of the extras 'collect' and 'gopa'.",
        fix="Install it: pip install 'hubbub[collect]', or 'hubbub[gopa]' for averages without a curator.",
    )
