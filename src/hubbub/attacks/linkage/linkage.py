"""Linkage: put names to the rows of a "de-identified" table with a public one that has the same columns [Swe02]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hubbub.attacks import plain_tables
from hubbub.attacks.linkage import generalized_values
from hubbub.attacks.plain_tables import Codes, ColumnValues, PlainTable
from hubbub.attacks.report import Attack, count_of
from hubbub.explain import Figure
from hubbub.render import Json, out_of_100
from hubbub.render import bars as text_bars
from hubbub.render.charts import Bar, bar_chart, plain
from hubbub.terms import Unsuitable

if TYPE_CHECKING:
    import pandas
    import pyarrow

_STEPS = (("nobody", 0), ("one person", 1), ("2", 2), ("3 to 5", 3), ("6 to 20", 6), ("more than 20", 21))


def link(
    released: PlainTable,
    known: PlainTable,
    on: Sequence[str] | Mapping[str, str],
    *,
    identity: str | None = None,
    truth: str | ColumnValues | None = None,
    generalized: bool = False,
) -> Linkage:
    """Find the people behind the rows of ``released`` among those of ``known``, by the columns ``on``.

    Tables are pandas or Polars frames, Arrow tables, or dicts of columns. ``on`` names columns that both have, or
    maps a column of the first to one of the second. ``identity`` is the column of ``known`` that names its people
    (else rows are people); ``truth`` the real identity of each released row (a column of ``released``, or a
    sequence; row numbers where there is no ``identity``), to tell how many matches are right. A released row that
    agrees with exactly one known person is *matched*. A missing value agrees with nothing. With ``generalized``,
    cells such as ``20-29``, ``021**`` or ``*`` agree with all that they may stand for.

    Not covered: people whom ``known`` does not list. One of them may be the person behind a matched row.

    >>> found = link({"zip": ["13741", "02110"], "diagnosis": ["asthma", "cancer"]},
    ...              {"zip": ["02110", "13440"], "name": ["Weld", "Yang"]}, on=["zip"], identity="name")
    >>> found.matched, found.matches.to_pylist()
    (1, [{'released_row': 1, 'known_row': 0, 'identity': 'Weld'}])
    """
    ours, theirs = plain_tables.read_table(released, called="released"), plain_tables.read_table(known, called="known")
    columns = plain_tables.column_pairs(on)
    plain_tables.known_columns(ours, [one for one, _ in columns], called="released")
    plain_tables.known_columns(theirs, [other for _, other in columns], called="known")
    if identity is not None:
        plain_tables.known_columns(theirs, [identity], called="known")
    if generalized:
        counts, rows = generalized_values.count_candidates(ours, theirs, columns, identity)
    else:
        plain_tables.no_identifiers(ours, [one for one, _ in columns], called="released")
        counts, rows = _agreeing_people(ours, theirs, columns, identity)
    _some_overlap(counts, columns)
    matches = _matched_rows(theirs, counts, rows, identity)
    right = None if truth is None else _right_matches(matches, plain_tables.column_beside(ours, truth, called="truth"))
    return Linkage(tuple(one for one, _ in columns), theirs.num_rows, counts, matches, right)


@dataclass(frozen=True, slots=True, eq=False)
class Linkage(Attack):
    """What ``link`` found: how many known people agree with each released row, and who those with one are.

    ``candidates`` has a number per released row; ``matches`` a row (``released_row``, ``known_row``, ``identity``)
    for each released row with exactly one; ``right`` how many of these are the right person, where that is known.
    """

    kind: ClassVar[str] = "linkage"
    name: ClassVar[str] = "Linkage"

    on: tuple[str, ...]
    known_rows: int
    candidates: Codes
    matches: pyarrow.Table
    right: int | None = None

    @property
    def rows(self) -> int:
        """How many rows were released."""
        return len(self.candidates)

    @property
    def matched(self) -> int:
        """How many of them agree with exactly one known person."""
        return int(self.matches.num_rows)

    @property
    def share(self) -> float:
        """The matched share of the released rows."""
        return self.matched / self.rows

    @property
    def precision(self) -> float | None:
        """The share of the matches that are right; None where the truth is not known or nothing matched."""
        return None if self.right is None or not self.matched else self.right / self.matched

    @property
    def succeeded(self) -> bool:
        """Whether somebody was found, and (where that is known) the attacker is right more often than not."""
        return self.matched > 0 and (self.precision is None or self.precision > 0.5)

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        matched = count_of(self.matched, self.rows)
        sentence = f"Of {self.rows:,} released rows {matched} agree with exactly one known person"
        if self.precision is None:
            return f"{sentence}."
        return f"{sentence}, and {out_of_100(self.precision)} of these matches name the right one."

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {
            "on": list(self.on),
            "released_rows": self.rows,
            "known_rows": self.known_rows,
            "matched": self.matched,
            "right": self.right,
            "candidates": dict(self._histogram()),
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        rows = [
            ("compared by", ", ".join(self.on)),
            ("released rows", f"{self.rows:,}"),
            ("rows of the public table", f"{self.known_rows:,}"),
            ("agree with exactly one person", count_of(self.matched, self.rows)),
        ]
        if self.right is not None:
            rows.append(("of these, the right one", count_of(self.right, self.matched)))
        return tuple(rows)

    def figure(self) -> Figure:
        """How many known people each released row agrees with."""
        steps = self._histogram()
        svg = bar_chart(
            [Bar(name, float(count), shown=f"{count:,}") for name, count in steps],
            title="How many people each released row fits",
            description="; ".join(f"{name}: {count:,} rows" for name, count in steps) + ".",
            label="released rows",
            show=plain,
        )
        drawn = text_bars([(name, float(count), f"{count:,}") for name, count in steps])
        return Figure(self.kind, svg, "Whoever fits one person alone has a name again.", drawn)

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        if not self.matched:
            return ("No row points to one person alone by these columns. Others may still do so with other columns.",)
        alone = (
            "A row that fits one person alone has a name again: everything else in that row is now known about this "
            f"person. No secret was needed, only a table with {', '.join(self.on)} that anybody can get."
        )
        missing = (
            "A match is wrong if the real person is not in the public table and somebody in it happens to agree. The "
            "attacker cannot see which, and neither can those who are wrongly named."
        )
        return (alone, missing)

    def remedy(self) -> tuple[str, ...]:
        """What would have helped."""
        return (
            "Taking out names does not help: the columns together are the name. Coarser values (k-anonymity) make each "
            "row fit several people; then ask what these people have in common (`homogeneity`) and which other columns "
            "an attacker may know.",
            "Answers with differential privacy, or synthetic data made with it, have no row of any one person to link.",
        )

    def to_pandas(self) -> pandas.DataFrame:
        """The matches as a pandas frame."""
        return self.matches.to_pandas()

    def _histogram(self) -> list[tuple[str, int]]:
        steps = np.digitize(self.candidates, [least for _, least in _STEPS]) - 1
        counts = np.bincount(steps, minlength=len(_STEPS))
        return [(name, int(count)) for (name, _), count in zip(_STEPS, counts, strict=True)]


def _agreeing_people(
    ours: pyarrow.Table, theirs: pyarrow.Table, columns: Sequence[tuple[str, str]], identity: str | None
) -> tuple[Codes, Codes]:
    """How many known people agree with each released row, and the first row of one of them (-1 if none)."""
    mine, yours, valid, known = plain_tables.common_codes(ours, theirs, columns)
    rows = np.flatnonzero(known)
    if identity is not None:  # a person who is listed twice is still one person
        people = plain_tables.encode_column(theirs.column(identity))[rows]
        _, first = np.unique(plain_tables.combine_codes([yours[rows], people]), return_index=True)
        rows = rows[first]
    size = 1 + max(mine.max(), yours.max())
    counts, example = np.bincount(yours[rows], minlength=size), np.full(size, -1, np.int64)
    example[yours[rows]] = rows
    return np.where(valid, counts[mine], 0), np.where(valid, example[mine], -1)


def _some_overlap(counts: Codes, columns: Sequence[tuple[str, str]]) -> None:
    if not counts.any():
        raise Unsuitable(
            "no released row agrees with any known one.",
            why=f"The tables have no combination of {', '.join(one for one, _ in columns)} in common.",
            fix="Check that both write these columns alike, or use generalized=True for ranges and stars.",
        )


def _matched_rows(known: pyarrow.Table, counts: Codes, rows: Codes, identity: str | None) -> pyarrow.Table:
    import pyarrow as pa

    alone = np.flatnonzero(counts == 1)
    places = pa.array(rows[alone])
    names = places if identity is None else known.column(identity).take(places)
    return pa.table({"released_row": pa.array(alone), "known_row": places, "identity": names})


def _right_matches(matches: pyarrow.Table, real: pyarrow.ChunkedArray) -> int:
    """How many matches name the person who is ``real`` for that released row."""
    if not matches.num_rows:
        return 0
    truth = plain_tables.read_table({"identity": real.take(matches.column("released_row"))}, called="truth")
    ours, theirs, valid, known = plain_tables.common_codes(matches, truth, [("identity", "identity")])
    return int(np.count_nonzero((ours == theirs) & valid & known))
