"""Aggregates of CASE as the same aggregates with FILTER, which count each person once and share their measures.

    COUNT(CASE WHEN c THEN x END)             COUNT(x) FILTER (WHERE c), also with DISTINCT
    COUNT(CASE WHEN c THEN NULL ELSE x END)   COUNT(x) FILTER (WHERE c IS NOT TRUE)
    SUM(CASE WHEN c THEN 1 ELSE 0 END)        COUNT(*) FILTER (WHERE c), also without ELSE

Both sides are the same number for every multiset of rows: a CASE without a value is NULL, which no COUNT counts, and a
condition that is unknown chooses ELSE, as FILTER leaves the row out. (The SUM of no rows is told as 0 in any case.)
"""

from __future__ import annotations

from dataclasses import replace

from hubbub.relations import Expr, build, literal
from hubbub.sql.compiler.question import Aggregated


def as_filtered(aggregate: Expr) -> Expr:
    """The aggregate with the condition of its CASE as a FILTER, where that is the same."""
    spec: Aggregated = aggregate.param
    argument = aggregate.args[0] if aggregate.args else None
    if argument is None or argument.op != "case" or len(argument.args) != 3:
        return aggregate
    condition, value, otherwise = argument.args
    if spec.function == "count" and _is_null(otherwise) and not _is_null(value):
        return _filtered(aggregate, condition, value, spec)
    if spec.function == "count" and _is_null(value) and not _is_null(otherwise):
        return _filtered(aggregate, build("not", [build("same", [condition, literal(True)])]), otherwise, spec)
    if spec.function == "sum" and _is_whole(value, 1) and (_is_null(otherwise) or _is_whole(otherwise, 0)):
        return _filtered(aggregate, condition, value, replace(spec, function="count"))
    return aggregate


def _filtered(aggregate: Expr, condition: Expr, value: Expr, spec: Aggregated) -> Expr:
    if aggregate.op == "aggregate_if":
        condition = build("and", [aggregate.args[-1], condition])
    is_star = value.op == "literal" and not spec.distinct
    return Expr("aggregate_if", (condition,) if is_star else (value, condition), spec, aggregate.facts)


def _is_null(value: Expr) -> bool:
    return value.op == "literal" and value.param is None


def _is_whole(value: Expr, number: int) -> bool:
    return value.op == "literal" and type(value.param) is int and value.param == number
