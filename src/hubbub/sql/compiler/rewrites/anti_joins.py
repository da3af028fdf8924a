"""LEFT JOIN b ON ... WHERE b.key IS NULL: rows without a partner, which are those of NOT EXISTS.

Of the joined table nothing else is used, so each row on the left stays once or goes. As a join, the caps of both sides
would multiply; as a condition, the left side's holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from hubbub.schema import Dataset, Table
from hubbub.sql.compiler.syntax.scopes import ColumnName, ScopeItem, SelectScope


@dataclass(frozen=True, slots=True)
class AntiJoin:
    """A joined item of which no row may match, and the nodes that ask for that."""

    join: exp.Join
    item: ScopeItem
    missing: tuple[exp.Is, ...]


def find_anti_joins(scope: SelectScope, dataset: Dataset) -> tuple[AntiJoin, ...]:
    """The joins of a SELECT that keep rows without a partner alone."""
    joins = scope.tree.args.get("joins") or []
    candidates = (_anti_join(join, item, scope) for join, item in zip(joins, scope.items[1:], strict=True))
    return tuple(each for each in candidates if each is not None and (dataset.unit or _is_public(each.item)))


def _anti_join(join: exp.Join, item: ScopeItem, scope: SelectScope) -> AntiJoin | None:
    if str(join.args.get("side") or "").upper() != "LEFT":
        return None
    inside = {id(part) for part in join.walk()}
    if inside & {*scope.subqueries}:
        return None
    keys = _equated_columns(join, item, scope)
    missing = tuple(part for part in _missing_columns(scope.tree) if _column_of(part.this, item, scope) in keys)
    known = inside | {id(part.this) for part in missing}
    if not missing or any(place not in known for place in _uses(item, scope)):
        return None
    others = [other for other in scope.tree.args["joins"] if other is not join]
    shared = [str(name.name) for other in others for name in other.args.get("using") or []]
    return None if any(item.column(name) for name in shared) else AntiJoin(join, item, missing)


def _equated_columns(join: exp.Join, item: ScopeItem, scope: SelectScope) -> set[str]:
    """The item's columns that are not missing in a row that matches: an equation with them holds."""
    shared = {column.name for name in join.args.get("using") or [] if (column := item.column(str(name.name)))}
    sides = [side for part in _conjuncts(join.args.get("on")) if isinstance(part, exp.EQ) for side in _sides(part)]
    return shared | {name for side in sides if (name := _column_of(side, item, scope))}


def _missing_columns(tree: exp.Expr) -> list[exp.Is]:
    """The parts ``x IS NULL`` of WHERE that must all hold."""
    where = tree.args.get("where")
    parts = _conjuncts(None if where is None else where.this)
    return [part for part in parts if isinstance(part, exp.Is) and isinstance(part.expression, exp.Null)]


def _column_of(node: exp.Expr, item: ScopeItem, scope: SelectScope) -> str:
    """The name of the item's column that a node is; empty if it is none."""
    name = scope.columns.get(id(node))
    return name.name if isinstance(name, ColumnName) and name.alias == item.alias else ""


def _uses(item: ScopeItem, scope: SelectScope) -> Iterator[int]:
    """The nodes that refer to the item's columns, also in subqueries; 0 for a star."""
    for place, name in scope.columns.items():
        if isinstance(name, ColumnName) and name.alias == item.alias:
            yield place
    for inner in scope.subqueries.values():
        yield from _uses(item, inner)
    stars = (output.value for output in scope.outputs if isinstance(output.value, ColumnName))
    yield from (0 for name in stars if name.alias == item.alias)


def _conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    if isinstance(node, exp.Paren):
        return _conjuncts(node.this)
    if isinstance(node, exp.And):
        return [*_conjuncts(node.this), *_conjuncts(node.expression)]
    return [] if node is None else [node]


def _sides(part: exp.Binary) -> tuple[exp.Expr, exp.Expr]:
    return part.this, part.expression


def _is_public(item: ScopeItem) -> bool:
    return isinstance(item.source, Table) and item.source.public
