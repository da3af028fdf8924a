"""Who a person is: one function for every table, plan, link and prepared copy.

Columns that hold the same ids may have different types: whole numbers in one file, doubles in another because a value
is missing there. From the types alone one *form* is chosen, which every one of them can be read as, and ids are
compared in it. A value that is none in that form is nobody's. Where one type is coarser than the others (a double does
not tell all 64-bit integers apart), all are read as coarsely: ids that it cannot tell apart are one person in every
table, so that nobody is two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hubbub.relations.native_types import form_of, shown_type, type_of
from hubbub.schema import Column, Dataset, Kind, Table
from hubbub.terms import SourceUnavailable


@dataclass(frozen=True, slots=True)
class TableOwner:
    """How a row's person is found: the column that holds it, or one that points at the key of a parent's row.

    A row whose link leads to several people is the first one's: every row then has one owner, whom it leaves with.
    """

    column: Column
    form: str
    parent: ParentTable | None = None

    @property
    def kind(self) -> Kind:
        """The kind of the person's id."""
        return self.column.kind if self.parent is None else self.parent.owner.kind


@dataclass(frozen=True, slots=True)
class ParentTable:
    """The table that a link leads to, with its key and its own owner."""

    name: str
    key: Column
    owner: TableOwner


def owner_of(table: Table, dataset: Dataset) -> TableOwner | None:
    """Whose a table's rows are; None for a public table, and where every row is protected by itself."""
    if table.public or not dataset.unit:
        return None
    return _linked_owner(table, dataset)


def _linked_owner(table: Table, dataset: Dataset) -> TableOwner:
    link = table.link
    assert link is not None
    column = column_named(table, link.column)
    if is_direct(table, dataset):
        return TableOwner(column, person_form(dataset))
    parent = dataset.table(link.table)
    assert parent is not None
    key = column_named(parent, link.key)
    form = link_form((table, column), (parent, key))
    return TableOwner(column, form, ParentTable(parent.name, key, _linked_owner(parent, dataset)))


def person_form(dataset: Dataset) -> str:
    """The form of the ids of people in a dataset."""
    return _common_form(list(_person_columns(dataset)))


def link_form(child: tuple[Table, Column], parent: tuple[Table, Column]) -> str:
    """The form in which a column is compared with the key that it points at."""
    return _common_form([child, parent])


def check_ids(dataset: Dataset) -> None:
    """Refuse ids that would never meet, from their types alone; columns of numbers meet as numbers."""
    if not dataset.unit:
        return
    person_form(dataset)
    for table in dataset.tables:
        link = table.link
        parent = None if link is None else dataset.table(link.table)
        if link is not None and parent is not None:
            link_form((table, column_named(table, link.column)), (parent, column_named(parent, link.key)))


def is_direct(table: Table, dataset: Dataset) -> bool:
    """Whether a table's link holds the person itself."""
    link = table.link
    return link is not None and (not link.table or f"{link.table}.{link.key}".lower() == dataset.unit.lower())


def column_named(table: Table, name: str) -> Column:
    """A column that a link or a key names."""
    column = table.column(name)
    assert column is not None, f"{table.name}.{name} was checked when it was declared"
    return column


def _person_columns(dataset: Dataset) -> Iterator[tuple[Table, Column]]:
    """The columns that hold a person."""
    for table in dataset.tables:
        if table.link is not None and is_direct(table, dataset):
            yield table, column_named(table, table.link.column)


def _common_form(columns: Sequence[tuple[Table, Column]]) -> str:
    types = [type_of(column) for _, column in columns]
    form = form_of(types)
    if form is not None:
        return form
    shown = {
        native: f"{table.name}.{column.name} is {shown_type(native)}"
        for (table, column), native in zip(columns, types, strict=True)
    }
    raise SourceUnavailable(
        f"ids of different kinds cannot be told to be the same: {', '.join(shown.values())}.",
        why="Rows belong together by equal ids. Numbers of all types are compared as numbers, text with text, and "
        "other types with themselves alone; a mixture would join nothing, in silence.",
        fix="Store the ids with one type in all tables, or declare one for those that come as text.",
    )
