"""Whose rows are whose: the links between tables about people, and how many rows of one person a join can have."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from fractions import Fraction

from sqlglot import exp

from hubbub.relations import INTEGER, Expr, ValueFacts
from hubbub.schema import Dataset, Kind
from hubbub.sql.compiler.question import Item, Scan
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.terms import MixesPeople, QueryError

_EXACT = 2**53  # below it doubles hold every whole number


def refuse_mixed(
    text: QueryText,
    node: exp.Expr | None,
    what: str,
    fix: str = "Join and group by the declared person, and aggregate over people outside.",
) -> QueryError:
    """The refusal of rows that would depend on several people."""
    why = "Until noise is added, a row may depend on one person's data alone."
    return text.refusal(MixesPeople, node, what, why, fix)


class JoinFanOut(Enum):
    """How a newly joined item hangs on the person's rows that are there already."""

    TO_ONE = "to one"  # by the new item's key: no row becomes several
    TO_MANY = "to many"  # the new item's rows point at a row that is there: as many as it has
    SAME_PERSON = "same person"  # all against all


def link_between(on: Expr | None, before: tuple[Item, ...], item: Item, dataset: Dataset) -> JoinFanOut | None:
    """How the condition ties the item to the same person's rows; None if it does not.

    A condition ties two private tables if it equates the two units, or a declared link with the key it points at.
    (The printed join compares the persons as well, so a key that several people share by mistake joins nobody's rows
    to another's.)
    """
    aliases = {other.alias for other in before if other.rows.private}
    links = [
        link
        for part in equalities(on)
        for new, old in (part, part[::-1])
        if new.param[0] == item.alias and old.param[0] in aliases
        for link in [link_of(new, old, dataset)]
        if link is not None
    ]
    order = (JoinFanOut.TO_ONE, JoinFanOut.TO_MANY, JoinFanOut.SAME_PERSON)
    return min(links, key=order.index, default=None)


def link_of(new: Expr, old: Expr, dataset: Dataset) -> JoinFanOut | None:
    """How two columns that are equal tie a new item to one that is there."""
    if new.facts.origin is None or old.facts.origin is None:
        return JoinFanOut.SAME_PERSON if new.facts.unit and old.facts.unit else None
    if _points_at(old.facts.origin, new.facts.origin, dataset):
        return JoinFanOut.TO_ONE
    if _points_at(new.facts.origin, old.facts.origin, dataset):
        return JoinFanOut.TO_MANY
    if new.facts.unit and old.facts.unit:
        is_one = _is_key(new, dataset)
        return JoinFanOut.TO_ONE if is_one else JoinFanOut.TO_MANY if _is_key(old, dataset) else JoinFanOut.SAME_PERSON
    return _same_parent(new, old, dataset)


def _same_parent(new: Expr, old: Expr, dataset: Dataset) -> JoinFanOut | None:
    """Rows that point at one row of a person, such as two items of one order, or are one row themselves."""
    one, other = _parent_of(new, dataset), _parent_of(old, dataset)
    if one is None or one != other or not dataset.unit:  # where every row is a unit, rows have no person in common
        return None
    return JoinFanOut.TO_ONE if _is_key(new, dataset) else JoinFanOut.SAME_PERSON


def _parent_of(column: Expr, dataset: Dataset) -> tuple[str, str] | None:
    """The private table and key that a column's values stand for: its declared link's, or its own."""
    assert column.facts.origin is not None
    table = dataset.table(column.facts.origin[0])
    if table is None or table.public:
        return None
    name = column.facts.origin[1].lower()
    if table.key and table.key.lower() == name:
        return table.name.lower(), name
    link = table.link
    if link is None or not link.table or link.column.lower() != name:
        return None
    return link.table.lower(), link.key.lower()


def _is_key(column: Expr, dataset: Dataset) -> bool:
    assert column.facts.origin is not None
    table = dataset.table(column.facts.origin[0])
    return table is not None and bool(table.key) and table.key.lower() == column.facts.origin[1].lower()


def _points_at(child: tuple[str, str], parent: tuple[str, str], dataset: Dataset) -> bool:
    """Whether the child's column is its declared link to the parent's column."""
    table = dataset.table(child[0])
    if table is None or table.link is None or not table.link.table:
        return False
    link = table.link
    return (link.column.lower(), link.table.lower(), link.key.lower()) == (
        child[1].lower(),
        parent[0].lower(),
        parent[1].lower(),
    )


def equalities(on: Expr | None) -> list[tuple[Expr, Expr]]:
    """The pairs of columns that a condition equates."""
    if on is None:
        return []
    if on.op == "and":
        return [pair for arg in on.args for pair in equalities(arg)]
    if on.op == "eq" and all(arg.op == "column" for arg in on.args):
        return [(on.args[0], on.args[1])]
    return []


def cap_after(link: JoinFanOut, before: int | None, new: int | None) -> int | None:
    """How many rows of one person the join has, if the declared numbers are true; None if unknown."""
    if link is JoinFanOut.TO_ONE:
        return before
    if link is JoinFanOut.TO_MANY:
        return new
    return None if before is None or new is None else before * new


def aggregate_facts(aggregate: Expr, cap: int | None) -> ValueFacts:
    """What is known of an exact aggregate of one person's rows, of which at most ``cap`` are expected.

    Counts and sums are clamped to these bounds where they are printed, so they hold whatever the rows are.
    """
    function = aggregate.param.function
    if function == "count":
        top = None if cap is None else Fraction(cap)
        values = tuple(range(cap + 1)) if cap is not None and cap <= 10_000 else None
        return ValueFacts(
            kind=Kind.INTEGER, lower=Fraction(0), upper=top, step=Fraction(1), values=values, number=INTEGER
        )
    inner = aggregate.args[0].facts
    if function == "sum":
        if cap is None or not inner.bounded:
            return ValueFacts(kind=inner.kind, step=inner.step, number=inner.number)
        assert inner.lower is not None and inner.upper is not None
        lower, upper = min(Fraction(0), cap * inner.lower), max(Fraction(0), cap * inner.upper)
        return ValueFacts(kind=inner.kind, lower=lower, upper=upper, step=inner.step, number=inner.number)
    if function == "avg":
        return ValueFacts(kind=Kind.NUMBER, lower=inner.lower, upper=inner.upper)
    return replace(inner, max_per_unit=None, max_rows_per_unit=None, origin=None, unit=False, image=None)


def by_key(on: Expr, item: Item) -> bool:
    """Whether the condition fixes the item's declared key by something else, so that one row matches at most."""
    if not isinstance(item.rows, Scan) or not item.rows.table.key:
        return False
    key = item.rows.table.key.lower()
    for part in conjuncts(on):
        for mine, other in (part.args, part.args[::-1]) if part.op == "eq" else ():
            is_key = mine.op == "column" and (mine.param[0], mine.param[1].lower()) == (item.alias, key)
            if is_key and other.kind is mine.kind and item.alias not in aliases(other) and _equals_one(other):
                return True
    return False


def _equals_one(value: Expr) -> bool:
    """Whether a value equals at most one key of its kind.

    A subquery may ask about the key itself. Arithmetic is in doubles, and many large whole numbers are one double.
    """
    if has_exists(value):
        return False
    if value.kind is not Kind.INTEGER or value.op in ("column", "literal", "cast"):
        return True
    if value.op == "coalesce":
        return all(_equals_one(arg) for arg in value.args)
    lower, upper = value.facts.lower, value.facts.upper
    return lower is not None and upper is not None and -_EXACT < lower <= upper < _EXACT


def aliases(value: Expr) -> set[str]:
    """The items that an expression speaks of; not those that its subqueries do."""
    own = {value.param[0]} if value.op == "column" else set()
    return own.union(*(aliases(arg) for arg in value.args))


def has_exists(value: Expr) -> bool:
    """Whether an expression looks rows up."""
    return value.op == "exists" or any(has_exists(arg) for arg in value.args)


def conjuncts(condition: Expr | None) -> list[Expr]:
    """The parts of a condition that must all hold."""
    if condition is None:
        return []
    if condition.op == "and":
        return [part for arg in condition.args for part in conjuncts(arg)]
    return [condition]


def beyond_person(condition: Expr | None, one: str, other: str) -> list[Expr]:
    """What a condition asks besides that two items are about the same person, which is compared by itself.

    As plain values ids need not be equal: one column may hold a number that another's type rounds.
    """
    return [part for part in conjuncts(condition) if not is_same_person(part, one, other)]


def is_same_person(part: Expr, one: str, other: str) -> bool:
    """Whether a part of a condition asks that two items are about the same person, and nothing else."""
    units = part.op == "eq" and all(arg.op == "column" and arg.facts.unit for arg in part.args)
    return units and {arg.param[0] for arg in part.args} == {one, other}
