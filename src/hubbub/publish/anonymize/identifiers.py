"""Columns that tell people apart by themselves: they are published only if somebody names them.

A partition makes rows alike in the quasi-identifiers. A name, a number, an address or a free text beside them undoes
that, whatever k is. So a column that is neither a quasi-identifier nor sensitive is looked at first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hubbub.publish.anonymize.coded_columns import Codes, one_form, value_ranks
from hubbub.terms import OutOfRange

if TYPE_CHECKING:
    import pyarrow

_FEWEST = 5  # rows that share a value, on average, in a column that divides people into groups
_RARE = 100  # at most one row in so many may hold a value of fewer rows


def identifying_columns(rows: pyarrow.Table, named: Sequence[str], k: int, *, people: Codes | None = None) -> list[str]:
    """The columns, but for those named, whose values tell rows apart more finely than classes of k rows may.

    These are columns whose values occur in fewer than k rows on average (and in fewer than 5, if k is less), and those
    where more than one row in 100 holds a *rare* value, one of fewer rows than that: a telephone number of some, and
    "none" for all others. In few rows every value is rare, also one of a small group. So neither is said of a column
    with no more values than the root of the number of rows; and of a column with rare values beside common ones, where
    the rare values are no more than the root of the number of rows that hold them. Rows without a value do not count.
    Where ``people`` says whose each row is, people are counted instead of rows, each once for a value.
    """
    return [name for name in rows.column_names if name not in named and _divides(rows[name], max(k, _FEWEST), people)]


def _divides(column: pyarrow.ChunkedArray, k: int, people: Codes | None) -> bool:
    flat = one_form(column)
    ranks = value_ranks(flat.drop_null())
    if people is not None:
        size = int(people.max(initial=0)) + 1
        ranks = np.unique(ranks * size + people[np.asarray(flat.is_valid())]) // size
    counts = np.unique(ranks, return_counts=True)[1]
    present, rare = int(counts.sum()), counts[counts < k]
    finely = len(counts) * k > present and len(counts) ** 2 > present
    # The average alone says nothing of a column that has one common value beside a name for each of the rest; nor does
    # the number of all rows: ten telephone numbers are ten people, however many rows have none.
    return finely or bool(rare.sum() * _RARE > present and len(rare) ** 2 > rare.sum())


def refuse_identifiers(
    rows: pyarrow.Table,
    named: Sequence[str],
    k: int,
    *,
    argument: str = "keep={names!r}",
    people: Codes | None = None,
) -> None:
    """Refuse what nobody named; ``argument`` says how it is named."""
    names = identifying_columns(rows, named, k, people=people)
    if names:
        raise OutOfRange(
            f"{', '.join(names)}: the values differ from row to row, and would be published as they are.",
            why="They name people, whatever is done to the quasi-identifiers.",
            fix="Leave them out of the table, or keep them on purpose: "
            f"{argument.format(names=names, listed=','.join(names))}.",
        )
