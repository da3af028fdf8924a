"""Aggregates inside each person that are not worked out there -> what is: a row by its place, a count, an average.

As in ``rewrite_forms``, each works on a copy of the tree and knows names and declared columns; none looks at data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from hubbub.schema import Dataset, Kind
from hubbub.sql.relation.find_inner import put_in_place
from hubbub.sql.relation.rewrite_parts import (
    LISTS,
    ONE_ROW,
    group_keys,
    is_by_person,
    named_key,
    named_keys,
    tables_in,
    without_within,
)

_LEVELS = (exp.Median, exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile)
_SPREADS = (exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop)


def _by_person(tree: exp.Query, dataset: Dataset) -> Iterator[exp.Select]:
    """The subqueries with one row per person, or per person and key."""
    without_within(tree)
    yield from [each for each in tree.find_all(exp.Select) if each is not tree and is_by_person(each, dataset)]


def _alone(select: exp.Select, *kinds: type[exp.Expr]) -> exp.Expr | None:
    """The only aggregate of a SELECT, if it is of these kinds and stands as a column by itself."""
    every = [each for part in select.expressions for each in part.find_all(exp.AggFunc)]
    named = [each for each in select.expressions if isinstance(each, exp.Alias) and isinstance(each.this, kinds)]
    return named[0] if len(every) == len(named) == 1 and not select.args.get("having") else None


# ---------------------------------------------------------------- the value of one row


def first_rows_of_people(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """ARG_MIN(x, day), FIRST(x) and the like of a person's rows -> x of the row that is first.

    Values that are first in another order are those of a window over the same rows.
    """
    changed = False
    for select in _by_person(tree, dataset):
        calls = [each for part in select.expressions for each in part.find_all(*ONE_ROW)]
        if not calls or select.args.get("qualify"):
            continue
        if len(calls) == 1 and isinstance(calls[0].parent, exp.Filter):
            select.where(calls[0].parent.expression.this, copy=False)
            put_in_place(calls[0].parent, calls[0])
        _filters_as_cases(select)
        orders = [exp.Order(expressions=[_order_of(call, select, dataset)]) for call in calls]
        others = [call for call, order in zip(calls, orders, strict=True) if order != orders[0]]
        values = {id(call): exp.FirstValue(this=_value_of(call).copy()) for call in others}
        windows = {id(values[id(call)]): order for call, order in zip(calls, orders, strict=True) if id(call) in values}
        for call in calls:
            outer = call.parent if isinstance(call.parent, exp.IgnoreNulls) else call
            put_in_place(outer, values.get(id(call)) or _value_of(call).copy())
        _take_row(select, orders[0], windows)
        changed = True
    return tree if changed else None


def _filters_as_cases(select: exp.Select) -> None:
    """COUNT(*) FILTER (WHERE c) -> COUNT(CASE WHEN c THEN 1 END), which can stand in a window."""
    for each in [part for shown in select.expressions for part in shown.find_all(exp.Filter)]:
        call = each.this.copy()
        value = call.this if isinstance(call.this, exp.Expr) and not isinstance(call.this, exp.Star) else None
        then = exp.Literal.number(1) if value is None else value
        call.set("this", exp.Case(ifs=[exp.If(this=each.expression.this.copy(), true=then)]))
        put_in_place(each, call)


def _value_of(call: exp.Expr) -> exp.Expr:
    value = call.this.this if isinstance(call.this, exp.Order) else call.this
    assert isinstance(value, exp.Expr)
    return value


def _order_of(call: exp.Expr, select: exp.Select, dataset: Dataset) -> exp.Ordered:
    """In which order its row is the first: its own, by a declared moment, or by the value."""
    if isinstance(call.this, exp.Order):
        order = call.this.expressions[0].copy()
    elif isinstance(call, exp.ArgMin | exp.ArgMax):
        order = exp.Ordered(this=call.expression.copy())
    else:
        order = exp.Ordered(this=_moment(select, dataset) or _value_of(call).copy())
    if isinstance(call, exp.ArgMax | exp.Last):
        order.set("desc", not order.args.get("desc"))
    order.set("nulls_first", False)
    assert isinstance(order, exp.Ordered)
    return order


def _moment(select: exp.Select, dataset: Dataset) -> exp.Column | None:
    """The first declared day or moment of the tables in FROM."""
    tables = list(tables_in(select, dataset))
    for part, table in tables:
        for column in table.columns:
            if column.kind in (Kind.DATE, Kind.TIMESTAMP):
                return exp.column(column.name, table=part.alias_or_name if len(tables) > 1 else None)
    return None


def _take_row(select: exp.Select, order: exp.Order, orders: Mapping[int, exp.Order]) -> None:
    """Of each group its first row; other aggregates of the group stay, as windows over it, some in an order."""
    keys = group_keys(select)

    def over(function: exp.Expr, order: exp.Order | None) -> exp.Window:
        return exp.Window(this=function, partition_by=[key.copy() for key in keys], order=order)

    having = select.args.get("having")
    for part in [*select.expressions, *([having] if having is not None else [])]:
        for call in list(part.find_all(exp.AggFunc)):
            put_in_place(call, over(call.copy(), orders.get(id(call))))
    condition: exp.Expr = over(exp.RowNumber(), order).eq(1)
    if having is not None:
        condition = exp.and_(condition, having.this, copy=False)
    select.set("group", None)
    select.set("having", None)
    select.set("qualify", exp.Qualify(this=condition))


# ---------------------------------------------------------------- levels, and the most frequent value


def levels_of_people(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """The MEDIAN of a person's rows -> the average of those in the middle; another quantile -> the row at its place."""
    changed = False
    for select in _by_person(tree, dataset):
        named = _alone(select, *_LEVELS)
        if named is None or select.args.get("qualify"):
            continue
        call = named.this
        value, level = call.this, call.args.get("quantile") or call.args.get("expression")
        keys = ", ".join(key.sql(dialect="duckdb") for key in group_keys(select))
        shown = value.sql(dialect="duckdb")
        rank = f"ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY {shown})"
        count = f"COUNT({shown}) OVER (PARTITION BY {keys})"
        if isinstance(call, exp.Median):
            rows = _rows_below(select, value, named.alias)
            rows.set("qualify", _condition(f"2 * {rank} BETWEEN {count} AND {count} + 2"))
            names = list(named_keys(select))
            _read_from(select, rows, exp.alias_(exp.Avg(this=exp.column(named.alias)), named.alias))
            select.set("group", exp.Group(expressions=[exp.column(name) for name in names]))
        elif isinstance(level, exp.Literal) and not level.is_string:
            named.set("this", value)
            select.set("group", None)
            select.set("qualify", _condition(f"{rank} = CEIL({level.name} * {count})"))
        else:
            continue
        changed = True
    return tree if changed else None


def _rows_below(select: exp.Select, value: exp.Expr, name: str) -> exp.Select:
    """The rows that a SELECT groups: its keys, and the value under its name."""
    keys = [named_key(key, called) for called, key in named_keys(select).items()]
    rows = exp.Select(expressions=[*keys, exp.alias_(value.copy(), name)])
    for part in ("from_", "joins", "where"):
        if select.args.get(part):
            rows.set(part, select.args[part])
    return rows


def _read_from(select: exp.Select, rows: exp.Select, value: exp.Expr) -> None:
    """The SELECT of its keys and this value from these rows, instead of from what it read."""
    keys = [exp.column(name) for name in named_keys(select)]
    for part in ("joins", "where", "group"):
        select.set(part, None)
    select.set("expressions", [*keys, value])
    select.set("from_", exp.From(this=rows.subquery("r")))


def _condition(text: str) -> exp.Qualify:
    return exp.Qualify(this=exp.condition(text, dialect="duckdb"))


def modes_of_people(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """The MODE of a person's rows -> the value that most of them have, by a count of each."""
    changed = False
    for select in _by_person(tree, dataset):
        named = _alone(select, exp.Mode)
        if named is None or named.this.this is None or select.args.get("qualify"):
            continue
        value, keys = named.this.this, named_keys(select)
        count = "n" if named.alias.lower() != "n" else "count_of_it"
        rows = _rows_below(select, value, named.alias)
        rows.append("expressions", exp.alias_(exp.Count(this=exp.Star()), count))
        rows.set("group", exp.Group(expressions=[*(key.copy() for key in keys.values()), value.copy()]))
        _read_from(select, rows, exp.column(named.alias))
        first = f"ROW_NUMBER() OVER (PARTITION BY {', '.join(keys)} ORDER BY {count} DESC) = 1"
        select.set("qualify", _condition(first))
        changed = True
    return tree if changed else None


# ---------------------------------------------------------------- numbers instead


def numbers_of_rows(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """Of one person's rows: a list of values -> how many different ones; a spread -> from the least to the most."""
    changed = False
    for select in _by_person(tree, dataset):
        parts = [*select.expressions, *([select.args["having"]] if select.args.get("having") else [])]
        for call in [each for part in parts for each in part.find_all(*LISTS, *_SPREADS, *_LEVELS)]:
            value = call.this
            while isinstance(value, exp.Order | exp.Distinct):
                value = value.this if isinstance(value, exp.Order) else value.expressions[0]
            if not isinstance(value, exp.Expr):
                continue
            put_in_place(call, _number_of(call, value.copy()))
            changed = True
    return tree if changed else None


def _number_of(call: exp.Expr, value: exp.Expr) -> exp.Expr:
    if isinstance(call, LISTS):
        return exp.Count(this=exp.Distinct(expressions=[value]))
    if isinstance(call, _SPREADS):
        return exp.paren(exp.Max(this=value) - exp.Min(this=value.copy()), copy=False)
    return exp.Avg(this=value)


OF_PEOPLE = (first_rows_of_people, levels_of_people, modes_of_people, numbers_of_rows)
