"""A log of questions as sets of conditions: what each counted or added up, of whom, and what came out."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import sqlglot
from numpy.typing import NDArray
from sqlglot import exp
from sqlglot.optimizer.simplify import simplify

from hubbub.attacks.queries.asking import read_scalar
from hubbub.terms import Unsuitable

if TYPE_CHECKING:
    import pyarrow

Question: TypeAlias = "str | Iterable[str]"
Log: TypeAlias = "Sequence[tuple[Question, object]]"


@dataclass(frozen=True, slots=True)
class Query:
    """COUNT, SUM or AVG of an expression over the rows of a table that meet all conditions, and its answer.

    Conditions are written in one way (``NOT a = 1`` is ``a <> 1``), so that equal ones are equal texts.
    ``answers`` says which entries of the log make it up.
    """

    aggregate: str
    of: str
    table: str
    conditions: frozenset[str]
    answer: float
    answers: tuple[int, ...]

    @property
    def what(self) -> tuple[str, str, str]:
        """What is counted or added up, whatever the conditions."""
        return self.aggregate, self.of, self.table

    def describe(self) -> str:
        """The query for people."""
        return f"{self.aggregate}({self.of}) where {conjunction(self.conditions)}"


def read_log(log: Log) -> tuple[tuple[Query, ...], int]:
    """The queries of a log, and how many entries were left out: grouped, nested, or without one of the aggregates."""
    queries = []
    for place, entry in enumerate(log if isinstance(log, Iterable) else [log]):
        try:
            question, answer = entry
        except (TypeError, ValueError):
            raise Unsuitable(
                f"entry {place} of the log is not a question with its answer.",
                why="Differences of answers are looked for.",
                fix="Give pairs: (SQL text or a set of conditions, answer).",
            ) from None
        queries.append(_read_query(question, answer, place))
    known_queries = tuple(query for query in queries if query is not None)
    return known_queries, len(queries) - len(known_queries)


def derived_queries(queries: Sequence[Query]) -> list[Query]:
    """Small sums: a condition and its negation give the whole, and an average times its count gives a sum."""
    known = {(query.what, query.conditions) for query in queries}
    derived = []
    for one, other in combinations(queries, 2):
        for whole in (*_join_halves(one, other), *_sum_behind(one, other), *_sum_behind(other, one)):
            if (whole.what, whole.conditions) not in known:
                known.add((whole.what, whole.conditions))
                derived.append(whole)
    return derived


@lru_cache(maxsize=10_000)
def negate_conditions(conditions: frozenset[str]) -> frozenset[str]:
    """The conditions of everybody who fails at least one of these."""
    return _query_conditions(
        exp.not_(sqlglot.condition(" AND ".join(f"({part})" for part in conditions), dialect="duckdb"))
    )


def conjunction(conditions: Iterable[str]) -> str:
    """The conditions in one text, always in the same order."""
    parts = [f"({part})" if " OR " in part else part for part in sorted(conditions)]
    return " AND ".join(parts) or "TRUE"


def condition_columns(condition: str) -> set[str]:
    """The columns that a condition mentions."""
    return {column.name for column in sqlglot.condition(condition, dialect="duckdb").find_all(exp.Column)}


def condition_masks(table: pyarrow.Table, conditions: Sequence[frozenset[str]]) -> NDArray[np.bool_]:
    """Which rows of the table meet each set of conditions; evaluated by DuckDB, shut off from everything else."""
    import duckdb

    wanted = [f"coalesce({conjunction(parts)}, FALSE) AS m{i}" for i, parts in enumerate(conditions)]
    with duckdb.connect(config={"enable_external_access": "false"}) as engine:
        engine.register("people", table)
        try:
            arrays = engine.execute(f"SELECT {', '.join(wanted)} FROM people").fetchnumpy()  # noqa: S608  (a locked engine in memory)
        except duckdb.Error:
            raise Unsuitable(
                "the conditions of the log cannot be evaluated on the table.",
                why="They name a column that it does not have, or compare it with a value of another kind.",
                fix=f"Give a table with the columns of the log; this one has {', '.join(table.column_names)}.",
            ) from None
    return np.array([np.asarray(arrays[f"m{i}"], dtype=bool) for i in range(len(conditions))])


def _read_query(question: Question, answer: object, place: int) -> Query | None:
    tree = _parse_question(question, place)
    shape = _query_shape(tree)
    if shape is None:
        return None
    aggregate, of, table = shape
    where = tree.args.get("where")
    conditions = _query_conditions(where.this) if where else frozenset()
    return Query(aggregate, of, table, conditions, read_scalar(answer), (place,))


def _counting_text(conditions: Iterable[str]) -> str:
    """The question that a set of conditions stands for."""
    return f"SELECT COUNT(*) WHERE {' AND '.join(f'({part})' for part in conditions) or 'TRUE'}"


def _parse_question(question: Question, place: int) -> exp.Expr:
    log = logging.getLogger("sqlglot")
    before, log.disabled = log.disabled, True  # it would log the text
    try:
        text = question if isinstance(question, str) else _counting_text(question)
        tree = sqlglot.parse_one(text, read="duckdb")
        if where := tree.args.get("where"):
            list(map(condition_columns, _query_conditions(where.this)))  # they are written anew, and read again later
        return tree
    except (sqlglot.errors.SqlglotError, ValueError, TypeError, RecursionError):
        raise Unsuitable(
            f"entry {place} of the log is not SQL that can be read.",
            why="Questions are compared by their conditions.",
            fix="Give SELECT statements, or sets of conditions.",
        ) from None
    finally:
        log.disabled = before


def _query_shape(tree: exp.Expr) -> tuple[str, str, str] | None:
    """The aggregate, its argument and the table of a plain SELECT; None for anything else."""
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1 or tree.find(exp.Subquery):
        return None
    if any(tree.args.get(part) for part in ("group", "having", "distinct", "limit", "with", "with_", "joins")):
        return None
    aggregate = tree.expressions[0].unalias()
    if (
        not isinstance(aggregate, exp.Count | exp.Sum | exp.Avg)
        or not aggregate.this
        or isinstance(aggregate.this, exp.Distinct)
    ):
        return None
    table = tree.find(exp.Table)
    return aggregate.key.upper(), _written_condition(aggregate.this), table.name.lower() if table else ""


def _query_conditions(tree: exp.Expr) -> frozenset[str]:
    plain = simplify(_plain_names(tree.copy()))
    parts = plain.flatten() if isinstance(plain, exp.And) else [plain]
    texts = {part.unnest().sql("duckdb") for part in parts}
    return frozenset(texts - {"TRUE"})


def _plain_names(tree: exp.Expr) -> exp.Expr:
    """Names in small letters and without their table, as one table is meant throughout."""
    for column in tree.find_all(exp.Column):
        column.set("table", None)
        column.this.set("this", column.name.lower())
        column.this.set("quoted", False)
    return tree


def _written_condition(tree: exp.Expr) -> str:
    return _plain_names(tree.copy()).sql("duckdb")


def _join_halves(one: Query, other: Query) -> list[Query]:
    """The whole of two queries, of which one has a condition (or several) that the other negates."""
    mine, yours = one.conditions - other.conditions, other.conditions - one.conditions
    if one.what != other.what or one.aggregate == "AVG" or not mine or not yours or negate_conditions(mine) != yours:
        return []
    return [Query(*one.what, one.conditions & other.conditions, one.answer + other.answer, one.answers + other.answers)]


def _sum_behind(mean: Query, count: Query) -> list[Query]:
    """The sum behind an average, where the count of the same rows is known."""
    if (mean.aggregate, count.aggregate) != ("AVG", "COUNT") or mean.table != count.table:
        return []
    if mean.conditions != count.conditions or count.of not in ("*", mean.of):
        return []
    sources = mean.answers + count.answers
    return [Query("SUM", mean.of, mean.table, mean.conditions, mean.answer * count.answer, sources)]
