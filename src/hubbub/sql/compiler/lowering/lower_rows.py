"""FROM, joins and subqueries -> relation nodes: everything below a question, inside one person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hubbub.relations import Expr, owner_of
from hubbub.relations.nodes import (
    PERSON,
    Alias,
    Cap,
    FanOut,
    Filter,
    JoinKind,
    JoinRows,
    NamedValue,
    PersonAggregate,
    Project,
    Relation,
    TableScan,
    Window,
    WindowSpec,
    as_kind,
    equal_values,
    is_known,
)
from hubbub.schema import Dataset
from hubbub.sql.compiler import question
from hubbub.sql.compiler.person_links import beyond_person, by_key
from hubbub.sql.compiler.question import Item, SemiJoin, Subquery, Windowed, person

_ITEM_KEY = "0"  # which rows of a join take part is no answer, and the same in every statement of a question
_TIED = ("row_number", "lag", "lead", "first_value")  # windows whose value depends on the order of equal rows


@dataclass(frozen=True, slots=True)
class RowsLowering:
    """Lowers items and expressions of one dataset."""

    dataset: Dataset

    # ------------------------------------------------------------ FROM

    def items(self, items: tuple[Item, ...], values: Iterable[Expr | None], stored: tuple[str, ...] = ()) -> Relation:
        """The joined items; ``values`` are the expressions that use them, ``stored`` columns of a prepared copy."""
        used = set(_columns([*values, *(item.on for item in items)]))
        joined: Relation | None = None
        for item in items:
            names = sorted(name for alias, name in used if alias == item.alias)
            body = self._body(item, names, stored if item is items[0] else (), joined=len(items) > 1)
            each = Alias(body, item.alias)
            joined = each if joined is None else self._join(joined, each, item, items)
        assert joined is not None, "a question reads a table"
        return joined

    def _join(self, left: Relation, right: Relation, item: Item, items: tuple[Item, ...]) -> JoinRows:
        on = tuple(self.value(part) for part in beyond_person(item.on, item.alias, person(items)))
        kind = JoinKind.LEFT if item.how == "left" else JoinKind.INNER
        return JoinRows(left, right, on, _fan_out(left, item, items), kind, _public_rows(item))

    def _body(self, item: Item, names: Sequence[str], stored: tuple[str, ...], *, joined: bool) -> Relation:
        """An item's rows: where they multiply, so many of each person; of a key that rows share by mistake, one row.

        Ranks go by every column of the table, not by those that are used: two readings must keep the same rows.
        """
        capped = item.at_most is not None or bool(item.unique_by)
        if isinstance(item.rows, Subquery):
            body, names = self.subquery(item.rows), [field.name for field in item.rows.fields]
        else:
            read = [column.name for column in item.rows.table.columns] if capped else names
            body = self._scan(item.rows, tuple(read), stored, joined=joined)
        if not capped:
            return body
        return Cap(
            body,
            most=1 if item.at_most is None else item.at_most,
            content=tuple(column.name for column in body.columns if column.name != PERSON),
            secret=_ITEM_KEY,
            keys=() if item.at_most is not None else (item.unique_by,),
            each_key=item.at_most is None,
            inline=isinstance(item.rows, question.Scan),
            outputs=tuple(names),
        )

    def _scan(self, scan: question.Scan, names: tuple[str, ...], stored: tuple[str, ...], *, joined: bool) -> TableScan:
        table = self.dataset.table(scan.table.name) or scan.table
        unique = table.public and joined and bool(table.key)
        return TableScan(table, names, owner_of(table, self.dataset), stored, unique)

    # ------------------------------------------------------------ subqueries

    def subquery(self, rows: Subquery) -> Relation:
        """A subquery inside one person."""
        used = [*(field.value for field in rows.fields), rows.where, rows.having, *(rows.keys or ())]
        source = self.items(rows.source, used)
        own = {item.alias for item in rows.source}
        ties = tuple(sorted(place for place in set(_columns(used)) if place[0] in own))
        conditions = [self.value(rows.where)] if rows.where is not None else []
        conditions += [is_known(source.person.reference)] if source.person is not None else []
        kept = Filter(source, tuple(conditions)) if conditions else source
        outputs = tuple(NamedValue(field.name, as_kind(self.value(field.value, kept, ties))) for field in rows.fields)
        if rows.keys is not None:
            keys = tuple(self.value(key) for key in rows.keys)
            having = None if rows.having is None else self.value(rows.having)
            return PersonAggregate(kept, keys, outputs, having)
        windows = any(_has(field.value, "window") for field in rows.fields)
        return (Window if windows else Project)(kept, outputs, rows.distinct)

    # ------------------------------------------------------------ expressions

    def value(self, value: Expr, over: Relation | None = None, ties: Sequence[tuple[str, str]] = ()) -> Expr:
        """The expression with relations for its subqueries; windows run over one person's rows, and break ties."""
        if value.op == "exists":
            return replace(value, param=self._looked_up(value.param))
        if not _has(value, "exists") and not _has(value, "window"):
            return value
        args = tuple(self.value(arg, over, ties) for arg in value.args)
        if value.op == "window":
            assert over is not None and over.person is not None, "a window stands in a subquery about people"
            return _over(replace(value, args=args), over.person.reference, ties)
        return replace(value, args=args)

    def _looked_up(self, inside: SemiJoin) -> Relation:
        """The rows that an EXISTS looks for, of the same person or public."""
        whom = person(inside.source)
        source = self.items(inside.source, [inside.where])
        conditions = [self.value(part) for part in beyond_person(inside.where, whom, inside.outer)]
        if inside.outer:
            assert source.person is not None
            outer = replace(source.person, alias=inside.outer)
            conditions.append(equal_values(source.person.reference, outer.reference))
        return Filter(source, tuple(conditions)) if conditions else source


def _over(value: Expr, whom: Expr, ties: Sequence[tuple[str, str]]) -> Expr:
    spec: Windowed = value.param
    own, order = spec.arguments, len(spec.descending)
    partition = value.args[own : len(value.args) - order]
    breaking = [Expr("column", param=place) for place in ties] if spec.function in _TIED or spec.is_positional else []
    args = (*value.args[:own], whom, *partition, *value.args[len(value.args) - order :], *breaking)
    param = WindowSpec(spec.function, own, 1 + len(partition), spec.descending, spec.nulls_first, spec.frame)
    return Expr("over", args, param, value.facts)


def _fan_out(left: Relation, item: Item, items: tuple[Item, ...]) -> FanOut:
    """How many rows the join with an item can make; ``fan_out.py`` has decided what of the item takes part."""
    if item.rows.private and left.person is not None:
        if item.at_most is not None:
            return FanOut.PRODUCT
        return FanOut.TO_ONE if item.unique_by else FanOut.TO_MANY
    if item.rows.private:  # public tables came before it
        return FanOut.TO_ONE
    keyed = item.on is not None and by_key(item.on, item)
    return FanOut.TO_ONE if keyed else FanOut.PUBLIC


def _public_rows(item: Item) -> int:
    rows = item.rows.table.rows if isinstance(item.rows, question.Scan) else None
    return rows or 1


def _has(value: Expr, op: str) -> bool:
    return value.op == op or any(_has(arg, op) for arg in value.args)


def _columns(values: Iterable[Expr | None]) -> Iterator[tuple[str, str]]:
    """Every column that the expressions use, as (alias, name)."""
    for value in values:
        if value is None:
            continue
        if value.op == "column":
            yield value.param
        elif value.op == "exists":
            yield from _columns([value.param.where, *(item.on for item in value.param.source)])
        yield from _columns(value.args)
