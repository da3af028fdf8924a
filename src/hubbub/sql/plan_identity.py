"""Plan -> JSON that says which measurement it is: what the fingerprints of questions are made of.

Two requests with the same JSON are one measurement, and the second one is free. So everything is in it that decides
which integers are read: tables and whose rows they hold, joins, conditions, subqueries, keys, sums with their grids and
bounds, curves, the bound on one person, and the type that SQL gives an expression. What is done with noisy numbers is
not: names of the answer's columns, formulas, HAVING, ORDER BY, LIMIT, and those totals of ROLLUP that
are sums of what is measured.

Keys and tags are written out here, and stay as they are when classes, fields or the printed SQL change: a tag that
changes makes everybody pay once more for what they have (``tests/fixtures/sql/fingerprints.json``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import TypeAlias

from hubbub.relations import DOUBLE, CastTarget, DateShift, Expr, ValueFacts, column_named
from hubbub.schema import Column, Dataset, Kind, Table, Value
from hubbub.sql.compiler.person_links import conjuncts, is_same_person
from hubbub.sql.compiler.query_plan import (
    BoundedSum,
    Bounding,
    BoundingShape,
    GroupKey,
    KeySelection,
    QuantileCurve,
    QuestionPlan,
    SumKind,
)
from hubbub.sql.compiler.question import Aggregated, Item, Scan, SemiJoin, Subquery, Windowed, person
from hubbub.terms import Event, identity_of, to_json

Json: TypeAlias = bool | int | str | Sequence["Json"] | Mapping[str, "Json"] | None

_KINDS = {
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "integer",
    Kind.NUMBER: "number",
    Kind.TEXT: "text",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
    Kind.OPAQUE: "opaque",
}
_SHAPES = {
    BoundingShape.ROW: "row",
    BoundingShape.PEOPLE: "people",
    BoundingShape.ROWS: "rows",
    BoundingShape.KEYS: "keys",
    BoundingShape.TOTALS: "totals",
}
_COUNTED = {SumKind.SUM: "sum", SumKind.PEOPLE: "people", SumKind.DISTINCT: "distinct"}
_JOINS = {"from": "from", "inner": "inner", "left": "left"}


def _operation_tags(names: str) -> dict[str, str]:
    """Operations and their tags, which are the same until an operation gets another name."""
    return {name: name for name in names.split()}


OPERATIONS = _operation_tags(
    "add sub mul div int_div mod neg abs sign floor ceil trunc round sqrt ln log10 exp power "
    "least greatest coalesce nullif case eq ne lt le gt ge same in and or not isnull not_null present "
    "like ilike contains starts_with lower upper trim length substring left right concat pipe replace "
    "extract date_trunc date_diff cast shift strftime matches match_part spelled"
)
_PER_PERSON = _operation_tags("count sum avg min max")
_WINDOWS = _operation_tags("row_number rank dense_rank lag lead first_value ntile count sum avg min max")


# ---------------------------------------------------------------- whose data, and which noise


def source_identity(dataset: Dataset) -> dict[str, Json]:
    """The data that are asked: name, version and source, and for every table who owns its rows."""
    return {
        **dataset.fingerprint(),
        "tables": {table.name: _table_identity(table, dataset) for table in dataset.tables},
    }


def noise_identity(events: Iterable[Event]) -> Json:
    """The noise: everything that is charged, in the form in which it is kept for ever."""
    return [to_json(event) for event in events]


def _table_identity(table: Table, dataset: Dataset) -> Json:
    return {
        "public": table.public,
        "key": column_identity(column_named(table, table.key), table.key) if table.public and table.key else None,
        "link": _link_identity(table, dataset),
    }


def _link_identity(table: Table, dataset: Dataset) -> Json:
    """How a row leads to its person: a column, and the table and column that it points at."""
    link = table.link
    if link is None:
        return None
    parent = dataset.table(link.table)
    to = [link.table, column_identity(column_named(parent, link.key), link.key)] if parent is not None else None
    return {"column": column_identity(column_named(table, link.column), link.column), "to": to}


def column_identity(column: Column, name: str) -> Json:
    """A declared column under the name that is read: its kind, and nothing of the source's own type."""
    return [name, _KINDS[column.kind]]


# ---------------------------------------------------------------- the plan


def plan_identity(plan: QuestionPlan) -> dict[str, Json]:
    """What a plan measures."""
    chosen = {} if plan.selection is None else {"chosen": _selection_identity(plan.selection, plan)}
    levels = {} if not plan.measured else {"levels": [[*level.kept] for level in plan.measured]}
    return {
        **chosen,
        **levels,
        "rows": _items_identity(plan.source),
        "where": _optional_identity(plan.where),
        "keys": [_key_identity(key) for key in plan.keys],
        "sums": [_sum_identity(measure) for measure in plan.measures],
        "curves": [_curve_identity(curve) for curve in plan.curves],
        "quantiles": [[reading.curve, ratio_identity(reading.quantile)] for reading in plan.quantiles],
        "bound": _bound_identity(plan.bounding),
    }


def _selection_identity(selection: KeySelection, plan: QuestionPlan) -> Json:
    read: dict[str, Json] = {"rows": "chosen"} if plan.measures or plan.curves else {}  # bounded after the choice
    return {"most": selection.keys, "weighted": selection.weighted, **read}


def _key_identity(key: GroupKey) -> Json:
    values = None if key.domain is None else [value_identity(value) for value in key.domain]
    return {"of": expression_identity(key.value), "values": values}


def _sum_identity(measure: BoundedSum) -> Json:
    other = {} if measure.other is None else {"other": measure.other}
    return {
        **other,
        "adds": _COUNTED[measure.counted],
        "of": _optional_identity(measure.value),
        "if": _optional_identity(measure.condition),
        "step": ratio_identity(measure.step),
        "lower": measure.lower,
        "upper": measure.upper,
        "centre": measure.centre,
        "squared": measure.square,
        "parts": measure.fine,
    }


def _curve_identity(curve: QuantileCurve) -> Json:
    return {
        "of": expression_identity(curve.value),
        "if": _optional_identity(curve.condition),
        "lower": ratio_identity(curve.start),  # which has the lower end and the step in it
        "width": ratio_identity(curve.width),
        "cells": curve.cells,
    }


def _bound_identity(bound: Bounding) -> Json:
    return {
        "shape": _SHAPES[bound.shape],
        "rows": bound.rows,
        "keys": bound.keys,
        "rows_per_key": bound.rows_per_key,
        "totals": [*bound.totals],
        "parts": [*bound.fine],
        "norm": bound.norm if bound.shape is BoundingShape.TOTALS else None,
    }


# ---------------------------------------------------------------- rows


def _items_identity(items: tuple[Item, ...]) -> Json:
    """Tables and subqueries with their joins."""
    whom = person(items)
    return [_item_identity(item, whom, joined=len(items) > 1) for item in items]


def _item_identity(item: Item, whom: str, *, joined: bool) -> Json:
    return {
        "as": item.alias,
        "join": _JOINS[item.how],
        "of": _ROWS[type(item.rows)](item.rows),
        "on": _join_identity(item.on, item.alias, whom),
        "at_most": item.at_most,
        "unique_by": item.unique_by or None,
        "ranked_by": _ranked_by(item, joined=joined),
    }


def _join_identity(condition: Expr | None, one: str, other: str) -> Json:
    """What joins two items; columns that only say that both are one person's, whichever stands first."""
    parts = conjuncts(condition)
    same = {arg.param for part in parts if is_same_person(part, one, other) for arg in part.args}
    others = [expression_identity(part) for part in parts if not is_same_person(part, one, other)]
    return {"person": sorted(same), "others": others}


def _ranked_by(item: Item, *, joined: bool) -> Json:
    """The columns that decide which rows of a table take part, where not all do."""
    if not isinstance(item.rows, Scan):
        return None
    table = item.rows.table
    one_of_each_key = joined and table.public and bool(table.key)
    if item.at_most is None and not item.unique_by and not one_of_each_key:
        return None
    return [column_identity(each, each.name) for each in table.columns]


def _scan_identity(scan: Scan) -> Json:
    return {"table": scan.table.name, "private": scan.private, "prepared": scan.table.prepared}


def _subquery_identity(rows: Subquery) -> Json:
    return {
        "rows": _items_identity(rows.source),
        "fields": [[field.name, expression_identity(field.value)] for field in rows.fields],
        "where": _optional_identity(rows.where),
        "by": None if rows.keys is None else [expression_identity(key) for key in rows.keys],
        "having": _optional_identity(rows.having),
        "distinct": rows.distinct,
        "private": rows.private,
    }


_ROWS: dict[type, Callable[..., Json]] = {Scan: _scan_identity, Subquery: _subquery_identity}


# ---------------------------------------------------------------- expressions


def expression_identity(value: Expr) -> Json:
    """An expression about one row or one person; of any other there is no identity, and it is refused."""
    node = _NODES.get(value.op, _operation_identity)
    return node(value)


def _optional_identity(value: Expr | None) -> Json:
    return None if value is None else expression_identity(value)


def _type_identity(facts: ValueFacts) -> Json:
    """The kind of a value, and the digits of a number that SQL has as a decimal and rounds to them."""
    kind, number = _KINDS[facts.kind], facts.number
    return [kind, number.digits] if number.is_decimal else kind


def _operation_identity(value: Expr) -> dict[str, Json]:
    return {
        "op": OPERATIONS[value.op],
        "args": [expression_identity(arg) for arg in value.args],
        "with": _parameter_identity(value.param),
        "type": _type_identity(value.facts),
    }


def _rounding_identity(value: Expr) -> dict[str, Json]:
    """ROUND and CAST, which go by the type of what they are given: 1.5 is a decimal, and 1.5e0 is a double."""
    return {**_operation_identity(value), "from": _type_identity(value.args[0].facts)}


def _remainder_identity(value: Expr) -> dict[str, Json]:
    """x % y, of doubles (no number where y is 0) or counted in the last digit (missing there)."""
    number = value.facts.number
    return {**_operation_identity(value), "digits": None if number == DOUBLE else number.digits}


def _parameter_identity(param: object) -> Json:
    if isinstance(param, CastTarget):
        return {"kind": _KINDS[param.kind], "width": param.width, "digits": param.digits, "name": param.name or None}
    if isinstance(param, DateShift):
        return {"months": param.months, "days": param.days, "seconds": param.seconds, "date": param.as_date}
    if isinstance(param, tuple):
        return [_parameter_identity(part) for part in param]
    if param is None or type(param) in (int, str):
        return param  # type: ignore[return-value]
    raise _refuse_unknown(param)


def _place_identity(value: Expr) -> dict[str, Json]:
    alias, name = value.param
    return {"op": "column", "of": alias, "name": name, "type": _type_identity(value.facts)}


def _literal_identity(value: Expr) -> dict[str, Json]:
    return {"op": "literal", "value": value_identity(value.param), "type": _KINDS[value.kind]}


def _exists_identity(value: Expr) -> dict[str, Json]:
    inside: SemiJoin = value.param
    return {
        "op": "exists",
        "rows": _items_identity(inside.source),
        "where": _join_identity(inside.where, person(inside.source), inside.outer),
        "of": inside.outer or None,
    }


def _window_identity(value: Expr) -> dict[str, Json]:
    window: Windowed = value.param
    args = [expression_identity(arg) for arg in value.args]
    ordered = len(args) - len(window.descending)
    return {
        "op": "window",
        "function": _WINDOWS[window.function],
        "args": args[: window.arguments],
        "by": args[window.arguments : ordered],
        "order": [
            [arg, "desc" if down else "asc", "first" if first else "last"]
            for arg, down, first in zip(args[ordered:], window.descending, window.nulls_first, strict=True)
        ],
        "of": window.alias,
        "step": _step_identity(value),
        "type": _type_identity(value.facts),
        **({} if window.frame is None else {"frame": list(window.frame)}),  # questions without one keep their identity
    }


def _aggregate_identity(value: Expr) -> dict[str, Json]:
    """What is worked out exactly about one person, on a grid and within bounds."""
    aggregate: Aggregated = value.param
    if aggregate.quantile is not None:
        raise _refuse_unknown(aggregate)
    return {
        "op": "aggregate",
        "function": _PER_PERSON[aggregate.function],
        "distinct": aggregate.distinct,
        "filtered": value.op == "aggregate_if",
        "args": [expression_identity(arg) for arg in value.args],
        "step": _step_identity(value),
        "lower": ratio_identity(value.facts.lower),
        "upper": ratio_identity(value.facts.upper),
        "type": _type_identity(value.facts),
    }


def _step_identity(value: Expr) -> Json:
    """The grid on which the values of one person are added up."""
    return ratio_identity(value.args[0].facts.step) if value.args else None


_NODES: dict[str, Callable[[Expr], dict[str, Json]]] = {
    "column": _place_identity,
    "literal": _literal_identity,
    "cast": _rounding_identity,
    "round": _rounding_identity,
    "mod": _remainder_identity,
    "exists": _exists_identity,
    "window": _window_identity,
    "aggregate": _aggregate_identity,
    "aggregate_if": _aggregate_identity,
}


# ---------------------------------------------------------------- values


def value_identity(value: Value | Fraction | None) -> Json:
    """A public value; numbers exactly, and each kind in a form of its own."""
    if value is None or isinstance(value, bool | int | float | str | Fraction | date):
        identity: Json = identity_of(value)
        return identity
    raise _refuse_unknown(value)


def ratio_identity(value: Fraction | None) -> str | None:
    """A number, exactly."""
    return None if value is None else f"{value.numerator}/{value.denominator}"


def _refuse_unknown(part: object) -> TypeError:
    return TypeError(f"what makes a {type(part)} this one and no other was never said")
