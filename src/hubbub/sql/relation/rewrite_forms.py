"""Refused statements -> statements near them that may be answered. Whether they are, only the planner knows.

Each form works on a copy of the tree and knows names, declared columns and persons; none looks at data.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from hubbub.schema import Dataset
from hubbub.sql.compiler.syntax.plain_forms import write_distinct_on
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.sql.compiler.syntax.tree_parts import has_aggregates
from hubbub.sql.relation.find_inner import put_in_place
from hubbub.sql.relation.rewrite_aggregates import OTHER_AGGREGATES, parts_as_thresholds
from hubbub.sql.relation.rewrite_constructs import OTHER_WORDS, nested_aggregates, pivot_as_filters
from hubbub.sql.relation.rewrite_parts import (
    LISTS,
    ONE_ROW,
    aggregated_condition,
    aggregated_rows,
    aggregated_table,
    copied_part,
    counted_rows,
    feeds_people,
    name_value,
    person_of,
    reads_only_tables,
    reads_people,
    sources_of,
    tables_in,
    without_end,
)
from hubbub.sql.relation.rewrite_people import OF_PEOPLE

_BESIDE = (exp.From, exp.Join, exp.In)
_HANDING_OUT = (*LISTS, *ONE_ROW, exp.ApproxTopK)
_COUNTED = ("HISTOGRAM", "LIST", "STRING_AGG", "LISTAGG", "APPROX_TOP_K", "ENTROPY")
Form = Callable[[exp.Query, Dataset], exp.Query | None]


def windows_inside_people(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """Every window by person; one inside an aggregate moves into a subquery."""
    windows, changed = list(tree.find_all(exp.Window)), False
    for window in windows:
        select = window.find_ancestor(exp.Select)
        person = None if select is None else person_of(select, dataset)
        if select is None or person is None:
            continue
        parts = window.args.get("partition_by") or []
        if not any(part.name.lower() == person.name.lower() for part in parts):
            window.set("partition_by", [person.copy(), *parts])
            changed = True
    for select in list(tree.find_all(exp.Select)):
        changed = _move_windows_inside(select, dataset) or changed
    return tree if changed else None


def _move_windows_inside(select: exp.Select, dataset: Dataset) -> bool:
    """Arguments of aggregates that have windows become columns of a subquery; a QUALIFY goes along."""
    if person_of(select, dataset) is None or not has_aggregates(select):
        return False
    inside = [node for node in select.find_all(exp.AggFunc) if not _is_windowed(node) and node.find(exp.Window)]
    qualify = select.args.get("qualify")
    if not inside and qualify is None:
        return False
    values: list[exp.Expr] = [exp.Star()]
    for node in inside:
        name = f"value_{len(values)}"
        values.append(exp.alias_(node.this.copy(), name))
        node.set("this", exp.column(name))
    rows = exp.Select(expressions=values)
    for part in ("from_", "joins", "where", "qualify"):
        if select.args.get(part):
            rows.set(part, copied_part(select.args[part]))
            select.set(part, None)
    select.from_(rows.subquery("q"), copy=False)
    return True


def _is_windowed(node: exp.Expr) -> bool:
    return isinstance(node.parent, exp.Window) and node.parent.this is node


def groups_over_people(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """One group per person -> the average over people of what each has."""
    if not isinstance(tree, exp.Select) or (group := tree.args.get("group")) is None:
        return None
    person = person_of(tree, dataset)
    if person is None or not any(key.name.lower() == person.name.lower() for key in group.expressions):
        return None
    keys = [key for key in group.expressions if key.name.lower() != person.name.lower()]
    inner = without_end(tree)
    values = [each for each in inner.expressions if each.find(exp.AggFunc)] or [
        exp.alias_(exp.Count(this=exp.Star()), "n")
    ]
    values = [
        each if isinstance(each, exp.Alias) else exp.alias_(each, f"value_{i + 1}") for i, each in enumerate(values)
    ]
    inner.set("expressions", [person.copy(), *(key.copy() for key in keys), *(each.copy() for each in values)])
    means = [exp.alias_(exp.Avg(this=_as_number(each)), each.alias) for each in values]
    outer = exp.select(*(exp.column(key.name) for key in keys), *means).from_(inner.subquery("q"))
    return outer.group_by(*(exp.column(key.name) for key in keys)) if keys else outer


def _as_number(value: exp.Expr) -> exp.Expr:
    """A column of a subquery that can be averaged: 1 or 0 for whether a condition holds."""
    column = exp.column(value.alias)
    return exp.cast(column, "INTEGER") if isinstance(value.unalias(), exp.LogicalOr | exp.LogicalAnd) else column


def rows_as_aggregates(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """Rows of people, wherever they are asked for -> their averages or counts by public keys."""
    changed = False
    for select in list(tree.find_all(exp.Select)):
        if has_aggregates(select) or not reads_only_tables(select, dataset) or feeds_people(select, dataset):
            continue
        new = aggregated_condition(select, dataset) or aggregated_rows(select, dataset)
        changed = True
        if select is tree:
            return new
        put_in_place(select, new)
    return tree if changed else None


def values_with_counts(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """The different values of a column (SELECT DISTINCT, HISTOGRAM, STRING_AGG, ...) -> how many rows have each."""
    if not isinstance(tree, exp.Select) or tree.args.get("group") or not reads_only_tables(tree, dataset):
        return None
    distinct, asked = tree.args.get("distinct"), [each.unalias() for each in tree.expressions]
    if distinct is None or distinct.args.get("on"):
        asked = [_handed_out(each) for each in asked] if len(asked) == 1 else []
    keys = [each.copy() for each in asked if isinstance(each, exp.Column) and not isinstance(each.this, exp.Star)]
    if not keys or len(keys) != len(asked):
        return None
    counted = without_end(tree)
    counted.set("distinct", None)
    counted.set("expressions", [*keys, exp.alias_(exp.Count(this=exp.Star()), "n")])
    return counted.group_by(*(key.copy() for key in keys))


def _handed_out(node: exp.Expr) -> exp.Expr | None:
    """The column whose values an aggregate hands out."""
    node = node.this if isinstance(node, exp.IgnoreNulls) else node
    if not isinstance(node, _HANDING_OUT) and not (isinstance(node, exp.Anonymous) and node.name.upper() in _COUNTED):
        return None
    first = node.this if isinstance(node, _HANDING_OUT) else node.expressions[0] if node.expressions else None
    while isinstance(first, exp.Distinct | exp.Order):
        first = first.expressions[0] if isinstance(first, exp.Distinct) else first.this
    return first


def counts_of_rows(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """Rows of people -> how many there are."""
    if not isinstance(tree, exp.Select) or has_aggregates(tree) or not reads_only_tables(tree, dataset):
        return None
    return counted_rows(tree)


def tables_as_aggregates(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """A table of people beside released numbers -> its averages or counts by the columns that it is joined by."""
    changed = False
    for select in list(tree.find_all(exp.Select)):
        parts = sources_of(select)
        if not any(not isinstance(part, exp.Table) or dataset.table(part.name) is None for part in parts):
            continue
        for part in parts:
            table = dataset.table(part.name) if isinstance(part, exp.Table) else None
            if table is not None and not table.public:
                put_in_place(part, aggregated_table(part, table, select))
                changed = True
    return tree if changed else None


def numbers_of_people(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """A number of several people that a row is compared with -> that number alone, which can be released first."""
    for each in tree.find_all(exp.Subquery):
        inner = each.this
        if isinstance(inner, exp.Select) and len(inner.expressions) == 1 and has_aggregates(inner):
            outer = each.find_ancestor(exp.Select)
            if outer is not None and reads_people(outer, dataset) and not isinstance(each.parent, _BESIDE):
                return name_value(inner.copy())
    for condition in tree.find_all(exp.In):
        query = condition.args.get("query")
        inner = query.this if isinstance(query, exp.Subquery) else query
        if isinstance(inner, exp.Select) and has_aggregates(inner):
            return inner.copy()
    return None


def without_limits(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """Without the ORDER BY and LIMIT that pick some people's rows inside a question, or order a single number."""
    changed = False
    for select in list(tree.find_all(exp.Select)):
        if reads_people(select, dataset) and (select is not tree or select.args.get("group") is None):
            changed = changed or any(select.args.get(part) for part in ("limit", "offset"))
            for part in ("order", "limit", "offset"):
                select.set(part, None)
    return tree if changed else None


def distinct_on_as_qualify(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """DISTINCT ON (columns) inside a person -> the first row by QUALIFY, which is the same."""
    return tree if write_distinct_on(tree, QueryText("")) else None


def patterns_as_parts(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """REGEXP_REPLACE -> REPLACE of a plain text, or the part that a pattern finds."""
    found = list(tree.find_all(exp.RegexpReplace))
    for each in found:
        pattern, instead = each.expression, each.args.get("replacement") or exp.Literal.string("")
        if isinstance(pattern, exp.Literal) and re.fullmatch(r"[\w \-/:,]+", pattern.name):
            put_in_place(
                each, exp.Anonymous(this="REPLACE", expressions=[each.this.copy(), pattern.copy(), instead.copy()])
            )
        else:
            put_in_place(each, exp.RegexpExtract(this=each.this.copy(), expression=pattern.copy()))
    return tree if found else None


def numbers_by_keys(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """A subquery of people that goes by a column of released numbers -> the numbers of all its keys, looked up."""
    changed = False
    for select in list(tree.find_all(exp.Select)):
        parent, where = select.parent, select.args.get("where")
        if not isinstance(parent, exp.Exists | exp.Subquery) or where is None or not reads_only_tables(select, dataset):
            continue
        conditions = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
        pairs = {i: pair for i, each in enumerate(conditions) if (pair := _own_and_foreign(each, select, dataset))}
        if len(pairs) != 1:
            continue
        [(place, (own, foreign))] = pairs.items()
        rest = [each.copy() for i, each in enumerate(conditions) if i != place]
        value = exp.Count(this=exp.Star()) if isinstance(parent, exp.Exists) else select.expressions[0].unalias().copy()
        inner = without_end(select)
        inner.set("expressions", [own.copy(), exp.alias_(value, "value_1")])
        inner.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
        numbers = inner.group_by(own.copy()).subquery("q")
        key = exp.column(own.name, table="q")
        if isinstance(parent, exp.Exists):
            put_in_place(parent, exp.In(this=foreign.copy(), query=exp.select(key).from_(numbers).subquery()))
        else:
            put_in_place(
                select, exp.select(exp.column("value_1", table="q")).from_(numbers).where(key.eq(foreign.copy()))
            )
        changed = True
    return tree if changed else None


def _own_and_foreign(node: exp.Expr, select: exp.Select, dataset: Dataset) -> tuple[exp.Column, exp.Column] | None:
    """The columns of an equality, if one is of this SELECT and the other of one outside."""
    if not isinstance(node, exp.EQ):
        return None
    names = {part.alias_or_name.lower() for part, _ in tables_in(select, dataset)}
    for own, foreign in ((node.left, node.right), (node.right, node.left)):
        if not isinstance(own, exp.Column) or not isinstance(foreign, exp.Column):
            return None
        if foreign.table.lower() not in ("", *names) and own.table.lower() in ("", *names):
            return own, foreign
    return None


def clipped_values(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """Averages and sums between bounds that somebody may change, where none can be derived."""
    values = [each for each in tree.find_all(exp.Avg, exp.Sum) if not _is_windowed(each)]
    for each in values:
        each.set("this", exp.Anonymous(this="CLIP", expressions=[each.this.copy(), *map(exp.Literal.number, (0, 100))]))
    return tree if values else None


ALONE: tuple[Form, ...] = (
    *OF_PEOPLE,
    *OTHER_AGGREGATES,
    nested_aggregates,
    pivot_as_filters,
    windows_inside_people,
    groups_over_people,
    values_with_counts,
    rows_as_aggregates,
    counts_of_rows,
    tables_as_aggregates,
    without_limits,
    distinct_on_as_qualify,
    *OTHER_WORDS,
    patterns_as_parts,
    numbers_by_keys,
)
AFTER: tuple[Form, ...] = (*ALONE, clipped_values)
THRESHOLDS: tuple[Form, ...] = (parts_as_thresholds,)  # released first, and what is near a part of people before all
FIRST: tuple[Form, ...] = (numbers_of_people,)  # what can be released first, and then written as a number
