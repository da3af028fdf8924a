"""Totals that are no sums of groups: each level of ROLLUP, CUBE and GROUPING SETS as a question of its own.

A person in two groups counts once in their total, a quantile of both is none of either, and keys that are chosen
privately are not the same at each level. So each level is asked by itself, of all rows and under its own bound on one
person, for an equal share of the price; nothing is reconciled.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from hubbub.relations import Expr, ValueFacts, literal
from hubbub.sql.compiler.plan_keys import plan_keys
from hubbub.sql.compiler.query_plan import number_of_groups
from hubbub.sql.compiler.question import Ordering, Question, UnionOfQuestions
from hubbub.sql.compiler.rewrites.split_sums import aggregates_in

_NOT_SUMS = ("quantile", "min", "max")


def separate_levels(question: Question | UnionOfQuestions, *, choose_keys: bool) -> Question | UnionOfQuestions:
    """The question, with levels whose totals are no sums of groups as questions below each other."""
    if isinstance(question, UnionOfQuestions) or not question.levels or not _can_separate(question):
        return question
    if _adds_up(question, choose_keys):
        return question
    order = tuple(replace(part, value=_output_of(part, question)) for part in question.order)
    levels = tuple(_one_level(question, kept) for kept in question.levels)
    return UnionOfQuestions(levels, order, question.limit, question.offset)


def _can_separate(question: Question) -> bool:
    """Whether rows of all levels can be put below each other: keys stand by themselves, and order is by columns."""
    values = [output.value for output in question.outputs]
    alone = all(value.op == "key" or not _has_key(value) for value in values)
    return alone and all(part.value in values for part in question.order)


def _adds_up(question: Question, choose_keys: bool) -> bool:
    """Whether totals are sums of the finest groups, which are public."""
    values = [*(output.value for output in question.outputs), *([question.having] if question.having else [])]
    kinds = [part.param for value in values for part in aggregates_in(value)]
    if any(each.distinct or each.function in _NOT_SUMS for each in kinds):
        return False
    return number_of_groups(plan_keys(question, choose_keys=choose_keys)) is not None


def _one_level(question: Question, kept: tuple[int, ...]) -> Question:
    """The question by some of its keys; the others are missing."""
    places = {key: place for place, key in enumerate(kept)}
    return replace(
        question,
        keys=tuple(question.keys[key] for key in kept),
        outputs=tuple(replace(output, value=_at_level(output.value, places)) for output in question.outputs),
        having=None if question.having is None else _at_level(question.having, places),
        order=(),
        limit=None,
        offset=0,
        levels=(),
        one_level=True,
    )


def with_grouping(value: Expr, kept: Collection[int]) -> Expr:
    """GROUPING(...) as the number that it is at a level with these keys; of a plain GROUP BY it is 0."""
    if value.op == "grouping":
        digits = [int(key not in kept) for key in value.param]
        return replace(literal(sum(digit << place for place, digit in enumerate(reversed(digits)))), facts=value.facts)
    return replace(value, args=tuple(with_grouping(arg, kept) for arg in value.args))


def _at_level(value: Expr, places: Mapping[int, int]) -> Expr:
    if value.op == "grouping":
        return with_grouping(value, places)
    if value.op == "key":
        if value.param in places:
            return replace(value, param=places[value.param])
        return Expr("literal", param=None, facts=ValueFacts(kind=value.kind))
    if value.op in ("aggregate", "aggregate_if"):
        return value
    return replace(value, args=tuple(_at_level(arg, places) for arg in value.args))


def _has_key(value: Expr) -> bool:
    return value.op == "key" or any(_has_key(arg) for arg in value.args)


def _output_of(part: Ordering, question: Question) -> Expr:
    """ORDER BY in terms of the answer's own columns, which is all that is left of several questions."""
    return Expr("output", param=[output.value for output in question.outputs].index(part.value))
