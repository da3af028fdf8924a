"""One SELECT that does more with its aggregates than a question can: a question, and a SELECT around it.

    SELECT ward, COUNT(*) / SUM(COUNT(*)) OVER () FROM visits GROUP BY ward

asks ``SELECT ward, COUNT(*) AS value_1 FROM visits GROUP BY ward``, and the rest is worked out on its noisy table.
Subqueries that stand for one number go with the rest: they are questions of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from hubbub.sql.compiler.syntax.engine_names import aggregate_name
from hubbub.sql.compiler.syntax.plain_forms import write_group_by_all
from hubbub.sql.compiler.syntax.tree_parts import has_aggregates, is_aggregate

_STAYS = ("from_", "joins", "where", "group")  # with the question
_LEAVES = ("qualify", "order", "limit", "offset", "distinct", "windows")  # with what stands around it


@dataclass(frozen=True, slots=True)
class SplitSelect:
    """The question (its keys and aggregates alone), and the SELECT around it, which has no FROM yet."""

    question: exp.Select
    rest: exp.Select
    having: exp.Expr | None

    def around(self, asked: exp.Query) -> exp.Select:
        """The SELECT around what the question became."""
        source = asked
        if self.having is not None:
            source = exp.select("*").from_(asked.subquery("q")).where(self.having.copy())
        return self.rest.copy().from_(source.subquery("q"))


def split_select(tree: exp.Select) -> SplitSelect | None:
    """Both halves, or None where something other than keys and aggregates is read."""
    if tree.find(exp.Window) is None and not has_aggregates(tree):
        return None
    group = tree.args.get("group")
    if group is not None and _set_parts(group) == ["all"]:
        tree = tree.copy()
        write_group_by_all(tree)
    elif group is not None and _set_parts(group) != ["expressions"]:
        return None
    keys = _group_keys(tree)
    if keys is None:
        return None
    names = _Names(keys, tree.expressions)
    try:
        rest = exp.Select(expressions=[_outer_column(names, each) for each in tree.expressions])
        having = tree.args.get("having")
        condition = None if having is None else names.moved(having.this, inlined=_aliases(tree))
        for part in _LEAVES:
            if tree.args.get(part):
                rest.set(part, _moved_clause(names, tree.args[part], _aliases(tree)))
    except _NotApart:
        return None
    question = exp.Select(**{part: _copied(tree.args[part]) for part in _STAYS if tree.args.get(part)})
    question.set("expressions", [exp.alias_(node.copy(), name, quoted=True) for name, node in names.selected()])
    if group is not None:
        question.set("group", _written_group(tree))
    plain = all(isinstance(each.unalias(), exp.Column) for each in rest.expressions) and condition is None
    more = any(tree.args.get(part) for part in ("qualify", "order", "distinct"))
    return SplitSelect(question, rest, condition) if names.aggregates and not (plain and not more) else None


def chooses_rows(tree: exp.Select) -> bool:
    """Whether noisy values choose which rows a question shows."""
    return any(tree.args.get(part) for part in ("having", "limit", "offset"))


class _NotApart(Exception):
    """A column of the rows themselves is read beyond keys and aggregates."""


class _Names:
    """What the columns of the question are called."""

    def __init__(self, keys: Mapping[str, exp.Expr], selected: Sequence[exp.Expr]) -> None:
        self.keys = keys
        self.aggregates: dict[str, exp.Expr] = {}
        self.before: dict[str, exp.Expr] = {}  # columns of SELECT by their aliases, as far as they were moved
        self._aliases = {each.this: each.alias for each in selected if isinstance(each, exp.Alias)}

    def selected(self) -> list[tuple[str, exp.Expr]]:
        """The columns that the question selects."""
        return [*self.keys.items(), *self.aggregates.items()]

    def moved(self, node: exp.Expr, *, inlined: Mapping[str, exp.Expr] | None = None, kept: bool = False) -> exp.Expr:
        """The expression over the question's columns; ``inlined`` are aliases of SELECT, which may be ``kept``."""
        for name, key in self.keys.items():
            if node == key:
                return exp.column(name, quoted=True)
        if isinstance(node, exp.Window):
            return self._moved_parts(node, inlined, kept, inside=True)
        if is_aggregate(node) or isinstance(node, exp.AggFunc):
            return self._aggregate(node)
        if isinstance(node, exp.Column):
            return self._column(node, inlined or {}, kept)
        if isinstance(node, exp.Subquery):
            return node.copy()
        if isinstance(node, exp.Query | exp.Star):
            raise _NotApart
        return self._moved_parts(node, inlined, kept)

    def _column(self, node: exp.Column, inlined: Mapping[str, exp.Expr], kept: bool) -> exp.Expr:
        name = "" if node.table else node.name.lower()
        if name in inlined:
            return node.copy() if kept else self.moved(inlined[name])
        if name not in self.before:
            raise _NotApart
        return _bracketed(self.before[name])

    def _aggregate(self, node: exp.Expr) -> exp.Expr:
        for name, known in self.aggregates.items():
            if known == node:
                return exp.column(name, quoted=True)
        name = self._aliases.get(node, f"value_{len(self.aggregates) + 1}")
        self.aggregates[name] = node
        return exp.column(name, quoted=True)

    def _moved_parts(
        self, node: exp.Expr, inlined: Mapping[str, exp.Expr] | None, kept: bool, *, inside: bool = False
    ) -> exp.Expr:
        """A node with all its parts moved; ``inside`` a window, its own function stays and its arguments move."""
        copied = node.copy()
        for name, value in node.args.items():
            own = inside and name == "this" and isinstance(value, exp.Expr)
            if isinstance(value, list):
                copied.set(name, [self._part(each, inlined, kept) for each in value])
            elif own:
                copied.set(name, self._moved_parts(value, inlined, kept, inside=isinstance(value, exp.IgnoreNulls)))
            else:
                copied.set(name, self._part(value, inlined, kept))
        return copied

    def _part(self, value: object, inlined: Mapping[str, exp.Expr] | None, kept: bool) -> object:
        plain = not isinstance(value, exp.Expr) or isinstance(value, exp.Identifier | exp.DataType | exp.Var)
        return value if plain else self.moved(value, inlined=inlined, kept=kept)  # type: ignore[arg-type]


def _bracketed(node: exp.Expr) -> exp.Expr:
    return node.copy() if isinstance(node, exp.Column) else exp.paren(node)


def _outer_column(names: _Names, node: exp.Expr) -> exp.Expr:
    """A column of SELECT, which may use the names of those before it."""
    moved = names.moved(node.unalias())
    if isinstance(node, exp.Alias):
        names.before[node.alias.lower()] = moved
        return exp.alias_(moved, node.args["alias"].copy())
    name = node.name if isinstance(node, exp.Column) else aggregate_name(node) or node.sql(dialect="duckdb").lower()
    return exp.alias_(moved, name, quoted=True)


def _moved_clause(names: _Names, clause: object, aliases: Mapping[str, exp.Expr]) -> object:
    if isinstance(clause, list):
        return [_moved_clause(names, each, aliases) for each in clause]
    if isinstance(clause, exp.Distinct | exp.Limit | exp.Offset) or not isinstance(clause, exp.Expr):
        return clause.copy() if isinstance(clause, exp.Expr) else clause
    return names.moved(clause, inlined=aliases, kept=True)


def _group_keys(tree: exp.Select) -> dict[str, exp.Expr] | None:
    """The keys by the names that they get; a place or an alias in GROUP BY stands for its expression."""
    group, keys = tree.args.get("group"), dict[str, exp.Expr]()
    called = {each.this: each.alias for each in tree.expressions if isinstance(each, exp.Alias)}
    for node in [leaf for part in group.expressions for leaf in _key_nodes(part)] if group is not None else []:
        key = _written_key(node, tree)
        if key is None:
            return None
        if key in keys.values():
            continue
        name = key.name if isinstance(key, exp.Column) else called.get(key, f"key_{len(keys) + 1}")
        if name in keys:
            return None
        keys[name] = key
    return keys


def _key_nodes(node: exp.Expr) -> Iterator[exp.Expr]:
    """The keys that a part of GROUP BY names: itself, or those in a ROLLUP, CUBE or GROUPING SETS."""
    if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
        for each in node.expressions:
            yield from _key_nodes(each)
    elif isinstance(node, exp.Paren):
        yield from _key_nodes(node.this)
    else:
        yield node


def _written_key(node: exp.Expr, tree: exp.Select) -> exp.Expr | None:
    """A key of GROUP BY as an expression, which a place or an alias of SELECT stands for."""
    if isinstance(node, exp.Literal) and not node.is_string:
        place = int(node.name) if node.name.isdigit() else 0
        return tree.expressions[place - 1].unalias() if 1 <= place <= len(tree.expressions) else None
    if isinstance(node, exp.Column) and not node.table:
        return _aliases(tree).get(node.name.lower(), node)
    return node


def _written_group(tree: exp.Select) -> exp.Group:
    """GROUP BY with each key written out."""
    group: exp.Group = tree.args["group"].copy()
    for node in [leaf for part in group.expressions for leaf in _key_nodes(part)]:
        written = _written_key(node, tree)
        assert written is not None and node.parent is not None and node.arg_key is not None
        node.parent.set(node.arg_key, written.copy(), node.index)
    return group


def _aliases(tree: exp.Select) -> dict[str, exp.Expr]:
    return {each.alias.lower(): each.this for each in tree.expressions if isinstance(each, exp.Alias)}


def _set_parts(node: exp.Expr) -> list[str]:
    return [name for name, value in node.args.items() if value]


def _copied(value: object) -> object:
    if isinstance(value, list):
        return [each.copy() for each in value]
    return value.copy() if isinstance(value, exp.Expr) else value
