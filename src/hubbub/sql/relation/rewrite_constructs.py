"""Constructs of SQL that are not answered -> those that say so: nested aggregates, PIVOT, NTH_VALUE, RANGE frames.

As in ``rewrite_forms``, each works on a copy of the tree and knows names and declared columns; none looks at data.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from hubbub.schema import Dataset
from hubbub.sql.relation.find_inner import put_in_place
from hubbub.sql.relation.rewrite_parts import sources_of, tables_in, without_end


def nested_aggregates(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """AVG(COUNT(*)) with GROUP BY -> the average over the groups of what each has."""
    del dataset
    if not isinstance(tree, exp.Select) or tree.args.get("group") is None or tree.find(exp.Window):
        return None
    inner = without_end(tree)
    outer = exp.Select(expressions=[each.copy() for each in tree.expressions])
    values: list[exp.Expr] = []
    for each in list(outer.find_all(exp.AggFunc)):
        if each.find_ancestor(exp.AggFunc):
            name = f"value_{len(values) + 1}"
            values.append(exp.alias_(each.copy(), name))
            put_in_place(each, exp.column(name))
    if not values or not all(each.find(exp.AggFunc) for each in outer.expressions):
        return None
    keys = [key.copy() for key in inner.args["group"].expressions if isinstance(key, exp.Column)]
    inner.set("expressions", [*keys, *values])
    return outer.from_(inner.subquery("q"))


def pivot_as_filters(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """PIVOT -> one aggregate with FILTER for each value of the column."""
    pivot = tree.find(exp.Pivot)
    if not isinstance(tree, exp.Select) or pivot is None or pivot.args.get("unpivot"):
        return None
    source = tree.args["from_"].this
    if source is pivot:
        rows, column, values = pivot.this, next(iter(pivot.expressions), None), []
        functions = pivot.args.get("using") or []
        keys = pivot.args["group"].expressions if pivot.args.get("group") else []
    else:
        rows, field = source.copy(), next(iter(pivot.args.get("fields") or []), None)
        rows.set("pivots", None)
        column, values = (field.this, field.expressions) if isinstance(field, exp.In) else (None, [])
        functions, keys = pivot.expressions, _other_columns(rows, [column, *pivot.expressions])
    if isinstance(column, exp.In):
        column, values = column.this, column.expressions
    if not isinstance(column, exp.Column):
        return None
    values = values or _declared_values(rows, column, dataset)
    columns = [_filtered(each, column, value, len(functions) > 1) for value in values for each in functions]
    if not columns:
        return None
    select = exp.select(*(key.copy() for key in keys), *columns).from_(rows.copy())
    return select.group_by(*(key.copy() for key in keys)) if keys else select


def _other_columns(rows: exp.Expr, used: Sequence[exp.Expr | None]) -> list[exp.Expr]:
    """The columns of a subquery that PIVOT does not name: it groups by them."""
    named = {column.name.lower() for part in used if part is not None for column in part.find_all(exp.Column)}
    selected = rows.this.expressions if isinstance(rows, exp.Subquery) and isinstance(rows.this, exp.Select) else []
    return [exp.column(each.alias_or_name) for each in selected if each.alias_or_name.lower() not in named]


def _declared_values(rows: exp.Expr, column: exp.Column, dataset: Dataset) -> list[exp.Expr]:
    select = rows.this if isinstance(rows, exp.Subquery) else exp.select("*").from_(rows.copy())
    for _, table in tables_in(select, dataset) if isinstance(select, exp.Select) else ():
        declared = table.column(column.name)
        if declared is not None and declared.values:
            return [exp.convert(value) for value in declared.values]
    return []


def _filtered(function: exp.Expr, column: exp.Column, value: exp.Expr, several: bool) -> exp.Expr:
    """One column of the PIVOT, with the name that it would have."""
    called = f"{value.name}_{function.alias_or_name or function.key}" if several else value.name
    where = exp.Where(this=column.eq(value.copy()))
    return exp.alias_(exp.Filter(this=function.unalias().copy(), expression=where), called, quoted=True)


def nth_values_as_rows(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """NTH_VALUE(x, n) -> x of the row that has this number."""
    del dataset
    changed = False
    for select in list(tree.find_all(exp.Select)):
        windows = [each for part in select.expressions for each in part.find_all(exp.Window)]
        if len(windows) != 1 or not isinstance(windows[0].this, exp.NthValue) or select.args.get("qualify"):
            continue
        [window] = windows
        number = exp.Window(
            this=exp.RowNumber(),
            partition_by=[part.copy() for part in window.args.get("partition_by") or []],
            order=window.args["order"].copy() if window.args.get("order") else None,
        )
        select.set("qualify", exp.Qualify(this=number.eq(window.this.args["offset"].copy())))
        put_in_place(window, window.this.this.copy())
        changed = True
    return tree if changed else None


def ranges_as_rows(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """A frame of values (RANGE) -> one of as many rows."""
    del dataset
    changed = False
    for spec in list(tree.find_all(exp.WindowSpec)):
        if spec.args.get("kind") != "RANGE":
            continue
        for end in ("start", "end"):
            if isinstance(spec.args.get(end), exp.Interval):
                spec.set(end, exp.Literal.number(spec.args[end].this.name))
        spec.set("kind", "ROWS")
        changed = True
    return tree if changed else None


def rollup_in_brackets(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """GROUP BY a, b WITH ROLLUP -> GROUP BY ROLLUP (a, b), and CUBE alike."""
    del dataset
    group = tree.args.get("group")
    for name, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):
        if group is not None and group.args.get(name) and group.expressions and sources_of(tree):  # type: ignore[arg-type]
            tree.set("group", exp.Group(expressions=[kind(expressions=[key.copy() for key in group.expressions])]))
            return tree
    return None


OTHER_WORDS = (nth_values_as_rows, ranges_as_rows, rollup_in_brackets)
