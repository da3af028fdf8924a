"""Checked tree -> the same question in fewer forms: what is short for something else is written out.

    GROUP BY ALL, ORDER BY ALL              the places of the columns
    ... QUALIFY w = 1                       SELECT ... FROM (SELECT ..., w AS qualified_1 ...) WHERE qualified_1 = 1
    DISTINCT ON (a) ... ORDER BY b          ... QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) = 1
    CURRENT_DATE, NOW()                     the day on which the question is asked (UTC), and its first moment
    APPROX_COUNT_DISTINCT(x)                COUNT(DISTINCT x)
    COUNT_IF(c)                             COUNT(CASE WHEN c THEN 1 END), which is COUNT(*) FILTER (WHERE c)
    a > (SELECT AVG(b) FROM t WHERE t.person = s.person)
                                            a join with one row per person, which later passes check like any other

The later passes know the written-out forms alone, so nothing here decides what is private.
"""

from __future__ import annotations

from datetime import date

from sqlglot import exp

from hubbub.sql.compiler.syntax.functions import NOW
from hubbub.sql.compiler.syntax.per_person_values import fresh_name, join_per_person_values
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.sql.compiler.syntax.tree_parts import has_aggregates, is_aggregate
from hubbub.terms import NotAllowed


def write_out(tree: exp.Expr, text: QueryText, *, today: date) -> tuple[exp.Expr, bool]:
    """The tree without short forms, and whether it asks about today; a tree that has none stays as it is."""
    asks_today = _fix_today(tree, today)
    for node in list(tree.find_all(exp.ApproxDistinct)):
        _replace(node, exp.Count(this=exp.Distinct(expressions=[node.this]), big_int=True))
    for counted in list(tree.find_all(exp.CountIf)):
        case = exp.Case(ifs=[exp.If(this=counted.this, true=exp.Literal.number(1))])
        _replace(counted, exp.Count(this=case, big_int=True))
    for select in list(tree.find_all(exp.Select)):
        _write_groups(select, text)
        _write_order(select)
    write_distinct_on(tree, text)
    join_per_person_values(tree)
    for select in list(tree.find_all(exp.Select)):
        if select.args.get("qualify") is not None:
            _write_qualify(select, text)
    return tree, asks_today


def _replace(node: exp.Expr, new: exp.Expr) -> None:
    """The new node in the place of the old one, also in messages."""
    spots = [part.meta for part in node.walk() if "start" in part.meta]
    if spots and not any("start" in part.meta for part in new.walk()):
        new.meta.update({name: spots[0][name] for name in ("start", "end") if name in spots[0]})
    node.replace(expression=new)


# ---------------------------------------------------------------- today


def is_now(node: exp.Expr) -> bool:
    """Whether a call asks for the time of day."""
    called = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    return isinstance(node, exp.CurrentTimestamp | exp.Localtimestamp) or (called in NOW and not node.expressions)


def _fix_today(tree: exp.Expr, today: date) -> bool:
    """One day for the whole question: asked again on that day, it is the same question."""
    nodes = [node for node in tree.walk() if isinstance(node, exp.CurrentDate) or is_now(node)]
    for node in nodes:
        moment = today.isoformat() if isinstance(node, exp.CurrentDate) else f"{today.isoformat()} 00:00:00"
        kind = "DATE" if isinstance(node, exp.CurrentDate) else "TIMESTAMP"
        _replace(node, exp.Cast(this=exp.Literal.string(moment), to=exp.DataType.build(kind)))
    return bool(nodes)


# ---------------------------------------------------------------- ALL


def _write_groups(select: exp.Select, text: QueryText) -> None:
    group = select.args.get("group")
    if group is None or not group.args.get("all"):
        return
    if group.expressions:
        raise text.refusal(NotAllowed, group, "ALL stands alone in GROUP BY.", fix="Write GROUP BY ALL.")
    write_group_by_all(select)


def write_group_by_all(select: exp.Select) -> None:
    """GROUP BY ALL as the places of the keys: what aggregates nothing, is no constant and reads no such column."""
    places, others = list[exp.Expr](), set[str]()
    for place, part in enumerate(select.expressions, start=1):
        if _is_key(part.unalias(), others):
            places.append(exp.Literal.number(place))
        else:
            others.add(part.alias.lower())
    select.set("group", exp.Group(expressions=places) if places else None)


def _is_key(node: exp.Expr, others: set[str]) -> bool:
    """Whether a column of SELECT is a key; ``others`` are the names of those before it that are none."""
    if any(is_aggregate(part) or isinstance(part, exp.Window | exp.Query) for part in node.walk()):
        return False
    columns = [part for part in node.find_all(exp.Column, exp.Star) if part.name.lower() not in others]
    return bool(columns)


def _write_order(select: exp.Select) -> None:
    order = select.args.get("order")
    parts = order.expressions if order is not None else []
    if (
        order is not None
        and len(parts) == 1
        and isinstance(parts[0].this, exp.Var)
        and parts[0].this.name.upper() == "ALL"
    ):
        flags = {name: parts[0].args.get(name) for name in ("desc", "nulls_first")}
        places = range(1, len(select.expressions) + 1)
        order.set("expressions", [exp.Ordered(this=exp.Literal.number(place), **flags) for place in places])


# ---------------------------------------------------------------- DISTINCT ON


def write_distinct_on(tree: exp.Expr, text: QueryText) -> bool:
    """DISTINCT ON as the first row by a window, which it is; whether there is any."""
    selects = [each for each in tree.find_all(exp.Select) if (each.args.get("distinct") or exp.Null()).args.get("on")]
    for select in selects:
        on = select.args["distinct"].args["on"]
        keys = on.expressions if isinstance(on, exp.Tuple) else [on.unnest()]
        parts = select.args["order"].expressions if select.args.get("order") else []
        order = [part.copy() for part in parts if part.this not in keys]
        if not order or select.args.get("qualify") or any(select.args.get(part) for part in ("limit", "offset")):
            raise text.refusal(
                NotAllowed,
                on,
                "DISTINCT ON takes the first row of each person by ORDER BY, in a subquery without LIMIT and QUALIFY.",
                "Without an order any row could be the first, and nobody could tell which.",
                "SELECT ... FROM (SELECT DISTINCT ON (person) ... FROM t ORDER BY person, day).",
            )
        first = exp.Window(
            this=exp.RowNumber(), partition_by=[key.copy() for key in keys], order=exp.Order(expressions=order)
        )
        select.set("distinct", None)
        select.set("order", None)
        select.set("qualify", exp.Qualify(this=first.eq(exp.Literal.number(1))))
    return bool(selects)


# ---------------------------------------------------------------- QUALIFY


def _write_qualify(select: exp.Select, text: QueryText) -> None:
    """The windows of the condition become columns of a subquery, and the condition its WHERE outside."""
    condition = select.args["qualify"].this
    if has_aggregates(select) or select.args.get("distinct") is not None:
        raise text.refusal(
            NotAllowed,
            condition,
            "QUALIFY stands in a SELECT of rows, without DISTINCT and aggregates.",
            "It picks rows by a window over them.",
            "SELECT ... FROM (SELECT ... FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) = 1).",
        )
    names = {part.name.lower() for part in select.walk() if isinstance(part, exp.Identifier)}
    selected = {part.alias_or_name.lower() for part in select.expressions}
    inner = select.copy()
    for clause in ("qualify", "order", "limit", "offset"):
        inner.set(clause, None)
    condition = condition.copy()
    outside = exp.Paren(this=condition)
    for part in [part for part in condition.walk(prune=_is_window) if _is_window(part) or _is_source(part, selected)]:
        name = fresh_name("qualified", names)
        inner.append("expressions", exp.alias_(part.copy(), name))
        part.replace(expression=exp.column(name))
    outer = exp.Select(
        expressions=_outer_columns(select.expressions),
        from_=exp.From(this=exp.Subquery(this=inner)),
        where=exp.Where(this=outside.this if not isinstance(condition, exp.Column) else outside),
        **{clause: select.args[clause] for clause in ("order", "limit", "offset") if select.args.get(clause)},
    )
    for name in list(select.args):
        select.set(name, None)
    for name, value in outer.args.items():
        select.set(name, value)


def _is_window(node: exp.Expr) -> bool:
    return isinstance(node, exp.Window)


def _is_source(node: exp.Expr, selected: set[str]) -> bool:
    """Whether a column of the condition is one of the tables', and not one that is selected."""
    return isinstance(node, exp.Column) and (bool(node.table) or node.name.lower() not in selected)


def _outer_columns(selected: list[exp.Expr]) -> list[exp.Expr]:
    """The columns of the subquery, seen from outside; with a star among them, all."""
    if any(isinstance(part, exp.Star) or isinstance(part.this, exp.Star) for part in selected):
        return [exp.Star()]
    return [exp.column(exp.to_identifier(part.alias_or_name, quoted=True)) for part in selected]
