"""Printed statements without their guards: what stands under a condition is computed for every row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import sqlglot
from sqlglot import exp

from hubbub.engines import DuckDB

# What may stand over private values: each of these gives a value or NULL by itself, whatever it is given.
TOTAL = {
    *("TryCast", "Abs", "Floor", "Ceil", "Sign", "Round", "Trunc", "Exp", "Pow", "IsNan", "Greatest", "Least"),
    *("Add", "Sub", "Mul", "Div", "IntDiv", "Mod", "Neg", "Coalesce", "Nullif", "Case", "If", "Lower", "Upper"),
    *("EQ", "NEQ", "LT", "LTE", "GT", "GTE", "Is", "NullSafeEQ", "NullSafeNEQ", "In", "Between", "And", "Or", "Not"),
    *("Like", "ILike", "Trim", "Length", "Substring", "Left", "Right", "Concat", "DPipe", "Replace", "StartsWith"),
    *("StrPosition", "Contains", "RegexpLike", "RegexpExtract", "Exists", "hash", "signbit", "strlen"),
    *(
        "Sum",
        "Count",
        "Max",
        "Min",
        "RowNumber",
        "Rank",
        "DenseRank",
        "Lag",
        "Lead",
        "FirstValue",
        "LastValue",
        "Ntile",
    ),
}
# Total on what their templates hold them to: roots and logarithms of positive numbers, dates inside the calendar.
HELD = {
    **dict.fromkeys(("Sqrt", "Ln", "Log"), exp.Greatest),
    **dict.fromkeys(("Extract", "DateTrunc", "TimestampTrunc", "DateDiff", "TimeToStr"), exp.Least),
}
SHAPE = {
    *("Select", "From", "Table", "TableAlias", "Subquery", "Identifier", "Alias", "Where", "Group", "Having", "Join"),
    *("With", "CTE", "Union", "Column", "Star", "Literal", "Boolean", "Null", "Paren", "DataType", "DataTypeParam"),
    *(
        "Window",
        "WindowSpec",
        "Order",
        "Ordered",
        "Filter",
        "Distinct",
        "Tuple",
        "Var",
        "Interval",
        "WithinGroup",
        "Cast",
    ),
}


def words(sql: str) -> Iterator[tuple[str, exp.Expression]]:
    """Every node of a statement by name; functions that the parser does not know, by their own."""
    for node in sqlglot.parse_one(sql, dialect="duckdb").walk():
        yield (str(node.this).lower() if isinstance(node, exp.Anonymous) else type(node).__name__), node


def faults(sql: str) -> list[str]:
    """What a statement has over private values that could fail."""
    wrong = []
    for name, node in words(sql):
        if isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast):
            if not _is_public(node.this):
                wrong.append(node.sql(dialect="duckdb"))
        elif isinstance(node, exp.Add | exp.Sub) and node.find(exp.Interval) and not any(node.find_all(exp.Least)):
            wrong.append(node.sql(dialect="duckdb"))
        elif name in HELD:
            if not any(node.find_all(HELD[name])):
                wrong.append(node.sql(dialect="duckdb"))
        elif isinstance(node, exp.Values) and _is_public(node):
            continue  # numbers of chosen keys, written out
        elif name not in TOTAL and name not in SHAPE:
            wrong.append(name)
    return wrong


def _is_public(node: exp.Expression) -> bool:
    """A constant of the statement."""
    return not any(node.find_all(exp.Column, exp.AggFunc, exp.Anonymous))


# ---------------------------------------------------------------- without guards


def unguarded(sql: str) -> str:
    """The statement with every branch, condition and part of a condition computed for every row."""
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    for node in reversed(list(tree.bfs())):  # what is inside comes first
        opened = _opened(node)
        if opened is not node:
            node.replace(opened)
    return tree.sql(dialect="duckdb")


def _opened(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Case) and node.this is None:
        branches = [part.args["true"] for part in node.args["ifs"]]
        branches += [node.args["default"]] if node.args.get("default") is not None else []
        return _first(branches, [part.this for part in node.args["ifs"]])
    if isinstance(node, exp.And | exp.Or) and not node.find_ancestor(exp.Join, exp.Having) and not _asks_rows(node):
        return _first([node.left, node.right], [])
    if isinstance(node, exp.Coalesce):
        return _first([node.this, *node.expressions], [])
    if isinstance(node, exp.Where) and not _asks_rows(node):
        return exp.Where(this=exp.GTE(this=_length([node.this]), expression=exp.Literal.number(0)))
    return node


def _asks_rows(node: exp.Expression) -> bool:
    return any(node.find_all(exp.Exists, exp.Select))


def _list(parts: list[exp.Expression]) -> exp.Expression:
    return exp.Anonymous(this="list_value", expressions=[part.copy() for part in parts])


def _length(parts: list[exp.Expression]) -> exp.Expression:
    return exp.Anonymous(this="len", expressions=[_list(parts)])


def _first(values: list[exp.Expression], conditions: list[exp.Expression]) -> exp.Expression:
    """The first of some values, after all of them and all conditions were computed."""
    place: exp.Expression = exp.Literal.number(1)
    if conditions:
        nothing = exp.Mul(this=exp.Literal.number(0), expression=_length(conditions))
        place = exp.Paren(this=exp.Add(this=place, expression=nothing))
    return exp.Anonymous(this="list_extract", expressions=[_list(values), place])


class Plodding(DuckDB):
    """An engine without an optimizer: it computes whatever stands there."""

    def _lock(self, memory: str, threads: int | None, spill: str | Path) -> None:
        self._connection.execute("PRAGMA disable_optimizer")
        super()._lock(memory, threads, spill)
