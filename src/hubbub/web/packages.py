"""The packages that HTTP needs, and what is said where one is missing."""

from __future__ import annotations

from hubbub.terms import MissingExtra, install_command


def missing_package(name: str) -> MissingExtra:
    """The error for a package that is not installed."""
    return MissingExtra(
        f"HTTP needs {name}, which is not installed.",
        why="It is part of the extras 'collect' and 'gopa'.",
        fix=f"Install it: {install_command('collect')}; the extra [gopa] has it too.",
    )
