"""What is said beforehand of a statement in which noisy values decide: which rows are shown, or what is in them."""

from __future__ import annotations

from sqlglot import exp

from hubbub.relations import Expr
from hubbub.sql.relation.find_inner import AskedRelation
from hubbub.sql.relation.public_names import is_cut_by_noise, noise_compares, public_names

ROWS = "Noisy values decide which rows are shown, so the intervals of a column hold for all of its rows together."
VALUES = (
    "Noisy values are compared here (ranks, extremes, conditions), so the intervals of what follows from that hold for "
    "all rows together."
)


def choice_words(relation: AskedRelation) -> tuple[str, ...]:
    """The sentence about noisy values that decide; none if they do not."""
    columns = [column for plans in relation.inner for column in plans[0].plans[0].outputs]
    noisy = [column.name for column in columns if _reads_noise(column.value)]
    public = [column.name for column in columns if not _reads_noise(column.value)]
    names = public_names(relation.outer, public=public, noisy=noisy)
    if any(is_cut_by_noise(query, names) for query in relation.outer.find_all(exp.Query)):
        return (ROWS,)
    return (VALUES,) if noise_compares(relation.outer, names) else ()


def _reads_noise(value: Expr) -> bool:
    return value.op == "read" or any(map(_reads_noise, value.args))
