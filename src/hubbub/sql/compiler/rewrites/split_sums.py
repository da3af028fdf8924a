"""COUNT, SUM, AVG, VAR and STDDEV of one value from parts that share a price.

Of a value x between lo and hi two sums are measured: below = sum(x - lo) and above = sum(x - hi). A row moves them by
x - lo and hi - x, together by hi - lo, whatever x is: so Laplace noise of scale cap (hi - lo) / epsilon on *each* costs
epsilon once (``docs/proofs/sql.md``, "Measures that share a price"). Every statistic is read off them:

    COUNT(x) = (below - above) / (hi - lo)    SUM(x) = (hi below - lo above) / (hi - lo)    AVG(x) = SUM / COUNT

so that SUM is as exact as if it had been asked alone, and AVG a third more exact than from a sum and a count that pay
half each. A row without a value moves neither: a third part counts these, and COUNT(*) is COUNT(x) and that.

Where a variance is asked for there are three, the Bernstein polynomials of degree 2: with d = hi - lo the sums of
(hi - x)^2, 2 (x - lo) (hi - x) and (x - lo)^2, which a row moves by d^2 together. With these three as A, B and C

    COUNT(x) = (A + B + C) / d^2    SUM(x - lo) = (B / 2 + C) / d    SUM((x - lo)^2) = C

and the variance follows from them, 1.3 to 2.7 times as exact as from a count, a sum and squares that pay a part each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hubbub.relations import DOUBLE, Expr
from hubbub.sql.compiler.question import Question

_READ = ("count", "sum", "avg")
_CURVED = ("var_pop", "var_samp", "stddev_pop", "stddev_samp")
BY_RANK = {"quantile", "min", "max"}  # which have noise of their own
Split = tuple[Expr, Expr | None]  # a value, and the condition (FILTER) under which it is added up


@dataclass(frozen=True, slots=True)
class SplitValues:
    """Which values are measured in two parts or in three, and beside which of them rows of a condition are counted."""

    values: tuple[Split, ...] = ()
    curved: tuple[Split, ...] = ()  # those in three
    rows: tuple[tuple[Expr | None, Split], ...] = ()

    def beside(self, condition: Expr | None) -> Split | None:
        """The value beside whose parts COUNT(*) of a condition is read."""
        return next((value for known, value in self.rows if known == condition), None)


NOT_SPLIT = SplitValues()


def split_values(question: Question) -> SplitValues:
    """The values of a question that are better measured in parts: an average, a variance, or a sum with a count."""
    asked = [part for value in _answer_values(question) for part in aggregates_in(value)]
    splits: list[Split] = []
    curved: list[Split] = []
    rows: dict[Expr | None, Split] = {}
    for value, condition in dict.fromkeys(_split_of(part) for part in asked if part.args):
        if value is None or not _can_split(value):
            continue
        functions = {part.param.function for part in asked if _split_of(part) == (value, condition)} - BY_RANK
        if not functions <= {*_READ, *_CURVED}:
            continue
        curved += [(value, condition)] if functions & set(_CURVED) else []
        counts_rows = any(_split_of(part) == (None, condition) and part.param.function == "count" for part in asked)
        single = functions & {"avg", *_CURVED}
        if single or ("sum" in functions and (counts_rows or "count" in functions)):
            splits.append((value, condition))
            if counts_rows:
                rows.setdefault(condition, (value, condition))
    return SplitValues(tuple(splits), tuple(curved), tuple(rows.items()))


def counts_present(value: Expr) -> bool:
    """Whether COUNT of the value counts just those that are added up: a double may be no number, and is counted."""
    return value.facts.number != DOUBLE


def _can_split(value: Expr) -> bool:
    facts = value.facts
    return value.kind.is_number and facts.bounded and facts.lower != facts.upper


def _answer_values(question: Question) -> Iterator[Expr]:
    yield from (output.value for output in question.outputs)
    yield from (part.value for part in question.order)
    if question.having is not None:
        yield question.having


def aggregates_in(value: Expr) -> list[Expr]:
    """The aggregates of an expression over the answer's rows."""
    if value.op in ("aggregate", "aggregate_if"):
        return [value]
    return [part for arg in value.args for part in aggregates_in(arg)]


def split_filter(value: Expr) -> tuple[Expr | None, Expr | None]:
    """(argument, FILTER condition) of an aggregate."""
    if value.op == "aggregate_if":
        return (value.args[0] if len(value.args) == 2 else None), value.args[-1]
    return (value.args[0] if value.args else None), None


def _split_of(value: Expr) -> tuple[Expr | None, Expr | None]:
    """The value and condition of an aggregate; a distinct count, or one of a unit, is of nothing that can be split."""
    argument, condition = split_filter(value)
    if argument is not None and (value.param.distinct or argument.facts.unit or argument.op == "literal"):
        return None, value  # told apart from COUNT(*)
    return argument, condition
