"""How a caller states a cost: exactly one way, and never a default."""

from __future__ import annotations

from fractions import Fraction

from hubbub.terms import MissingParameter, positive


def one_of(**ways: object) -> tuple[str, Fraction]:
    """The one way that was given, with its value; none or several are refused."""
    given = {name: value for name, value in ways.items() if value is not None}
    if len(given) != 1:
        names = " or ".join(ways)
        raise MissingParameter(
            f"give exactly one of {names}; {len(given)} came.",
            why="There is no default cost, and two of them would contradict each other.",
            fix=f"Write, for example, {next(iter(ways))}=...",
        )
    [(name, value)] = given.items()
    return name, positive(value, name=name)
