"""Pairs of queries whose rows are nested, so that the difference of their answers is about the rows in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import inf

import sqlglot
from sqlglot import exp

from hubbub.attacks.queries.query_log import Query, conjunction, negate_conditions


@dataclass(frozen=True, slots=True)
class NestedQueries:
    """A query and one over fewer rows: ``between`` are the conditions of the rows that only the first has.

    ``left_out`` are those that describe whom the second leaves out, whatever else both ask.
    """

    large: Query
    small: Query
    between: frozenset[str]
    left_out: frozenset[str]

    @property
    def difference(self) -> float:
        """The answer about the rows in between."""
        return self.large.answer - self.small.answer

    @property
    def terms(self) -> int:
        """How many answers of the log it is made of."""
        return len(self.large.answers) + len(self.small.answers)

    def describe(self) -> str:
        """Whom the difference is about."""
        return conjunction(self.between)


def pairs(queries: Sequence[Query]) -> Iterator[NestedQueries]:
    """Every pair of counts, or of sums of the same thing, with nested conditions; each difference once."""
    seen = set()
    for large, small in permutations(queries, 2):
        if large.what != small.what or large.aggregate == "AVG":
            continue
        left_out = _left_out(large.conditions, small.conditions)
        if left_out is None:
            continue
        between = large.conditions | left_out
        if (large.what, between) not in seen:
            seen.add((large.what, between))
            yield NestedQueries(large, small, between, left_out)


def _left_out(large: frozenset[str], small: frozenset[str]) -> frozenset[str] | None:
    """The conditions of those whom ``small`` leaves out of ``large``; None if it is not surely a part of it."""
    further, dropped = small - large, large - small
    if not further:
        return None
    if not dropped:
        return negate_conditions(further)
    if len(further) == len(dropped) == 1 and implies_condition(*further, *dropped):
        return negate_conditions(further)
    return None


@lru_cache(maxsize=10_000)
def implies_condition(narrow: str, wide: str) -> bool:
    """Whether one simple condition surely implies another, as a narrower range or a shorter list does.

    >>> implies_condition("age < 40", "age < 41"), implies_condition("age < 41", "age < 40")
    (True, False)
    >>> implies_condition("x = 'a'", "x IN ('a', 'b')")
    True
    """
    one, other = _condition_region(narrow), _condition_region(wide)
    return one is not None and other is not None and one[0] == other[0] and _lies_within(one[1], other[1])


_End = tuple[float, int]  # a number, and whether the range ends just below it (-1), at it (0) or just above (1)
_Range = tuple[_End, _End]
_FIRST, _LAST = (-inf, 0), (inf, 0)


def _condition_region(text: str) -> tuple[str, frozenset[str] | _Range] | None:
    """The column of a simple condition, and the values that it may have: a few, or a range of numbers."""
    tree = sqlglot.condition(text, dialect="duckdb")
    if isinstance(tree, exp.In) and tree.expressions and all(isinstance(v, exp.Literal) for v in tree.expressions):
        return tree.this.sql(), frozenset(v.sql() for v in tree.expressions)
    if not isinstance(tree, exp.Binary) or not isinstance(tree.right, exp.Literal):
        return None
    column, value = tree.left.sql(), tree.right
    if isinstance(tree, exp.EQ):
        return column, frozenset([value.sql()])
    interval = None if value.is_string else _number_range(tree, float(value.this))
    return None if interval is None else (column, interval)


def _number_range(tree: exp.Binary, edge: float) -> _Range | None:
    if isinstance(tree, exp.LT | exp.LTE):
        return _FIRST, (edge, 0 if isinstance(tree, exp.LTE) else -1)
    if isinstance(tree, exp.GT | exp.GTE):
        return (edge, 0 if isinstance(tree, exp.GTE) else 1), _LAST
    return None


def _lies_within(inside: frozenset[str] | _Range, around: frozenset[str] | _Range) -> bool:
    if isinstance(around, frozenset):
        return isinstance(inside, frozenset) and inside <= around
    ranges = [_point_range(value) for value in inside] if isinstance(inside, frozenset) else [inside]
    return all(around[0] <= low and high <= around[1] for low, high in ranges)


def _point_range(value: str) -> _Range:
    """A number as a range; a text as one that lies in no other."""
    try:
        return (float(value), 0), (float(value), 0)
    except ValueError:
        return (-inf, -1), (inf, 1)
