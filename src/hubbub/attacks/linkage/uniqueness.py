"""Uniqueness: how many rows are alone with their combination of values, and which columns make them so [Swe00]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from hubbub.attacks import plain_tables
from hubbub.attacks.plain_tables import Codes, PlainTable
from hubbub.attacks.report import Attack, count_of, share_of
from hubbub.explain import Figure
from hubbub.render import Json, out_of_100
from hubbub.render import bars as text_bars
from hubbub.render.charts import Bar, bar_chart, percentage

_MOST_SUBSETS = 256  # of columns that are tried; beyond it only the best set of each size grows
_STEPS = ((1, "alone"), (2, "2"), (3, "3 to 4"), (5, "5 to 9"), (10, "10 or more"))


def uniqueness(table: PlainTable, on: Sequence[str]) -> Uniqueness:
    """Count how many rows share each combination of the columns ``on``, and search the subsets of ``on``.

    A missing value counts as a value of its own. All subsets are tried while there are few (up to 8 columns);
    with more columns, the best set of each size is extended by the column that helps most.

    >>> found = uniqueness({"zip": [1, 1, 2, 2], "sex": ["f", "m", "m", "m"]}, on=["zip", "sex"])
    >>> found.share, found.smallest
    (0.5, 1)
    """
    rows = plain_tables.read_table(table, called="the table")
    columns = plain_tables.known_columns(rows, on, called="the table")
    plain_tables.no_identifiers(rows, columns, called="the table")
    parts = {name: plain_tables.row_codes(rows, [name]) for name in columns}
    sizes = class_sizes(plain_tables.combine_codes(list(parts.values())))
    return Uniqueness(columns, sizes, tuple(_column_subsets(parts)))


def class_sizes(codes: Codes) -> Codes:
    """For each row, how many rows have the same number."""
    return np.bincount(codes)[codes]


@dataclass(frozen=True, slots=True, eq=False)
class Uniqueness(Attack):
    """How many rows share each row's values (``sizes``, one per row), and the unique share by sets of columns."""

    kind: ClassVar[str] = "uniqueness"
    name: ClassVar[str] = "Uniqueness"

    on: tuple[str, ...]
    sizes: Codes
    subsets: tuple[tuple[tuple[str, ...], float], ...]

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return len(self.sizes)

    @property
    def share(self) -> float:
        """The share of rows that are alone with their values."""
        return float(np.mean(self.sizes == 1))

    @property
    def smallest(self) -> int:
        """The size of the smallest group: the k of k-anonymity."""
        return int(self.sizes.min())

    def share_below(self, k: int) -> float:
        """The share of rows in groups of fewer than ``k``."""
        return float(np.mean(self.sizes < k))

    @property
    def best(self) -> tuple[tuple[tuple[str, ...], float], ...]:
        """For each number of columns, the set that makes most rows unique."""
        by_size: dict[int, tuple[tuple[str, ...], float]] = {}
        for columns, share in self.subsets:
            if len(columns) not in by_size or share > by_size[len(columns)][1]:
                by_size[len(columns)] = (columns, share)
        return tuple(by_size[size] for size in sorted(by_size))

    @property
    def succeeded(self) -> bool:
        """Whether anybody is alone."""
        return self.smallest == 1

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        if not self.succeeded:
            return f"Nobody is alone with {', '.join(self.on)}: every group has at least {self.smallest:,} rows."
        return (
            f"{out_of_100(self.share).capitalize()} rows are the only ones with their "
            f"{', '.join(self.on)} ({share_of(self.share)} of {self.rows:,})."
        )

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {
            "on": list(self.on),
            "rows": self.rows,
            "unique_share": self.share,
            "smallest_group": self.smallest,
            "group_sizes": dict(self._histogram()),
            "subsets": [{"columns": list(columns), "unique_share": share} for columns, share in self.subsets],
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        groups = tuple((f"rows in groups of {name}", f"{count:,}") for name, count in self._histogram()[1:])
        return (
            ("rows", f"{self.rows:,}"),
            ("alone with their values", count_of(int(np.sum(self.sizes == 1)), self.rows)),
            *groups,
            ("smallest group", f"{self.smallest:,}"),
        )

    def figure(self) -> Figure:
        """The unique share for the best set of columns of each size."""
        bars = [(" + ".join(columns), share, share_of(share)) for columns, share in self.best]
        svg = bar_chart(
            [Bar(name, share, shown=shown) for name, share, shown in bars],
            title="Who is alone, by the columns that tell most",
            description="; ".join(f"{name}: {shown}" for name, _, shown in bars) + ".",
            label="share of rows that are alone",
            show=percentage,
            include=(1.0,),
        )
        return Figure(self.kind, svg, "The best set of each size: each column cuts the crowd further.", text_bars(bars))

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        words = (
            "Whoever is alone with a few ordinary values is named by them. None of these columns is an identifier by "
            "itself; together they are one, for everybody who has the same columns from elsewhere (`link`)."
        )
        safe = (
            "By these columns nobody is singled out. That says nothing about other columns, nor about what the members "
            "of a group have in common (`homogeneity`)."
        )
        return (words if self.succeeded else safe,)

    def remedy(self) -> tuple[str, ...]:
        """What would have helped."""
        return (
            "Coarser or fewer columns make groups larger; the picture shows which column does most harm. Which columns "
            "somebody may know is a guess, though, and grows with time. Differential privacy needs no such guess.",
        )

    def _histogram(self) -> list[tuple[str, int]]:
        counts = np.bincount(np.digitize(self.sizes, [least for least, _ in _STEPS]) - 1, minlength=len(_STEPS))
        return [(name, int(count)) for (_, name), count in zip(_STEPS, counts, strict=True)]


def _column_subsets(parts: dict[str, Codes]) -> Iterator[tuple[tuple[str, ...], float]]:
    """Sets of columns with their unique share: all of them, or greedily grown ones if there are too many."""
    names = list(parts)
    if sum(comb(len(names), size) for size in range(1, len(names) + 1)) <= _MOST_SUBSETS:
        for size in range(1, len(names) + 1):
            yield from ((columns, _unique_share(parts, columns)) for columns in combinations(names, size))
        return
    chosen: tuple[str, ...] = ()
    while len(chosen) < len(names):
        tried = [((*chosen, name), _unique_share(parts, (*chosen, name))) for name in names if name not in chosen]
        yield from tried
        chosen = max(tried, key=lambda found: found[1])[0]


def _unique_share(parts: dict[str, Codes], columns: Sequence[str]) -> float:
    codes = plain_tables.combine_codes([parts[name] for name in columns])
    return float(np.count_nonzero(np.bincount(codes) == 1) / len(codes))
