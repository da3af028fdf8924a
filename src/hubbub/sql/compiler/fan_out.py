"""How many rows of one person a join can have: by declared keys no more than there are, else the product of caps.

A join of a person's rows with each other grows with a power of their number. So what a join by a key relies on, that
the key is unique, is made so where the table is read; and where rows multiply, each table gives at most its declared
number of rows of one person. The product is then a public number, and has a limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from hubbub.relations import Expr, limits
from hubbub.schema import Dataset
from hubbub.sql.compiler.person_links import JoinFanOut, aliases, by_key, conjuncts, equalities, has_exists, link_of
from hubbub.sql.compiler.question import Item, Scan, SemiJoin, Subquery
from hubbub.terms import OverLimit


def bound_items(items: tuple[Item, ...], dataset: Dataset) -> tuple[Item, ...]:
    """The items of a FROM, each with what of it may take part, so that a public number bounds one person's rows."""
    if not dataset.unit or len(items) == 1:
        return items
    join = _Join(items, dataset)
    for place, item in enumerate(items):
        if not item.rows.private:
            join.add_public(place, item)
        elif place != join.first:
            join.add_private(item)
    return join.bounded()


def bound_semi_join(inside: SemiJoin, dataset: Dataset) -> SemiJoin:
    """An EXISTS: its rows are looked up by what they equal, or each outer row meets at most the declared number."""
    own = {item.alias for item in inside.source}
    if all(_is_looked_up(part, own) for part in conjuncts(inside.where)):
        return inside
    items = [_cap_item(item) if item.rows.private else item for item in inside.source]
    public = [_public_rows(item) for item in items if not item.rows.private]
    _check_product(math.prod([*(item.at_most or 1 for item in items), *public]))
    return replace(inside, source=tuple(items))


def join_notes(items: Iterable[Item]) -> list[str]:
    """What previews say about the limits of joins."""
    lines = []
    for item in items:
        if item.at_most is not None:
            rows = "1 row" if item.at_most == 1 else f"{item.at_most:,} rows"
            lines.append(
                f"At most {rows} of one person from {_item_name(item)} take{'s' * (item.at_most == 1)} part in a join."
            )
        if isinstance(item.rows, Subquery):
            lines += join_notes(item.rows.source)
    return lines


class _Join:
    """A FROM as it is put together: whose rows are in it once at most, and by what they are multiplied."""

    def __init__(self, items: tuple[Item, ...], dataset: Dataset) -> None:
        self.items, self.dataset = items, dataset
        self.first = next((place for place, item in enumerate(items) if item.rows.private), 0)
        self.once = {items[self.first].alias}
        self.unique: dict[str, str] = {}  # alias: the column whose values are told once
        self.factors: list[Item] = []  # items each of whose rows meets all others
        self.public = 1

    def add_public(self, place: int, item: Item) -> None:
        keyed = item.on is not None and by_key(item.on, item)
        if place < self.first:
            later = self.items[self.first].on
            keyed = keyed or (later is not None and by_key(later, item))
        if not keyed:
            self.public *= _public_rows(item)

    def add_private(self, item: Item) -> None:
        links = self._links(item)
        for link, new, old in links:
            if link is JoinFanOut.TO_ONE and isinstance(item.rows, Scan) and self._make_unique(item.alias, new):
                return
            parent = self._item(old)
            if (
                link is JoinFanOut.TO_MANY
                and isinstance(parent.rows, Scan)
                and parent.alias in self.once
                and self._make_unique(parent.alias, old)
            ):
                self.once = {item.alias}
                return
        self.once = set()
        self.factors.append(item)

    def _links(self, item: Item) -> list[tuple[JoinFanOut, Expr, Expr]]:
        known = {other.alias for other in self.items if other.rows.private and other is not item}
        return [
            (link, new, old)
            for pair in equalities(item.on)
            for new, old in (pair, pair[::-1])
            if new.param[0] == item.alias and old.param[0] in known
            for link in [link_of(new, old, self.dataset)]
            if link is not None
        ]

    def _item(self, column: Expr) -> Item:
        return next(item for item in self.items if item.alias == column.param[0])

    def _make_unique(self, alias: str, column: Expr) -> bool:
        name = str(column.param[1])
        return self.unique.setdefault(alias, name).lower() == name.lower()

    def bounded(self) -> tuple[Item, ...]:
        items = [replace(item, unique_by=self.unique.get(item.alias, "")) for item in self.items]
        if not self.factors and self.public == 1:
            return tuple(items)
        if self.factors:
            items = [_cap_item(item) if item.rows.private and not item.unique_by else item for item in items]
        _check_product(math.prod(item.at_most or 1 for item in items) * self.public)
        return tuple(items)


def _cap_item(item: Item) -> Item:
    if item.rows.cap is None:
        raise OverLimit(
            f"how many rows one person has in {_item_name(item)} was not declared, and each of them would meet others "
            "here.",
            why="The rows of one person could then make more work than everybody else's.",
            fix="Declare max_rows_per_unit for the table, or join by its declared key.",
        )
    return replace(item, at_most=item.rows.cap)


def _check_product(rows: int) -> None:
    if rows > limits.ROWS:
        raise OverLimit(
            f"this join can have {rows:,} rows of one person, and {limits.ROWS:,} are the most.",
            why="The rows of one person could make more work than everybody else's.",
            fix="Join fewer tables, join by declared keys, or aggregate per person in a subquery first.",
        )


def _public_rows(item: Item) -> int:
    rows = item.rows.table.rows if isinstance(item.rows, Scan) else None
    if rows is None:
        raise OverLimit(
            f"how many rows {_item_name(item)} has was not declared, and each row of a person would meet all of them "
            "here.",
            why="A row of one person could then make more work than everybody else's.",
            fix="Join by its declared key, or declare its number of rows: rows = 1000.",
        )
    return rows


def _is_looked_up(part: Expr, own: set[str]) -> bool:
    """A condition on the inner rows alone, or an equation between them and the outer row: found by a hash."""
    if has_exists(part):
        return False
    if not aliases(part) - own:
        return True
    sides = [aliases(arg) for arg in part.args]
    return part.op == "eq" and all(not side & own or not side - own for side in sides)


def _item_name(item: Item) -> str:
    return repr(item.rows.table.name) if isinstance(item.rows, Scan) else "a subquery"
