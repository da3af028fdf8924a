"""Parts of the parser's tree: which are values, which aggregate, and which refer to something outside an expression."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from hubbub.sql.compiler.syntax.functions import AGGREGATES, find_function

_AGGREGATE_NODES = (*AGGREGATES, exp.ApproxDistinct, exp.CountIf, exp.Filter, exp.WithinGroup)
_QUERIES = (exp.Subquery, exp.Select, exp.Union)
_READ_FIRST: dict[type[exp.Expr], str] = {
    exp.Filter: "expression",
    exp.Window: "partition_by",
    exp.DateDiff: "expression",
}


def is_aggregate(node: exp.Expr) -> bool:
    """Whether the node is an aggregate, with its FILTER or WITHIN GROUP."""
    return isinstance(node, _AGGREGATE_NODES)


def has_aggregates(tree: exp.Select) -> bool:
    """Whether the SELECT itself (not its subqueries) aggregates."""
    if tree.args.get("group") is not None or tree.args.get("having") is not None:
        return True
    return any(is_aggregate(node) for part in tree.expressions for node in _own_parts(part))


def _own_parts(node: exp.Expr) -> Iterable[exp.Expr]:
    """The node's parts, not looking into windows and subqueries."""
    return node.walk(prune=lambda part: isinstance(part, exp.Window | exp.Subquery | exp.Select | exp.Exists))


def outward_parts(node: exp.Expr) -> list[exp.Expr]:
    """The parts of an expression whose value lies outside it: columns, subqueries, EXISTS, IN, windows and aggregates.

    Inner parts come first, in the order in which they are typed: aliases are numbered by it, and stand in the identity
    of a question, for which people have paid.
    """
    parts: list[exp.Expr] = []
    _collect_parts(node, parts)
    return parts


def _collect_parts(node: exp.Expr, parts: list[exp.Expr]) -> None:
    if isinstance(node, (exp.Column, exp.Exists, *_QUERIES)):
        parts.append(node)
        return
    first = _READ_FIRST.get(type(node), "")
    for name in sorted(node.args, key=lambda each: each != first) if first else node.args:
        value = node.args[name]
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, exp.Expr):
                _collect_parts(child, parts)
    if isinstance(node, (exp.Window, exp.In, *_AGGREGATE_NODES)):
        parts.append(node)


def scalar_parts(node: exp.Expr) -> list[exp.Expr]:
    """The parts of a scalar node that are values themselves: no units of time, types or branches of a CASE."""
    if isinstance(node, exp.Case):
        branches = [part for branch in node.args.get("ifs") or [] for part in (branch.this, branch.args.get("true"))]
        return [part for part in (node.this, *branches, node.args.get("default")) if part]
    if isinstance(node, exp.In | exp.Between):
        return [part for part in (node.this, *node.expressions, node.args.get("low"), node.args.get("high")) if part]
    if isinstance(node, exp.Paren | exp.Alias | exp.Is | exp.Cast):
        return [node.this]
    function = find_function(node)
    if function is None:
        return []
    return [part for part in function.arguments(node) if not isinstance(part, exp.Var | exp.Interval)]
