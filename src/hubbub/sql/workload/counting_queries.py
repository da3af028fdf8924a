"""Questions that only count rows of one table: by which columns, under which conditions on single columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from hubbub.relations import Expr
from hubbub.schema import Dataset
from hubbub.sql.compiler.compile import read_question
from hubbub.sql.compiler.question import Question, Scan, UnionOfQuestions
from hubbub.terms import NotAllowed

_COMPARED = ("eq", "ne", "lt", "le", "gt", "ge", "in")
_JOINED = ("and", "or", "not", "isnull")


@dataclass(frozen=True, slots=True)
class CountingQuery:
    """One question of a workload: ``keys`` are columns, and each condition is about one column."""

    text: str
    question: Question
    keys: tuple[Expr, ...]
    conditions: tuple[Expr, ...]

    @property
    def table(self) -> str:
        """The name of the table that it counts in."""
        [item] = self.question.source
        assert isinstance(item.rows, Scan)
        return item.rows.table.name

    def columns(self) -> Iterator[Expr]:
        """The columns that it groups by, and those of its conditions."""
        yield from self.keys
        for condition in self.conditions:
            yield column_of(condition)


def counting(text: str, dataset: Dataset) -> CountingQuery:
    """The question in a text, if it only counts rows of one private table."""
    told = read_question(text, dataset)
    if isinstance(told, UnionOfQuestions):
        _refuse("UNION ALL", "Give each question of the workload as a text of its own.")
    _check(told)
    for key in told.keys:
        if key.value.op != "column":
            _refuse(f"the key {key.name!r}", "Group by columns as they are.")
    conditions = tuple(_conjuncts(told.where)) if told.where is not None else ()
    for condition in conditions:
        column_of(condition)
    return CountingQuery(text, told, tuple(key.value for key in told.keys), conditions)


def column_of(condition: Expr) -> Expr:
    """The one column that a condition is about."""
    found = {part.param[1]: part for part in _parts(condition) if part.op == "column"}
    if len(found) != 1:
        _refuse("a condition on several columns or on none", "Join conditions on single columns by AND.")
    return next(iter(found.values()))


def constants(condition: Expr) -> list[object]:
    """The public values that a condition compares with."""
    return [constant(part) for part in _parts(condition) if part.op in ("literal", "neg")]


def constant(value: Expr) -> object:
    """The value of a literal, or of one with a minus."""
    if value.op == "neg":
        inner = value.args[0].param
        return None if inner is None else -inner
    return value.param


def _conjuncts(value: Expr) -> Iterator[Expr]:
    if value.op == "and" and len({part.param[1] for part in _parts(value) if part.op == "column"}) != 1:
        for part in value.args:
            yield from _conjuncts(part)
    else:
        yield value


def _parts(value: Expr) -> Iterator[Expr]:
    """The columns and constants of a condition; anything but comparisons of these is refused."""
    plain = value.op == "neg" and value.args[0].op == "literal"
    if value.op in ("column", "literal") or plain:
        yield value
        return
    if value.op not in (*_COMPARED, *_JOINED):
        _refuse(f"{value.op.upper()} in a condition", "Compare columns with values by =, IN, BETWEEN, <, <=, > and >=.")
    for part in value.args:
        yield from _parts(part)


def _check(question: Question) -> None:
    if len(question.source) != 1 or not isinstance(question.source[0].rows, Scan):
        _refuse("a join or a subquery", "Count in one declared table.")
    if not question.source[0].rows.private:
        _refuse("a public table", "Count in the table about people; a public one can be read as it is.")
    if question.having is not None or question.order or question.limit is not None or question.offset:
        _refuse("HAVING, ORDER BY and LIMIT", "Filter and sort the releases that come back.")
    if question.levels:
        _refuse("ROLLUP, CUBE and GROUPING SETS", "Ask for each level as a question of its own.")
    counts = [output for output in question.outputs if output.value.op != "key"]
    if len(counts) != 1 or not _counts_rows(counts[0].value):
        _refuse("anything but one COUNT(*) beside the keys", "Ask for sums, averages and people by sql(...).")


def _counts_rows(value: Expr) -> bool:
    if value.op != "aggregate" or value.param.function != "count" or value.param.distinct:
        return False
    return all(part.op == "literal" and part.param is not None for part in value.args)


def _refuse(what: str, fix: str) -> NoReturn:
    raise NotAllowed(
        f"{what} cannot be part of a workload.",
        why="A workload is counts of rows of one table, by columns and under conditions on single columns.",
        fix=fix,
    )
