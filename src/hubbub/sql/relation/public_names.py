"""Which names in an outer statement stand for public values, and where noisy values decide about rows.

A name is public if everything that the statement calls so is worked out from public columns alone, row by row. Names
are looked at wherever they stand: two columns of one name are public only if both are. What is public names the rows of
an answer, whatever the noise was; a name that is wrongly held noisy costs width, never coverage.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

_PICKING = (exp.Limit, exp.Offset)
_EXTREMES = (
    *("Max", "Min", "ArgMax", "ArgMin", "Median", "Mode", "Quantile", "PercentileCont", "PercentileDisc", "Greatest"),
    *("Least", "First", "Last", "FirstValue", "LastValue", "NthValue", "ApproxQuantile", "Case", "If", "Distinct"),
    *("Group", "Order", "AnyValue", "ArrayAgg", "GroupConcat", "Filter", "Where", "Having", "Qualify", "Nullif"),
)


def public_names(outer: exp.Query, *, public: Iterable[str], noisy: Iterable[str]) -> frozenset[str]:
    """The public names of a statement over tables with those public and noisy columns."""
    values = {each.name.lower() for alias in outer.find_all(exp.Values) for each in _alias_columns(alias)}
    known = ({name.lower() for name in public} | values) - {name.lower() for name in noisy}
    known -= renamed_columns(outer)
    defined = named_values(outer)
    noisy_names = {name.lower() for name in noisy}
    names = known | ({name for name, _ in defined} - noisy_names)
    while True:
        wrong = {name for name, value in defined if name in names and not is_public(value, names)}
        if not wrong:
            return frozenset(names)
        names -= wrong


def named_values(outer: exp.Query) -> list[tuple[str, exp.Expr]]:
    """The names that the statement gives, each with what it calls so."""
    defined = [(each.alias.lower(), each.this) for each in outer.find_all(exp.Alias)]
    return [*defined, *(pair for union in outer.find_all(exp.SetOperation) for pair in _positions(union))]


def renamed_columns(outer: exp.Query) -> set[str]:
    """The names that columns get beside the name of their query: ``AS q(a, b)``."""
    return {each.name.lower() for part in outer.find_all(exp.Subquery, exp.CTE) for each in _alias_columns(part)}


def is_public(value: exp.Expr, names: Iterable[str]) -> bool:
    """Whether an expression is worked out from public columns alone, row by row."""
    known = frozenset(names)
    return not value.find(exp.AggFunc, exp.Window, exp.Query, exp.Star, exp.Columns) and all(
        column.name.lower() in known for column in value.find_all(exp.Column)
    )


def noise_decides(outer: exp.Query, names: frozenset[str]) -> bool:
    """Whether noisy values are compared anywhere in the statement, or rows are cut."""
    return outer.find(*_PICKING) is not None or noise_compares(outer, names)


def noise_compares(outer: exp.Query, names: frozenset[str]) -> bool:
    """Whether comparisons, orders or extremes of noisy values stand anywhere in the statement."""
    for node in outer.walk():
        if isinstance(node, exp.Distinct) and not node.expressions and isinstance(node.parent, exp.Select):
            return True
        compares = isinstance(node, exp.Predicate) or type(node).__name__ in _EXTREMES
        if compares and any(column.name.lower() not in names for column in node.find_all(exp.Column)):
            return True
    return False


def is_cut_by_noise(outer: exp.Query, names: frozenset[str]) -> bool:
    """Whether rows are left out at the very end by noisy values, by their order or by a condition."""
    clauses = [outer.args.get(each) for each in ("where", "having", "qualify")]
    order = outer.args.get("order")
    if order is not None and (outer.args.get("limit") or outer.args.get("offset")):
        if any(isinstance(each.this, exp.Literal | exp.Var) for each in order.expressions):
            return True  # by its place, or all: whatever it is, the safe side is that it is noisy
        clauses.append(order)
    return any(
        column.name.lower() not in names for clause in clauses if clause for column in clause.find_all(exp.Column)
    )


def _alias_columns(node: exp.Expr) -> list[exp.Expr]:
    alias = node.args.get("alias")
    return list(alias.args.get("columns") or []) if isinstance(alias, exp.TableAlias) else []


def _positions(union: exp.SetOperation) -> list[tuple[str, exp.Expr]]:
    """What stands in each column of a union, under the name that its first part gives it."""
    first, *others = _arms(union)
    named = [(each.alias_or_name.lower(), place) for place, each in enumerate(first.expressions)]
    return [
        (name, other.expressions[place].unalias())
        for other in others
        for name, place in named
        if place < len(other.expressions) and not other.expressions[place].find(exp.Star)
    ]


def _arms(union: exp.Expr) -> list[exp.Expr]:
    """The SELECTs of a union, in order."""
    if isinstance(union, exp.SetOperation):
        return [*_arms(union.this), *_arms(union.expression)]
    return _arms(union.this) if isinstance(union, exp.Subquery) else [union]
