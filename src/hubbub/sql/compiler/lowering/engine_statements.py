"""Texts for the engine; where keys are chosen, later ones know them by numbers, so that no row's value is written out.

The statement that keys are chosen from numbers each one, by a hash of its own content and the secret. Later statements
keep the rows whose key has one of the numbers, before anything is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hubbub.relations import Dialect, Expr, print_relation, print_shared
from hubbub.relations.nodes import (
    Alias,
    FanOut,
    JoinKind,
    JoinRows,
    NamedValue,
    Project,
    Relation,
    SharedRelation,
    Values,
    With,
    equal_values,
    keyed_hash,
)

_NOBODYS = 0  # the number in what is only tried or shown, and where no key was chosen
_ROW = f"({_NOBODYS})"
_CHOSEN = SharedRelation("_hb_chosen", Values(("h",), ((_NOBODYS,),)))


@dataclass(frozen=True, slots=True)
class EngineStatement:
    """A text for the engine: its first ``keys`` columns are keys, the others integers.

    ``head`` is how the text begins, where it reads chosen keys alone.
    """

    sql: str
    keys: int
    integers: int
    head: str = ""

    def of_keys(self, numbers: Iterable[int]) -> str:
        """The text that reads the keys of these numbers; what reads all keys stays as it is."""
        rows = ", ".join(f"({int(number)})" for number in sorted(numbers)) or _ROW
        return self.head.replace(_ROW, rows) + self.sql.removeprefix(self.head)


def number_keys(counted: Relation, keys: tuple[str, ...], integers: Sequence[str], secret: str) -> Relation:
    """Keys and integers, and after them the number of each key."""
    each = Alias(counted, "counted")
    named = [NamedValue(name, each.column(name)) for name in (*keys, *integers)]
    number = NamedValue("h", keyed_hash([each.column(key) for key in keys], secret))
    return Project(each, (*named, number))


def keep_chosen(rows: Relation, keys: Sequence[Expr], secret: str) -> Relation:
    """The rows of chosen keys; ``keys`` are those of a row."""
    chosen = equal_values(keyed_hash(keys, secret), _CHOSEN.column("h"))
    return JoinRows(rows, _CHOSEN, (chosen,), FanOut.TO_ONE, JoinKind.SEMI)


def with_chosen(read: Relation) -> Relation:
    """What is read of chosen keys, after the list of their numbers."""
    each = Alias(read, "measured")
    return With((_CHOSEN,), Project(each, tuple(NamedValue(one.name, one.reference) for one in each.columns)))


def print_statement(read: Relation, dialect: Dialect, *, keys: int, integers: int) -> EngineStatement:
    """The text of a relation, and how it begins if it reads chosen keys alone."""
    sql, head = print_relation(read, dialect), ""
    if isinstance(read, With) and read.shared == (_CHOSEN,):
        head = print_shared(read, dialect)
        assert sql.startswith(head) and head.count(_ROW) == 1, "the numbers stand at the front, once"
    return EngineStatement(sql, keys, integers, head)
