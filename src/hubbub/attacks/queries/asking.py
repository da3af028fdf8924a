"""Ask any object that has ``.sql(text)``, and read one number out of whatever it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from math import isfinite
from numbers import Real
from typing import Any, Protocol

from hubbub.terms import Unsuitable

_READERS = ("fetchall", "scalar", "item", "to_pydict", "to_numpy")  # databases, ours, numpy and polars, Arrow, pandas


class SqlInterface(Protocol):
    """Whatever answers questions: a DuckDB connection, ``hubbub.connect(...)``, a class of one's own."""

    @property
    def sql(self) -> Callable[..., object]:
        """Answers a text; options such as ``epsilon=0.1`` may go along."""
        ...


def ask(interface: SqlInterface, text: str, **asking: object) -> float:
    """The one number that the interface answers; ``asking`` (such as ``epsilon=0.1``) goes along with the question."""
    return read_scalar(ask_interface(interface, text, **asking))


def ask_interface(interface: SqlInterface, text: str, **asking: object) -> Any:
    """Whatever the interface answers."""
    sql: Any = getattr(interface, "sql", None)
    if not callable(sql):
        raise Unsuitable(
            "the interface has no sql().",
            why="Questions are asked as interface.sql(text).",
            fix="Give a connection, or the answers themselves where the attack takes a list.",
        )
    return sql(text, **asking)


def read_scalar(answer: object) -> float:
    """The number in a number, a release, a row, or a table of one cell.

    >>> read_scalar(3), read_scalar([(4,)]), read_scalar({"n": [5]})
    (3.0, 4.0, 5.0)
    """
    if isinstance(answer, Real):
        return _finite_number(answer)
    if isinstance(answer, Mapping):
        return read_scalar(list(answer.values()))
    if isinstance(answer, list | tuple) and len(answer) == 1:
        return read_scalar(answer[0])
    return read_scalar(_read_answer(answer))


def _finite_number(answer: Real) -> float:
    with suppress(OverflowError):
        if isfinite(number := float(answer)):
            return number
    raise Unsuitable(
        "an answer is NaN, infinite, or too large.",
        why="Answers are subtracted, and nothing follows from such a one.",
        fix="Leave that question out.",
    )


def _read_answer(answer: Any) -> Any:
    readers = [read for name in _READERS if callable(read := getattr(answer, name, None))]
    try:
        content = readers[0]() if readers else None
    except ValueError:  # several cells where one is wanted
        content = None
    if content is None:
        raise Unsuitable(
            f"an answer of type {type(answer).__name__} is not one number.",
            why="Each question of this attack asks for one count.",
            fix="Use an interface that answers SELECT COUNT(*) with a number or a table of one cell.",
        )
    return content
