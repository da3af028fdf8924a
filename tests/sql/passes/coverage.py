"""docs/sql-coverage.md, made from the fixtures: what can be asked, what is refused and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from hubbub.accounting import Amount
from hubbub.ledger import AccountBalance
from hubbub.sql.compiler.syntax.functions import FUNCTIONS
from hubbub.sql.explain_plan import explained_question
from hubbub.sql.pricing.noise_choice import Alternative
from hubbub.sql.pricing.price import Price
from hubbub.sql.quote import QueryPlan, plan_text, quote_plan
from hubbub.sql.relation.ask_relation import check_outer_statement, quote_relation
from hubbub.sql.relation.find_inner import find_relation
from hubbub.terms import HubbubError, QueryError
from tests.sql.passes.fixtures import Fixture, every

PRICE = Price(epsilon=Fraction(1), tail=Fraction("1e-8"))
PAGE = Path(__file__).parents[3] / "docs" / "sql-coverage.md"
NOT_ON_POSTGRES = {
    "casts from text": "PostgreSQL stops at the first text that cannot be converted",
    "a part of a text": "PostgreSQL takes the longest match, and others the first",
    "REGEXP_EXTRACT(s, pattern, group)": "PostgreSQL takes the longest match, and others the first",
}
_TOP = """\
# What can be asked

Every line below is a question that the tests ask, and what becomes of it. The page is made from these questions by
`ACCEPT=1 pytest tests/sql/passes`; a test says when it is out of date. The tables are those of a hospital: `patients`,
`visits`, `stays` and `drugs` are about people, and `wards` is public; and of a survey, `answers`, in which every row is
a person.

Refusals come before the engine is asked. Each points at the place in the text and says the shortest way on;
[the errors](errors/index.md) explain the codes, and [the guide](sql.md) how to ask instead. What is no question
may stand around some, and work on their answers: [after the noise](sql.md#after-the-noise), where the last column names
these questions.
"""
_SECTIONS = (
    "Aggregates",
    "Conditions and expressions",
    "Groups",
    "Joins and subqueries",
    "Where each row is a unit",
    "How one person is bounded",
    "What is measured",
    "Statements",
    "Functions",
    "Clauses",
)


def page() -> str:
    """The whole page as it should be now."""
    found = [fixture for fixture in every() if fixture.stage != "print"]
    assert {fixture.section for fixture in found} == set(_SECTIONS)
    parts = [_TOP]
    for section in _SECTIONS:
        told = [(fixture, *outcome(fixture)) for fixture in found if fixture.section == section]
        told.sort(key=lambda row: row[1])  # what is answered first
        header = "| what | question | answer | why |\n|---|---|---|---|\n"
        parts.append(f"## {section}\n\n{header}" + "\n".join(_row(*row) for row in told) + "\n")
    return "\n".join([*parts, _functions()])


def _row(fixture: Fixture, answer: str, why: str) -> str:
    question = " ".join(fixture.sql.split()).replace("|", "\\|")
    shown = f"`` {question} ``" if "`" in question else f"`{question}`" if question else "(empty)"
    return f"| {fixture.name} | {shown} | {answer} | {why} |"


def outcome(fixture: Fixture) -> tuple[str, str]:
    """Whether the question is answered, and in one sentence why (not), with the code of the refusal."""
    try:
        planned = fixture.planned()
    except HubbubError as error:
        if isinstance(error, QueryError) and (inner := asked_around(fixture, error)):
            return "answered", f"After the noise, around {inner}."
        first = error.what.split(" At line ")[0].split("\n")[0]
        return "refused", f"[{error.code}](errors/{error.code}.md): {_sentence(first)} {_sentence(error.why)}"
    bounds = dict.fromkeys(plan.bounding.words() for plan in planned.plans)
    return "answered", _sentence("explained, free" if explained_question(fixture.sql) else "; ".join(bounds))


def asked_around(fixture: Fixture, refusal: QueryError) -> str:
    """The private questions that a statement stands around, in words; nothing if it is refused, too."""

    def planned(text: str) -> list[QueryPlan]:
        return [plan_text(text, fixture.dataset, gaussian=fixture.gaussian)]

    def quoted(plans: Sequence[QueryPlan]) -> list[Alternative]:
        return [Alternative(quote_plan(plans[0], PRICE), Amount(), _no_line)]

    text = explained_question(fixture.sql) or fixture.sql
    try:
        relation = find_relation(text, fixture.dataset, planned, refusal)
        check_outer_statement(quote_relation(relation, quoted))
    except HubbubError:
        return ""
    return " and ".join(f"`{plans[0].text}`".replace("|", "\\|") for plans in relation.inner)


def _no_line() -> AccountBalance:
    raise AssertionError("nothing is charged here")


def _sentence(text: str) -> str:
    text = re.sub(r"([|<>])", r"\\\1", text.rstrip("."))
    return text[:1].upper() + text[1:] + "."


def _functions() -> str:
    told = dict.fromkeys(function.about for function in FUNCTIONS.values())
    names = "\n".join(f"- `{about}`" for about in told)
    return (
        "## Functions that can be used\n\nEach gives a value or a missing one for every row, and never fails. Besides "
        f"these: CASE, IN, BETWEEN, IS NULL, CAST and TRY_CAST.\n\n{names}\n"
    )
