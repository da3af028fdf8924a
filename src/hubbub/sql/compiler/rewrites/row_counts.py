"""The question that is asked before an average: how many rows each average of it is over, by the same keys."""

from __future__ import annotations

from dataclasses import replace

from hubbub.relations import INTEGER, Expr, ValueFacts, build
from hubbub.schema import Kind
from hubbub.sql.compiler.paired_sums import is_paired, split_pair
from hubbub.sql.compiler.question import Aggregated, Field, Question
from hubbub.sql.compiler.rewrites.split_sums import aggregates_in, split_filter

_MEANS = ("avg", "regr_avgx", "regr_avgy")


def count_rows_first(question: Question) -> Question:
    """A count of the rows that have a value, for each average that the answer, HAVING or ORDER BY reads.

    Groups are the finest ones: totals of them have more rows.
    """
    values = [output.value for output in question.outputs] + [part.value for part in question.order]
    values += [question.having] if question.having is not None else []
    means = [part for value in values for part in aggregates_in(value) if part.param.function in _MEANS]
    conditions = dict.fromkeys(_rows_of(mean) for mean in means)
    keys = tuple(
        Field(key.name, Expr("key", param=place, facts=key.value.facts)) for place, key in enumerate(question.keys)
    )
    counts = tuple(Field(f"rows_{number}", _count_where(each)) for number, each in enumerate(conditions, start=1))
    return replace(question, outputs=(*keys, *counts), having=None, order=(), limit=None, offset=0, levels=())


def _rows_of(mean: Expr) -> Expr:
    """The condition that rows of an average meet: they have its value, or both, and FILTER holds."""
    if is_paired(mean):
        return split_pair(mean)[2]
    argument, condition = split_filter(mean)
    assert argument is not None
    there = build("present", [argument])
    return there if condition is None else build("and", [condition, there])


def _count_where(condition: Expr) -> Expr:
    facts = ValueFacts(kind=Kind.INTEGER, number=INTEGER)
    return Expr("aggregate_if", (condition,), Aggregated("count"), facts)
