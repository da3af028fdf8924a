"""The statements that run on released numbers: the analyst's, and the same over many copies of the tables at once.

``shown`` is what was asked. ``whole`` is the same with the rows that noisy values left out at the very end (LIMIT,
QUALIFY, HAVING), and with columns added that name its rows or stand over and under a fraction. A statement over copies
is one LATERAL join: the engine takes the correlation apart, windows, limits and subqueries included.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from hubbub.sql.relation.find_inner import INNER, put_in_place

COPIES = "_hb_copies_"  # the tables of copies, with the number of the inner question
WORLD = "_hb_world"  # the table of the numbers of copies
COPY = "_hb_copy"
ANSWER = "_hb_answer"  # the released rows that copies are compared with
PLACE = "_hb_place"


@dataclass(frozen=True, slots=True)
class Ratio:
    """A column that divides: its place in SELECT, and where its upper and lower part stand among the columns added."""

    place: int
    top: int
    bottom: int


@dataclass(frozen=True, slots=True)
class OuterStatements:
    """What was asked, and the same with all rows; both with the same columns added after the analyst's own."""

    shown: exp.Query
    whole: exp.Query
    ratios: tuple[Ratio, ...] = ()

    @property
    def is_cut(self) -> bool:
        """Whether ``whole`` may have more rows than are shown."""
        return bool(self.shown != self.whole)


def outer_statements(outer: exp.Query) -> OuterStatements:
    """Both statements of an outer query."""
    if not isinstance(outer, exp.Select) or outer.args.get("distinct"):
        return OuterStatements(outer, _uncut_union(outer))
    shown, ratios = outer.copy(), list[Ratio]()
    parts: list[exp.Expr] = []
    naming = _naming_columns(outer)
    keys = [each for each in naming if not isinstance(each, exp.Star)]
    for place, each in enumerate(outer.expressions):
        divided = _over_and_under(each.unalias())
        if divided is not None:
            at = len(keys) + len(parts)
            ratios.append(Ratio(place, at, at + 1))
            parts += list(divided)
    stars = naming[len(keys) :]  # at last: how many columns it is, only the engine knows
    shown.set("expressions", [*shown.expressions, *keys, *parts, *stars])
    return OuterStatements(shown, _uncut(shown.copy()), tuple(ratios))


def _naming_columns(tree: exp.Select) -> list[exp.Expr]:
    """Columns that tell rows apart: the keys of GROUP BY, or (a star) all columns of FROM where rows stay rows."""
    group = tree.args.get("group")
    if group is not None:
        plain = [each for each in group.expressions if not isinstance(each, exp.Literal)]
        return [each.copy() for each in plain if not _is_alias(each, tree)]
    aggregated = tree.args.get("having") is not None or any(map(_aggregates, tree.expressions))
    return [] if aggregated or tree.args.get("from_") is None else [exp.Star()]


def _aggregates(part: exp.Expr) -> bool:
    """Whether an aggregate of this SELECT itself stands in the expression, not one over a window."""
    return any(not _is_over_window(each) and _query_of(each) is _query_of(part) for each in part.find_all(exp.AggFunc))


def _is_over_window(node: exp.Expr) -> bool:
    parent = node.parent
    while isinstance(parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        node, parent = parent, parent.parent
    return isinstance(parent, exp.Window) and parent.this is node


def _query_of(node: exp.Expr) -> exp.Expr | None:
    return node.find_ancestor(exp.Query)


def _is_alias(node: exp.Expr, tree: exp.Select) -> bool:
    return isinstance(node, exp.Column) and any(
        isinstance(each, exp.Alias) and each.alias.lower() == node.name.lower() for each in tree.expressions
    )


def _uncut(tree: exp.Select) -> exp.Select:
    """Without what leaves rows out after they are worked out."""
    for clause in ("order", "limit", "offset", "qualify"):
        tree.set(clause, None)
    if tree.find(exp.Window) is None:
        tree.set("having", None)
        if not tree.find(exp.AggFunc) and not tree.args.get("group") and not tree.args.get("joins"):
            tree.set("where", None)
    return tree


def _uncut_union(tree: exp.Query) -> exp.Query:
    whole = tree.copy()
    for clause in ("order", "limit", "offset"):
        whole.set(clause, None)
    return whole


def _over_and_under(node: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """Both parts of a fraction, times a number or not; NULLIF(x, 0) under it is x."""
    node = _without_parentheses(node)
    if isinstance(node, exp.Mul):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(_without_parentheses(other), exp.Literal) and (parts := _over_and_under(one)) is not None:
                return exp.Mul(this=exp.paren(parts[0]), expression=other.copy()), parts[1]
        return None
    if not isinstance(node, exp.Div):
        return None
    under = _without_parentheses(node.right)
    if isinstance(under, exp.Nullif) and under.expression.is_number and float(under.expression.name or 1) == 0:
        under = under.this
    return node.left.copy(), under.copy()


def _without_parentheses(node: exp.Expr) -> exp.Expr:
    """What stands in parentheses. A subquery keeps its own: without them it is no number."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def copied_sql(tree: exp.Query, *, columns: int, keys: tuple[int, ...], values: tuple[tuple[int, str], ...]) -> str:
    """The statement over all copies at once: the copy, the place of the row, and values as numbers.

    ``keys`` are the columns that name rows (compared with the answer's), ``values`` those to give, with their types.
    """
    inner = tree.copy()
    for table in [part for part in inner.find_all(exp.Table) if part.name.startswith(INNER)]:
        select = table.find_ancestor(exp.Select)
        assert select is not None
        select.where(exp.column(COPY, table="_hb_rows").eq(exp.column(COPY, table="_hb_at")), copy=False)
        renamed = exp.to_table(f"{COPIES}{table.name.removeprefix(INNER)}", alias="_hb_rows")
        put_in_place(table, renamed)
    _make_total(inner)
    names = ", ".join(f"c{place}" for place in range(columns))
    given = ", ".join(_as_number(f"s.c{place}", kind) for place, kind in values)
    same = " AND ".join(f"s.c{key} IS NOT DISTINCT FROM a.k{i}" for i, key in enumerate(keys)) or "TRUE"
    over = f"SELECT _hb_at.{COPY}, q.* FROM {WORLD} AS _hb_at, LATERAL ({inner.sql(dialect='duckdb')}) AS q({names})"
    wanted = f"s.{COPY}, a.{PLACE}{', ' + given if given else ''}"
    return f"SELECT {wanted} FROM ({over}) AS s LEFT JOIN {ANSWER} AS a ON {same}"


def _make_total(tree: exp.Query) -> None:
    """Functions that fail for some numbers give NULL for them: other noise must not make a whole stack fail."""
    for each in list(tree.find_all(exp.Sqrt, exp.Ln, exp.Log)):
        argument = each.expression if isinstance(each, exp.Log) and each.args.get("expression") else each.this
        above = exp.GTE if isinstance(each, exp.Sqrt) else exp.GT
        allowed = exp.Case(
            ifs=[
                exp.If(
                    this=above(this=exp.paren(argument.copy()), expression=exp.Literal.number(0)), true=argument.copy()
                )
            ]
        )
        put_in_place(argument, allowed)
    for each in list(tree.find_all(exp.Cast)):
        if type(each) is exp.Cast:
            put_in_place(each, exp.TryCast(this=each.this.copy(), to=each.to.copy(), safe=True))


def _as_number(column: str, kind: str) -> str:
    if kind == "DATE":
        return f"CAST(date_diff('day', DATE '1970-01-01', {column}) AS DOUBLE)"
    if kind.startswith("TIMESTAMP"):
        return f"epoch({column})"
    return f"TRY_CAST({column} AS DOUBLE)" if is_number(kind) else f"CAST({column} AS VARCHAR)"


def is_number(kind: str) -> bool:
    """Whether a type of the engine is one of numbers, or of days and moments."""
    plain = kind.split("(", maxsplit=1)[0]
    return plain in ("DOUBLE", "FLOAT", "DECIMAL", "DATE", "TIMESTAMP") or plain.endswith(("INT", "INTEGER"))
