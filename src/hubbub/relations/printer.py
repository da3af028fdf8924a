"""Relation nodes in an engine's words: one dispatch over the nodes, for every dialect.

Filters, projections, joins and aggregates that follow each other become one SELECT. Where two relations about people
meet, the printer compares the persons: no node can forget to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hubbub.relations.column_printer import id_in, stored_column
from hubbub.relations.dialects import Dialect
from hubbub.relations.expressions import Expr
from hubbub.relations.nodes import (
    PERSON,
    RANK,
    Aggregate,
    Alias,
    Cap,
    CapDifference,
    ClipTotals,
    Filter,
    JoinKind,
    JoinRows,
    KeyedTotals,
    NamedValue,
    Partial,
    PersonAggregate,
    PlainRows,
    Project,
    Rank,
    Relation,
    SharedRelation,
    SourceTable,
    StoredCap,
    TableScan,
    UnionAll,
    Values,
    Window,
    With,
)
from hubbub.relations.nodes.engine_values import equal_values
from hubbub.relations.nodes.expansions import expand_node
from hubbub.relations.person import TableOwner
from hubbub.relations.value_printer import ValuePrinter

_SOURCE, _OWNERS = "s", "o"
_WORDS = {JoinKind.INNER: "JOIN", JoinKind.LEFT: "LEFT JOIN"}


def print_relation(node: Relation, dialect: Dialect) -> str:
    """The statement that gives the relation's rows."""
    return RelationPrinter(dialect).query(node)


def print_shared(node: With, dialect: Dialect) -> str:
    """How the statement of a relation begins: what it shares, and nothing of what reads that."""
    return RelationPrinter(dialect).shared(node)


def print_expression(value: Expr, dialect: Dialect) -> str:
    """An expression by itself."""
    return RelationPrinter(dialect).values.print_value(value)


class RelationPrinter:
    """Prints nodes as statements, and whatever stands in FROM and WHERE."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.values = ValuePrinter(dialect, self._exists)
        self.operations = self.values.operations

    def query(self, node: Relation) -> str:
        """A whole SELECT."""
        form = _QUERIES.get(type(node))
        return form(self, node) if form is not None else self._select(["*"], node)

    def _union(self, node: UnionAll) -> str:
        return " UNION ALL ".join(map(self.query, node.inputs))

    def _expanded(self, node: Cap | CapDifference | ClipTotals) -> str:
        return self.query(expand_node(node))

    # ------------------------------------------------------------ SELECT

    def _project(self, node: Project) -> str:
        whom = [] if isinstance(node, PlainRows) else self._person_of(node.input)
        columns = [*whom, *self._named(node.outputs)]
        distinct = "DISTINCT " if node.distinct else ""
        return f"SELECT {distinct}{', '.join(columns) or '1 AS one'}{self._from_where(node.input)}"

    def _person_aggregate(self, node: PersonAggregate) -> str:
        whom = [] if node.input.person is None else [self._value(node.input.person.reference)]
        groups = dict.fromkeys([*whom, *map(self._value, node.keys)])
        text = self._select([*self._person_of(node.input), *self._named(node.outputs)], node.input, groups)
        return text if node.having is None else f"{text} HAVING {self._value(node.having)}"

    def _aggregate(self, node: KeyedTotals) -> str:
        keys = [node.input.column(key) for key in node.keys]
        named = [NamedValue(name, key) for name, key in zip(node.keys, keys, strict=True)]
        return self._select(self._named([*named, *node.totals]), node.input, map(self._value, keys))

    def _rank(self, node: Rank) -> str:
        content = [self._value(value) for value in node.content]
        ties = content if node.ties is None else [self._value(value) for value in node.ties]
        order = [self.values.keyed_hash(node.secret, content), *ties] if content else ["1"]
        partition = [self._value(node.input.column(name)) for name in (PERSON, *node.within)]
        function = "dense_rank" if node.dense else "row_number"
        over = f"{function}() OVER (PARTITION BY {', '.join(partition)} ORDER BY {', '.join(order)})"
        carried = [NamedValue(column.name, column.reference) for column in node.input.columns]
        return self._select([*self._named(carried), f"{over} AS {self._name(node.name)}"], node.input)

    def _select(self, columns: Sequence[str], node: Relation, by: Iterable[str] = ()) -> str:
        groups = ", ".join(by)
        return f"SELECT {', '.join(columns)}{self._from_where(node)}" + (f" GROUP BY {groups}" if groups else "")

    def _named(self, outputs: Iterable[NamedValue]) -> list[str]:
        texts = [(self._value(each.value), self._name(each.name)) for each in outputs]
        return [text if text == name else f"{text} AS {name}" for text, name in texts]

    def _person_of(self, node: Relation) -> list[str]:
        return [] if node.person is None else self._named([NamedValue(PERSON, node.person.reference)])

    def _value(self, value: Expr) -> str:
        return self.values.print_value(value)

    def _name(self, name: str) -> str:
        return self.values.name(name)

    # ------------------------------------------------------------ FROM and WHERE

    def _from_where(self, node: Relation) -> str:
        conditions: list[str] = []
        source = self._from(self._unfiltered(node, conditions))
        return f" FROM {source}" + (f" WHERE {' AND '.join(conditions)}" if conditions else "")

    def _unfiltered(self, node: Relation, conditions: list[str]) -> Relation:
        """What lies below filters, whose conditions are added to the list."""
        if isinstance(node, Filter):
            below = self._unfiltered(node.input, conditions)
            conditions += [self._value(condition) for condition in node.conditions]
            return below
        if isinstance(node, StoredCap):
            below = self._unfiltered(node.input, conditions)
            conditions.append(f"{self._value(node.input.column(RANK))} <= {node.most}")
            return below
        if isinstance(node, JoinRows) and node.kind not in _WORDS:
            below = self._unfiltered(node.left, conditions)
            conditions.append(self._half_join(node))
            return below
        return node

    def _from(self, node: Relation) -> str:
        if isinstance(node, SharedRelation):
            return node.name
        if isinstance(node, Alias):
            return f"{self._source(node.input)} AS {node.name}"
        if isinstance(node, JoinRows):
            right = self._from(node.right)
            return f"{self._from(node.left)} {_WORDS[node.kind]} {right} ON ({self._meeting(node) or 'TRUE'})"
        return f"({self.query(node)}) AS inside"

    def _source(self, node: Relation) -> str:
        return self.operations.quoted(node.name) if isinstance(node, SourceTable) else f"({self.query(node)})"

    def _meeting(self, node: JoinRows) -> str:
        """When rows meet: of two private relations, only those of the same person."""
        conditions = [*node.on]
        if node.left.person is not None and node.right.person is not None:
            conditions.append(equal_values(node.right.person.reference, node.left.person.reference))
        return " AND ".join(map(self._value, conditions))

    def _half_join(self, node: JoinRows) -> str:
        word = "EXISTS" if node.kind is JoinKind.SEMI else "NOT EXISTS"
        return f"{word} (SELECT 1 FROM {self._from(node.right)} WHERE {self._meeting(node)})"

    def _exists(self, node: Relation) -> str:
        return f"EXISTS (SELECT 1{self._from_where(node)})"

    # ------------------------------------------------------------ shared relations

    def _with(self, node: With) -> str:
        return f"{self.shared(node)} {self.query(node.body)}"

    def shared(self, node: With) -> str:
        """The relations that are named before a SELECT reads them."""
        return f"WITH {', '.join(map(self._shared, node.shared))}"

    def _shared(self, node: SharedRelation) -> str:
        return f"{node.name} AS{self.dialect.hints[node.materialized]} ({self.query(node.input)})"

    # ------------------------------------------------------------ tables

    def _values(self, node: Values) -> str:
        rows = ", ".join(f"({', '.join(map(self.operations.literal, row))})" for row in node.rows)
        return self.dialect.values.format(rows=rows, names=", ".join(map(self._name, node.names)))

    def _scan(self, node: TableScan) -> str:
        """A declared table: the person, and the columns that are used, each as the type of its kind."""
        columns = [(self._stored(column.name, node), self._name(column.name)) for column in node.declared]
        columns += [(f"{_SOURCE}.{name}", name) for name in node.stored]
        source = f"{self.operations.quoted(node.table.name)} AS {_SOURCE}"
        if node.owner is not None:
            whom, source = self._owned(node.owner, source)
            columns.insert(0, (whom, PERSON))
        listed = ", ".join(f"{text} AS {name}" for text, name in columns) or "1 AS one"
        if not node.unique:
            return f"SELECT {listed} FROM {source}"
        key = self._stored(node.table.key, node)  # a public key that is not unique must not multiply rows
        # by every column of the table: two statements read other columns of it, and must take the same row
        order = ", ".join([key, *(self._stored(column.name, node) for column in node.table.columns)])
        names = ", ".join(name for _, name in columns)
        return self.dialect.first_of_key.format(key=key, columns=listed, source=source, order=order, names=names)

    def _stored(self, name: str, node: TableScan) -> str:
        column = node.table.column(name)
        assert column is not None
        return stored_column(f"{_SOURCE}.{self.operations.quoted(column.name)}", column, self.dialect)

    def _owned(self, owner: TableOwner, source: str) -> tuple[str, str]:
        """The person of a row, and the source with what is needed to find out."""
        column = self._id(owner.column.name, owner)
        if owner.parent is None:
            return column, source
        parent = owner.parent
        whom, inner = self._owned(parent.owner, f"{self.operations.quoted(parent.name)} AS {_SOURCE}")
        key = id_in(f"{_SOURCE}.{self.operations.quoted(parent.key.name)}", parent.key, owner.form, self.dialect)
        owners = f"(SELECT {key} AS k, min({whom}) AS {PERSON} FROM {inner} GROUP BY 1) AS {_OWNERS}"
        return f"{_OWNERS}.{PERSON}", f"{source} JOIN {owners} ON {column} = {_OWNERS}.k"

    def _id(self, name: str, owner: TableOwner) -> str:
        return id_in(f"{_SOURCE}.{self.operations.quoted(name)}", owner.column, owner.form, self.dialect)


_QUERIES: dict[type[Relation], Callable[[RelationPrinter, Any], str]] = {
    TableScan: RelationPrinter._scan,
    Values: RelationPrinter._values,
    **dict.fromkeys((Project, Window, PlainRows), RelationPrinter._project),
    PersonAggregate: RelationPrinter._person_aggregate,
    Rank: RelationPrinter._rank,
    UnionAll: RelationPrinter._union,
    With: RelationPrinter._with,
    **dict.fromkeys((Aggregate, Partial), RelationPrinter._aggregate),
    **dict.fromkeys((Cap, CapDifference, ClipTotals), RelationPrinter._expanded),
}
