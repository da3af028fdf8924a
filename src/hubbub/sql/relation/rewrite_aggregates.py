"""Aggregates over many people that are not answered -> those that say as much: counts, quantiles, sums by day.

As in ``rewrite_forms``, each works on a copy of the tree and knows names and declared columns; none looks at data.
"""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from hubbub.relations import shown
from hubbub.schema import Dataset, Kind
from hubbub.sql.compiler.syntax.functions import DIFFERENCES
from hubbub.sql.compiler.syntax.tree_parts import has_aggregates
from hubbub.sql.relation.find_inner import put_in_place
from hubbub.sql.relation.rewrite_parts import (
    LISTS,
    ONE_ROW,
    column_of,
    is_by_person,
    named_key,
    named_keys,
    reads_only_tables,
    reads_people,
    sources_of,
    without_end,
    without_within,
)

_MEANS = ("GEOMEAN", "GEOMETRIC_MEAN")
_SPREADS = ("MAD", "KURTOSIS", "KURTOSIS_POP", "SKEWNESS")
_ONE_VALUE = (exp.Mode, *ONE_ROW)
_TESTS = (exp.LogicalOr, exp.LogicalAnd, exp.Max, exp.Min)
_TIMES = (exp.Extract, exp.Year, exp.Month, exp.Day, exp.Hour, exp.Minute, exp.Second)


def _called(node: exp.Expr) -> str:
    return str(node.this).upper() if isinstance(node, exp.Anonymous) else type(node).__name__.upper()


# ---------------------------------------------------------------- whether any, whether all


def tests_as_counts(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """BOOL_OR(c) -> how many rows have c; BOOL_AND(c) -> how many do not; in HAVING as a comparison with 0."""
    changed = False
    for select in list(tree.find_all(exp.Select)):
        if not reads_people(select, dataset) or is_by_person(select, dataset):
            continue
        having = select.args.get("having")
        for part in [*select.expressions, *([having] if having is not None else [])]:
            for call in [each for each in part.find_all(*_TESTS) if _tests(each, select, dataset)]:
                _count_instead(call, compare=part is having)
                changed = True
    return tree if changed else None


def _tests(call: exp.Expr, select: exp.Select, dataset: Dataset) -> bool:
    if isinstance(call.parent, exp.Window):
        return False
    value = call.this.unnest()
    declared = column_of(value, select, dataset)
    is_condition = isinstance(value, exp.Predicate | exp.Connector | exp.Not)
    of_column = declared is not None and declared.kind is Kind.BOOLEAN
    return isinstance(call, exp.LogicalOr | exp.LogicalAnd) or is_condition or of_column


def _count_instead(call: exp.Expr, *, compare: bool) -> None:
    is_any = isinstance(call, exp.LogicalOr | exp.Max)
    condition = call.this.copy() if is_any else exp.not_(call.this)
    old = call
    if isinstance(call.parent, exp.Filter):
        old = call.parent
        condition = exp.and_(old.expression.this, condition)
    new: exp.Expr = exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=condition))
    if compare:
        zero = exp.Literal.number(0)
        new = exp.GT(this=new, expression=zero) if is_any else exp.EQ(this=new, expression=zero)
        new = new if isinstance(old.parent, exp.Having) else exp.paren(new, copy=False)
    put_in_place(old, new)
    if isinstance(new.parent, exp.Alias):
        new.parent.set("alias", exp.to_identifier("n"))


# ---------------------------------------------------------------- means and spreads


def means_of_logarithms(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """GEOMEAN(x) -> EXP(AVG(LN(x))), of x between bounds above 0."""
    calls = [each for each in tree.find_all(exp.Anonymous) if _called(each) in _MEANS and len(each.expressions) == 1]
    for call in calls:
        mean: exp.Expr = exp.Avg(this=exp.Ln(this=_above_zero(call.expressions[0], call, dataset)))
        old: exp.Expr = call
        if isinstance(call.parent, exp.Filter):
            old = call.parent
            mean = exp.Filter(this=mean, expression=old.expression.copy())
        put_in_place(old, exp.Exp(this=mean))
    return tree if calls else None


def _above_zero(value: exp.Expr, call: exp.Expr, dataset: Dataset) -> exp.Expr:
    """A value whose declared bounds are above 0, or one that is clipped to such."""
    select = call.find_ancestor(exp.Select)
    declared = column_of(value, select, dataset) if select is not None else None
    low, high = (None, None) if declared is None else (declared.lower, declared.upper)
    if isinstance(low, int | Fraction) and low > 0:
        return value.copy()
    top = shown(high) if isinstance(high, int | Fraction) and high > 1 else "100"
    ends = [exp.Literal.number(end) for end in ("1", top)]
    return exp.Anonymous(this="CLIP", expressions=[value.copy(), *ends])


def spreads_as_levels(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """MAD, KURTOSIS, SKEWNESS as a column by itself -> levels of the same values; inside an expression -> STDDEV."""
    del dataset
    calls = [each for each in tree.walk() if isinstance(each, exp.Func) and _called(each) in _SPREADS]
    for call in calls:
        value = call.expressions[0] if isinstance(call, exp.Anonymous) else call.this
        by_itself = isinstance(call.parent, exp.Select | exp.Alias)
        levels = [0.25, 0.5, 0.75] if _called(call) == "MAD" else [0.05, 0.25, 0.5, 0.75, 0.95]
        new = _levels(value, levels) if by_itself else exp.Stddev(this=value.copy())
        put_in_place(call, new)
    return tree if calls else None


def _levels(value: exp.Expr, levels: list[float]) -> exp.Expr:
    return exp.maybe_parse(f"QUANTILE_CONT({value.sql(dialect='duckdb')}, {levels})", dialect="duckdb")


def parts_as_thresholds(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """NTILE over people -> the thresholds between the parts."""
    tile = tree.find(exp.Ntile)
    window = None if tile is None else tile.parent
    select = None if tile is None else tile.find_ancestor(exp.Select)
    if tile is None or select is None or not isinstance(window, exp.Window) or not _is_of_people(select, dataset):
        return None
    order, parts = window.args.get("order"), window.args.get("partition_by") or []
    many = int(tile.this.name) if isinstance(tile.this, exp.Literal) and tile.this.name.isdigit() else 0
    if order is None or parts or not 2 <= many <= 20:
        return None
    rows = without_end(select)
    for part in ("group", "distinct", "qualify"):
        rows.set(part, None)
    levels = _levels(order.expressions[0].this, [round(i / many, 6) for i in range(1, many)])
    rows.set("expressions", [exp.alias_(levels, "part")])
    return rows


def _is_of_people(select: exp.Select, dataset: Dataset) -> bool:
    """Whether its rows are people's, or one of each person, and no released numbers."""
    below = [part.this for part in sources_of(select) if isinstance(part, exp.Subquery)]
    rows = [each for each in below if isinstance(each, exp.Select)]
    return reads_people(select, dataset) or any(not has_aggregates(r) or is_by_person(r, dataset) for r in rows)


def values_by_keys(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """MODE(x), FIRST(x), STRING_AGG(x) with GROUP BY -> how many rows have each x, or the most frequent one.

    Of numbers it is levels, since hardly two of them are alike.
    """
    without_within(tree)
    calls = [each for part in tree.expressions for each in part.find_all(*_ONE_VALUE, *LISTS)]
    if not isinstance(tree, exp.Select) or len(calls) != 1 or tree.args.get("qualify") or is_by_person(tree, dataset):
        return None
    value, keys = calls[0].this, named_keys(tree)
    while isinstance(value, exp.Order | exp.Distinct):
        value = value.this if isinstance(value, exp.Order) else value.expressions[0]
    if not keys or not isinstance(value, exp.Expr):
        return None
    counted = without_end(tree)
    named = [named_key(key, name) for name, key in keys.items()]
    declared = column_of(value, tree, dataset)
    if declared is not None and declared.kind.is_number and not declared.values:
        counted.set("expressions", [*named, exp.alias_(_levels(value, [0.25, 0.5, 0.75]), value.name)])
        return counted
    counted.set("expressions", [*named, value.copy(), exp.alias_(exp.Count(this=exp.Star()), "n")])
    counted.set("group", exp.Group(expressions=[*(key.copy() for key in keys.values()), value.copy()]))
    if isinstance(calls[0], _ONE_VALUE):
        first = f"ROW_NUMBER() OVER (PARTITION BY {', '.join(keys)} ORDER BY n DESC) = 1"
        counted.set("qualify", exp.Qualify(this=exp.condition(first, dialect="duckdb")))
    return counted


# ---------------------------------------------------------------- windows over everybody's rows


def windows_over_groups(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """SUM(x) OVER (ORDER BY day) over rows of people -> the sum of each day first, and the window around it."""
    if not isinstance(tree, exp.Select) or has_aggregates(tree) or not reads_only_tables(tree, dataset):
        return None
    windows = [each for part in tree.expressions for each in part.find_all(exp.Window)]
    if not windows or not all(isinstance(each.this, exp.Sum | exp.Count | exp.Avg) for each in windows):
        return None
    keys = _window_keys(windows, tree, dataset)
    if any(not isinstance(each.args.get("order"), exp.Order) for each in windows):
        return _groups_alone(tree, windows, keys)
    values: list[exp.Expr] = []
    columns: list[exp.Expr] = [exp.column(name) for name in keys]
    for part in tree.expressions:
        if part.find(exp.Window):
            columns.append(_around(part.copy(), keys, tree, dataset, values))
    inner = without_end(tree)
    inner.set("expressions", [*(named_key(key, name) for name, key in keys.items()), *values])
    inner.set("group", exp.Group(expressions=[key.copy() for key in keys.values()]))
    return exp.select(*columns).from_(inner.subquery("q"))


def _window_keys(windows: list[exp.Window], select: exp.Select, dataset: Dataset) -> dict[str, exp.Expr]:
    """By what the windows part and order rows, with names; a moment by its day."""
    keys: dict[str, exp.Expr] = {}
    aliases = {each.this.sql(): each.alias for each in select.expressions if isinstance(each, exp.Alias)}
    for window in windows:
        order = window.args.get("order")
        ordered = [each.this for each in order.expressions] if isinstance(order, exp.Order) else []
        for part in [*(window.args.get("partition_by") or []), *ordered]:
            key = _day_of(part, select, dataset)
            name = aliases.get(key.sql()) or (key.name if isinstance(key, exp.Column) else "day")
            keys.setdefault(name, key.copy())
    return keys


def _day_of(node: exp.Expr, select: exp.Select, dataset: Dataset) -> exp.Expr:
    declared = column_of(node, select, dataset)
    if declared is not None and declared.kind is Kind.TIMESTAMP:
        return exp.cast(node.copy(), "DATE")
    return node


def _groups_alone(tree: exp.Select, windows: list[exp.Window], keys: dict[str, exp.Expr]) -> exp.Query | None:
    """Windows without an order say the same of each row of a part: the aggregate of each part."""
    if any(each.args.get("order") is not None or each.args.get("spec") is not None for each in windows):
        return None
    grouped = without_end(tree)
    values = [part for part in grouped.expressions if part.find(exp.Window)]
    for part in values:
        for window in list(part.find_all(exp.Window)):
            put_in_place(window, window.this.copy())
    grouped.set("expressions", [*(named_key(key, name) for name, key in keys.items()), *values])
    return grouped.group_by(*(key.copy() for key in keys.values())) if keys else grouped


def _around(
    part: exp.Expr, keys: dict[str, exp.Expr], select: exp.Select, dataset: Dataset, values: list[exp.Expr]
) -> exp.Expr:
    """A column of windows over rows, as windows over the sums and counts of the groups; these are added to values."""
    for window in list(part.find_all(exp.Window)):
        sums = [_sum_over(each, window, keys, select, dataset, values) for each in _summands(window.this)]
        put_in_place(window, sums[0] if len(sums) == 1 else exp.paren(sums[0] / sums[1]))
    return part


def _summands(function: exp.Expr) -> list[exp.Expr]:
    """What is added up for an aggregate: for an average, sums and counts."""
    if isinstance(function, exp.Avg):
        return [exp.Sum(this=function.this.copy()), exp.Count(this=function.this.copy())]
    return [function.copy()]


def _sum_over(
    value: exp.Expr,
    window: exp.Window,
    keys: dict[str, exp.Expr],
    select: exp.Select,
    dataset: Dataset,
    values: list[exp.Expr],
) -> exp.Window:
    values.append(exp.alias_(value, f"value_{len(values) + 1}"))
    new = window.copy()
    new.set("this", exp.Sum(this=exp.column(values[-1].alias)))
    for place in [*(new.args.get("partition_by") or []), *(each.this for each in new.args["order"].expressions)]:
        key = _day_of(place, select, dataset)
        name = next(name for name, each in keys.items() if each == key)
        put_in_place(place, exp.column(name))
    return new


# ---------------------------------------------------------------- times


def ages_as_differences(tree: exp.Query, dataset: Dataset) -> exp.Query | None:
    """AGE(a, b) -> DATE_DIFF('day', b, a), or in the unit that is asked of it."""
    del dataset
    calls = [
        each for each in tree.find_all(exp.Anonymous) if _called(each) == "AGE" and len(each.expressions) in (1, 2)
    ]
    for call in calls:
        later, earlier = call.expressions if len(call.expressions) == 2 else (exp.CurrentDate(), call.expressions[0])
        outer, unit = call.parent, "day"
        old: exp.Expr = call
        span = _other_side(outer, call) if isinstance(outer, exp.Binary) else None
        if isinstance(outer, _TIMES):
            old, unit = outer, outer.name if isinstance(outer, exp.Extract) else type(outer).__name__
        elif isinstance(span, exp.Interval):
            unit = span.args["unit"].name if span.args.get("unit") else "day"
        unit = unit.lower().removesuffix("s")
        if unit not in DIFFERENCES:
            return None
        if isinstance(span, exp.Interval):
            put_in_place(span, exp.Literal.number(span.this.name))
        put_in_place(old, exp.DateDiff(this=later.copy(), expression=earlier.copy(), unit=exp.var(unit)))
    return tree if calls else None


def _other_side(node: exp.Binary, side: exp.Expr) -> exp.Expr:
    other = node.right if node.left is side else node.left
    assert isinstance(other, exp.Expr)
    return other


OTHER_AGGREGATES = (
    tests_as_counts,
    means_of_logarithms,
    spreads_as_levels,
    values_by_keys,
    windows_over_groups,
    ages_as_differences,
)
