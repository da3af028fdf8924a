"""What DuckDB calls a column of aggregates that has no alias: sum((a * b)), count_star() FILTER (WHERE (a > 1)).

The name is made of the text alone, without quotes around names in it. What is not known here has no such name, and is
called by its place.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from hubbub.sql.compiler.syntax.tree_parts import is_aggregate

_LONGEST = 200  # signs
_OPERATORS: dict[type[exp.Expr], str] = {
    **{exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%"},
    **{exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="},
}
_FUNCTIONS: dict[type[exp.Expr], str] = {
    **{exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.Median: "median"},
    **{exp.Stddev: "stddev", exp.StddevPop: "stddev_pop", exp.VariancePop: "var_pop", exp.Corr: "corr"},
    **{exp.PercentileCont: "quantile_cont", exp.PercentileDisc: "quantile_disc", exp.Quantile: "quantile"},
    **{exp.Round: "round", exp.Abs: "abs", exp.Sqrt: "sqrt", exp.Ln: "ln", exp.Exp: "exp", exp.Floor: "floor"},
}
_WITHIN = "{}({} ORDER BY {}{})"
_ARGUMENTS = ("this", "expression", "quantile", "decimals")


class _Unknown(Exception):
    """A part whose name is not known."""


def aggregate_name(node: exp.Expr) -> str:
    """The engine's name for a column with aggregates and no alias; nothing if it is not known."""
    if not any(is_aggregate(part) for part in node.walk()) or node.find(exp.Window, exp.Query):
        return ""
    try:
        name = _shown(node)
    except (_Unknown, RecursionError):
        return ""
    return name if len(name) <= _LONGEST and name.isprintable() else ""


def _shown(node: exp.Expr) -> str:
    if type(node) in _OPERATORS:
        return f"({_shown(node.this)} {_OPERATORS[type(node)]} {_shown(node.expression)})"
    if type(node) in _FUNCTIONS:
        return _function(node)
    if type(node) not in _SHOWN:
        raise _Unknown
    return _SHOWN[type(node)](node)


def _function(node: exp.Expr) -> str:
    called, argument = _FUNCTIONS[type(node)], node.this
    if called == "count" and (argument is None or isinstance(argument, exp.Star)):
        return "count_star()"
    if isinstance(argument, exp.Distinct):
        if len(argument.expressions) != 1:
            raise _Unknown
        return f"{called}(DISTINCT {_shown(argument.expressions[0])})"
    parts = [part for name in _ARGUMENTS if isinstance(part := node.args.get(name), exp.Expr)]
    return f"{called}({', '.join(map(_shown, parts))})"


def _column(node: exp.Expr) -> str:
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        raise _Unknown
    return f"{node.table}.{node.name}" if node.table else node.name


def _literal(node: exp.Expr) -> str:
    if not isinstance(node, exp.Literal) or (not node.is_string and not node.name.replace(".", "", 1).isdigit()):
        raise _Unknown
    return "'{}'".format(node.name.replace("'", "''")) if node.is_string else node.name


def _negative(node: exp.Expr) -> str:
    return f"-{_shown(node.this)}" if isinstance(node.this, exp.Literal) else f"(-({_shown(node.this)}))"


def _joined(node: exp.Expr) -> str:
    """Conditions in a row, as one list."""
    assert isinstance(node, exp.Connector)
    word = "AND" if isinstance(node, exp.And) else "OR"
    return f"({f' {word} '.join(_shown(part) for part in node.flatten())})"


def _opposite(node: exp.Expr) -> str:
    if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
        return f"({_shown(node.this.this)} IS NOT NULL)"
    if isinstance(node.this, exp.Predicate) and type(node.this) not in _OPERATORS:
        raise _Unknown
    return f"(NOT {_shown(node.this)})"


def _is(node: exp.Expr) -> str:
    if not isinstance(node.expression, exp.Null):
        raise _Unknown
    return f"({_shown(node.this)} IS NULL)"


def _in(node: exp.Expr) -> str:
    if not node.expressions:
        raise _Unknown
    return f"({_shown(node.this)} IN ({', '.join(map(_shown, node.expressions))}))"


def _within(node: exp.Expr) -> str:
    """PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x): quantile_cont(0.5 ORDER BY x)."""
    called, ordered = _FUNCTIONS.get(type(node.this)), node.expression.expressions
    if called is None or len(ordered) != 1:
        raise _Unknown
    down = " DESC" if ordered[0].args.get("desc") else ""
    return _WITHIN.format(called, _shown(node.this.this), _shown(ordered[0].this), down)


_SHOWN: dict[type[exp.Expr], Callable[[exp.Expr], str]] = {
    exp.Alias: lambda node: _shown(node.this),
    exp.Paren: lambda node: _shown(node.this),
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Neg: _negative,
    exp.And: _joined,
    exp.Or: _joined,
    exp.Not: _opposite,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: lambda node: (
        f"({_shown(node.this)} BETWEEN {_shown(node.args['low'])} AND {_shown(node.args['high'])})"
    ),
    exp.Filter: lambda node: f"{_shown(node.this)} FILTER (WHERE {_shown(node.expression.this)})",
    exp.WithinGroup: _within,
}
