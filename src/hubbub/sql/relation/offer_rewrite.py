"""A refusal whose way on is a whole statement that is answered: it was planned before it is offered.

Candidates come from the text and the declaration alone, and are planned as any question: no row is read, and nothing
is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from sqlglot import exp

from hubbub.relations import limits
from hubbub.schema import Dataset
from hubbub.sql.compiler.syntax.parse import parse, without_log
from hubbub.sql.relation.rewrite_forms import AFTER, ALONE, FIRST, THRESHOLDS
from hubbub.terms import MixesPeople, NotAllowed, QueryError, UnknownName

_OFFERED = (NotAllowed, MixesPeople, UnknownName)
_LONGEST = 2_000  # signs of a text that is rewritten
_MOST = 12  # candidates that are planned


def offer_rewrite(text: str, dataset: Dataset, is_answered: Callable[[str], bool], refusal: QueryError) -> QueryError:
    """The refusal, which names a statement that is answered if one is near.

    Guarantee: the words depend on the text and the declaration alone.
    Because: candidates are made of these two, and planning reads no data.
    """
    if not isinstance(refusal, _OFFERED) or len(text) > _LONGEST or _has_rewrite(refusal.fix, is_answered):
        return refusal
    try:
        tree, _ = parse(text)
        if isinstance(tree, exp.Pivot):
            tree = exp.select("*").from_(tree)
        if not isinstance(tree, exp.Query) or sum(1 for _ in tree.walk()) > limits.NODES:
            return refusal
        if not _all_declared(tree, dataset):
            return refusal  # a slip of the pen: what it should be, only the analyst knows
        with without_log():
            candidates = list(islice(_candidates(tree, dataset), _MOST))
        for lead, candidate in candidates:
            if is_answered(candidate):
                return type(refusal)(refusal.what, why=refusal.why, fix=lead.format(candidate))
    except (QueryError, RecursionError):
        return refusal
    return refusal


def _candidates(tree: exp.Query, dataset: Dataset) -> Iterator[tuple[str, str]]:
    """What to say, and a statement: one form alone, what can be released first, and one form after another."""
    known = {tree.sql(dialect="duckdb")}
    after: list[tuple[str, exp.Query]] = []
    first = "First ask `{}`, and write what is released in its place."
    for lead, forms in ((first, THRESHOLDS), ("Ask `{}`.", ALONE), (first, FIRST)):
        for form in forms:
            new = form(tree.copy(), dataset)
            if new is not None and (words := new.sql(dialect="duckdb")) not in known:
                known.add(words)
                after.append((lead, new))
                yield lead, words
    for lead, one in after:
        for form in AFTER:
            new = form(one.copy(), dataset)
            if new is not None and (words := new.sql(dialect="duckdb")) not in known:
                known.add(words)
                yield lead, words


def _all_declared(tree: exp.Query, dataset: Dataset) -> bool:
    """Whether every column that is named is one of the dataset, or named in the statement itself."""
    names = {column.name.lower() for table in dataset.tables for column in table.columns}
    names |= {each.alias.lower() for each in tree.find_all(exp.Alias)}
    return all(column.name.lower() in names for column in tree.find_all(exp.Column))


def _has_rewrite(fix: str, is_answered: Callable[[str], bool]) -> bool:
    return fix.startswith(("SELECT ", "WITH ")) and is_answered(fix.rstrip("."))
