"""The compiler, pass by pass: the text of a question becomes a plan, from public facts alone.

    parse               text -> the parser's tree
    expand_levels       a column for each level of a quantile with several
    allow_nodes         the same tree, of known nodes alone
    plain_forms         GROUP BY ALL, QUALIFY, CURRENT_DATE and the like written out
    scopes              what every name refers to
    bind_people         FROM, joins and subqueries -> rows of one person each
    build_question      keys, aggregates, HAVING, ORDER BY -> a question about people
    plan_aggregates     aggregates -> integers and curves per key
    check_answer        what cannot be told although every part of it can
    bound_contribution  how far one person moves them
    plan_question       all of it -> a plan

``type_scalars`` turns scalar expressions into typed ones, for the passes that meet some.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from fractions import Fraction

from sqlglot import exp

from hubbub.relations import limits
from hubbub.schema import Dataset
from hubbub.sql.compiler.bind_people import bind_people
from hubbub.sql.compiler.bound_contribution import bound_contribution
from hubbub.sql.compiler.build_question import build_question
from hubbub.sql.compiler.check_answer import check_answer
from hubbub.sql.compiler.plan_aggregates import plan_aggregates
from hubbub.sql.compiler.plan_question import plan_question
from hubbub.sql.compiler.query_plan import QuestionPlan
from hubbub.sql.compiler.question import Question, UnionOfQuestions
from hubbub.sql.compiler.row_work import check_row
from hubbub.sql.compiler.syntax.allow_nodes import allow_nodes
from hubbub.sql.compiler.syntax.expand_levels import expand_levels
from hubbub.sql.compiler.syntax.parse import parse
from hubbub.sql.compiler.syntax.plain_forms import write_out
from hubbub.sql.compiler.syntax.scopes import resolve_names
from hubbub.sql.compiler.syntax.source_text import QueryText


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """What a plan depends on besides the question and the dataset."""

    gaussian: bool  # the budget has a delta, or is counted in rho
    choose_keys: bool  # keys that are not public may be chosen by noisy counts of people
    totals: Mapping[str, Fraction] = field(default_factory=dict)  # bounds on what one person adds up to, by column
    clipping: bool = False  # count the values beyond their bounds as well
    split: bool = False  # read averages, sums and counts of one value off parts that share a price
    norm: str = ""  # in which totals are bounded: L2 or L1, by default as the noise has it


def read_question(text: str, dataset: Dataset) -> Question | UnionOfQuestions:
    """The question in a text."""
    try:
        tree, source = parse(text)
        return read_tree(tree, source, dataset)
    except RecursionError:  # somebody calls us from deep inside
        raise limits.too_large() from None


def read_tree(tree: exp.Expr, text: QueryText, dataset: Dataset) -> Question | UnionOfQuestions:
    """The question in a tree of the parser's; the text serves refusals alone."""
    day = today()
    plain, asks_today = write_out(allow_nodes(expand_levels(tree), text), text, today=day)
    scopes = resolve_names(plain, text, dataset)
    rows = bind_people(scopes, text, dataset)
    question = build_question(rows, text)
    return _note_day(question, day) if asks_today else question


def today() -> date:
    """The day on which a question is asked, everywhere in the world the same."""
    return datetime.now(UTC).date()


def _note_day(question: Question | UnionOfQuestions, day: date) -> Question | UnionOfQuestions:
    if isinstance(question, Question):
        return replace(question, today=day)
    return replace(question, parts=tuple(replace(part, today=day) for part in question.parts))


def plan_one(question: Question, dataset: Dataset, options: PlanOptions) -> QuestionPlan:
    """The plan of a question."""
    aggregates = plan_aggregates(
        question,
        gaussian=options.gaussian,
        choose_keys=options.choose_keys,
        clipping=options.clipping,
        split=options.split,
    )
    check_answer(question, aggregates)
    texts = check_row(question.source, [question.where, *aggregates.row_values()])
    bounded = bound_contribution(
        aggregates,
        dataset,
        cap=question.cap,
        totals=options.totals,
        gaussian=options.gaussian,
        norm=options.norm or ("L2" if options.gaussian else "L1"),
    )
    return plan_question(question, aggregates, bounded, gaussian=options.gaussian, texts=texts)
