"""Lists of levels -> a column for each: QUANTILE_CONT(x, [0.25, 0.5]) AS q becomes q_p25 and q_p50.

Engines give one list per row. Here every number leaves with an interval of its own, and so it is a column of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from sqlglot import exp

_QUANTILES = (exp.Quantile, exp.ApproxQuantile, exp.PercentileCont, exp.PercentileDisc)


def expand_levels(tree: exp.Expr) -> exp.Expr:
    """The tree, with every column of SELECT that is a quantile at several levels written out."""
    for select in list(tree.find_all(exp.Select)):
        if any(_levels_in(part.unalias()) is not None for part in select.expressions):
            select.set("expressions", [column for part in select.expressions for column in _columns(part)])
    return tree


def _columns(part: exp.Expr) -> Iterator[exp.Expr]:
    levels = _levels_in(part.unalias())
    if levels is None:
        yield part
        return
    for place, level in enumerate(levels.expressions):
        copy = part.copy().unalias()
        if (among := _levels_in(copy)) is not None and among.parent is not None and among.arg_key:
            among.parent.set(among.arg_key, among.expressions[place].copy())
        yield exp.alias_(copy, f"{_name(part)}p{_percent(level)}")


def _levels_in(node: exp.Expr) -> exp.Array | None:
    """The list of a quantile at several levels, if it is one and they are numbers."""
    inner = node.this if isinstance(node, exp.Filter) else node
    levels = None
    if isinstance(inner, exp.WithinGroup):
        levels = inner.this.this
    elif isinstance(inner, _QUANTILES):
        levels = inner.args.get("quantile") or inner.args.get("expression")
    if not isinstance(levels, exp.Array) or not levels.expressions:
        return None
    return levels if all(isinstance(each, exp.Literal) and not each.is_string for each in levels.expressions) else None


def _name(part: exp.Expr) -> str:
    """What the names begin with: the alias, or the column."""
    if part.alias:
        return f"{part.alias}_"
    inner = part.this if isinstance(part, exp.Filter) else part
    argument = inner.expression.expressions[0].this if isinstance(inner, exp.WithinGroup) else inner.this
    return f"{argument.name}_" if isinstance(argument, exp.Column) else ""


def _percent(level: exp.Literal) -> str:
    return f"{(100 * Decimal(level.this)).normalize():f}".replace(".", "_")
