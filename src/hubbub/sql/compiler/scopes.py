"""Names: what a column, an alias or the name of a query refers to, and how to say that it refers to nothing."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from hubbub.relations import Expr, column, renamed
from hubbub.schema import Dataset, Kind
from hubbub.sql.compiler.question import Item, Scan
from hubbub.sql.compiler.source_text import QueryText
from hubbub.sql.compiler.type_scalars import Scalars, number_in
from hubbub.terms import MixesPeople, QueryError, UnknownName, WrongType


@dataclass(slots=True)
class NameScope:
    """The items that names can refer to, and the scope around them."""

    items: list[tuple[str, Item]] = field(default_factory=list)  # the analyst's alias, and ours
    outer: NameScope | None = None
    outputs: dict[str, Expr] = field(default_factory=dict)

    def all_items(self) -> tuple[Item, ...]:
        return tuple(item for _, item in self.items)


@dataclass(frozen=True, slots=True)
class Cte:
    """A query with a name, and the names that it may itself refer to."""

    tree: exp.Expr
    known: Ctes


Ctes = Mapping[str, Cte]


class Names:
    """Looks names up in scopes; the passes that build on it share the text and the dataset."""

    def __init__(self, text: QueryText, dataset: Dataset) -> None:
        self.text, self.dataset = text, dataset
        self._aliases = 0

    def _column(self, node: exp.Column, scope: NameScope) -> Expr:
        table, name = node.table.lower(), node.name
        found = [
            value
            for alias, item in scope.items
            if table in ("", alias)
            for value in [self._column_of(item, name)]
            if value is not None
        ]
        if len(found) > 1:
            raise self._refused(
                UnknownName, node, f"{name!r} is a column of several tables.", fix="Write table.column."
            )
        if found:
            return found[0]
        if scope.outer is not None:
            return self._column(node, scope.outer)
        names = [column_name for _, item in scope.items for column_name, _ in self._columns(item)]
        raise self._unknown(node, name, names)

    def _column_of(self, item: Item, name: str) -> Expr | None:
        return next((value for other, value in self._columns(item) if other.lower() == name.lower()), None)

    def _columns(self, item: Item) -> Iterable[tuple[str, Expr]]:
        if isinstance(item.rows, Scan):
            table = item.rows.table
            return [
                (each.name, column(item.alias, table.name, each, unit=self._is_unit(item.rows, each.name)))
                for each in table.columns
            ]
        return [(each.name, renamed(each.value, item.alias, each.name)) for each in item.rows.fields]

    def _is_unit(self, scan: Scan, name: str) -> bool:
        """Whether the column itself tells people apart (and not by way of another table)."""
        link = scan.table.link
        if link is None or link.column.lower() != name.lower() or not self.dataset.unit:
            return False
        return not link.table or f"{link.table}.{link.key}".lower() == self.dataset.unit.lower()

    def _name(self, node: exp.Expr, place: int) -> str:
        name = str(node.alias if isinstance(node, exp.Alias) else node.name if isinstance(node, exp.Column) else "")
        if name.lower().startswith("_hb_"):
            raise self._refused(UnknownName, node, "names that begin with _hb_ are ours.", fix="Choose another alias.")
        return name or f"column_{place + 1}"

    def _alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases - 1}"

    def _condition(self, node: exp.Expr | None, scalars: Scalars) -> Expr | None:
        if node is None:
            return None
        value = scalars.build(node.this if isinstance(node, exp.Where | exp.Having) else node)
        if value.kind is not Kind.BOOLEAN:
            raise self._refused(WrongType, node, "a condition is needed here.")
        return value

    def _whole(self, node: exp.Expr | None) -> int | None:
        if node is None:
            return None
        given = node.expression
        if (number := number_in(given)) is not None:
            return number
        raise self._refused(WrongType, node, "LIMIT and OFFSET take a whole number.")

    def _unknown(self, node: exp.Expr, name: str, known: Iterable[str], *, what: str = "column") -> QueryError:
        near = difflib.get_close_matches(name, list(known), n=1)
        fix = f"Did you mean {near[0]!r}?" if near else f"Known here: {', '.join(sorted(set(known)))[:300]}."
        return self._refused(UnknownName, node, f"there is no {what} {name[:60]!r}.", "It was not declared.", fix)

    def _mixed(
        self,
        node: exp.Expr | None,
        what: str,
        fix: str = "Join and group by the declared person, and aggregate over people outside.",
    ) -> QueryError:
        why = "Until noise is added, a row may depend on one person's data alone."
        return self._refused(MixesPeople, node, what, why, fix)

    def _refused(
        self,
        error: type[QueryError],
        node: exp.Expr | None,
        what: str,
        why: str = "The meaning of every part must be clear before data is read.",
        fix: str = "docs/sql-coverage.md lists what can be asked.",
    ) -> QueryError:
        return self.text.refusal(error, node, what, why=why, fix=fix)


def bare(node: exp.Expr) -> exp.Expr:
    """The node without its alias."""
    return node.this if isinstance(node, exp.Alias) else node
