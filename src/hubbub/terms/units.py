"""Who is protected (the unit) and which two data sets must look alike (the neighbours)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hubbub.terms.errors import OutOfRange, WrongShape
from hubbub.terms.names import plain_text


class Neighbours(StrEnum):
    """The pairs of data sets that a guarantee compares: always stated, never assumed.

    ``ADD_REMOVE``: one data set has one unit more. ``REPLACE``: one unit has other values. A replacement
    is a removal and an addition, so a guarantee for the first gives one for the second at twice the
    distance; the other way round nothing follows, since the sizes differ.
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"

    @classmethod
    def parse(cls, value: Neighbours | str) -> Neighbours:
        """The relation of that name."""
        try:
            return cls(value)
        except ValueError:
            raise OutOfRange(
                f"neighbours must be 'add-remove' or 'replace' and is {value!r}.",
                why="A guarantee means nothing until it says which data sets it compares.",
                fix='Write neighbours="add-remove" (one unit more or less) or "replace".',
            ) from None

    def describe(self, unit: Unit) -> str:
        """How two neighbouring data sets differ, in words."""
        if self is Neighbours.ADD_REMOVE:
            return f"{unit.describe()} is in the data or not"
        return f"{unit.describe()} has these or any other values"


@dataclass(frozen=True, slots=True)
class Unit:
    """Whom a guarantee protects: one row, or all rows that belong to one person.

    ``path`` names the column that tells people apart, directly (``"patients.patient_id"``) or at the end
    of a chain of foreign keys; it is empty for rows.
    """

    path: str = ""

    def __post_init__(self) -> None:
        plain_text(self.path, name="the unit's path", longest=1000)

    @property
    def is_row(self) -> bool:
        """True if each row is protected by itself."""
        return not self.path

    def describe(self) -> str:
        """The unit as it reads in a sentence."""
        return "one row" if self.is_row else f"everything about one person ({self.path})"


def unit_of(value: Unit) -> Unit:
    """A unit, and nothing that only looks like one: events are compared and stored by it."""
    if not isinstance(value, Unit):
        raise WrongShape(
            f"a unit was expected and a {type(value).__name__} came.",
            why="It says whom the guarantee is about.",
            fix='Write Unit("patients.patient_id"), or Unit() for rows.',
        )
    return value
