"""The public file of places: CSV with a column for each level, from the largest places to the smallest.

region,town
north,aston
north,barrow
south,corby
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hubbub.publish import unread_of
from hubbub.terms import EmptyInput


@dataclass(frozen=True, slots=True)
class Places:
    """The names of the levels and the smallest places, each as its path from the top."""

    levels: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]

    @property
    def column(self) -> str:
        """The column of the private table that says where a row belongs."""
        return self.levels[-1]

    @property
    def smallest(self) -> list[str]:
        """The names of the smallest places."""
        return [path[-1] for path in self.paths]


def read_places(file: Path) -> Places:
    """The places of a CSV file."""
    table = unread_of(str(file)).read()
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    paths = tuple(tuple(map(str, row)) for row in rows if None not in row)
    if not paths or len(paths) < table.num_rows:
        raise EmptyInput(
            f"{file.name} lists no places, or one without all its names.",
            why="Every line is a place: its names from the largest to the smallest.",
            fix="Write a first line such as region,town and below it one line for each town.",
        )
    return Places(tuple(table.column_names), paths)
