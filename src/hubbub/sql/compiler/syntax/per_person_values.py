"""Subqueries that stand for one number of a person: joined as one row per person.

    WHERE cost > (SELECT AVG(b.cost) FROM visits b WHERE b.patient_id = a.patient_id)

means the same as

    LEFT JOIN (SELECT b.patient_id AS person_1, AVG(b.cost) AS value_1 FROM visits b GROUP BY b.patient_id) AS per_1
    ON per_1.person_1 = a.patient_id ... WHERE cost > per_1.value_1

Whether the key is the person is checked where every other join and every other aggregate per person is.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from hubbub.sql.compiler.syntax.tree_parts import is_aggregate

_EMPTY = ("limit", "offset", "order", "group", "having", "distinct", "with_", "qualify")


def join_per_person_values(tree: exp.Expr) -> None:
    """Every such subquery of the tree as a join; others stay, and are refused where they are read."""
    names = {part.name.lower() for part in tree.walk() if isinstance(part, exp.Identifier)}
    for select in list(tree.find_all(exp.Select)):
        if select.args.get("from_") is None:
            continue
        for node in list(_scalar_subqueries(select)):
            _join_value(select, node, names)


def _scalar_subqueries(select: exp.Select) -> Iterator[exp.Subquery]:
    """The subqueries that stand for a value in WHERE or SELECT, outside of aggregates' and windows' own subqueries."""
    clauses = [*select.expressions, *([select.args["where"]] if select.args.get("where") is not None else [])]
    for clause in clauses:
        for node in clause.walk(prune=lambda part: isinstance(part, exp.Subquery | exp.Exists | exp.Select)):
            is_value = not isinstance(node.parent, exp.In) or node.arg_key != "query"
            if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select) and is_value:
                yield node


def _join_value(select: exp.Select, node: exp.Subquery, names: set[str]) -> None:
    inner = node.this
    own, around = _aliases(inner), _aliases(select)
    where = inner.args.get("where")
    if any(inner.args.get(name) is not None for name in _EMPTY) or where is None or own & around:
        return
    if len(inner.expressions) != 1 or not any(is_aggregate(part) for part in inner.expressions[0].walk()):
        return
    conditions = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
    links = [link for part in conditions for link in [_link(part, own, around)] if link is not None]
    if len(links) != 1 or any(_names_around(part, around) for part in conditions if part is not links[0][0]):
        return
    tie, key, outer = links[0]
    person, value, alias = (fresh_name(stem, names) for stem in ("person", "value", "per"))
    rest = [part.copy() for part in conditions if part is not tie]
    rows = inner.copy()
    told = rows.expressions[0].unalias()
    rows.set("expressions", [exp.alias_(key.copy(), person), exp.alias_(told.copy(), value)])
    rows.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
    rows.set("group", exp.Group(expressions=[key.copy()]))
    on = exp.EQ(this=exp.column(person, table=alias), expression=outer.copy())
    body = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(alias)))
    select.append("joins", exp.Join(this=body, side="LEFT", on=on))
    column: exp.Expr = exp.column(value, table=alias)
    if isinstance(told, exp.Count):  # of no rows it is 0
        column = exp.Coalesce(this=column, expressions=[exp.Literal.number(0)])
    node.replace(expression=column)


def _link(node: exp.Expr, own: set[str], around: set[str]) -> tuple[exp.Expr, exp.Column, exp.Column] | None:
    """The equation that ties the rows inside to the row outside: (itself, column inside, column outside)."""
    if not isinstance(node, exp.EQ):
        return None
    for inside, outside in ((node.this, node.expression), (node.expression, node.this)):
        if isinstance(inside, exp.Column) and isinstance(outside, exp.Column):
            is_inside = inside.table.lower() in own or (not inside.table and len(own) == 1)
            if is_inside and outside.table.lower() in around:
                return node, inside, outside
    return None


def _names_around(node: exp.Expr, around: set[str]) -> bool:
    return any(part.table.lower() in around for part in node.find_all(exp.Column) if part.table)


def _aliases(select: exp.Select) -> set[str]:
    """The names of a FROM."""
    source = select.args.get("from_")
    items = [*([source.this] if source is not None else []), *(join.this for join in select.args.get("joins") or [])]
    return {item.alias_or_name.lower() for item in items}


def fresh_name(stem: str, names: set[str]) -> str:
    """A name that nobody uses."""
    number = 1
    while f"{stem}_{number}" in names:
        number += 1
    names.add(f"{stem}_{number}")
    return f"{stem}_{number}"
