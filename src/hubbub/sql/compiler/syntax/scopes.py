"""Names: what each column, subquery and name of a query in a checked tree refers to, in a table beside the tree.

A SELECT is read wherever it stands, and a query in WITH wherever it is named: each reading is a ``SelectScope`` with
aliases of its own. A column that refers to nothing is noted as such, and refused where it is read.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeAlias, TypeVar

from sqlglot import exp

from hubbub.relations import limits
from hubbub.schema import Dataset, Table, is_reserved
from hubbub.sql.compiler.syntax.engine_names import aggregate_name
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.sql.compiler.syntax.tree_parts import (
    has_aggregates,
    outward_parts,
)
from hubbub.terms import NotAllowed, QueryError, UnknownName

Rows = TypeVar("Rows")


@dataclass(frozen=True, slots=True)
class OuterQuery(Generic[Rows]):
    """SELECT a, b FROM (question) ORDER BY ...: no aggregates, over a question that has them."""

    tree: exp.Select
    inner: QuestionTree[Rows]


@dataclass(frozen=True, slots=True)
class UnionQuery(Generic[Rows]):
    """UNION of two questions."""

    tree: exp.Union
    sides: tuple[QuestionTree[Rows], ...]


QuestionTree: TypeAlias = Rows | OuterQuery[Rows] | UnionQuery[Rows]


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column of an item in FROM: the item by our alias, the column as its table or subquery spells it."""

    alias: str
    name: str


@dataclass(frozen=True, slots=True)
class NoColumn:
    """A name that refers to no column of these items, or to several."""

    items: tuple[ScopeItem, ...]
    is_ambiguous: bool


@dataclass(frozen=True, slots=True)
class ScopeItem:
    """A table or subquery in FROM, by the analyst's name and by our alias.

    ``merged`` are the columns that USING shares with an item before it: by themselves their names mean that one's.
    """

    name: str
    alias: str
    source: Table | SelectScope
    columns: tuple[str, ...]
    merged: frozenset[str] = frozenset()

    def column(self, name: str) -> ColumnName | None:
        """The column of that name."""
        wanted = name.lower()
        spelled = next((each for each in self.columns if each.lower() == wanted), None)
        return None if spelled is None else ColumnName(self.alias, spelled)


@dataclass(frozen=True, slots=True)
class SelectOutput:
    """A column that a SELECT gives: an expression, or what a star stands for."""

    name: str
    value: exp.Expr | ColumnName


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectScope:
    """One reading of a SELECT (or of what stands in its place): its items, and what its nodes refer to, by id."""

    tree: exp.Expr
    items: tuple[ScopeItem, ...] = ()
    columns: Mapping[int, ColumnName | NoColumn] = field(default_factory=dict)
    subqueries: Mapping[int, SelectScope] = field(default_factory=dict)  # of EXISTS and IN
    outputs: tuple[SelectOutput, ...] = ()


def resolve_names(tree: exp.Expr, text: QueryText, dataset: Dataset) -> QuestionTree[SelectScope]:
    """The questions of a checked tree, and what every name in them refers to."""
    return _resolve_question(tree, {}, _Reading(text, dataset))


# ---------------------------------------------------------------- queries


@dataclass(frozen=True, slots=True)
class _Cte:
    """A query with a name, and the names that it may itself refer to."""

    tree: exp.Expr
    ctes: _Ctes


_Ctes: TypeAlias = Mapping[str, _Cte]
_Visible: TypeAlias = tuple[tuple[ScopeItem, ...], ...]  # the items of a SELECT, then those of the one around it, ...


@dataclass(slots=True)
class _Reading:
    """The text and the dataset, and how many aliases have been given."""

    text: QueryText
    dataset: Dataset
    aliases: int = 0

    def next_alias(self) -> str:
        self.aliases += 1
        return f"t{self.aliases - 1}"


def _resolve_question(tree: exp.Expr, ctes: _Ctes, reading: _Reading) -> QuestionTree[SelectScope]:
    tree = tree.unnest()
    ctes = _known_queries(tree, ctes)
    if isinstance(tree, exp.Union):
        return UnionQuery(tree, tuple(_resolve_question(side, ctes, reading) for side in (tree.this, tree.expression)))
    if not isinstance(tree, exp.Select):
        raise reading.text.refusal(NotAllowed, tree, "a question is a SELECT.")
    if has_aggregates(tree):
        return _aggregate_question(tree, ctes, reading)
    source = tree.args.get("from_")
    body = None if source is None else _named_query(source.this, ctes)
    if body is None or tree.args.get("joins") or tree.args.get("group"):
        raise reading.text.refusal(
            NotAllowed,
            tree,
            "this asks for rows, and only aggregates can be told.",
            "A row is about a person; what many people have in common can be counted, summed or averaged.",
            "Use COUNT, SUM, AVG or a quantile, with GROUP BY if you like.",
        )
    return OuterQuery(tree, _resolve_question(body.tree, body.ctes, reading))


def _aggregate_question(tree: exp.Select, ctes: _Ctes, reading: _Reading) -> SelectScope:
    names = _NameTable(ctes, reading)
    items = names.read_from(tree, ())
    names.read(_clause_parts(tree, "where", "group", "expressions", "having", "order"), (items,))
    return names.scope(tree, items, _plain_outputs(tree, reading.text))


def _row_scope(tree: exp.Expr, ctes: _Ctes, reading: _Reading) -> SelectScope:
    """A subquery in FROM: it sees nothing of what stands around it."""
    tree = tree.unnest()
    ctes = _known_queries(tree, ctes)
    if not isinstance(tree, exp.Select):
        return SelectScope(tree=tree)
    names = _NameTable(ctes, reading)
    items = names.read_from(tree, ())
    names.read(_clause_parts(tree, "where", "group", "expressions", "having"), (items,))
    if has_aggregates(tree):
        return names.scope(tree, items, _plain_outputs(tree, reading.text))
    return names.scope(tree, items, _selected_outputs(tree, items, reading.text))


def _condition_scope(query: exp.Expr, ctes: _Ctes, visible: _Visible, reading: _Reading) -> SelectScope:
    """The subquery of an EXISTS or IN, which sees the rows around it; what it selects needs no names."""
    tree = query.unnest()
    if not isinstance(tree, exp.Select):
        return SelectScope(tree=tree)
    names = _NameTable(_known_queries(tree, ctes), reading)
    items = names.read_from(tree, visible)
    names.read(_clause_parts(tree, "expressions", "where"), (items, *visible))
    return names.scope(tree, items, ())


def _known_queries(tree: exp.Expr, ctes: _Ctes) -> _Ctes:
    """The names of queries that the tree may use, its own WITH included."""
    clause = tree.args.get("with_")
    if clause is None:
        return ctes
    known = dict(ctes)
    for cte in clause.expressions:
        known[cte.alias.lower()] = _Cte(cte.this, dict(known))
    return known


def _named_query(node: exp.Expr, ctes: _Ctes) -> _Cte | None:
    """The query behind a subquery or the name of a CTE, with the names that it knows."""
    if isinstance(node, exp.Subquery):
        return _Cte(node.this, ctes)
    if isinstance(node, exp.Table) and not node.args.get("db"):
        return ctes.get(node.name.lower())
    return None


def _condition_query(node: exp.Expr) -> exp.Expr | None:
    """The subquery of an EXISTS or IN."""
    query: exp.Expr | None = None
    if isinstance(node, exp.Exists | exp.In):
        query = node.this if isinstance(node, exp.Exists) else node.args.get("query")
    return query


def _clause_parts(tree: exp.Select, *names: str) -> Iterator[exp.Expr]:
    for name in names:
        clause = tree.args.get(name)
        yield from clause if isinstance(clause, list) else [] if clause is None else [clause]


# ---------------------------------------------------------------- the table of one SELECT


class _NameTable:
    """Fills the table of one SELECT, clause by clause."""

    def __init__(self, ctes: _Ctes, reading: _Reading) -> None:
        self._ctes, self._reading = ctes, reading
        self._columns: dict[int, ColumnName | NoColumn] = {}
        self._subqueries: dict[int, SelectScope] = {}

    def scope(self, tree: exp.Select, items: tuple[ScopeItem, ...], outputs: tuple[SelectOutput, ...]) -> SelectScope:
        return SelectScope(tree=tree, items=items, columns=self._columns, subqueries=self._subqueries, outputs=outputs)

    def read_from(self, tree: exp.Select, outer: _Visible) -> tuple[ScopeItem, ...]:
        """The items of FROM; a condition of a join sees those that stand before it, and its own."""
        source = tree.args.get("from_")
        if source is None:
            raise self._reading.text.refusal(
                NotAllowed, tree, "a question reads from a table.", "There is nothing to count."
            )
        items: tuple[ScopeItem, ...] = (self._item(source.this, ()),)
        for join in tree.args.get("joins") or []:
            shared = frozenset(str(each.name).lower() for each in join.args.get("using") or [])
            items = (*items, replace(self._item(join.this, items), merged=shared))
            if join.args.get("on") is not None:
                self.read([join.args["on"]], (items, *outer))
        return items

    def read(self, nodes: Iterable[exp.Expr], visible: _Visible) -> None:
        """Note what the names in these nodes refer to."""
        for node in nodes:
            for part in outward_parts(node):
                if isinstance(part, exp.Column):
                    self._columns[id(part)] = _resolve_column(part, visible)
                elif (query := _condition_query(part)) is not None:
                    self._subqueries[id(part)] = _condition_scope(query, self._ctes, visible, self._reading)

    def _item(self, node: exp.Expr, before: Sequence[ScopeItem]) -> ScopeItem:
        if self._reading.aliases >= limits.ITEMS:  # queries with a name are put in wherever they are named
            raise limits.too_large()
        source = self._source(node)
        name = node.alias_or_name.lower()
        if any(name == other.name for other in before):
            raise self._reading.text.refusal(
                UnknownName, node, f"{name!r} stands twice in FROM.", fix="Give each its own alias."
            )
        return ScopeItem(name, self._reading.next_alias(), source, _column_names(source))

    def _source(self, node: exp.Expr) -> Table | SelectScope:
        query = _named_query(node, self._ctes)
        if query is not None:
            return _row_scope(query.tree, query.ctes, self._reading)
        declared = [table.name for table in self._reading.dataset.tables]
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier) or node.args.get("db"):
            raise self._reading.text.refusal(
                NotAllowed,
                node,
                "only declared tables can be read.",
                "Files, functions and other schemas have no declared people or bounds.",
                f"Read from one of: {', '.join(declared)}.",
            )
        table = self._reading.dataset.table(node.name)
        if table is None:
            raise unknown_name(node, node.name, declared, self._reading.text, what="table")
        return table


def _column_names(source: Table | SelectScope) -> tuple[str, ...]:
    return tuple(each.name for each in (source.columns if isinstance(source, Table) else source.outputs))


def _resolve_column(node: exp.Column, visible: _Visible) -> ColumnName | NoColumn:
    """The column of the nearest SELECT that has one of this name."""
    table, items = node.table.lower(), visible[0]
    named = [item for item in items if table == item.name or (not table and node.name.lower() not in item.merged)]
    columns = [column for item in named if (column := item.column(node.name)) is not None]
    if len(columns) == 1:
        return columns[0]
    if columns or len(visible) == 1:
        return NoColumn(items, is_ambiguous=bool(columns))
    return _resolve_column(node, visible[1:])


# ---------------------------------------------------------------- what a SELECT gives


def output_name(node: exp.Expr, index: int, text: QueryText) -> str:
    """The name of a column of the answer, or of a subquery."""
    name = str(node.alias if isinstance(node, exp.Alias) else node.name if isinstance(node, exp.Column) else "")
    name = name or aggregate_name(node)
    if is_reserved(name):
        raise text.refusal(UnknownName, node, "names that begin with _hb_ are ours.", fix="Choose another alias.")
    return name or f"column_{index + 1}"


def _plain_outputs(tree: exp.Select, text: QueryText) -> tuple[SelectOutput, ...]:
    names = [output_name(part, index, text) for index, part in enumerate(tree.expressions)]
    for index, part in enumerate(tree.expressions):  # the same aggregate once more has no name of its own
        if not isinstance(part, exp.Alias | exp.Column) and names[index].lower() in {n.lower() for n in names[:index]}:
            names[index] = f"column_{index + 1}"
    return tuple(SelectOutput(name, part.unalias()) for name, part in zip(names, tree.expressions, strict=True))


def _selected_outputs(tree: exp.Select, items: tuple[ScopeItem, ...], text: QueryText) -> tuple[SelectOutput, ...]:
    """What a selection gives, stars written out. Equal names are refused here: with each star they would double."""
    outputs: list[SelectOutput] = []
    for part in tree.expressions:
        if isinstance(part, exp.Star) or (isinstance(part, exp.Column) and isinstance(part.this, exp.Star)):
            table = part.table.lower() if isinstance(part, exp.Column) else ""
            chosen = [item for item in items if table in ("", item.name)]
            outputs += [
                SelectOutput(name, ColumnName(item.alias, name))
                for item in chosen
                for name in item.columns
                if table or name.lower() not in item.merged
            ]
        else:
            outputs.append(SelectOutput(output_name(part, len(outputs), text), part.unalias()))
    names = [each.name.lower() for each in outputs]
    if len(set(names)) != len(names):
        raise text.refusal(
            UnknownName, tree, "two columns of the subquery have one name.", fix="Give each its own alias."
        )
    return tuple(outputs)


# ---------------------------------------------------------------- names that refer to nothing


def refuse_column(node: exp.Expr, missing: NoColumn, text: QueryText) -> QueryError:
    """The refusal of a name that refers to no column, or to several."""
    if missing.is_ambiguous:
        return text.refusal(
            UnknownName, node, f"{node.name!r} is a column of several tables.", fix="Write table.column."
        )
    return unknown_name(node, node.name, [name for item in missing.items for name in item.columns], text)


def unknown_name(
    node: exp.Expr, name: str, known: Sequence[str], text: QueryText, *, what: str = "column"
) -> QueryError:
    """The refusal of a name that was not declared, with the nearest one that was."""
    near = difflib.get_close_matches(name, known, n=1)
    fix = f"Did you mean {near[0]!r}?" if near else f"Known here: {', '.join(sorted(set(known)))[:300]}."
    return text.refusal(UnknownName, node, f"there is no {what} {name[:60]!r}.", "It was not declared.", fix)
